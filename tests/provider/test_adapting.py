"""``adapting``: vendors' values, exceptions and calls, as several adapters need them."""

import json
import subprocess
import sys
import time
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import numpy
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from knowledge_provider import RetrievalResult, Source, adapting
from knowledge_provider.text import short_text

SECRET = "hunter2"


# Ids


def test_a_stable_id_is_the_same_in_another_process() -> None:
    """Hash randomisation and process state play no part, and a lone surrogate is no obstacle."""
    program = "from knowledge_provider.adapting import stable_id; print(stable_id('a', '检索', '\\ud800'))"
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == adapting.stable_id("a", "检索", "\ud800")


def test_where_the_parts_of_a_stable_id_end_matters() -> None:
    """("ab", "c") and ("a", "bc") are two things."""
    made = {adapting.stable_id(*parts) for parts in [("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ()]}
    assert len(made) == 5
    assert all(len(one) == 32 for one in made)


@pytest.mark.parametrize(
    ("given_id", "wanted"),
    [("doc-1", "doc-1"), (7, "7"), (UUID(int=5), str(UUID(int=5))), ("a\x00 b", "a b"), ("x" * 160, "x" * 160)],
)
def test_a_vendors_id_stays_where_it_can(given_id: object, wanted: str) -> None:
    """Strings, ints and UUIDs up to 160 code points, on one line."""
    assert adapting.result_id(given_id, None, "text", {}) == wanted


@pytest.mark.parametrize(
    "given_id", [None, "", "  ", True, 1.5j, ["a"], "x" * 161, f"https://h.example.org/?token={SECRET}"]
)
def test_an_id_that_cannot_stay_is_made_from_place_and_content(given_id: object) -> None:
    """Missing, over-long and link-like ids give the same made id each time, another for another passage."""
    first, again, elsewhere, other = (
        adapting.result_id(given_id, where, content, {})
        for where, content in [("a.md", "text"), ("a.md", "text"), ("b.md", "text"), ("a.md", "more")]
    )
    assert first == again
    assert len({first, elsewhere, other}) == 3
    assert SECRET not in str(first)


def _ids_in_order(given_ids: list[str]) -> list[str | None]:
    taken: dict[str, str] = {}
    return [adapting.result_id(given_id, None, "text", taken) for given_id in given_ids]


def test_two_over_long_ids_that_differ_at_their_ends_stay_apart() -> None:
    """Cutting them would make one of them, and which passage has which id must not depend on their order."""
    ids = ["x" * 200 + end for end in "ab"]
    there, back = (_ids_in_order(given_ids) for given_ids in (ids, ids[::-1]))
    assert there == back[::-1]
    assert None not in there
    assert there[0] != there[1]


def test_the_same_passage_twice_is_one_result_and_another_under_its_id_is_two() -> None:
    """Clause 5.3: the host would drop a second passage under the same id, so it gets an id of its own."""
    taken: dict[str, str] = {}
    assert adapting.result_id("doc", "a.md", "first chunk", taken) == "doc"
    assert adapting.result_id("doc", "a.md", "first chunk", taken) is None
    second = adapting.result_id("doc", "a.md", "second chunk", taken)
    assert second not in (None, "doc")
    assert adapting.result_id("doc", "a.md", "second chunk", taken) is None
    assert set(taken) == {"doc", second}


# Text, places, sources


def test_content_is_kept_up_to_the_limit_and_marked_where_it_is_cut() -> None:
    """4,000 code points stay as they are; of more, 3,999 and a mark."""
    assert adapting.passage_text("x" * 4000) == "x" * 4000
    assert adapting.passage_text("x" * 4001) == "x" * 3999 + "…"
    assert adapting.passage_text("a\r\nb\x00c") == "a\nb c"
    assert [adapting.passage_text(nothing) for nothing in (None, "", " \n\u200b", ["a"])] == [""] * 4


@pytest.mark.parametrize(
    ("where", "source"),
    [
        ("https://docs.example.org/a?page=2#top", Source(uri="https://docs.example.org/a?page=2")),
        ("docs/a#b?c.md", Source(id="docs/a#b?c.md", locator="docs/a#b?c.md")),
        (r"C:\docs\a.md", Source(id=r"C:\docs\a.md", locator=r"C:\docs\a.md")),
        (PurePosixPath("docs/a.md"), Source(id="docs/a.md", locator="docs/a.md")),
        ("http://wiki.corp/a?x=1#b", Source(id="http://wiki.corp/a", locator="http://wiki.corp/a")),
        (f"s3://key:{SECRET}@bucket/a", Source(id="s3://bucket/a", locator="s3://bucket/a")),
        (f"https://docs.example.org/a?token={SECRET}", Source(id="https://docs.example.org/a", locator="https://docs.example.org/a")),
        (f"postgres://user:pa?{SECRET}@db/x", None),
        (f"https://user:pa/{SECRET}@db.example.org", None),
        (f"https://h.example.org/a%3Bjsessionid={SECRET}", None),
        (None, None),
        ("", None),
        ({"a": 1}, None),
    ],
)  # fmt: skip
def test_a_public_uri_is_the_uri_and_any_other_place_is_id_and_locator(where: object, source: Source | None) -> None:
    """Clauses 6.1 and 6.2: what is not public loses user-info and query, or goes altogether."""
    assert adapting.source_of(where) == source


def test_a_long_place_keeps_an_id_of_its_own_and_a_title_stands_alone() -> None:
    """Two long paths with a common beginning do not become one document."""
    one, two = (adapting.source_of("x/" * 100 + end) for end in ("a.md", "b.md"))
    assert one is not None
    assert two is not None
    assert one.id != two.id
    assert len(one.id or "") <= 120
    assert len(one.locator or "") <= 300
    assert adapting.source_of(None, "A title") == Source(title="A title")


def test_what_a_vendor_says_of_a_source_goes_before_what_its_place_says() -> None:
    """A document's own id and locator, without credentials; a public URI stays beside them."""
    named = {"source_id": "doc-1", "mime_type": "text/plain", "locator": f"https://h.corp/?token={SECRET}"}
    own = {"id": "doc-1", "mime_type": "text/plain", "locator": "https://h.corp/"}
    assert adapting.source_of("docs/a.md", **named) == Source(**own)
    assert adapting.source_of("https://docs.example.org/a", "A", **named) == Source(
        **own, uri="https://docs.example.org/a", title="A"
    )
    assert adapting.source_of("docs/a.md", source_id=7) == Source(id="7", locator="docs/a.md")


_ODD = st.text(alphabet="@:%[]&=;+.a1", max_size=5)
_SCHEMES = st.sampled_from(
    ["https://", "http:", "HTTPS:\\\\", "s3://", "postgresql+psycopg://", "jdbc:mysql://", "//", "ftp://"]
)
_BEFORE = st.sampled_from(["", "see ", "(", "见"])
_PASSWORDS = st.tuples(_ODD, _ODD).map(lambda odd: f"user:{odd[0]}{SECRET}{odd[1]}@db.example.org/x")
_QUERIES = st.tuples(
    st.sampled_from(["?", "#", "?a=b&", "?;"]), st.sampled_from(["token", "sig", "X-Amz-Signature"])
).map(lambda pair: f"db.example.org/x{pair[0]}{pair[1]}={SECRET}")


@settings(deadline=None)
@given(_BEFORE, _SCHEMES, st.one_of(_PASSWORDS, _QUERIES), st.sampled_from(["", " and more", ")"]))
@example("https://wiki.corp/?".ljust(3984, "q") + " ", "https://", f"{SECRET}:cut-here@db.example.org/x", "")
def test_no_credential_of_a_link_gets_through(before: str, scheme: str, rest: str, after: str) -> None:
    """Clauses 6.1 and 6.4: in ids, places, titles and metadata, wherever in a text the link stands."""
    text = f"{before}{scheme}{rest}{after}"
    shown = [
        adapting.place_text(text, 300),
        repr(adapting.source_of(text, text)),
        json.dumps(adapting.plain_metadata({"link": text, text: "link"})),
        str(adapting.result_id(text, None, "content", {})),
    ]
    assert [one for one in shown if SECRET in one] == []


def test_prose_around_a_public_link_stays_as_it_is() -> None:
    """Only links are touched, and of a public one only the fragment."""
    prose = "Ratio 1:2; 见 https://docs.example.org/路径，再看 a@b.c // comment, C:\\temp and 12:30."
    assert adapting.place_text(prose, 300) == prose
    assert adapting.place_text("(https://docs.example.org/a#b c)", 300) == "(https://docs.example.org/a c)"


@settings(deadline=None)
@given(st.text(alphabet="ab 见\u3000\u200d\u115f\ufe0f\n\t\x00\u202a\ud800:/é", max_size=12), st.integers(1, 12))
def test_a_text_without_a_link_is_short_text(text: str, limit: int) -> None:
    """Rule N5, by whatever way; "//" and ":/" may begin a link, so they are left out here."""
    apart = text.replace("/", "")
    assert adapting.place_text(apart, limit) == short_text(apart, limit)


def test_of_many_links_in_one_text_the_first_four_are_shown() -> None:
    """Clause 7.4: the text ends before the fifth, whether it would be shown or not."""
    one = f"see https://u:{SECRET}@a.example.org/x?token={SECRET}, "
    assert adapting.place_text(one * 5, 300) == "see https://a.example.org/x " * 4 + "see"
    assert adapting.place_text("见//a@b " * 5, 300) == "见 见 见 见 见"


def test_a_link_with_many_parameters_is_shown_without_them() -> None:
    """Clause 7.4: each may be a credential, and comparing their names takes time. A source's own link keeps them."""
    few, many = ("https://a.example.org/x?" + "a=1&" * count for count in (15, 16))
    assert adapting.place_text(few, 300) == few
    assert adapting.place_text(many, 300) == "https://a.example.org/x"
    assert adapting.source_of(many) == Source(uri=many)


@pytest.mark.parametrize("link", ["https://a.example.org/".ljust(2001, "x"), "https://a.example.org/" + "é" * 400])
def test_what_is_too_long_for_a_uri_is_not_shown_as_one(link: str) -> None:
    """Rule 1, in what it is written as: six for each é."""
    assert adapting.place_text(f"see {link}", 2000) == "see"


@pytest.mark.parametrize("before", range(90, 101))
@pytest.mark.parametrize("scheme", ["//", "https://", "jdbc:mysql://"])
def test_half_a_link_at_the_end_of_what_is_read_is_not_shown(before: int, scheme: str) -> None:
    """Clause 6.4: twice the limit is read; there, the "@" that would make it a credential may be cut off."""
    first = "https://wiki.corp/?"
    text = f"{first.ljust(before, 'q')} {scheme}{SECRET}:{'x' * 100}@db.example.org/x"
    assert adapting.place_text(text, 60) in {f"https://wiki.corp/{end}" for end in ("", " https", " jdbc:mysql")}


def _seconds(text: str) -> float:
    """The quickest of several, since only slower ones are chance."""
    taken = []
    for _ in range(15):
        start = time.perf_counter()
        adapting.place_text(text, 500)
        taken.append(time.perf_counter() - start)
    return min(taken)


@pytest.mark.parametrize("part", ["/", "a//", "a:", "http:", "//@/"])
def test_searching_a_long_text_for_links_stays_cheap(part: str) -> None:
    """Clause 7.4: no text makes it hold the event loop; what is read of one is bounded, and read in linear time."""
    short, whole, long = (_seconds((part * size)[:size]) for size in (500, 4000, 1_000_000))
    # In proportion it would be 8 and 250 times as much, and 64 times if each place were searched to the end.
    assert whole < 32 * short
    assert long < 25 * whole


# Metadata and numbers


class _Level(str):
    __slots__ = ()


def test_metadata_is_flat_and_of_exact_types() -> None:
    """Clause 5.7: NumPy's scalars and subclasses become plain, dates and UUIDs text; nested things and vectors go."""
    values: dict[Any, Any] = {
        "text": _Level("a  b\n"),
        "whole": numpy.int64(3),
        "half": numpy.float32(0.5),
        "double": numpy.float64(0.25),
        "yes": numpy.bool_(True),
        "no": False,
        "day": date(2026, 1, 2),
        "time": datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
        "uuid": UUID(int=1),
        "nan": numpy.float32("nan"),
        "inf": float("inf"),
        "huge": 10**400,
        "none": None,
        "list": [1],
        "dict": {"a": 1},
        "vector": numpy.zeros(3),
        "numpy-date": numpy.datetime64("2026-01-02T00:00:00"),
        "decimal": Decimal(1),
        "bytes": b"x",
        5: "not a text key",
        " ": "blank key",
        "_id": "left out",
    }
    plain = adapting.plain_metadata(values, without=("_id",))
    assert plain == {
        "text": "a b",
        "whole": 3,
        "half": 0.5,
        "double": 0.25,
        "yes": True,
        "no": False,
        "day": "2026-01-02",
        "time": "2026-01-02T03:04:00+00:00",
        "uuid": str(UUID(int=1)),
    }
    assert [type(value) for value in plain.values()] == [str, int, float, float, bool, bool, str, str, str]


def test_metadata_is_bounded_in_number_and_length() -> None:
    """Clause 5.6: 16 entries, keys of 80 and values of 500 code points; what is dropped takes no place."""
    plain = adapting.plain_metadata({f"{n}-{'k' * 100}": None if n < 5 else "v" * 1000 for n in range(10_000)})
    assert len(plain) == 16
    assert next(iter(plain)).startswith("5-")
    assert {len(key) for key in plain} == {80}
    assert {len(str(value)) for value in plain.values()} == {500}


def test_metadata_are_named_without_credentials() -> None:
    """Clause 6.1: a key is shown as a value is; one with nothing left goes, and two that become one keep the later."""
    link = f"https://a.example.org/x?token={SECRET}"
    values = {f"{link}1": 1, f"{link}2": 2, f"postgres://user:pa?{SECRET}@db/x": 3, "https://a.example.org/y": 4}
    assert adapting.plain_metadata(values) == {"https://a.example.org/x": 2, "https://a.example.org/y": 4}


def test_no_more_metadata_are_looked_at_than_a_host_may_want() -> None:
    """Clause 7.4: 128 entries, as in rule N2; and 16 that stay, also where they come under one name."""
    assert adapting.plain_metadata({f"{n}": None if n < 128 else n for n in range(200)}) == {}
    assert adapting.plain_metadata({f"same{' ' * n}": n for n in range(200)}) == {"same": 15}


_LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.decimals(), st.dates(), st.uuids()
)
_ANYTHING = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(st.one_of(st.text(max_size=100), st.integers()), _ANYTHING, max_size=25))
def test_any_metadata_becomes_a_valid_results(values: dict[Any, Any]) -> None:
    """Total: whatever a vendor stored, a result can be made of it, and written as JSON."""
    plain = adapting.plain_metadata(values)
    result = RetrievalResult(id="a", content="b", metadata=plain)
    assert result.metadata == plain
    assert json.loads(json.dumps(plain, allow_nan=False).encode()) == plain


@pytest.mark.parametrize(
    ("number", "plain"),
    [(1, 1), (0.5, 0.5), (numpy.float32(0.5), 0.5), (numpy.int8(3), 3), (numpy.array(0.5), 0.5)]
    + [(other, None) for other in (True, numpy.bool_(True), "0.5", None, numpy.float64("inf"), numpy.ones(1))],
)  # fmt: skip
def test_a_number_is_finite_and_exact_or_none(number: object, plain: float | None) -> None:
    """Clause 5.4: no bool, no string, no NaN, no subclass."""
    read = adapting.plain_number(number)
    assert read == plain
    assert type(read) is type(plain)
