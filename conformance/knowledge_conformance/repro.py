"""Writes a small test for each failure that one provider and one request show; runs nothing.

The tests import nothing of the kit: the author's provider, the contract, and pytest where one needs it. Where a few
lines cannot show a failure, none is written and a line says so: a test that asserts nothing would be a promise.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from knowledge_conformance.faults import is_lost
from knowledge_conformance.kinds import KINDS
from knowledge_conformance.report import CheckReport, Report
from knowledge_conformance.repro_evidence import body_of, request_of, said_of, seconds_of
from knowledge_conformance.repro_owners import CROSSINGS, crossing_of
from knowledge_conformance.repro_text import Case, written
from knowledge_conformance.results import BROKEN
from knowledge_conformance.settings import Settings
from knowledge_conformance.subject import DEFAULT_OWNER
from knowledge_conformance.terminal import WIDTH


def write_repros(report: Report, settings: Settings, folder: Path) -> Iterator[str]:
    """Write a test into ``folder`` for each failed check; for each one line with its file, or why there is none.

    Raises ``OSError``.
    """
    failed = [check for check in report.checks if check.outcome in BROKEN]
    for check in failed:
        case = _case(report, check, settings)
        if case is None:
            yield f"no test for {check.id}: {_unshown(report, check)}"
            continue
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"test_{_slug(f'{report.target}_{check.id}')}.py"
        path.write_text(written(_slug(check.id), _docstring(check), case), encoding="utf-8")
        yield f"{path.name} shows {check.id}"
    if not failed:
        yield f"no test for {report.target}: nothing failed"


def _slug(text: str) -> str:
    return re.sub(r"\W+", "_", text).lower()


def _case(report: Report, check: CheckReport, settings: Settings) -> Case | None:
    body = body_of(check)
    if body is None or check.manner is None or not _is_importable(report):
        return None
    request, said = request_of(check) or {}, said_of(check, check.manner)
    crossing = crossing_of(check, settings) if check.id in CROSSINGS else None
    if crossing is not None:
        said = {**said, **crossing.said(request)}
    elif check.id in CROSSINGS:
        return None
    return Case(
        target=report.target,
        manner=check.manner,
        body=body,
        said=said,
        request=request,
        owner=next(iter(settings.owners), DEFAULT_OWNER),
        own=None if crossing is None else crossing.own,
        seconds=seconds_of(check),
    )


def _is_importable(report: Report) -> bool:
    return report.kind == "provider" and "<" not in report.target and "+" not in report.target


def _unshown(report: Report, check: CheckReport) -> str:
    if report.kind != "provider":
        return f"tests are written for providers only; --replay asks {KINDS[report.kind].what} again"
    if not _is_importable(report):
        return "the provider cannot be imported by its name"
    if is_lost(check.wanted):
        return "the provider took its process away; --replay runs the check again"
    return "one provider and one request do not show it; --replay runs the check again"


def _docstring(check: CheckReport) -> str:
    lines = [f"{check.id}, clause {check.clause}: {check.title}"]
    if check.wanted:
        lines += ["", f"Wanted: {check.wanted}", f"Saw: {check.saw}"]
    return "\n".join(map(_quoted, lines))


def _quoted(line: str) -> str:
    # Inside a docstring of Python: nothing in it may end it, or be an escape.
    plain = "".join(each if each.isprintable() else " " for each in line).translate({ord("\\"): "/", ord('"'): "'"})
    return plain if len(plain) <= WIDTH else f"{plain[: WIDTH - 1]}…"
