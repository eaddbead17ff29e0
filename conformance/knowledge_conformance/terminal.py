"""Results in a person's words, line by line. Pure; knows texts and widths, no terminal, pytest or process."""

import shlex
import textwrap
from collections.abc import Iterable, Iterator
from typing import Final

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.check import Check, Level
from knowledge_conformance.kinds import KINDS, PROVIDER, SOURCE, kind_of
from knowledge_conformance.proof import Ending, Proof, grouped
from knowledge_conformance.reading import reason
from knowledge_conformance.report import RECORDED, CheckReport, Report
from knowledge_conformance.results import FAILING, CheckOutcome, CheckResult
from knowledge_conformance.settings import OWN_FILE, Profile, Settings
from knowledge_conformance.verdict import FacetState

_NO_PASS: Final = {
    CheckOutcome.INCONCLUSIVE: "open",
    CheckOutcome.BLOCKED: "blocked",
    CheckOutcome.INAPPLICABLE: "n/a",
}
WIDTH: Final = 110
NARROW: Final = 80
"""The width of lines that are there for every conformant provider: all of them fit on one screen."""
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
        ("known", result.known),
    )
    for label, text in fields:
        if text:
            yield from _field(label, text)
    # A lambda or a local function has no name that a command line could give. On one line, however long it is: what
    # breaks it would be copied along.
    if "<" not in target:
        yield f"  again   {_again(target, check, settings or Settings(), result.replay)}"


def _again(target: str, check: Check, settings: Settings, token: str | None) -> str:
    kind = kind_of(check)
    if token is not None:
        # A token alone switches no network faults on, and names no file.
        given = _network_options(settings) if kind is PROVIDER else []
        return " ".join([f"pytest --{kind.name}={target} --replay={token}", *given])
    options: dict[str, tuple[object, ...]] = {
        "--provider-profile": () if settings.profile is Profile.DEFAULT else (settings.profile,),
        "--provider-examples": _changed(settings, "examples"),
        "--provider-seed": _changed(settings, "seed"),
    }
    if kind is PROVIDER:
        options = {
            "--provider-query": () if settings.secrets else settings.queries,  # one of them may be in there
            "--provider-timeout": _changed(settings, "timeout"),
            **options,
            "--max-calls": _changed(settings, "max_calls"),
        }
    elif kind is SOURCE:
        options = {
            "--source-reference": tuple(each["id"] for each in settings.references if each.keys() == {"id"}),
            "--provider-query": () if settings.secrets else settings.queries,
            "--provider-timeout": _changed(settings, "timeout"),
            "--max-calls": _changed(settings, "max_calls"),
        }
    given = [shlex.quote(f"{name}={value}") for name, values in options.items() for value in values]
    given += ["--strict-should"] if settings.strict_should else []
    given += _network_options(settings) if kind is PROVIDER else []
    return " ".join(["pytest", f"--{kind.name}={target}", f"{kind.name}::{check.id}", *given])


def _network_options(settings: Settings) -> list[str]:
    given = ["--inject-network-faults"] if settings.inject_network_faults else []
    if settings.played is not None:
        given.append(shlex.quote(f"--network-recording={settings.played}"))
    return given


def _changed(settings: Settings, name: str) -> tuple[object, ...]:
    return (getattr(settings, name),) if name in settings.changed() else ()


def _field(label: str, text: str, width: int = WIDTH, max_lines: int | None = None) -> list[str]:
    lead = f"  {label:{_LABEL}}"
    return textwrap.wrap(
        text, width, initial_indent=lead, subsequent_indent=" " * len(lead), break_on_hyphens=False,
        max_lines=max_lines, placeholder=" …",
    ) or [lead]  # fmt: skip


def check_line(report: CheckReport) -> str:
    """One check on one line: its id, outcome, level, clause and title."""
    return f"{report.id}  {report.outcome:12}  {report.level:6} {report.clause:4}  {report.title}"


def note_lines(report: Report, settings: Settings | None = None, *, verbose: bool = True) -> Iterator[str]:
    """What needs a reader's attention beside the failures: advisories, and why other checks were no pass.

    Not ``verbose``, what is inapplicable is one line for each facet that nothing exercised, and its ids.
    """
    for check in report.checks:
        if check.outcome is CheckOutcome.ADVISORY:
            yield from failure_lines(check, report.target, settings)
        if check.outcome is CheckOutcome.KNOWN:
            yield from _field("known", f"{check.id}: {check.known}; saw {check.saw}")
    if not verbose:
        yield from _unexercised(report)
    for outcome, label in _NO_PASS.items():
        if outcome is CheckOutcome.INAPPLICABLE and not verbose:
            continue
        ids: dict[str, list[str]] = {}
        for check in report.checks:
            if check.outcome is outcome:
                ids.setdefault(reason(check), []).append(check.id)
        for why, those in ids.items():
            yield from _field(label, f"{', '.join(those)}: {why}")


def _unexercised(report: Report) -> Iterator[str]:
    settable = False
    for facet, state in report.facets.items():
        found = [each for each in report.checks if each.facet is facet and each.outcome is CheckOutcome.INAPPLICABLE]
        if not found or state is FacetState.ABSENT:
            continue
        if state is FacetState.EXERCISED:
            yield from _field("n/a", f"{', '.join(check.id for check in found)}. Why: -v")
            continue
        # The rule that binds most says best what to set; the others mostly say the same.
        first = min(found, key=lambda check: check.level is not Level.MUST)
        why, _, what = (first.saw or "").partition(": ")
        yield from _field("unseen", f"{facet}: {what or why}", width=NARROW, max_lines=2)
        settable = True
    if settable:
        yield from _field("set in", f"{OWN_FILE}, in the folder where the run starts")


def verdict_lines(report: Report) -> Iterator[str]:
    """The verdict, what it rests on, and what it does not establish."""
    counts = ", ".join(f"{count} {outcome}" for outcome, count in report.counts.items() if count)
    yield from _field("verdict", report.sentence)
    yield from _field("checks", f"{len(report.checks)} of {len(KINDS[report.kind].checks)}: {counts or 'none'}")
    clauses = [line for line in report.not_established if line.startswith("clause ")]
    # What the facets leave open stands in the verdict already, unless it is why the verdict is what it is.
    missing = [line for line in report.not_established if line not in clauses and "required" in line]
    missing += [line for line in report.not_established if line.startswith(("fast profile: ", RECORDED))]
    numbers = ", ".join(line.removeprefix("clause ").partition(":")[0] for line in clauses)
    said = [f"clauses {numbers}. Why: knowledge-kit checks"] if numbers else []
    yield from _field("unsaid", "; ".join([*missing, *said]) or "nothing")


def proof_lines(proof: Proof) -> Iterator[str]:
    """How many of the faults were caught, and of the others what they need to show, or how to look at them."""
    yield from _field("proof", proof.sentence)
    for why, faults in grouped(proof.ended(Ending.HIDDEN)):
        yield from _field("hidden", f"{', '.join(faults)}: {why}")
    for trial in proof.ended(Ending.MISSED):
        said = f"{trial.fault}: {trial.reason}: queries that find more, or more examples, may show it; look at it with"
        yield from _field("missed", said)
        yield from _field("", f"pytest --provider={proof.target}+{trial.fault} provider::{trial.check}")


def ending_lines(reports: Iterable[Report]) -> Iterator[str]:
    """Why a run ends with 1 although nothing is shown as failed: of each target that is, or proves, not enough."""
    for report in reports:
        if not report.good and not any(failures(report)):
            yield from _field("exit 1", f"{report.target}: {report.sentence}")
        if report.proof is not None and not report.proof.holds:
            yield from _field("exit 1", f"{report.target}: the proof fails: {report.proof.sentence}")


def failures(report: Report) -> Iterable[CheckReport]:
    """The checks that make the provider not conformant."""
    return (check for check in report.checks if check.outcome in FAILING)


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
