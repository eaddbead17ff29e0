"""A report as a person's screen shows it: few lines where all is well, each with a tone. Pure; knows no terminal."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from knowledge_conformance.kinds import KINDS
from knowledge_conformance.reading import Tone, chapters, counted, tone
from knowledge_conformance.report import CheckReport, Report
from knowledge_conformance.settings import Settings
from knowledge_conformance.terminal import check_line, note_lines, proof_lines, verdict_lines

SELECTION_MAX: Final = 12
"""So many checks are named one by one; of more, the chapters are, unless a reader asks for all (``-v``)."""
_CHAPTER: Final = 33


class Line(NamedTuple):
    """One line, how it is to be taken, and whether it is the one that a reader looks for."""

    text: str
    tone: Tone = Tone.NONE
    strong: bool = False


def summary_lines(report: Report, settings: Settings | None = None, *, verbose: bool = False) -> Iterator[Line]:
    """What was run, what needs attention, the verdict, and the proof where one was made.

    For a conformant provider no more than a screen of 24 lines, unless ``verbose`` asks for a line for each check.
    """
    selected = len(report.checks) < len(KINDS[report.kind].checks) and len(report.checks) <= SELECTION_MAX
    yield from _each(report.checks) if verbose or selected else _by_chapter(report)
    yield from map(Line, note_lines(report, settings, verbose=verbose or selected))
    yield from _led(verdict_lines(report), "verdict")
    if report.proof is not None:
        yield from _led(proof_lines(report.proof), "proof")


def _led(lines: Iterable[str], label: str) -> Iterator[Line]:
    return (Line(line, strong=line.lstrip().startswith(label)) for line in lines)


def _each(checks: Iterable[CheckReport]) -> Iterator[Line]:
    return (Line(check_line(check), tone(check.outcome)) for check in checks)


def _by_chapter(report: Report) -> Iterator[Line]:
    for chapter, checks in chapters(report.checks).items():
        found = {tone(check.outcome) for check in checks}
        worst = next((each for each in (Tone.BAD, Tone.OPEN, Tone.GOOD) if each in found), Tone.NONE)
        yield Line(f"  {chapter:{_CHAPTER}}  {counted(checks)}", worst)
        # What is open, or only advised, stands in the notes with its reason.
        yield from _each(check for check in checks if tone(check.outcome) is Tone.BAD)
