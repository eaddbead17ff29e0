"""Writes a small test for each failure that one provider and one request show; runs nothing.

The tests import nothing of the kit: the author's provider, the contract, and pytest where one needs it. Where a few
lines cannot show a failure, none is written and a line says so: a test that asserts nothing would be a promise.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import shorten
from typing import Final

from pydantic import JsonValue

from knowledge_conformance.faults import is_lost
from knowledge_conformance.kinds import KINDS
from knowledge_conformance.literals import literal
from knowledge_conformance.report import CheckReport, Report
from knowledge_conformance.repro_bodies import ANSWERED, BODIES, DESCRIBED_AGAIN, HUNG_IN_A_THREAD, REFUSED
from knowledge_conformance.repro_text import Case, written
from knowledge_conformance.results import BROKEN
from knowledge_conformance.settings import Settings
from knowledge_conformance.subject import DEFAULT_OWNER
from knowledge_conformance.terminal import WIDTH

_ASKS: Final = re.compile(r"\$(answer|results|whole|asked|found|call)\b|\bREQUEST\b")
_AFTER: Final = ", after retrieve("
"""Where a failure needs another call before it."""
_JUDGE: Final = re.compile(r"\((KP-\d+), which ordinary answers keep\)")
_PLACE: Final = re.compile(r"provider|(?:answer(?:\['results'\])?|results)\[\d+\]")
_STEP: Final = re.compile(r"\.(\w+)|\['([^']*)'\]")
_LINK_NAMES: Final = ("uri", "url", "link", "href")
_WITHIN: Final = re.compile(r" within ([\d.]+) s")
_SHOWN_BY_RAISING: Final = ("KP-202", "KP-204", "KP-307", "KP-701", "KP-706")
"""Their own bodies show what was raised."""


def write_repros(report: Report, settings: Settings, folder: Path) -> Iterator[str]:
    """Write a test into ``folder`` for each failed check; for each one line with its file, or why there is none.

    Raises ``OSError``.
    """
    failed = [check for check in report.checks if check.outcome in BROKEN]
    for check in failed:
        body = body_of(check)
        if body is None or check.manner is None or _elsewhere(report):
            yield f"no test for {check.id}: {_unshown(report, check)}"
            continue
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"test_{_slug(f'{report.target}_{check.id}')}.py"
        case = Case(
            target=report.target,
            manner=check.manner,
            body=body,
            said=_said(check),
            request=_request(check) or {},
            owner=next(iter(settings.owners), DEFAULT_OWNER),
            seconds=_seconds(check),
        )
        path.write_text(written(_slug(check.id), _docstring(check), case), encoding="utf-8")
        yield f"{path.name} shows {check.id}"
    if not failed:
        yield f"no test for {report.target}: nothing failed"


def _slug(text: str) -> str:
    return re.sub(r"\W+", "_", text).lower()


def _elsewhere(report: Report) -> bool:
    """Whether what was checked is no provider that a test could import by its name."""
    return report.kind != "provider" or "<" in report.target or "+" in report.target


def _unshown(report: Report, check: CheckReport) -> str:
    if report.kind != "provider":
        return f"tests are written for providers only; --replay asks {KINDS[report.kind].what} again"
    if _elsewhere(report):
        return "the provider cannot be imported by its name"
    if is_lost(check.wanted):
        return "the provider took its process away; --replay runs the check again"
    return "one provider and one request do not show it; --replay runs the check again"


def _docstring(check: CheckReport) -> str:
    lines = [f"{check.id}, clause {check.clause}: {check.title}"]
    if check.wanted:
        lines += ["", f"Wanted {check.wanted}; saw {check.saw}."]
    return "\n".join(map(_quoted, lines))


def _quoted(line: str) -> str:
    # Inside a docstring of Python: nothing in it may end it, or be an escape.
    plain = "".join(each if each.isprintable() else " " for each in line).translate({ord("\\"): "/", ord('"'): "'"})
    return shorten(plain, WIDTH, placeholder=" …")


def body_of(check: CheckReport) -> str | None:
    """The body that shows a failure; None where none does."""
    body = None if is_lost(check.wanted) else _chosen(check, check.saw or "")
    return None if body is None or (_ASKS.search(body) and _request(check) is None) else body


def _chosen(check: CheckReport, saw: str) -> str | None:
    if _seconds(check) is not None:
        return _hung(check, saw)
    # What a call opens is heard by the kit alone.
    if saw.startswith("the events ") or _AFTER in (check.where or ""):
        return None
    judge = _JUDGE.search(check.wanted or "")
    if judge is None and saw.startswith("raised ") and check.id not in _SHOWN_BY_RAISING and check.input is not None:
        return ANSWERED
    if check.id == "KP-307" and judge is None:
        return REFUSED
    if check.id == "KP-111" and check.manner is not None and check.manner.described == "view":
        return DESCRIBED_AGAIN
    rule = f"{judge[1] if judge else check.id}: {check.wanted}"
    if rule.startswith("KP-601"):
        return BODIES[_linked(check)]
    return next((body for name, body in BODIES.items() if re.match(rf"{name}\b", rule)), None)


def _linked(check: CheckReport) -> str:
    if (check.where or "").startswith("answer['sources']"):
        return "KP-601 in a report"
    path = _path(check.where or "")
    named = 1 <= len(path) <= 2 and path[-1].lower().endswith(_LINK_NAMES)
    return "KP-601 named" if named else "KP-601"


def _path(where: str) -> list[str]:
    """The names that lead from a result, or the provider, to what is wrong there."""
    begin = _PLACE.match(where)
    at, names = begin.end() if begin else len(where), list[str]()
    while step := _STEP.match(where, at):
        at, names = step.end(), [*names, step[1] or step[2]]
    return names


def _placed(path: list[str]) -> str:
    """Where a ``result`` has what such a path of one name or two leads to."""
    if len(path) < 2:
        return "".join(f"result.get({literal(name)})" for name in path)
    return f"dict(result.get({literal(path[0])}) or {{}}).get({literal(path[1])})"


def _hung(check: CheckReport, saw: str) -> str | None:
    # One that cancelling does not end would hold up the whole test run.
    if check.manner is None or not saw.startswith("no answer"):
        return None
    if check.input is None:
        return BODIES["KP-202"] if check.id == "KP-202" and "health" in check.manner.awaited else None
    return ANSWERED if "retrieve" in check.manner.awaited else HUNG_IN_A_THREAD


def _seconds(check: CheckReport) -> float | None:
    """Within how many seconds the call had to end that did not."""
    within = _WITHIN.search(check.wanted or "")
    hung = (check.saw or "").startswith(("no answer", "it was still running"))
    return float(within[1]) if within and hung else None


def _request(check: CheckReport) -> dict[str, JsonValue] | None:
    request = (check.input or {}).get("request")
    return request if isinstance(request, dict) else None


def _said(check: CheckReport) -> dict[str, str]:
    """What a body says beside the provider's own names, out of the evidence."""
    path = _path(check.where or "")
    # A text is searched whole; of a source, its fields have rules of their own.
    field = path[1:] if path[:1] == ["source"] and check.id != "KP-601" else path
    most = re.search(r"at most (\d+)", check.wanted or "")
    aliases = (check.saw or "").removeprefix("the aliases ").split(", ")
    names = ("id", "content") if check.manner is None else check.manner.names
    return {
        "id": names[0],
        "content": names[1],
        "field": field[0] if field else "",
        "place": _placed(path),
        "most": most[1] if most else "",
        "names": ", ".join(map(literal, aliases)),
        "seconds": f"{_seconds(check) or 0:g}",
    }
