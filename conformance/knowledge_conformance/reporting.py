"""What a run of pytest leaves behind: lines on the screen, files, properties for JUnit. Knows pytest and reports."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from knowledge_conformance.reading import Tone
from knowledge_conformance.report import Report
from knowledge_conformance.settings import Settings
from knowledge_conformance.summary import summary_lines
from knowledge_conformance.writing import SuffixError, checked, write_reports

_MARKUP: Final[dict[Tone, dict[str, bool]]] = {
    Tone.GOOD: {"green": True},
    Tone.BAD: {"red": True},
    Tone.OPEN: {"yellow": True},
    Tone.NONE: {},
}


def wanted_paths(config: pytest.Config) -> list[Path]:
    """Where ``--provider-report`` wants reports; raises ``pytest.UsageError``."""
    try:
        return [checked(Path(given)) for given in config.getoption("provider_report")]
    except SuffixError as error:
        raise pytest.UsageError(f"--provider-report: {error}") from None


def write(folder: Path, paths: Iterable[Path], reports: Sequence[Report]) -> str | None:
    """Write reports to each path, seen from ``folder``; what went wrong, in one line, or None."""
    for path in paths:
        try:
            write_reports(folder / path, reports)
        except OSError as error:
            return f"--provider-report: cannot write {path}: {error.strerror}"
    return None


def show(terminal: Any, report: Report, settings: Settings, *, verbose: bool) -> None:
    """Print a report through pytest's terminal reporter, which knows about colours and NO_COLOR."""
    terminal.section(f"knowledge {report.noun} {report.target}", sep="-")
    for line in summary_lines(report, settings, verbose=verbose):
        terminal.line(line.text, bold=line.strong, **_MARKUP[line.tone])


def tell_junit(config: pytest.Config, reports: Sequence[Report]) -> None:
    """Give ``--junitxml`` the verdicts, as properties of its suite."""
    # pytest keeps its writer private, and registers it: it is whoever can do this.
    plugins: Iterable[Any] = config.pluginmanager.get_plugins()
    for writer in (each for each in plugins if hasattr(each, "add_global_property")):
        for report in reports:
            writer.add_global_property(f"{report.kind} {report.target} verdict", str(report.verdict))
            writer.add_global_property(f"{report.kind} {report.target} sentence", report.sentence)
