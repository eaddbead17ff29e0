"""The kit itself never shows a secret: not in any of its outputs, however a provider lets it out."""

import html
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from doors import FEW, run, run_pytest
from leaking import LEAKS

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.summary import summary_lines
from knowledge_conformance.taint import Found, found_in
from knowledge_conformance.target import load
from knowledge_conformance.terminal import failure_lines
from knowledge_fakes.faults import Fault, links
from knowledge_fakes.faults.secrets import VALUE, VARIABLE

# One of the faults warns, in this process, where warnings are errors.
pytestmark = pytest.mark.filterwarnings("ignore:Tarnbrook keys:DeprecationWarning")
ALL = "leaking:everywhere"
# Beside the faults of clause 6.4, those whose credential the kit is never told.
INVENTED = {"LINK": "glpat-INVENTED", "SIGNATURE": "0f1e2d3c", "KEY_ID": "AKIAIOSFODNN7EXAMPLE"}
CLASS_DOOR = f"""
from knowledge_conformance import ProviderConformance, Settings

class TestLeaking(ProviderConformance):
    provider = "{ALL}"
    settings = Settings(secrets=("{VARIABLE}",), examples=1)
"""
FUNCTION_DOOR = f"""
from knowledge_conformance import Settings, assert_conforms

def test_leaking():
    assert_conforms("{ALL}", Settings(secrets=("{VARIABLE}",), examples=1))
"""


def shown_in(text: str) -> Found | None:
    """The key in an output, as it stands there and as a reader of XML or HTML sees it."""
    return found_in(f"{text}\n{html.unescape(text)}", {VARIABLE: VALUE})


WRITTEN = ("report.json", "report.html", "report.md")
REPORTS = tuple(f"--provider-report={name}" for name in WRITTEN)


def settled(folder: Path) -> Path:
    (folder / "knowledge-conformance.toml").write_text(f'secrets = ["{VARIABLE}"]\n', encoding="utf-8")
    return folder


def pytest_door(folder: Path, *arguments: str) -> Iterator[str]:
    """The terminal with all that it can say, JUnit and the report."""
    door = ("-v", "-rA", "--showlocals", FEW, "--junitxml=junit.xml", *REPORTS)
    yield run_pytest(settled(folder), f"--provider={ALL}", *door, *arguments, **{VARIABLE: VALUE}).stdout
    yield from ((folder / name).read_text(encoding="utf-8") for name in ("junit.xml", *WRITTEN))


def in_process(folder: Path) -> Iterator[str]:
    """The same where pytest captures what the provider writes."""
    return pytest_door(folder, "--in-process")


def console_script(folder: Path) -> Iterator[str]:
    """knowledge-kit, with its reports, and what it makes of one later, when it is not told the key."""
    kit = [sys.executable, "-P", "-m", "knowledge_conformance.cli"]
    reports = [part for name in WRITTEN for part in ("--report", name)]
    yield run(settled(folder), [*kit, "run", ALL, *reports], **{VARIABLE: VALUE}).stdout
    yield from ((folder / name).read_text(encoding="utf-8") for name in WRITTEN)
    for later in (["report", "report.json", "-v"], ["report", "report.json", "--markdown"]):
        yield run(folder, [*kit, *later]).stdout


def files_of_tests(folder: Path) -> Iterator[str]:
    """The class door and the function door, with what pytest adds to a failure."""
    (folder / "test_class.py").write_text(CLASS_DOOR, encoding="utf-8")
    (folder / "test_function.py").write_text(FUNCTION_DOOR, encoding="utf-8")
    yield run_pytest(folder, "-v", "-rA", "--showlocals", "--junitxml=junit.xml", **{VARIABLE: VALUE}).stdout
    yield (folder / "junit.xml").read_text(encoding="utf-8")


OUTPUTS: list[Callable[[Path], Iterator[str]]] = [pytest_door, in_process, console_script, files_of_tests]
"""Whoever adds an output of the kit adds it here."""


@pytest.mark.parametrize("door", OUTPUTS, ids=lambda door: door.__name__)
def test_no_output_shows_the_key(door: Callable[[Path], Iterator[str]], tmp_path: Path) -> None:
    """Each of them says that it came out, and where."""
    for text in door(tmp_path):
        assert f"the value of {VARIABLE}" in " ".join(html.unescape(text).split())
        assert shown_in(text) is None


@pytest.mark.parametrize("fault", LEAKS.values(), ids=LEAKS)
def test_no_finding_shows_the_key(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever way it comes out alone."""
    monkeypatch.setenv(VARIABLE, VALUE)
    assert_hidden(fault, {VARIABLE: VALUE}, fault.settings)


@pytest.mark.parametrize("fault", [links.presigned_link, links.user_in_a_link, links.token_in_metadata])
def test_a_credential_that_nobody_declared_is_not_shown_either(fault: Fault) -> None:
    """A signed link, a token in one, and one in the metadata."""
    assert_hidden(fault, INVENTED, {})


def assert_hidden(fault: Fault, hidden: Mapping[str, str], settings: Mapping[str, Any]) -> None:
    chosen = Settings(**{**settings, "examples": 1})
    run_of = Run(load(f"knowledge_fakes.faulty:{fault.name}"), chosen)
    result = run_of.result(BY_ID[fault.trips[0]])
    run_of.close()
    report = run_of.report()
    shown = (line.text for line in summary_lines(report, chosen, verbose=True))
    lines = [*failure_lines(result, run_of.name, chosen), *shown, report.to_json()]
    assert result.saw
    assert found_in("\n".join(lines), hidden) is None
