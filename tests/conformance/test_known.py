"""Known failures: accepted as long as they are true, and the run's failure when they are not; written without harm."""

import datetime
import os
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from doors import FEW, SOUND, lines, run_pytest

from knowledge_conformance import api, cli
from knowledge_conformance.catalogue import BY_ID, CHECKS
from knowledge_conformance.faults import LEFT_ALONE, Fault, ProcessFault, fault_result
from knowledge_conformance.known import entry_line, fingerprint, is_known, judged
from knowledge_conformance.known_file import UnwritableError, with_table, write_entries
from knowledge_conformance.report import CheckReport, Report, make_report
from knowledge_conformance.results import BROKEN, CheckOutcome, CheckResult
from knowledge_conformance.running import Run
from knowledge_conformance.settings import KnownFailure, Settings, SettingsError, read_settings
from knowledge_conformance.target import target_of
from knowledge_conformance.verdict import Verdict
from knowledge_fakes import faulty

TODAY = datetime.date(2027, 3, 1)
FILE = "pyproject.toml"
WANTED, SAW = "at most top_k = 5", "8 results"
MARK = fingerprint("KP-304", WANTED, SAW)
DOUBLED = "knowledge_fakes.faulty:duplicate_ids"


def result(outcome: CheckOutcome = CheckOutcome.FAILED, saw: str | None = SAW) -> CheckResult:
    return CheckResult(id="KP-304", outcome=outcome, wanted=WANTED, saw=saw)


def known(**entry: Any) -> Settings:
    return Settings(known_failures={"KP-304": KnownFailure(**{"reason": "the vendor ignores top_k", **entry})})


def found(outcome: CheckOutcome = CheckOutcome.FAILED, saw: str | None = SAW, **entry: Any) -> CheckResult:
    return judged(result(outcome, saw), known(**entry), TODAY, FILE)


# Fingerprints.


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("8 results", "12 results"),
        ("'handbook' at places 0 and 1", "'page 1' at places 2 and 7"),
        (
            "raised ValueError: bad query 00 in acme.search, line 7",
            "raised ValueError: bad 'x' in acme.search, line 12",
        ),
        ("<acme.Doc object at 0x7f00aa>", "<acme.Doc object at 0x1100bb>"),
        ("id 5f0c9f9e-2f43-4f43-9d0e-000000000000", "id 11111111-2222-3333-4444-555555555555"),
        ("an  answer", "an answer"),
        ("x" * 600 + "1 a", "x" * 600 + "2 b"),
        ("the provider's id 'one' is another's", "the provider's id 'other' is another's"),
        ("the owner's query 'it is \\'quoted\\'' was lost", "the owner's query \"it's\" was lost"),
        ("content 'ab'… (1,200 characters) was cut", "content 'x' was cut"),
        ("y" * 589 + " 'one that is cut here", "y" * 589 + " 'another that is cut"),
        ("y" * 589 + " 'a back\\\\slash", "y" * 589 + " '1234567\\'z"),
    ],
)
def test_the_same_failure_has_the_same_fingerprint(one: str, other: str) -> None:
    """Whatever the numbers, ids, places and texts in it are this time."""
    assert fingerprint("KP-304", WANTED, one) == fingerprint("KP-304", WANTED, other)


@pytest.mark.parametrize(
    "other",
    [
        ("KP-506", "a score", "nan"),
        ("KP-304", "another score", "nan"),
        ("KP-304", "a score", "none"),
        ("KP-304", "a score", "raised ValueError: x in acme.search, line 7"),
        ("KP-304", "a score", "raised KeyError: x in acme.search, line 7"),
        ("KP-304", "a score", "raised ValueError: x in acme.other, line 7"),
        ("KP-304", None, None),
        ("KP-304", "a score", "the provider's answer, and not the caller's"),
        ("KP-304", "a score", "the provider's health, and not the caller's"),
    ],
)
def test_another_failure_has_another(other: tuple[str, str | None, str | None]) -> None:
    """Of the same check, too: by the rule, by what was seen, by the error's type and where it was raised."""
    rest = [
        ("KP-304", "a score", "nan"),
        ("KP-304", "a score", "raised ValueError: x in acme.search, line 8"),
        ("KP-304", "a score", "the provider's title, and not the caller's"),
    ]
    same = [each for each in rest if fingerprint(*each) == fingerprint(*other)]
    assert len(same) == (1 if "ValueError: x in acme.search" in (other[2] or "") else 0)


def test_a_fingerprint_is_the_same_on_each_machine() -> None:
    """It is stored in people's files: a change here makes every one of them fail."""
    assert MARK == "9668e56ca4b9"


# What the settings say beside what came.


@pytest.mark.parametrize(
    ("outcome", "mark"), [(CheckOutcome.FAILED, None), *((outcome, MARK) for outcome in sorted(BROKEN))]
)
def test_failing_as_the_entry_says_is_known(outcome: CheckOutcome, mark: str | None) -> None:
    """With the reason; its evidence stays."""
    made = found(outcome, fingerprint=mark, expires=TODAY, url="https://acme.example/1")
    assert (made.outcome, made.saw, made.fingerprint) == (CheckOutcome.KNOWN, SAW, MARK)
    assert made.known == "the vendor ignores top_k (https://acme.example/1), accepted until 2027-03-01"


UNTRUE = [
    (CheckOutcome.FAILED, {"fingerprint": "0" * 12}, CheckOutcome.FAILED, "it is about the failure 000000000000"),
    (CheckOutcome.FAILED, {"expires": "2027-02-28"}, CheckOutcome.FAILED, "it expired on 2027-02-28"),
    (CheckOutcome.ADVISORY, {"fingerprint": "0" * 12}, CheckOutcome.STALE, "it is about the failure 000000000000"),
    (CheckOutcome.ADVISORY, {"expires": "2027-02-28"}, CheckOutcome.STALE, "it expired on 2027-02-28"),
    (CheckOutcome.PASSED, {}, CheckOutcome.STALE, "the check passes; take the entry out"),
    (CheckOutcome.PASSED, {"expires": "2027-02-28"}, CheckOutcome.STALE, "it expired on 2027-02-28"),
    (CheckOutcome.INAPPLICABLE, {}, CheckOutcome.STALE, "the check is inapplicable: 8 results; take the entry out"),
    (CheckOutcome.BLOCKED, {"expires": "2027-02-28"}, CheckOutcome.STALE, "it expired on 2027-02-28"),
    (CheckOutcome.INCONCLUSIVE, {"expires": "2027-02-28"}, CheckOutcome.STALE, "it expired on 2027-02-28"),
]


@pytest.mark.parametrize(("outcome", "entry", "expected", "said"), UNTRUE)
def test_what_is_not_true_any_more_fails_the_run(
    outcome: CheckOutcome, entry: dict[str, Any], expected: CheckOutcome, said: str
) -> None:
    """Each in its own words, which name the file and the entry."""
    made = found(outcome, **entry)
    assert made.outcome is expected
    assert (made.known or "").startswith(f'{FILE}: known-failures: "KP-304": {said}')


LOST = fault_result(BY_ID["KP-304"], ProcessFault(Fault.DIED, 3), calls=1, last_call=None)
STOPPED = result().model_copy(update={"wanted": f"{LEFT_ALONE}its caller's tasks and event loop alone"})


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        (result(CheckOutcome.KIT_ERROR), "an error of the kit's own"),
        (result(CheckOutcome.ERRORED), "an exception that the check did not ask about"),
        (LOST, "a provider that took its process or its loop along"),
        (STOPPED, "a provider that took its process or its loop along"),
    ],
)
def test_an_entry_without_a_fingerprint_is_about_what_the_check_finds(ended: CheckResult, said: str) -> None:
    """Anything else stays what it is, and shows the fingerprint by which that alone can be accepted."""
    made = judged(ended, known(), TODAY, FILE)
    assert made.outcome is ended.outcome
    assert said in (made.known or "")
    again = judged(ended, known(fingerprint=made.fingerprint), TODAY, FILE)
    assert f'fingerprint = "{made.fingerprint}"' in (made.known or "")
    assert again.outcome is CheckOutcome.KNOWN


@pytest.mark.parametrize("outcome", [CheckOutcome.BLOCKED, CheckOutcome.INCONCLUSIVE])
def test_what_could_not_be_tried_says_nothing_of_the_entry(outcome: CheckOutcome) -> None:
    """As a skipped test that is expected to fail does neither pass nor fail."""
    made = found(outcome)
    assert (made.outcome, made.known) == (outcome, f'{FILE}: known-failures: "KP-304" could not be tried')


def test_advice_that_is_known_stays_advice() -> None:
    """It fails no run, so accepting it makes none less than conformant."""
    made = found(CheckOutcome.ADVISORY, fingerprint=MARK)
    assert (made.outcome, made.known) == (CheckOutcome.ADVISORY, "the vendor ignores top_k")


def test_without_an_entry_a_failure_has_its_fingerprint_and_a_pass_nothing() -> None:
    """So that it can be copied."""
    assert judged(result(), Settings(), TODAY, FILE) == result().model_copy(update={"fingerprint": MARK})
    assert judged(result(CheckOutcome.PASSED), Settings(), TODAY, FILE) == result(CheckOutcome.PASSED)


def test_a_secret_in_a_reason_is_not_printed() -> None:
    """People paste links."""
    assert "INVENTED" not in entry_line(KnownFailure(reason="see", url="https://me:INVENTED@acme.example/x"))


def test_a_finding_can_be_asked_about_before_it_is_a_result() -> None:
    """So that a check that draws its inputs does not make a known failure smaller."""
    assert is_known("KP-304", known(), "anything", "at all")
    assert is_known("KP-304", known(fingerprint=MARK), WANTED, "99 results")
    assert not is_known("KP-304", known(fingerprint=MARK), WANTED, "nothing")
    assert not is_known("KP-506", known(), WANTED, SAW)


# A whole run.


def report_of(target: str, settings: Settings, **more: Any) -> Report:
    return Run(target_of(getattr(faulty, target), f"knowledge_fakes.faulty:{target}"), settings, **more).all()


def test_a_run_with_known_failures_alone_succeeds_and_is_not_conformant() -> None:
    """It says what is accepted, and what that keeps from being tried."""
    settings = Settings(examples=1, known_failures={"KP-506": KnownFailure(reason="the vendor has no ids")})
    made = report_of("duplicate_ids", settings, today=TODAY)
    outcomes = {check.id: check for check in made.checks}
    assert (made.verdict, made.conformant, made.accepted, made.exit_code) == (Verdict.KNOWN_FAILURES, False, True, 0)
    assert made.sentence.startswith("known failures: core, but for KP-506 and 1 blocked by it (")
    assert outcomes["KP-506"].known == "the vendor has no ids"
    assert outcomes["KP-516"].saw == "KP-506, a known failure, has to hold first"
    assert "KP-506 (clause 5.3): a known failure: the vendor has no ids" in made.not_established
    with pytest.raises(api.NotConformantError):
        api.assert_conforms(faulty.__getattr__("duplicate_ids"), settings.model_copy(update={"known_failures": {}}))
    assert api.assert_conforms(faulty.__getattr__("duplicate_ids"), settings).verdict is Verdict.KNOWN_FAILURES


def test_an_entry_that_is_not_true_makes_the_run_out_of_date() -> None:
    """The provider is better than the settings say: that is to be mended there."""
    settings = Settings(examples=1, known_failures={"KP-304": KnownFailure(reason="r")})
    given = [judged(CheckResult(id=c.id, outcome=CheckOutcome.PASSED), settings, TODAY, FILE) for c in CHECKS]
    made = make_report("acme:p", given, settings)
    assert (made.verdict, made.exit_code) == (Verdict.OUT_OF_DATE, 1)
    assert made.sentence.startswith("out of date: core")
    assert ", but for KP-304" in made.sentence


def test_a_provider_of_which_nothing_passes_is_never_accepted() -> None:
    """However many failures are known."""
    given = [CheckResult(id=check.id, outcome=CheckOutcome.KNOWN) for check in CHECKS]
    assert make_report("acme:p", given, Settings()).exit_code == 1


def test_a_check_that_there_is_not_is_refused() -> None:
    """Also where settings come from no file."""
    with pytest.raises(SettingsError, match="the settings: known-failures: there is no check 'KP-999'"):
        Run(SOUND, Settings(known_failures={"KP-999": KnownFailure(reason="r")}))


def test_a_known_failure_is_not_made_smaller() -> None:
    """Neither is its back end asked for it; another failure of the same check is. Nor in a trial."""
    asked = []

    class Counting:
        def __init__(self) -> None:
            self.sound = faulty.__getattr__("round_page_sizes")()
            self.describe = self.sound.describe

        def retrieve(self, request: Any, context: Any) -> Any:
            asked.append(request)
            return self.sound.retrieve(request, context)

    def calls(*, trial: bool = False, **entries: KnownFailure) -> tuple[int, CheckResult]:
        asked.clear()
        known = {name.replace("_", "-"): entry for name, entry in entries.items()}
        settings = Settings(known_failures=known, trial=trial)
        running = Run(target_of(Counting, "here:Counting"), settings)
        running.only(BY_ID["KP-303"])
        return len(asked), running.results["KP-303"]

    whole, smallest = calls()
    few, first = calls(KP_303=KnownFailure(reason="r", fingerprint=smallest.fingerprint))
    again, other = calls(KP_303=KnownFailure(reason="r", fingerprint="0" * 12))
    caught, _ = calls(trial=True)
    assert few == caught < whole == again
    assert (smallest.outcome, first.outcome, other.outcome) == (
        CheckOutcome.FAILED,
        CheckOutcome.KNOWN,
        CheckOutcome.FAILED,
    )


# pytest.


def settings_file(folder: Path, text: str) -> Path:
    path = folder / "knowledge-conformance.toml"
    path.write_text(f"examples = 1\n[known-failures]\n{text}\n")
    return path


@pytest.mark.parametrize("more", [[], ["-n", "2", "-p", "xdist"]])
def test_pytest_shows_a_known_failure_as_expected(more: list[str], tmp_path: Path) -> None:
    """By an x, in JUnit as an expected failure, in the report with its reason; with workers, too."""
    settings_file(tmp_path, '"KP-506" = { reason = "the vendor has no ids", expires = 9999-01-01 }')
    done = run_pytest(
        tmp_path, f"--provider={DOUBLED}", "--junitxml=j.xml", "--provider-report=r.json", *more,
        "-k", "KP-506 or KP-503",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "1 passed, 1 known" in done.stdout or "1 known, 1 passed" in done.stdout
    made = Report.model_validate_json((tmp_path / "r.json").read_text())
    (check,) = (check for check in made.checks if check.id == "KP-506")
    assert (check.outcome, check.known) == (CheckOutcome.KNOWN, "the vendor has no ids, accepted until 9999-01-01")
    skipped = ET.parse(tmp_path / "j.xml").getroot().iter("skipped")
    assert [each.get("type") for each in skipped] == ["pytest.xfail"]


def test_runxfail_shows_known_failures_in_full(tmp_path: Path) -> None:
    """As it does of pytest's own."""
    settings_file(tmp_path, '"KP-506" = { reason = "the vendor has no ids" }')
    done = run_pytest(tmp_path, f"--provider={DOUBLED}", "provider::KP-506", "--runxfail")
    assert done.returncode == 1
    assert "  known   the vendor has no ids" in done.stdout


@pytest.mark.parametrize(
    ("target", "entry", "said"),
    [
        (SOUND, '{ reason = "r" }', "the check passes; take the entry out"),
        (DOUBLED, '{ reason = "r", expires = 2020-01-01 }', "it expired on 2020-01-01"),
        (DOUBLED, '{ reason = "r", fingerprint = "000000000000" }', "it is about the failure 000000000000"),
    ],
)
def test_pytest_fails_for_an_entry_that_is_not_true(target: str, entry: str, said: str, tmp_path: Path) -> None:
    """With a line that names file and entry."""
    settings_file(tmp_path, f'"KP-506" = {entry}')
    done = run_pytest(tmp_path, f"--provider={target}", "provider::KP-506")
    assert done.returncode == 1
    (line,) = lines(done.stdout, starting="known ")[:1]
    assert f'knowledge-conformance.toml: known-failures: "KP-506": {said}'[:90] in f"{line} "[8:]


def test_a_class_shows_a_known_failure_as_expected(tmp_path: Path) -> None:
    """In a user's own test file."""
    (tmp_path / "test_mine.py").write_text(
        "from knowledge_conformance import ProviderConformance, Settings\n\n\n"
        "class TestMine(ProviderConformance):\n"
        f"    provider = '{DOUBLED}'\n"
        "    settings = Settings(examples=1, known_failures={'KP-506': {'reason': 'the vendor has no ids'}})\n"
    )
    done = run_pytest(tmp_path, "-q", "-rx")
    assert done.returncode == 0, done.stdout
    assert "known failure: the vendor has no ids" in done.stdout
    assert "1 xfailed" in done.stdout


# Writing.


def test_what_fails_is_written_and_needs_a_reason(tmp_path: Path) -> None:
    """A person decides what is accepted: the next run refuses an entry without a reason."""
    done = run_pytest(tmp_path, f"--provider={DOUBLED}", "provider::KP-506", "--write-known-failures", FEW)
    assert done.returncode == 1
    assert "known   KP-506: new in knowledge-conformance.toml: write a reason beside each" in done.stdout
    path = tmp_path / "knowledge-conformance.toml"
    refused = run_pytest(tmp_path, f"--provider={DOUBLED}", "provider::KP-506")
    assert (refused.returncode, "known-failures.KP-506.reason: is blank" in refused.stdout) == (4, True)
    path.write_text(path.read_text().replace('reason = ""', 'reason = "the vendor has no ids"'))
    assert run_pytest(tmp_path, f"--provider={DOUBLED}", "provider::KP-506").returncode == 0


def test_several_providers_cannot_be_written_at_once(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    """An entry is about one check, whichever provider it failed on."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "knowledge-conformance.toml").write_text("max-calls = 1\n")
    assert cli.main(["run", SOUND, DOUBLED, "--write-known-failures"]) == 4
    assert "--write-known-failures: this run has several providers" in capsys.readouterr().err


def checks(**outcomes: CheckOutcome) -> list[CheckReport]:
    given = [
        CheckResult(id=name.replace("_", "-"), outcome=outcome, fingerprint=MARK) for name, outcome in outcomes.items()
    ]
    return list(make_report("acme:p", given, Settings()).checks)


KEPT = '# mine\r\nqueries = ["""\n[known-failures]\n"""] # why\n\n[owners]\n# last\n'


def test_nothing_else_in_the_file_is_changed(tmp_path: Path) -> None:
    """Comments, order, and a text that only looks like a table."""
    path = tmp_path / "pyproject.toml"
    path.write_text('[project]  # mine\nname = "x"\n\n[tool.other]\nknown-failures = 1 # not ours\n', newline="")
    assert write_entries(
        tmp_path, Settings(), checks(KP_304=CheckOutcome.FAILED, KP_506=CheckOutcome.PASSED), TODAY
    ) == ["KP-304: new in pyproject.toml: write a reason beside each"]
    text = path.read_text()
    assert text.startswith('[project]  # mine\nname = "x"\n\n[tool.other]\nknown-failures = 1 # not ours\n')
    assert text.endswith(
        f'\n[tool.knowledge-conformance.known-failures]\n"KP-304" = {{ reason = "", fingerprint = "{MARK}" }}\n'
    )


def test_entries_keep_what_people_wrote(tmp_path: Path) -> None:
    """A new fingerprint, the old reason; what holds now goes, and what was not run stays."""
    path = tmp_path / "knowledge-conformance.toml"
    path.write_text(
        "[known-failures] # agreed on Monday\n"
        "# ids\n"
        f'KP-304 = {{ reason = "r", fingerprint = "{MARK}" }} # same\n'
        '"KP-506" = { reason = "s", url = "https://a.example/", expires = 2027-01-01, fingerprint = "000000000000" }\n'
        '"KP-507" = { reason = "holds now" }\n'
        '"KP-508" = { reason = "not run" }\n'
        "\n[owners]\n# none\n"
    )
    held = Settings.model_validate(tomllib.loads(path.read_text()))
    given = {"KP_304": CheckOutcome.KNOWN, "KP_506": CheckOutcome.FAILED, "KP_507": CheckOutcome.STALE}
    assert write_entries(tmp_path, held, checks(**given), datetime.date(2027, 1, 1)) == [
        "KP-506: another fingerprint",
        "KP-507: taken out",
    ]
    assert path.read_text() == (
        "[known-failures] # agreed on Monday\n"
        "# ids\n"
        f'KP-304 = {{ reason = "r", fingerprint = "{MARK}" }} # same\n'
        f'"KP-506" = {{ reason = "s", url = "https://a.example/", expires = 2027-01-01, fingerprint = "{MARK}" }}\n'
        '"KP-508" = { reason = "not run" }\n'
        "\n[owners]\n# none\n"
    )
    again = Settings.model_validate(tomllib.loads(path.read_text()))
    same = checks(KP_304=CheckOutcome.KNOWN, KP_506=CheckOutcome.KNOWN)
    said = write_entries(tmp_path, again, same, datetime.date(2027, 1, 1))
    assert said == ["nothing to write: the entries are what a run finds"]


def test_entries_go_into_the_table_that_the_file_is_read_from(tmp_path: Path) -> None:
    """A file of its own may be written as the project file, and what stands outside of that table is refused."""
    path = tmp_path / "knowledge-conformance.toml"
    path.write_text("[tool.knowledge-conformance]\n")
    write_entries(tmp_path, Settings(), checks(KP_304=CheckOutcome.FAILED), TODAY)
    assert "\n[tool.knowledge-conformance.known-failures]\n" in path.read_text()
    path.write_text(path.read_text().replace('reason = ""', 'reason = "r"'))
    assert set(read_settings(tmp_path).known_failures) == {"KP-304"}


@pytest.mark.parametrize("mark", [MARK, "000000000000"])
def test_a_day_that_has_passed_stays_and_is_said(tmp_path: Path, mark: str) -> None:
    """It is somebody's promise, which no option makes longer; the next run fails by it, so it is no surprise."""
    path = tmp_path / "knowledge-conformance.toml"
    path.write_text(
        f'[known-failures]\n"KP-304" = {{ reason = "r", expires = 2027-02-28, fingerprint = "{mark}" }}\n'
        '"KP-506" = { reason = "not run", expires = 2027-03-01 }\n'
        '"KP-507" = { reason = "holds", expires = 2027-01-01 }\n'
    )
    held = Settings.model_validate(tomllib.loads(path.read_text()))
    said = write_entries(tmp_path, held, checks(KP_304=CheckOutcome.FAILED, KP_507=CheckOutcome.STALE), TODAY)
    assert said == [
        *(["KP-304: another fingerprint"] if mark != MARK else []),
        "KP-507: taken out",
        "KP-304: expired on 2027-02-28, which stays: the next run fails until you write another day or mend it",
    ]
    written = Settings.model_validate(tomllib.loads(path.read_text())).known_failures
    assert {check_id: str(entry.expires) for check_id, entry in written.items()} == {
        "KP-304": "2027-02-28",
        "KP-506": "2027-03-01",
    }
    again = write_entries(tmp_path, Settings(known_failures=written), checks(KP_304=CheckOutcome.FAILED), TODAY)
    assert again == said[-1:]


UNSAFE = {
    "a text that looks like our table": KEPT,
    "entries as dotted keys": "known-failures.KP-506.reason = 'r'\n",
    "entries as tables": "[known-failures.KP-506]\nreason = 'r'\n",
    "an inline table": "known-failures = { KP-506 = { reason = 'r' } }\n",
    "no TOML": "queries = [",
}


@pytest.mark.parametrize("text", UNSAFE.values(), ids=UNSAFE)
def test_a_file_that_cannot_be_changed_safely_is_left_alone(text: str, tmp_path: Path) -> None:
    """The table is shown, for a person to put there."""
    path = tmp_path / "knowledge-conformance.toml"
    path.write_text(text, newline="")
    before = path.read_bytes()
    with pytest.raises(UnwritableError) as caught:
        write_entries(tmp_path, Settings(), checks(KP_304=CheckOutcome.FAILED), TODAY)
    assert '"KP-304" = { reason = "", fingerprint = ' in str(caught.value)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]  # noqa: PTH208 - names are what is compared


def test_line_ends_and_permissions_stay(tmp_path: Path) -> None:
    """And a link stays a link."""
    real = tmp_path / "real.toml"
    real.write_bytes(b"timeout = 2.0\r\n")
    real.chmod(0o640)
    (tmp_path / "knowledge-conformance.toml").symlink_to(real)
    write_entries(tmp_path, Settings(), checks(KP_304=CheckOutcome.FAILED), TODAY)
    assert real.read_bytes().count(b"\r\n") == real.read_bytes().count(b"\n") == 4
    assert real.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "knowledge-conformance.toml").is_symlink()


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk loses nothing."""
    path = tmp_path / "knowledge-conformance.toml"
    path.write_text("timeout = 2.0\n")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UnwritableError, match=r"cannot write knowledge-conformance\.toml: No space left"):
        write_entries(tmp_path, Settings(), checks(KP_304=CheckOutcome.FAILED), TODAY)
    assert path.read_text() == "timeout = 2.0\n"
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("reason", ['a "quoted" \\ text', "ü 字 🙂", "tab\there"])
def test_any_reason_is_written_as_it_was(reason: str) -> None:
    """As TOML reads it."""
    entry = {"reason": reason, "fingerprint": MARK}
    assert tomllib.loads(with_table("", "known-failures", {"KP-304": entry})) == {"known-failures": {"KP-304": entry}}
