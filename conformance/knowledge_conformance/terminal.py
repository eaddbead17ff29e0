"""Results in a person's words, line by line. Pure; knows texts and widths, no terminal, pytest or process."""

import shlex
import textwrap
from collections.abc import Iterable, Iterator
from typing import Final

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.check import Check
from knowledge_conformance.kinds import KINDS, PROVIDER, kind_of
from knowledge_conformance.report import CheckReport, Report
from knowledge_conformance.results import BROKEN, CheckOutcome, CheckResult
from knowledge_conformance.settings import Settings

_NO_PASS: Final = {
    CheckOutcome.INCONCLUSIVE: "open",
    CheckOutcome.BLOCKED: "blocked",
    CheckOutcome.INAPPLICABLE: "n/a",
}
WIDTH: Final = 110
_LABEL: Final = 8


def failure_lines(result: CheckResult | CheckReport, target: str, settings: Settings | None = None) -> Iterator[str]:
    """Everything that an author needs about one result that is not a pass, without knowing the kit.

    ``settings`` are those of the run, so that the command that runs the check again says the same.
    """
    check = BY_ID[result.id]
    yield f"{check.id} {result.outcome}: {check.title}"
    fields = (
        ("rule", f"contract clause {check.clause}, {check.level}"),
        ("wanted", result.wanted),
        ("saw", result.saw),
        ("call", result.where),
        ("hint", result.hint),
        ("why", " ".join(check.rationale.split())),
        ("more", f"knowledge-kit explain {check.id}"),
        # A lambda or a local function has no name that a command line could give.
        ("again", None if "<" in target else _again(target, check, settings or Settings())),
    )
    for label, text in fields:
        if text:
            yield from _field(label, text)


def _again(target: str, check: Check, settings: Settings) -> str:
    kind = kind_of(check)
    options: dict[str, tuple[object, ...]] = {
        "--provider-examples": _changed(settings, "examples"),
        "--provider-seed": _changed(settings, "seed"),
    }
    if kind is PROVIDER:
        options = {
            "--provider-query": settings.queries,
            "--provider-timeout": _changed(settings, "timeout"),
            **options,
            "--max-calls": _changed(settings, "max_calls"),
        }
    given = [shlex.quote(f"{name}={value}") for name, values in options.items() for value in values]
    strict = ["--strict-should"] if settings.strict_should else []
    return " ".join(["pytest", f"--{kind.name}={target}", f"{kind.name}::{check.id}", *given, *strict])


def _changed(settings: Settings, name: str) -> tuple[object, ...]:
    value = getattr(settings, name)
    return () if value == getattr(Settings(), name) else (value,)


def _field(label: str, text: str) -> list[str]:
    lead = f"  {label:{_LABEL}}"
    return textwrap.wrap(
        text, WIDTH, initial_indent=lead, subsequent_indent=" " * len(lead), break_on_hyphens=False
    ) or [lead]


def check_line(report: CheckReport) -> str:
    """One check on one line: its id, outcome, level, clause and title."""
    return f"{report.id}  {report.outcome:12}  {report.level:6} {report.clause:4}  {report.title}"


def note_lines(report: Report, settings: Settings | None = None) -> Iterator[str]:
    """What needs a reader's attention beside the failures: advisories, and why other checks were no pass."""
    for check in report.checks:
        if check.outcome is CheckOutcome.ADVISORY:
            yield from failure_lines(check, report.target, settings)
    for outcome, label in _NO_PASS.items():
        ids: dict[str, list[str]] = {}
        for check in report.checks:
            if check.outcome is outcome:
                ids.setdefault("; ".join(filter(None, (check.saw, check.hint))), []).append(check.id)
        for reason, those in ids.items():
            yield from _field(label, f"{', '.join(those)}: {reason}")


def verdict_lines(report: Report) -> Iterator[str]:
    """The verdict, what it rests on, and what it does not establish."""
    counts = ", ".join(f"{count} {outcome}" for outcome, count in report.counts.items() if count)
    yield from _field("verdict", report.sentence)
    yield from _field("checks", f"{len(report.checks)} of {len(KINDS[report.kind].checks)}: {counts or 'none'}")
    clauses = [line for line in report.not_established if line.startswith("clause ")]
    # What the facets leave open stands in the verdict already, unless it is why the verdict is what it is.
    missing = [line for line in report.not_established if line not in clauses and "required" in line]
    numbers = ", ".join(line.removeprefix("clause ").partition(":")[0] for line in clauses)
    said = [f"clauses {numbers}. Why: knowledge-kit checks"] if numbers else []
    yield from _field("unsaid", "; ".join([*missing, *said]) or "nothing")


def report_lines(report: Report) -> Iterator[str]:
    """A whole report: one line per check, then the notes and the verdict."""
    yield from (check_line(check) for check in report.checks)
    yield from note_lines(report)
    yield from verdict_lines(report)


def failures(report: Report) -> Iterable[CheckReport]:
    """The checks that make the provider not conformant."""
    return (check for check in report.checks if check.outcome in BROKEN)


def explanation_lines(check: Check) -> Iterator[str]:
    """A check in full, as ``knowledge-kit explain`` prints it."""
    yield f"{check.id}: {check.title}"
    yield from _field("rule", f"contract clause {check.clause}, {check.level}, since requirements {check.since}")
    yield from _field("facet", check.facet)
    for paragraph in check.rationale.split("\n\n"):
        yield from _field("why", " ".join(paragraph.split()))
    if check.needs:
        yield from _field("needs", f"{', '.join(check.needs)} to hold")
    yield from _field("minimum", f"{check.minimum} observations; fewer are inconclusive")
