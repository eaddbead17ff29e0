"""The console script: what it prints, and how it ends."""

import json
import sys
from pathlib import Path

import pytest
from doors import SOUND, run
from sample_reports import PROOF, sample

from knowledge_conformance import cli
from knowledge_conformance.catalogue import BY_ID, CHECKS, NOT_TESTED
from knowledge_conformance.results import CheckOutcome
from knowledge_conformance.writing import write_reports

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the script is called."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_check_is_listed_with_what_is_not_tested(capsys: Capture) -> None:
    """By its permanent id."""
    assert cli.main(["checks"]) == 0
    printed = capsys.readouterr().out
    assert [line.split()[0] for line in printed.splitlines() if line.startswith("KP-")] == list(BY_ID)
    for clause, reason in NOT_TESTED.items():
        assert any(clause in line and reason in line for line in printed.splitlines())


@pytest.mark.parametrize("name", ["KP-304", "kp-304"])
def test_a_check_is_explained(name: str, capsys: Capture) -> None:
    """However its id is written."""
    assert cli.main(["explain", name]) == 0
    assert capsys.readouterr().out.startswith(f"KP-304: {BY_ID['KP-304'].title}\n")


@pytest.mark.parametrize("name", ["KP-999", "", "304", "KP-304\n"])
def test_an_unknown_check_is_one_line_and_4(name: str, capsys: Capture) -> None:
    """With where to find the known ones."""
    assert cli.main(["explain", name]) == 4
    assert capsys.readouterr().err == f"knowledge-kit: there is no check {name!r}; knowledge-kit checks lists them\n"


@pytest.mark.parametrize("arguments", [[], ["nothing"], ["run", "--nothing"], ["explain"], ["run", SOUND, "--report"]])
def test_a_wrong_command_line_is_4(arguments: list[str], capsys: Capture) -> None:
    """As pytest's own; 2 would be taken for an interruption."""
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 4
    assert capsys.readouterr().err.startswith("usage: knowledge-kit")


def test_help_and_version_succeed(capsys: Capture) -> None:
    """With what was asked for on standard output."""
    for option in ("--help", "--version"):
        with pytest.raises(SystemExit) as caught:
            cli.main([option])
        assert caught.value.code == 0
    assert "knowledge-kit 0." in capsys.readouterr().out


def test_a_conformant_provider_is_0(folder: Path, capsys: Capture) -> None:
    """With -v one line for each check, the verdict, and the report as JSON where that was asked for."""
    assert cli.main(["run", SOUND, "-v", "--report", "deep/down/report.json"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == f"knowledge provider {SOUND}"
    assert [line.split()[0] for line in printed if line.startswith("KP-")] == [check.id for check in CHECKS]
    assert any(line.startswith("  verdict conformant: core") for line in printed)
    assert json.loads((folder / "deep/down/report.json").read_text())["verdict"] == "conformant"


def test_another_provider_is_1_with_each_failure_in_full(folder: Path, capsys: Capture) -> None:
    """Also when the next one conforms: several providers end as the worst of them does."""
    assert cli.main(["run", "hostile_providers:exits_describing", SOUND, SOUND]) == 1
    printed = capsys.readouterr().out
    assert printed.count("knowledge provider ") == 2
    assert "KP-102 failed: describe()" in printed
    assert "saw     the provider's process ended itself with exit status 0" in printed


def test_several_reports_are_told_apart_by_their_targets(folder: Path) -> None:
    """One does not take the place of the other."""
    settings(folder, "max-calls = 1")
    assert cli.main(["run", SOUND, "knowledge_fakes.handbook:sync_provider", "--report", "report.json"]) == 1
    names = {path.name for path in folder.glob("*.json")}
    assert names == {
        "report-knowledge_fakes.handbook-provider.json".replace("_", "-"),
        "report-knowledge_fakes.handbook-sync_provider.json".replace("_", "-"),
    }


def settings(folder: Path, text: str) -> None:
    (folder / "knowledge-conformance.toml").write_text(text)


def test_without_a_target_the_settings_name_the_providers(folder: Path, capsys: Capture) -> None:
    """And everything else that holds for them."""
    settings(folder, f'providers = ["{SOUND}", "{SOUND}"]\nmax-calls = 1')
    assert cli.main(["run"]) == 1
    printed = capsys.readouterr().out
    assert printed.count("knowledge provider ") == 1
    assert "stopped by --max-calls=1" in " ".join(printed.split())


REFUSED = {
    "": "name a provider, such as acme.search:provider, or set providers in the settings",
    'providers = ["nowhere:provider"]': "cannot load nowhere:provider: there is no module 'nowhere'",
    'providers = ["no colon"]': "'no colon' is not a target",
    "timeout = 0": "knowledge-conformance.toml: timeout: wanted a number greater than 0, and 0 came",
    "[known-failures]\nKP-999 = { reason = 'r' }": "known-failures: there is no check 'KP-999'",
    "x =": "knowledge-conformance.toml: cannot be read as TOML",
}


@pytest.mark.parametrize(("text", "fragment"), REFUSED.items())
def test_what_cannot_be_run_is_one_line_and_4(text: str, fragment: str, folder: Path, capsys: Capture) -> None:
    """Nothing else is printed."""
    settings(folder, text)
    assert cli.main(["run"]) == 4
    printed = capsys.readouterr()
    assert fragment in printed.err
    assert (printed.err.count("\n"), printed.out) == (1, "")


def test_a_report_that_cannot_be_written_is_one_line_and_4(folder: Path, capsys: Capture) -> None:
    """After everything was printed."""
    settings(folder, "max-calls = 1")
    assert cli.main(["run", SOUND, "--report", "/proc/nowhere/report.json"]) == 4
    printed = capsys.readouterr()
    assert printed.err.startswith("knowledge-kit: --report: cannot write /proc/nowhere/report.json: ")
    assert "  verdict inconclusive" in printed.out


def test_where_no_test_can_be_written_nothing_is_run(folder: Path, capsys: Capture) -> None:
    """A run may take long, and its end is late to hear of it."""
    (folder / "out").write_text("a file")
    for place, there in (("out", "it is no folder"), ("out/more", f"{folder / 'out'} is no folder")):
        assert cli.main(["run", SOUND, "--emit-repro", place]) == 4
        printed = capsys.readouterr()
        assert printed.err == (
            f"knowledge-kit: --emit-repro: cannot write into {place}: {there}; "
            "name a folder, which is made where it is missing\n"
        )
        assert printed.out == ""


def test_the_script_runs_in_the_folder_where_it_is_called(tmp_path: Path) -> None:
    """The author's own module is found there, though files beside it are named as the standard library's are."""
    settings(tmp_path, "max-calls = 12")
    (tmp_path / "mine.py").write_text("import urllib.request\nfrom knowledge_fakes.handbook import provider")
    for name in ("json", "logging", "asyncio", "http", "queue"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('shadowed')")
    script = Path(sys.executable).with_name("knowledge-kit")
    done = run(tmp_path, [str(script), "run", "-v", "mine:provider"])
    assert done.returncode == 1
    assert "KP-301  passed" in done.stdout


def test_the_module_is_a_program_too(tmp_path: Path) -> None:
    """Where scripts are not on the path."""
    assert run(tmp_path, [sys.executable, "-m", "knowledge_conformance.cli", "explain", "KP-101"]).returncode == 0


# Reports.


@pytest.fixture
def stored(folder: Path) -> Path:
    """Two reports in files, the second one worse."""
    write_reports(folder / "old.json", [sample()])
    write_reports(folder / "new.json", [sample({"KP-304": CheckOutcome.FAILED})])
    return folder


def test_reports_become_a_page_and_a_summary(stored: Path, capsys: Capture) -> None:
    """Several side by side, and nothing is printed."""
    assert cli.main(["report", "old.json", "new.json", "-o", "out/page.html", "-o", "summary.md"]) == 0
    assert capsys.readouterr().out == ""
    assert "2 conformance reports" in (stored / "out/page.html").read_text()
    assert "## ✗ not conformant" in (stored / "summary.md").read_text()


def test_a_report_is_printed_again(stored: Path, capsys: Capture) -> None:
    """As Markdown, or as it was on the screen."""
    assert cli.main(["report", "new.json", "--markdown"]) == 0
    assert capsys.readouterr().out.startswith("## ✗ not conformant")
    assert cli.main(["report", "new.json"]) == 0
    printed = capsys.readouterr().out
    assert "KP-304 failed: An answer has at most top_k results." in printed
    assert "KP-304  failed" in printed
    assert "  verdict not conformant" in printed


@pytest.mark.parametrize(("names", "code"), [(("old", "new"), 1), (("new", "old"), 0), (("old", "old"), 0)])
def test_what_is_worse_is_1(names: tuple[str, str], code: int, stored: Path, capsys: Capture) -> None:
    """What is better, or as it was, is 0."""
    assert cli.main(["diff", *(f"{name}.json" for name in names)]) == code
    assert ("newly failing" in capsys.readouterr().out) is bool(code)


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["diff", "old.json", "none.json"], "'none.json': cannot be read: No such file or directory"),
        (["report", "bad.json"], "'bad.json': is no report of this version of the kit: Invalid JSON"),
        (["report", "old.json", "-o", "page.pdf"], "page.pdf: a report is written as what its name ends in"),
        (["report", "old.json", "-o", "/proc/nowhere/page.html"], "-o: cannot write /proc/nowhere/page.html: "),
        (["diff", "old.json", "host.json"], "one report is about a provider and one about a host"),
        (["report", "newer.json"], "this version of the kit has no check KP-9999; a page shows it (-o)"),
        (["run", SOUND, "--report", "x"], "x: a report is written as what its name ends in"),
    ],
)
def test_what_cannot_be_read_or_written_is_one_line_and_4(
    arguments: list[str], fragment: str, stored: Path, capsys: Capture
) -> None:
    """And nothing else."""
    (stored / "bad.json").write_text("no")
    (stored / "newer.json").write_text(sample().to_json().replace("KP-304", "KP-9999"))
    write_reports(stored / "host.json", [sample().model_copy(update={"kind": "host"})])
    assert cli.main(arguments) == 4
    printed = capsys.readouterr()
    assert fragment in printed.err
    assert (printed.err.count("\n"), printed.out) == (1, "")


def test_a_proof_is_printed_and_written(folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the rest of the report."""
    monkeypatch.setattr("knowledge_conformance.proving.prove", lambda *_args, **_given: PROOF)
    settings(folder, "max-calls = 1")
    assert cli.main(["run", SOUND, "--prove", "--report", "report.json"]) == 1
    assert f"  proof   {PROOF.sentence}" in capsys.readouterr().out
    assert json.loads((folder / "report.json").read_text())["proof"]["trials"][2]["ending"] == "missed"
