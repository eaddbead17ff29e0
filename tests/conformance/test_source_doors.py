"""The doors for sources and merging hosts: options, node ids, settings, reports, classes and functions."""

import asyncio
import json
from pathlib import Path

import pytest
from doors import ids_in, lines, run_pytest

from knowledge_conformance import Settings, assert_conforms, cli
from knowledge_conformance import run as run_kit
from knowledge_conformance.api import NotConformantError
from knowledge_conformance.kinds import MERGING, SOURCE
from knowledge_conformance.page import page
from knowledge_conformance.report import Report
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.target import TargetError
from knowledge_conformance.terminal import failure_lines
from knowledge_fakes import faulty_merging, faulty_sources
from knowledge_fakes.merging import reference
from knowledge_fakes.sources import HandbookSource

OURS = "knowledge_fakes.sources:handbook_source"
LINKED = "knowledge_fakes.faulty_sources:link_as_uri"
OUR_MERGING = "knowledge_fakes.merging:reference"
BOUND = Settings(references=({"id": "engineering"}, {"id": "people"}), queries=("release policy", "parental leave"))


def test_both_kinds_are_checked_in_one_run(tmp_path: Path) -> None:
    """Each has its own section and report, which name the kind in words."""
    done = run_pytest(
        tmp_path, f"--source={OURS}", f"--merging={OUR_MERGING}", "--source-reference=engineering",
        "--source-reference=people", "--provider-report=found.json", "-n0", "-p", "xdist",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert f"knowledge source {OURS}" in done.stdout
    assert f"knowledge merging host {OUR_MERGING}" in done.stdout
    reports = [Report.model_validate_json(path.read_text()) for path in sorted(tmp_path.glob("found*.json"))]
    assert {report.target: (report.kind, report.conformant) for report in reports} == {
        OURS: ("source", True),
        OUR_MERGING: ("merging", True),
    }
    shown = page(reports)
    assert "Every merging host by every check" in shown
    assert "Every source by every check" in shown


def test_a_failure_names_the_command_that_shows_it_again(tmp_path: Path) -> None:
    """With the references, which the command line named."""
    done = run_pytest(tmp_path, f"--source={LINKED}", "--source-reference=support", "source::KP-1006")
    assert done.returncode == 1
    assert "KP-1006 failed: " in done.stdout
    (again,) = {line.partition("again   ")[2] for line in done.stdout.splitlines() if "again   " in line}
    repeated = run_pytest(tmp_path, *again.split()[1:])
    assert (repeated.returncode, ids_in(repeated.stdout)) == (1, ["KP-1006"])


def test_without_a_token_the_command_has_what_was_set() -> None:
    """References that an id names; what else they have stands in the file."""
    result = CheckResult(id="KP-1006", outcome=CheckOutcome.FAILED, wanted="w", saw="s")
    bound = Settings(references=({"id": "a b"}, {"id": "c", "name": "C"}), queries=("q",), timeout=3.0, max_calls=50)
    (again,) = (line for line in failure_lines(result, OURS, bound) if line.startswith("  again"))
    assert again.split("pytest ")[1] == (
        f"--source={OURS} source::KP-1006 '--source-reference=a b' --provider-query=q --provider-timeout=3.0 "
        "--max-calls=50"
    )


def test_references_of_a_file_are_asked_for(tmp_path: Path) -> None:
    """By the script, too; a source's calls are bounded as a provider's are."""
    (tmp_path / "knowledge-conformance.toml").write_text("references = [{ id = 'support' }]\nmax-calls = 5\n")
    done = run_pytest(tmp_path, f"--source={OURS}", "--provider-report=found.json")
    assert done.returncode == 1
    report = json.loads((tmp_path / "found.json").read_text())
    assert report["verdict"] == "inconclusive"
    assert 0 < sum(check["calls"] for check in report["checks"]) <= 5


def test_the_script_checks_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With an exit code for all of them."""
    monkeypatch.chdir(tmp_path)
    assert cli.main(["run", "--source", OURS]) == 1
    printed = capsys.readouterr().out
    assert f"knowledge source {OURS}" in printed
    assert "verdict inconclusive" in printed
    assert cli.main(["run", "--merging", OUR_MERGING, "--report", "found.json"]) == 0
    assert f"knowledge merging host {OUR_MERGING}" in capsys.readouterr().out
    assert json.loads((tmp_path / "found.json").read_text())["kind"] == "merging"


UNUSABLE = {
    "--source=knowledge_fakes.sources:SECRET_URL": f"wanted {SOURCE.wanted}",
    "--merging=knowledge_fakes.handbook:provider": f"wanted {MERGING.wanted}",
    f"--merging={OUR_MERGING} merging::KP-1001": "there is no check 'KP-1001' of a merging host",
    f"--source={OURS} merging::KP-1051": "there is no merging host in this run; name one with --merging",
    f"--source={OURS} --source-reference=https://x.example.com": "command line: references.0: is no reference: id",
    f"--source={OURS}+scores_as_text": "only a provider can be given one",
}


@pytest.mark.parametrize(("arguments", "fragment"), UNUSABLE.items(), ids=UNUSABLE)
def test_what_cannot_be_used_is_one_line_and_4(arguments: str, fragment: str, tmp_path: Path) -> None:
    """What was wanted, and what came."""
    done = run_pytest(tmp_path, *arguments.split())
    assert done.returncode == 4, done.stdout
    (line,) = lines(done.stdout, starting="ERROR: ")
    assert fragment in line


CLASSES = f"""
from knowledge_conformance import MergingConformance, Settings, SourceConformance
from knowledge_fakes.merging import reference
from knowledge_fakes.sources import HandbookSource

class TestSource(SourceConformance):
    source = HandbookSource
    settings = Settings(references=({{"id": "support"}},))

class TestLinked(SourceConformance):
    source = "{LINKED}"
    settings = Settings(references=({{"id": "support"}},))

class TestMerging(MergingConformance):
    merging = staticmethod(reference)

class TestUnset(SourceConformance):
    pass
"""


def test_the_same_through_classes(tmp_path: Path) -> None:
    """One test for each check and one for the verdict."""
    (tmp_path / "test_mine.py").write_text(CLASSES)
    done = run_pytest(tmp_path, "test_mine.py", "-q", "-k", "KP-1006 or KP-1051", "-rA", "--tb=short")
    passed = lines(done.stdout, starting="PASSED ")
    assert sorted(line.split("::", 1)[1] for line in passed) == [
        "TestMerging::test_check[KP-1051]",
        "TestSource::test_check[KP-1006]",
    ]
    assert "KP-1006 failed: " in done.stdout
    assert "TestUnset.source is not set: 'module:obj', or a retrieval source, or what makes one" in done.stdout


def test_the_same_through_functions() -> None:
    """``run`` reports, ``assert_conforms`` raises with everything in it."""
    report = asyncio.run(run_kit(HandbookSource, BOUND, kind="source"))
    assert (report.kind, report.conformant) == ("source", True)
    with pytest.raises(NotConformantError, match="KP-1006 failed") as caught:
        assert_conforms(faulty_sources.link_as_uri, BOUND, kind="source")
    assert caught.value.report.noun == "source"
    with pytest.raises(NotConformantError, match="KP-1051 failed"):
        assert_conforms(faulty_merging.sources_before_its_own, kind="merging")


def test_a_factory_of_this_process_alone_is_driven_in_it() -> None:
    """A lambda has no name that another process could import; a finished source lives for the whole run."""
    merging = assert_conforms(
        lambda built_in, sources, *, timeout: reference(built_in, sources, timeout=timeout), kind="merging"
    )
    assert merging.conformant
    assert assert_conforms(HandbookSource(), BOUND, kind="source").conformant


def test_a_wrong_factory_is_refused_before_it_is_driven() -> None:
    """One that takes no built-in knowledge cannot be given any."""
    with pytest.raises(TargetError, match="wanted what makes a merging host, called as factory"):
        assert_conforms(lambda sources, *, timeout: None, kind="merging")
