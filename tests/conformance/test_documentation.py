"""The generated documentation: every check has its entry, and the command writes every file."""

import json
import re
from pathlib import Path

import pytest

from knowledge_conformance import documentation
from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.check import Check, number_of
from knowledge_conformance.kinds import KINDS
from knowledge_conformance.report import report_schema
from knowledge_fakes.access_faults import ACCESS_FAULTS
from knowledge_fakes.composite_faults import COMPOSITE_FAULTS
from knowledge_fakes.faults import FAULTS, Fault
from knowledge_fakes.host_faults import HOST_FAULTS
from knowledge_fakes.making import MakerFault
from knowledge_fakes.merging_faults import MERGING_FAULTS
from knowledge_fakes.renderer_faults import RENDERER_FAULTS
from knowledge_fakes.source_faults import SOURCE_FAULTS
from knowledge_provider.schemas import wire_schemas

PAGE = documentation.checks_page()
each = pytest.mark.parametrize("check", BY_ID.values(), ids=BY_ID)
MISTAKES: list[Fault | MakerFault] = [
    *FAULTS.values(),
    *HOST_FAULTS.values(),
    *COMPOSITE_FAULTS.values(),
    *SOURCE_FAULTS.values(),
    *MERGING_FAULTS.values(),
    *ACCESS_FAULTS.values(),
    *RENDERER_FAULTS.values(),
]
NOT_TESTED = {clause: reason for kind in KINDS.values() for clause, reason in kind.not_tested.items()}


def entry(check_id: str) -> str:
    """What stands under a check's heading."""
    return PAGE.split(f"\n### {check_id}\n")[1].split("\n##")[0]


def test_every_check_has_one_heading() -> None:
    """The id alone is the heading, so that its anchor can be guessed: checks.md#kp-304."""
    assert re.findall(r"^### (.+)$", PAGE, re.MULTILINE) == [
        check.id for check in sorted(BY_ID.values(), key=number_of)
    ]


@each
def test_an_entry_says_what_the_check_is(check: Check) -> None:
    """Title, level, clause, facet, rationale and least number of observations."""
    text = entry(check.id)
    assert f"**{check.title}**\n{check.level}, clause [{check.clause}](contract.md#" in text
    assert f"facet {check.facet}." in text
    assert check.rationale in text
    assert f"- Observations: at least {check.minimum}\n" in text


@each
def test_an_entry_links_what_it_needs(check: Check) -> None:
    """Each prerequisite is a link to its own entry."""
    linked = re.findall(r"\[(KP-\d+)\]\(#(kp-\d+)\)", entry(check.id))
    assert tuple(name for name, _ in linked) == check.needs
    assert all(name.lower() == anchor for name, anchor in linked)


@each
def test_an_entry_has_mistakes_that_the_check_is_proved_to_catch(check: Check) -> None:
    """They are the summaries of faults that trip this check before any other, a handful at most."""
    shown = re.findall(r"^  - (.+)$", entry(check.id), re.MULTILINE)
    assert 1 <= len(shown) <= documentation.EXAMPLES_MAX
    assert set(shown) <= {fault.summary for fault in MISTAKES if fault.trips[0] == check.id}


@pytest.mark.parametrize(
    ("check_id", "calls"),
    [("KP-101", "none"), ("KP-102", "at most 1"), ("KP-301", "the survey"), ("KP-305", "at most 3 and the survey")],
)
def test_an_entry_says_what_the_check_costs(check_id: str, calls: str) -> None:
    """Whoever pays for each call of a back end can tell."""
    assert f"- Calls: {calls}\n" in entry(check_id)


def test_what_is_not_tested_is_a_table() -> None:
    """Every clause without a check, with the reason."""
    table = PAGE.partition("## Not tested, because")[2]
    assert dict(re.findall(r"^\| (\d.*?) \| (.*?) \|$", table, re.MULTILINE)) == dict(NOT_TESTED)


def test_the_page_holds_no_markup_by_accident() -> None:
    """Titles and reasons are prose: nothing in them is read as HTML, and no table row breaks."""
    assert re.findall(r"<(?!!--)[a-z/]", PAGE) == []
    assert all("|" not in reason for reason in NOT_TESTED.values())


def test_the_schemas_are_files() -> None:
    """One file for each wire shape, and one for the report."""
    files = documentation.generated()
    expected = {**wire_schemas(), "report": report_schema()}
    assert {path: json.loads(text) for path, text in files.items() if path != "checks.md"} == {
        f"schemas/{name}.json": schema for name, schema in expected.items()
    }


def test_the_command_writes_every_file(tmp_path: Path) -> None:
    """It makes the folders that it needs, and writes the same bytes each time."""
    for _ in range(2):
        assert documentation.main([str(tmp_path / "docs")]) == 0
        written = {path: (tmp_path / "docs" / path).read_text(encoding="utf-8") for path in documentation.generated()}
        assert written == documentation.generated()


@pytest.mark.parametrize("arguments", [[], ["docs", "more"]])
def test_the_command_wants_one_folder(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Without a folder nothing is written."""
    assert documentation.main(arguments) == 4
    assert "usage: python -m knowledge_conformance.documentation FOLDER" in capsys.readouterr().err
