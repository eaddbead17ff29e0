"""What readers look for in a report, and files that are none."""

import json
import re
from pathlib import Path

import pytest
from sample_reports import sample

from knowledge_conformance.catalogue import BY_ID, CHECKS
from knowledge_conformance.check import Facet
from knowledge_conformance.reading import (
    CHAPTERS,
    MARKS,
    Tone,
    UnreadableError,
    again,
    chapters,
    read_report,
    to_look_at,
    tone,
    unseen,
)
from knowledge_conformance.results import FAILING, CheckOutcome

CONTRACT = Path(__file__).parents[2] / "docs" / "contract.md"


def test_the_chapters_are_the_contracts() -> None:
    """By number and name, and every check is in one."""
    assert dict(re.findall(r"^## (\d+) (.+)$", CONTRACT.read_text(encoding="utf-8"), re.MULTILINE)) == dict(CHAPTERS)
    assert {check.clause.partition(".")[0] for check in BY_ID.values()} <= set(CHAPTERS)


def test_chapters_are_in_their_order_and_keep_that_of_the_checks() -> None:
    """Though the catalogue goes back and forth; the tenth comes after the ninth."""
    report = sample()
    late = [report.checks[0].model_copy(update={"clause": clause}) for clause in ("10.1", "9.1")]
    found = chapters([*late, *report.checks])
    assert [name.split()[0] for name in found] == ["1", "2", "3", "4", "5", "6", "7", "9", "10"]
    assert sum(map(len, found.values())) == len(CHECKS) + 2


@pytest.mark.parametrize("outcome", CheckOutcome)
def test_every_outcome_has_a_tone_and_a_mark(outcome: CheckOutcome) -> None:
    """Only what fails is bad, only what passed is good."""
    assert (tone(outcome) is Tone.BAD) is (outcome in FAILING)
    assert (tone(outcome) is Tone.GOOD) is (outcome is CheckOutcome.PASSED)
    assert len(MARKS[outcome]) == 1


def test_what_is_to_be_looked_at_begins_with_failures() -> None:
    """Passes and what does not concern the provider are no part of it."""
    report = sample({"KP-101": CheckOutcome.ADVISORY, "KP-304": CheckOutcome.FAILED})
    assert [check.id for check in to_look_at(report)] == ["KP-304", "KP-101"]


def test_what_was_not_exercised_says_why_in_the_words_of_its_musts() -> None:
    """Once for each reason."""
    names = {check.id for check in CHECKS if check.facet is Facet.OWNERS}
    report = sample(dict.fromkeys(names, CheckOutcome.INAPPLICABLE), saw="no owners", hint="name two")
    assert unseen(report)[Facet.OWNERS] == ["no owners; name two"]
    assert Facet.CORE not in unseen(report)


def test_a_command_does_no_more_than_it_says() -> None:
    """A report may be a file that anybody wrote."""
    report = sample({"KP-304": CheckOutcome.FAILED}, target="acme:x; rm -rf ~")
    failed = to_look_at(report)[0]
    assert again(failed, report) == "pytest '--provider=acme:x; rm -rf ~' provider::KP-304"
    assert again(failed, report.model_copy(update={"target": "test_x:<lambda>"})) is None
    token = failed.model_copy(update={"replay": "KP-304.1.abc"})
    assert str(again(token, report)).endswith(" --replay=KP-304.1.abc")


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    """All of it."""
    report = sample({"KP-304": CheckOutcome.FAILED})
    (tmp_path / "report.json").write_text(report.to_json(), encoding="utf-8")
    assert read_report(tmp_path / "report.json") == report


def test_a_report_from_before_there_were_profiles_is_read(tmp_path: Path) -> None:
    """As one of the default profile, which is what was run then."""
    path, held = tmp_path / "report.json", json.loads(sample().to_json())
    del held["profile"]
    path.write_text(json.dumps(held))
    assert read_report(path) == sample()


def test_nothing_in_a_file_moves_the_terminal(tmp_path: Path) -> None:
    """It may be written by anybody; what was asked is data, and stays as it is."""
    given = {"request": {"query": "a\nb"}}
    bad = sample({"KP-304": CheckOutcome.FAILED}, saw="\x1b[2J\u202e", input=given, target="x:\x07")
    (tmp_path / "report.json").write_text(bad.to_json(), encoding="utf-8")
    report = read_report(tmp_path / "report.json")
    failed = to_look_at(report)[0]
    assert (report.target, failed.saw, failed.input) == ("x:\\x07", "\\x1b[2J\\u202e", given)


BAD = {
    b"": "Invalid JSON",
    b"[]": "should be an object",
    b"{}": "Field required",
    b"\xff\xfe": "Invalid JSON",
    b"{" * 100_000: "Invalid JSON",
    sample().to_json().replace('"conformant"', '"splendid"').encode(): "verdict: Input should be 'conformant'",
    sample().to_json().replace('"provider"', '"\\u001b[31m"').encode(): "kind: Input should be 'provider'",
}


@pytest.mark.parametrize(("data", "fragment"), BAD.items(), ids=BAD.values())
def test_a_file_that_is_no_report_is_one_line(data: bytes, fragment: str, tmp_path: Path) -> None:
    """With its name, and what is wrong with it."""
    (tmp_path / "bad.json").write_bytes(data)
    with pytest.raises(UnreadableError) as caught:
        read_report(tmp_path / "bad.json")
    assert fragment in str(caught.value)
    assert "bad.json" in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_file_that_is_not_there_or_too_large_is_one_line(tmp_path: Path) -> None:
    """A folder is none, either."""
    for path, fragment in ((tmp_path / "none.json", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(UnreadableError, match=fragment):
            read_report(path)
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(40 << 20)
    with pytest.raises(UnreadableError, match="larger than 32 MiB"):
        read_report(tmp_path / "large.json")
