"""The screen: few lines where all is well, every reason where it is not."""

from sample_reports import PROOF, sample

from knowledge_conformance.catalogue import CHECKS
from knowledge_conformance.reading import Tone
from knowledge_conformance.results import CheckOutcome
from knowledge_conformance.summary import SELECTION_MAX, summary_lines
from knowledge_conformance.terminal import check_line


def test_a_sound_provider_fits_on_a_screen() -> None:
    """A line for each chapter, what is not exercised, the verdict: 24 lines of 80 columns at most, with the heading."""
    lines = list(summary_lines(sample(saw="the settings name no such thing: " + "what to set in which words " * 4)))
    assert 1 + sum(-(-len(line.text) // 80) for line in lines) <= 24
    assert lines[0].text.startswith("  1 Identity ")
    assert lines[0].tone is Tone.GOOD
    assert [line.text.split()[0] for line in lines if line.strong] == ["verdict"]


def test_a_failure_stands_below_its_chapter() -> None:
    """Which is as bad as the worst in it."""
    report = sample({"KP-304": CheckOutcome.FAILED, "KP-701": CheckOutcome.INCONCLUSIVE})
    lines = list(summary_lines(report))
    failed = next(check for check in report.checks if check.id == "KP-304")
    at = [line.text for line in lines].index(check_line(failed))
    assert (lines[at - 1].text.split()[:2], lines[at - 1].tone, lines[at].tone) == (
        ["3", "Request"],
        Tone.BAD,
        Tone.BAD,
    )
    assert next(line for line in lines if line.text.startswith("  7 ")).tone is Tone.OPEN
    assert any(line.text.startswith("  open    KP-701: saw: KP-701") for line in lines)


def test_a_facet_that_was_not_exercised_says_what_to_set_and_all_reasons_are_there_on_demand() -> None:
    """The words after the first colon say what to do."""
    owners = {check.id for check in CHECKS if check.facet == "owners"}
    report = sample(
        dict.fromkeys(owners, CheckOutcome.INAPPLICABLE), saw="no owners are named: set [owners]", hint=None
    )
    short = [line.text for line in summary_lines(report)]
    assert "  unseen  owners: set [owners]" in short
    assert "  set in  knowledge-conformance.toml, in the folder where the run starts" in short
    assert any(line.endswith("no owners are named: set [owners]") for line in _texts(report, verbose=True))


def test_verbose_is_a_line_for_each_check_and_so_is_a_selection() -> None:
    """Whoever names a few checks wants to see those."""
    report = sample()
    assert _texts(report, verbose=True)[: len(CHECKS)] == [check_line(check) for check in report.checks]
    few = report.model_copy(update={"checks": report.checks[:SELECTION_MAX]})
    assert _texts(few)[:SELECTION_MAX] == [check_line(check) for check in few.checks]
    more = report.model_copy(update={"checks": report.checks[: SELECTION_MAX + 1]})
    assert _texts(more)[0].startswith("  1 Identity")


def test_a_proof_stands_last() -> None:
    """Where one was made."""
    lines = list(summary_lines(sample(proof=PROOF)))
    strong = [line.text.split()[0] for line in lines if line.strong]
    assert strong == ["verdict", "proof"]


def _texts(report: object, *, verbose: bool = False) -> list[str]:
    return [line.text for line in summary_lines(report, verbose=verbose)]  # type: ignore[arg-type] # a Report
