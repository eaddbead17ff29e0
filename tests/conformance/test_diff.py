"""What is worse from one report to another, and what is only different."""

from typing import Any

import pytest
from sample_reports import PROOF, TARGET, sample

from knowledge_conformance.diff import OtherKindError, changes, diff_lines, worse
from knowledge_conformance.proof import Ending, Proof, Trial
from knowledge_conformance.report import Report
from knowledge_conformance.results import CheckOutcome

P, F, A, K = CheckOutcome.PASSED, CheckOutcome.FAILED, CheckOutcome.ADVISORY, CheckOutcome.KNOWN
I, B, N, E, S = (  # noqa: E741 - short names keep the table below readable
    CheckOutcome.INCONCLUSIVE, CheckOutcome.BLOCKED, CheckOutcome.INAPPLICABLE,
    CheckOutcome.ERRORED, CheckOutcome.STALE,
)  # fmt: skip


def told(old: Report, new: Report) -> dict[str, bool]:
    return {change.label: change.worse for change in changes(old, new)}


@pytest.mark.parametrize(
    ("was", "now", "label", "is_worse"),
    [
        (P, F, "newly failing", True),
        (N, E, "newly failing", True),
        (I, F, "newly failing", True),
        (K, S, "newly failing", True),
        (F, E, "failing differently", True),
        (F, P, "fixed", False),
        (E, A, "fixed", False),
        (K, P, "fixed", False),
        (A, P, "fixed", False),
        (F, K, "accepted as known", False),
        (F, I, "no longer seen to fail", False),
        (F, N, "no longer seen to fail", False),
        (P, I, "newly inconclusive", True),
        (A, B, "newly blocked", True),
        (I, B, "changed", False),
        (N, I, "changed", False),
        (P, A, "newly advised", True),
        (I, A, "newly advised", False),
        (P, K, "newly a known failure", True),
        (P, N, "no longer looked at", True),
        (I, N, "no longer looked at", False),
        (I, P, "newly passing", False),
        (N, P, "newly passing", False),
    ],
)
def test_a_change_has_a_name(was: CheckOutcome, now: CheckOutcome, label: str, is_worse: bool) -> None:
    """And whether it is for the worse."""
    assert told(sample({"KP-304": was}), sample({"KP-304": now})) == {label: is_worse}


@pytest.mark.parametrize("outcome", CheckOutcome)
def test_what_stays_is_no_change(outcome: CheckOutcome) -> None:
    """Whatever it is."""
    old = sample({"KP-304": outcome})
    assert changes(old, old) == []
    assert list(diff_lines(old, old))[-1] == "nothing changed"


def test_another_failure_of_the_same_check_is_news() -> None:
    """By its fingerprint: the outcome alone would hide it."""
    old, new = (sample({"KP-304": F}, fingerprint=text) for text in ("0" * 12, "1" * 12))
    assert told(old, new) == {"failing differently": True}


@pytest.mark.parametrize("looked", [{"observations": 2}, {"calls": 9}])
def test_what_was_looked_at_may_change_though_it_passes(looked: dict[str, Any]) -> None:
    """Fewer observations are no failure, and worth a look."""
    assert told(sample(), sample({"KP-304": P}, **looked)) == {"changed though passing": False}


def test_checks_that_come_and_go_are_named() -> None:
    """Of the same kit one that is gone was not run; of another, there may be none such any more."""
    whole = sample({"KP-101": F})
    part = whole.model_copy(update={"checks": whole.checks[1:]})
    assert told(whole, part) == {"no longer there": True}
    assert told(whole, part.model_copy(update={"kit": "9.9"})) == {"no longer there": False}
    assert told(part, whole) == {"new here, and failing": True}
    assert told(sample().model_copy(update={"checks": sample().checks[1:]}), sample()) == {"new here": False}


@pytest.mark.parametrize("ending", [Ending.MISSED, Ending.HIDDEN])
def test_a_fault_that_was_caught_once_is_missed_by_the_reader(ending: Ending) -> None:
    """The checks pass as before, and would not see it any more."""
    trial = Trial(fault="one_too_many", check="KP-304", ending=ending, reason="r")
    found = told(sample(proof=PROOF), sample(proof=Proof(target=TARGET, trials=(trial,))))
    assert found == {f"faults no longer caught, now {ending}": True}


PROVED = sample(proof=PROOF)
VOID = PROOF.model_copy(update={"void": "KP-301 fails"})
EMPTY = Proof(target=TARGET, trials=())


@pytest.mark.parametrize("proof", [None, VOID])
def test_a_proof_that_is_gone_is_missed(proof: Proof | None) -> None:
    """A run that injects nothing, or whose provider died of it, proves nothing of what was proved before."""
    new = sample(proof=proof)
    assert told(PROVED, new) == {"proof lost": True}
    assert told(new, PROVED) == {}
    assert any("1 fault caught, then " in line for line in diff_lines(PROVED, new))


def test_a_fault_that_is_not_tried_any_more_is_missed() -> None:
    """Of another kit it may be gone."""
    empty = sample(proof=EMPTY)
    assert told(PROVED, empty) == {"faults no longer injected": True}
    assert told(PROVED, empty.model_copy(update={"kit": "9.9"})) == {"faults no longer injected": False}
    assert told(empty, PROVED) == {}


@pytest.mark.parametrize(
    ("outcome", "was", "now", "label", "is_worse"),
    [
        (K, {"fingerprint": "0" * 12}, {"fingerprint": "1" * 12}, "known, and failing differently", True),
        (A, {"fingerprint": "0" * 12}, {"fingerprint": "1" * 12}, "advised differently", True),
        (K, {"known": "the vendor, accepted until 2027-03-01"}, {"known": "the vendor"}, "known otherwise", False),
        (A, {"known": "the vendor"}, {}, "no longer known", True),
        (A, {}, {"known": "the vendor"}, "known otherwise", False),
    ],
)
def test_what_is_accepted_may_change(
    outcome: CheckOutcome, was: dict[str, Any], now: dict[str, Any], label: str, is_worse: bool
) -> None:
    """Another mistake behind the same entry, and another entry over the same mistake."""
    old, new = (sample({"KP-304": outcome}, **evidence) for evidence in (was, now))
    assert told(old, new) == {label: is_worse}


def test_both_entries_are_shown() -> None:
    """The reason is what a reader has to judge."""
    old, new = (sample({"KP-304": K}, known=text) for text in ("until March", "until June"))
    assert any(line.endswith("Known: until March, then until June.") for line in diff_lines(old, new))


def test_another_kind_is_refused() -> None:
    """They have no check in common."""
    host = sample().model_copy(update={"kind": "host"})
    with pytest.raises(OtherKindError, match="about a provider and one about a host"):
        changes(sample(), host)


def test_another_target_or_kit_is_said_first() -> None:
    """Comparing two adapters is a use, too."""
    other = sample(target="acme.other:provider").model_copy(update={"kit": "9.9"})
    lines = list(diff_lines(sample(), other))
    assert lines[0] == f"other target: {TARGET}, then acme.other:provider"
    assert lines[1].startswith("other kit: ")
    assert lines[2] == "verdict: conformant"


def test_the_worst_stands_first_and_is_named_at_the_end() -> None:
    """With the check, what it was, what it is and what was seen."""
    old, new = sample({"KP-101": F}), sample({"KP-304": F})
    lines = list(diff_lines(old, new))
    assert lines[:3] == [
        "verdict: not conformant",
        "newly failing (1)",
        "  KP-304 passed, then failed: An answer has at most top_k results. Saw: saw: KP-304",
    ]
    assert lines[3] == "fixed (1)"
    assert lines[-1] == "worse: newly failing"
    assert worse(changes(old, new))


def test_nothing_of_a_report_moves_the_terminal() -> None:
    """A report may be a file that anybody wrote."""
    text = "\n".join(diff_lines(sample(), sample({"KP-304": F}, saw="\x1b[2J\u202e")))
    assert "\x1b" not in text
    assert "\u202e" not in text
