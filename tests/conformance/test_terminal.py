"""Results in words: everything that an author needs stands in the text of a failure."""

import pytest

from knowledge_conformance.catalogue import BY_ID, CHECKS, NOT_TESTED
from knowledge_conformance.check import Check
from knowledge_conformance.proof import Ending, Proof, Trial
from knowledge_conformance.report import Report, make_report
from knowledge_conformance.results import FAILING, CheckOutcome, CheckResult
from knowledge_conformance.settings import Settings
from knowledge_conformance.terminal import (
    WIDTH,
    check_line,
    ending_lines,
    explanation_lines,
    failure_lines,
    failures,
    note_lines,
    verdict_lines,
)

FAILED = CheckResult(
    id="KP-304",
    outcome=CheckOutcome.FAILED,
    wanted="at most 5 results",
    saw="8",
    hint="pass top_k to the back end, and cut after merging",
    where="retrieve(RetrievalRequest(query='release policy', top_k=5), context) -> 8 results",
)


def report(**outcomes: CheckOutcome) -> Report:
    named = {name.replace("_", "-"): outcome for name, outcome in outcomes.items()}
    given = [CheckResult(id=c.id, outcome=named.get(c.id, CheckOutcome.PASSED), saw="s", hint="h") for c in CHECKS]
    return make_report("acme:provider", given, Settings())


def test_a_failure_says_everything_that_an_author_needs() -> None:
    """Rule, wanted, saw, call, hint, why it matters, where to read more and how to see it again."""
    lines = list(failure_lines(FAILED, "acme.search:provider"))
    assert lines == [
        "KP-304 failed: An answer has at most top_k results.",
        "  rule    contract clause 3.3, MUST",
        "  wanted  at most 5 results",
        "  saw     8",
        "  call    retrieve(RetrievalRequest(query='release policy', top_k=5), context) -> 8 results",
        "  hint    pass top_k to the back end, and cut after merging",
        (
            "  why     A host would cut it; but hosts budget a model's context by top_k, and several stores together "
            "return"
        ),
        "          several times as much.",
        "  more    knowledge-kit explain KP-304",
        "  again   pytest --provider=acme.search:provider provider::KP-304",
    ]


MISSED = Trial(fault="key_is_a_title", check="KP-104", ending=Ending.MISSED)
CAUGHT = MISSED.model_copy(update={"ending": Ending.CAUGHT})


@pytest.mark.parametrize(
    ("outcome", "trials", "said"),
    [
        (CheckOutcome.PASSED, [CAUGHT], []),
        (CheckOutcome.PASSED, None, []),
        (CheckOutcome.PASSED, [CAUGHT, MISSED], ["the proof fails: 2 faults injected, 1 caught, 1 missed"]),
        (CheckOutcome.PASSED, [], ["the proof fails: 0 faults injected, 0 caught"]),
        (CheckOutcome.INCONCLUSIVE, None, ["inconclusive"]),
        (CheckOutcome.FAILED, None, []),
        (
            CheckOutcome.INCONCLUSIVE,
            [MISSED],
            ["inconclusive", "the proof fails: 1 faults injected, 0 caught, 1 missed"],
        ),
    ],
)
def test_why_a_run_without_a_failure_ends_with_1_is_said(
    outcome: CheckOutcome, trials: list[Trial] | None, said: list[str]
) -> None:
    """And nothing where it ends with 0."""
    proof = None if trials is None else Proof(target="acme:provider", trials=tuple(trials))
    lines = list(ending_lines([report(KP_304=outcome).model_copy(update={"proof": proof})]))
    assert [line.startswith(f"  exit 1  acme:provider: {part}") for line, part in zip(lines, said, strict=True)] == [
        True
    ] * len(said)


def test_what_is_not_known_is_left_out() -> None:
    """No empty labels."""
    labels = [line.split()[0] for line in failure_lines(CheckResult(id="KP-304", outcome=CheckOutcome.ERRORED), "a:b")]
    assert not {"wanted", "saw", "call", "hint"} & set(labels)


def test_a_target_without_a_name_cannot_be_run_again_by_it() -> None:
    """A lambda's name helps nobody."""
    assert not [line for line in failure_lines(FAILED, "test_x:<lambda>") if line.startswith("  again")]


@pytest.mark.parametrize("text", ["word " * 200, "x" * 500, "字" * 300, "", " "])
def test_long_texts_are_wrapped(text: str) -> None:
    """At white space where there is some, and always."""
    result = FAILED.model_copy(update={"saw": text, "where": text})
    lines = list(failure_lines(result, "acme:provider"))
    assert max(map(len, lines)) <= WIDTH
    shown = "".join(line[10:] for line in lines if line.startswith(" "))
    assert text.replace(" ", "") in shown.replace(" ", "")


@pytest.mark.parametrize("made", BY_ID.values(), ids=BY_ID)
def test_every_check_can_be_explained(made: Check) -> None:
    """With its rule, its reasons and what it needs, in lines of the width."""
    lines = list(explanation_lines(made))
    assert lines[0] == f"{made.id}: {made.title}"
    assert f"contract clause {made.clause}, {made.level}" in lines[1]
    assert any(line.startswith("  why") for line in lines)
    assert any(line.startswith("  needs") for line in lines) is bool(made.needs)
    assert max(map(len, lines[1:])) <= WIDTH


def test_a_check_is_one_line_and_the_verdict_says_what_it_does_not() -> None:
    """The verdict is what stands last on a screen."""
    assert check_line(report().checks[0]) == f"KP-101  passed        MUST   1.1   {BY_ID['KP-101'].title}"
    lines = list(verdict_lines(report()))
    assert lines[0] == f"  verdict {report().sentence}"
    assert f"{len(CHECKS)} of {len(CHECKS)}: {len(CHECKS)} passed" in lines[1]
    assert lines[2].startswith("  unsaid  ")
    assert all(clause in " ".join(lines[2:]) for clause in NOT_TESTED)


def test_advice_is_shown_in_full_and_gaps_by_their_reason() -> None:
    """Many checks that stay open for one reason are one note."""
    found = report(KP_305=CheckOutcome.ADVISORY, KP_502=CheckOutcome.INCONCLUSIVE, KP_503=CheckOutcome.INCONCLUSIVE)
    lines = list(note_lines(found))
    assert lines[0] == f"KP-305 advisory: {BY_ID['KP-305'].title}"
    assert lines[-1] == "  open    KP-502, KP-503: s; h"
    assert list(note_lines(report())) == []


def test_the_verdict_counts_what_came() -> None:
    """And nothing that did not."""
    lines = list(verdict_lines(make_report("a:b", [], Settings())))
    assert lines[1] == f"  checks  0 of {len(CHECKS)}: none"


@pytest.mark.parametrize("outcome", CheckOutcome)
def test_failures_are_what_makes_a_provider_not_conformant(outcome: CheckOutcome) -> None:
    """Advice is none."""
    found = [check.id for check in failures(report(KP_304=outcome))]
    assert found == (["KP-304"] if outcome in FAILING else [])


def test_a_recording_is_played_again() -> None:
    """The command names the file; one that was recorded need not be recorded again."""
    result = CheckResult(id="KP-519", outcome=CheckOutcome.FAILED, wanted="x", saw="y")
    for token in (None, "KP-519.1.x.y"):
        found = result.model_copy(update={"replay": token})
        played = list(failure_lines(found, "acme:provider", Settings(network_recording="my net.json")))
        assert played[-1].endswith(" '--network-recording=my net.json'")
        recorded = list(failure_lines(found, "acme:provider", Settings(record_network="net.json")))
        assert "net.json" not in recorded[-1]
