"""Reads a failed check's evidence: which body shows it, and what that body says of it. Pure; writes nothing."""

import re
from typing import Final

from pydantic import JsonValue

from knowledge_conformance.faults import is_lost
from knowledge_conformance.literals import literal
from knowledge_conformance.manner import Manner
from knowledge_conformance.report import CheckReport
from knowledge_conformance.repro_bodies import BODIES
from knowledge_conformance.repro_shapes import ANSWERED, DESCRIBED_AGAIN, HUNG_IN_A_THREAD, REFUSED

_ASKS: Final = re.compile(r"\$(answer|results|whole|asked|asked_as|call)\b|\bREQUEST\b")
_AFTER: Final = ", after retrieve("
"""Where a failure needs another call before it."""
_JUDGE: Final = re.compile(r"\((KP-\d+), which ordinary answers keep\)")
_PLACE: Final = re.compile(r"provider|(?:answer(?:\['results'\])?|results)\[\d+\]")
# A name as it is: one that is shown in another way, or cut, would be another in the test.
_STEP: Final = re.compile(r"\.(\w+)|\['([^'\\…]*)'\]")
_LINK_NAMES: Final = ("uri", "url", "link", "href")
_WITHIN: Final = re.compile(r" within ([\d.]+) s")
_SHOWN_BY_RAISING: Final = ("KP-202", "KP-204", "KP-307", "KP-701", "KP-706")
"""Their own bodies show what was raised."""


def body_of(check: CheckReport) -> str | None:
    """The body that shows a failure, out of ``repro_bodies`` or ``repro_shapes``; None where none does."""
    if is_lost(check.wanted) or check.manner is None:
        return None
    body = _chosen(check, check.manner, check.saw or "")
    return None if body is None or (_ASKS.search(body) and request_of(check) is None) else body


def _chosen(check: CheckReport, manner: Manner, saw: str) -> str | None:
    if seconds_of(check) is not None:
        return _hung(check, manner, saw)
    # What a call opens is heard by the kit alone.
    if saw.startswith("the events ") or _AFTER in (check.where or ""):
        return None
    judge = _JUDGE.search(check.wanted or "")
    if judge is None and saw.startswith("raised ") and check.id not in _SHOWN_BY_RAISING and check.input is not None:
        return ANSWERED
    if judge is None and check.id == "KP-307":
        return REFUSED
    if check.id == "KP-111" and manner.described == "view":
        return DESCRIBED_AGAIN
    rule = f"{judge[1] if judge else check.id}: {check.wanted}"
    if rule.startswith("KP-601"):
        return _linked(check.where or "")
    return next((body for name, body in BODIES.items() if re.match(rf"{name}\b", rule)), None)


def _hung(check: CheckReport, manner: Manner, saw: str) -> str | None:
    # One that cancelling does not end would hold up the whole test run.
    if not saw.startswith("no answer"):
        return None
    if check.input is None:
        return BODIES["KP-202"] if check.id == "KP-202" and "health" in manner.awaited else None
    return ANSWERED if "retrieve" in manner.awaited else HUNG_IN_A_THREAD


def _linked(where: str) -> str | None:
    if where.startswith("answer['sources']"):
        return BODIES["KP-601 in a report"]
    path = _path(where)
    if not path:
        return None
    named = len(path) <= 2 and path[-1].lower().endswith(_LINK_NAMES)
    return BODIES["KP-601 named" if named else "KP-601"]


def seconds_of(check: CheckReport) -> float | None:
    """Within how many seconds the call had to end that did not; None where it did."""
    within = _WITHIN.search(check.wanted or "")
    hung = (check.saw or "").startswith(("no answer", "it was still running"))
    return float(within[1]) if within and hung else None


def request_of(check: CheckReport) -> dict[str, JsonValue] | None:
    """The fields of the request that failed, without the defaults; None where there was none."""
    request = (check.input or {}).get("request")
    return request if isinstance(request, dict) else None


def said_of(check: CheckReport, manner: Manner) -> dict[str, str]:
    """What a body says beside the provider's own calls, as Python source by the names of ``repro_bodies``."""
    where = check.where or ""
    path = _path(where)
    most = re.search(r"at most (\d+)", check.wanted or "")
    names = dict(zip(("id", "content"), manner.names, strict=True))
    return {
        **{name: literal(own) for name, own in names.items()},
        "field": literal(_field(path, names) if where.startswith("results[") else "".join(path[:1])),
        "place": _placed(path),
        "most": most[1] if most else "",
        "names": ", ".join(map(literal, (check.saw or "").removeprefix("the aliases ").split(", "))),
        "seconds": f"{seconds_of(check) or 0:g}",
    }


def _field(path: list[str], names: dict[str, str]) -> str:
    """The field that is wrong by a rule about a field: of a source, its own; of a result, by the name it has there."""
    *above, last = path or [""]
    return last if above else names.get(last, last)


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
