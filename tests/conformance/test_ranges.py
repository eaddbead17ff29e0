"""What values beyond all documents' say of a filter on a number or a date."""

import pytest

from knowledge_conformance.ranges import Ends, beyond

EQUAL, LEAST, MOST, OPEN = Ends(), Ends(below=True), Ends(above=True), Ends(below=True, above=True)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (7, (-987_654_391, 987_654_391)),
        (-7, (-987_654_391, 987_654_391)),
        (0.5, (-987_654_326.0, 987_654_326.0)),
        (1_700_000_000, (-17_987_654_321, 17_987_654_321)),
        ("2026-05-01", ("1700-01-01", "2200-12-31")),
        ("2026-05-01T10:00:00Z", ("1700-01-01T10:00:00Z", "2200-12-31T10:00:00Z")),
        ("2026-05-012", None),
        ("engineering", None),
        ("7", None),
        (True, None),
        (None, None),
        ({"$gte": 7}, None),
    ],
)
def test_an_ordered_value_has_two_ends(value: object, expected: object) -> None:
    """As far away as a time in seconds has to be, and of the same type."""
    found = beyond(value)
    assert found == expected
    assert found is None or {type(each) for each in found} == {type(value)}


@pytest.mark.parametrize(
    ("held", "wanted", "refuting"),
    [
        (9, 7, {EQUAL, MOST}),
        (5, 7, {EQUAL, LEAST}),
        (7.0, 7, set()),
        ("2026-06-01", "2026-05-01", {EQUAL, MOST}),
        ("2026-04-30T23:59:59", "2026-05-01", {EQUAL, LEAST}),
        ("2026-05-01T10:00:00Z", "2026-05-01", set()),
        ("2026-05-01", 7, set()),
        (True, 7, set()),
        (None, 7, set()),
        ("people", "2026-05-01", set()),
    ],
)
def test_what_a_result_shows_is_compared_by_what_the_filter_means(
    held: object, wanted: object, refuting: set[Ends]
) -> None:
    """Another kind of value says nothing."""
    assert {ends for ends in (EQUAL, LEAST, MOST, OPEN) if ends.refutes(held, wanted)} == refuting


def test_what_one_trial_leaves_open_stays_open() -> None:
    """A field may be in several filters."""
    assert LEAST.joined(MOST) == OPEN
    assert EQUAL.joined(LEAST) == LEAST
