"""What the readers of a report look for, whichever way it is shown. Pure but for reading a file; knows no format.

A report may come from a file that anybody wrote, so nothing here trusts an id or a text of it.
"""

import shlex
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from pydantic import ValidationError

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.check import Facet, Level
from knowledge_conformance.render import show, visible
from knowledge_conformance.report import CheckReport, Report
from knowledge_conformance.results import FAILING, CheckOutcome
from knowledge_conformance.verdict import FacetState, Verdict

REPORT_BYTES_MAX: Final = 32 << 20
"""A report of a hundred checks, with all that may be in it, is far smaller."""

CHAPTERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "1": "Identity",
        "2": "Lifecycle",
        "3": "Request",
        "4": "Trusted context",
        "5": "Response",
        "6": "URIs and secrets",
        "7": "Time, cancellation, concurrency",
        "8": "Host",
        "9": "Several providers behind one",
        "10": "External sources of a task",
        "11": "Access scope",
        "12": "Untrusted content",
    }
)
"""The contract's sections by their numbers."""


class Tone(StrEnum):
    """How a reader is to take something, before a word is read."""

    GOOD = "good"
    BAD = "bad"
    OPEN = "open"
    NONE = "none"


MARKS: Final[Mapping[CheckOutcome, str]] = MappingProxyType(
    {
        CheckOutcome.PASSED: "✓",
        CheckOutcome.FAILED: "✗",
        CheckOutcome.ERRORED: "✗",
        CheckOutcome.KIT_ERROR: "✗",
        CheckOutcome.STALE: "✗",
        CheckOutcome.ADVISORY: "!",
        CheckOutcome.KNOWN: "!",
        CheckOutcome.INCONCLUSIVE: "?",
        CheckOutcome.BLOCKED: "?",
        CheckOutcome.INAPPLICABLE: "–",
    }
)
_SILENT: Final = {CheckOutcome.PASSED: Tone.GOOD, CheckOutcome.INAPPLICABLE: Tone.NONE}
_VERDICTS: Final = {
    Verdict.CONFORMANT: Tone.GOOD,
    Verdict.NOT_CONFORMANT: Tone.BAD,
    Verdict.OUT_OF_DATE: Tone.BAD,
}
VERDICT_MARKS: Final[Mapping[Tone, str]] = MappingProxyType({Tone.GOOD: "✓", Tone.BAD: "✗", Tone.OPEN: "?"})


class UnreadableError(Exception):
    """A file is no report that this kit can read; the message is one line that begins with the file's name."""


def read_report(path: Path) -> Report:
    """The report that ``to_json`` wrote there; raises ``UnreadableError``."""
    named = show(str(path), limit=200)
    try:
        with path.open("rb") as file:
            data = file.read(REPORT_BYTES_MAX + 1)
    except OSError as error:
        raise UnreadableError(f"{named}: cannot be read: {error.strerror}") from None
    if len(data) > REPORT_BYTES_MAX:
        raise UnreadableError(f"{named}: is larger than {REPORT_BYTES_MAX >> 20} MiB, which no report is")
    try:
        return Report.model_validate(_all_visible(Report.model_validate_json(data).model_dump()))
    except ValidationError as error:
        raise UnreadableError(f"{named}: is no report of this version of the kit: {_why(error)}") from None


def _all_visible(value: Any) -> Any:
    """The same with every text as one harmless line, as the kit writes it; whoever shows it need not think of that."""
    if isinstance(value, str):
        return visible(str(value))
    if isinstance(value, dict):
        # What was asked is data, of which nothing is shown.
        return {key: each if key == "input" else _all_visible(each) for key, each in value.items()}
    return [_all_visible(each) for each in value] if isinstance(value, list | tuple) else value


def _why(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return visible(f"{place}: {first['msg']}" if place else first["msg"])[:300]


def tone(outcome: CheckOutcome) -> Tone:
    """How an outcome is to be taken."""
    return Tone.BAD if outcome in FAILING else _SILENT.get(outcome, Tone.OPEN)


def verdict_tone(verdict: Verdict) -> Tone:
    """How a verdict is to be taken."""
    return _VERDICTS.get(verdict, Tone.OPEN)


def chapters(checks: Iterable[CheckReport]) -> dict[str, list[CheckReport]]:
    """The checks by the contract's sections, as "3 Request", in the sections' order."""
    found: dict[str, list[CheckReport]] = {}
    for check in checks:
        found.setdefault(check.clause.partition(".")[0], []).append(check)
    ordered = sorted(found.items(), key=lambda item: (len(item[0]), item[0]))
    return {f"{number} {CHAPTERS.get(number, '')}".strip(): those for number, those in ordered}


def to_look_at(report: Report) -> list[CheckReport]:
    """What is neither a pass nor inapplicable, failures first."""
    found = [check for check in report.checks if check.outcome not in _SILENT]
    return sorted(found, key=lambda check: tone(check.outcome) is not Tone.BAD)


def counted(checks: Iterable[CheckReport]) -> str:
    """How many checks ended in each way, on one line, in the order of ``CheckOutcome``."""
    outcomes = [check.outcome for check in checks]
    return ", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in CheckOutcome if outcome in outcomes)


def reason(check: CheckReport) -> str:
    """Why a check did not look, and what to do so that it does; "" where nothing is said."""
    return "; ".join(filter(None, (check.saw, check.hint)))


def unseen(report: Report) -> dict[Facet, list[str]]:
    """For each facet that was not exercised why, and what to set so that it is, by the words of its MUSTs."""
    return {
        facet: _reasons([check for check in report.checks if check.facet is facet])
        for facet, state in report.facets.items()
        if state is FacetState.NOT_EXERCISED
    }


def _reasons(checks: list[CheckReport]) -> list[str]:
    binding = [check for check in checks if check.level is Level.MUST]
    return [text for text in dict.fromkeys(reason(check) for check in binding or checks) if text]


def rationale(check: CheckReport) -> list[str]:
    """Why the rule matters, paragraph by paragraph; nothing where this version of the kit has no such check."""
    known = BY_ID.get(check.id)
    return [" ".join(part.split()) for part in known.rationale.split("\n\n")] if known else []


def again(check: CheckReport, report: Report) -> str | None:
    """The command that runs a check once more, or None where the target has no name that a command line could give."""
    if "<" in report.target:
        return None
    which = f"--replay={check.replay}" if check.replay else f"{report.kind}::{check.id}"
    # Of a file that anybody wrote: what a reader copies does no more than it says.
    return shlex.join(["pytest", f"--{report.kind}={visible(report.target)}", visible(which)])
