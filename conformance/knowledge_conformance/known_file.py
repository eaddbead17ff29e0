"""Writes known failures into the settings file. Knows TOML as text; nothing of the file but our table is changed.

Where the new text would not be read as wanted, or anything else in it differently than before, nothing is written and
the table is shown instead.
"""

import contextlib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final

from knowledge_conformance.replacing import replace_text
from knowledge_conformance.report import CheckReport
from knowledge_conformance.results import BROKEN, CheckOutcome
from knowledge_conformance.settings import OWN_FILE, TABLE, Settings, settings_file

_HEADER: Final = re.compile(r"[ \t]*\[")
_ENTRY: Final = re.compile(r"""[ \t]*["']?(KP-\d+)["']?[ \t]*=""")
_GONE: Final = frozenset({CheckOutcome.PASSED, CheckOutcome.INAPPLICABLE, CheckOutcome.STALE})

Entries = dict[str, dict[str, Any]]


class UnwritableError(Exception):
    """The file cannot be changed safely; the message says why, and what to put where."""


def write_entries(folder: Path, settings: Settings, checks: Iterable[CheckReport], today: date) -> list[str]:
    """Write what fails into the file whose settings hold in ``folder``, or into a new one; what was done, line by line.

    Entries of checks that failed get the failure's fingerprint and keep the rest; a new one has an empty reason, which
    the next run refuses until somebody has written one. Those of checks that hold, or do not apply, are taken out. The
    last day of one is somebody's promise and stays; where it is before ``today``, a UTC day, that is said.
    Raises ``UnwritableError``.
    """
    before: Entries = {
        check_id: entry.model_dump(mode="python", exclude_none=True)
        for check_id, entry in settings.known_failures.items()
    }
    after = _after(before, checks)
    if after == before:
        return [*_said_of_days(after, today)] or ["nothing to write: the entries are what a run finds"]
    path = settings_file(folder) or folder / OWN_FILE
    _change(path, after)
    new = [check_id for check_id in after if check_id not in before]
    gone = [check_id for check_id in before if check_id not in after]
    changed = [check_id for check_id in after if check_id in before and after[check_id] != before[check_id]]
    return [*_said(new, f"new in {path.name}: write a reason beside each"), *_said(changed, "another fingerprint"),
            *_said(gone, "taken out"), *_said_of_days(after, today)]  # fmt: skip


def _said(ids: list[str], what: str) -> Iterator[str]:
    if ids:
        yield f"{', '.join(ids)}: {what}"


def _said_of_days(entries: Entries, today: date) -> Iterator[str]:
    for check_id, entry in entries.items():
        day = entry.get("expires")
        if day is not None and day < today:
            stays = "which stays: the next run fails until you write another day or mend it"
            yield f"{check_id}: expired on {day}, {stays}"


def _after(before: Entries, checks: Iterable[CheckReport]) -> Entries:
    after = dict(before)
    for check in checks:
        if check.outcome in BROKEN or check.outcome is CheckOutcome.KNOWN:
            kept = before.get(check.id, {"reason": ""})
            after[check.id] = {**kept, "fingerprint": check.fingerprint}
        elif check.outcome in _GONE:
            after.pop(check.id, None)
    return after


def _change(path: Path, entries: Entries) -> None:
    header = f"tool.{TABLE}.known-failures"
    table = "\n".join(_line(check_id, entry) for check_id, entry in sorted(entries.items()))
    try:
        text = path.read_bytes().decode("utf-8") if path.exists() else ""
        document = tomllib.loads(text)
        header = _header(path, document)
        new = with_table(text, header, entries)
        safe = _is_change(document, tomllib.loads(new), header, entries)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, ValueError):
        safe = False
    except OSError as error:
        raise UnwritableError(f"cannot read {path.name}: {error.strerror}") from None
    if not safe:
        raise UnwritableError(
            f"{path.name} is written in a way that is not changed safely; put there\n[{header}]\n{table}"
        )
    try:
        replace_text(path, new)
    except OSError as error:
        raise UnwritableError(f"cannot write {path.name}: {error.strerror}") from None


def _header(path: Path, document: Mapping[str, Any]) -> str:
    tools = document.get("tool")
    inside = path.name != OWN_FILE or (isinstance(tools, dict) and TABLE in tools)
    return f"tool.{TABLE}.known-failures" if inside else "known-failures"


def with_table(text: str, header: str, entries: Entries) -> str:
    """``text`` with the table ``header`` holding ``entries``; comments, and entries that did not change, stay as is."""
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines()
    start = next((at for at, line in enumerate(lines) if _names(line, header)), None)
    if start is None:
        lines += ["", f"[{header}]"] if lines else [f"[{header}]"]
        start = len(lines) - 1
    stop = next((at for at in range(start + 1, len(lines)) if _HEADER.match(lines[at])), len(lines))
    body = list(_body(lines[start + 1 : stop], entries))
    return end.join([*lines[: start + 1], *body, *lines[stop:]]) + end


def _names(line: str, header: str) -> bool:
    bare = re.sub(r"[ \t\"']", "", line.partition("#")[0])
    return bare == f"[{header}]"


def _body(lines: list[str], entries: Entries) -> Iterator[str]:
    rest = dict(entries)
    blank: list[str] = []
    for line in lines:
        found = _ENTRY.match(line)
        if not line.strip():
            blank.append(line)
            continue
        if found is None or found[1] in rest:
            yield from blank
            blank = []
            yield line if found is None else _kept(line, found[1], rest.pop(found[1]))
    yield from (_line(check_id, entry) for check_id, entry in sorted(rest.items()))
    yield from blank


def _kept(line: str, check_id: str, entry: dict[str, Any]) -> str:
    with contextlib.suppress(tomllib.TOMLDecodeError):
        if tomllib.loads(line) == {check_id: entry}:
            return line
    return _line(check_id, entry)


def _line(check_id: str, entry: Mapping[str, Any]) -> str:
    held = ", ".join(
        f"{name} = {_value(entry[name])}" for name in ("reason", "url", "expires", "fingerprint") if name in entry
    )
    return f'"{check_id}" = {{ {held} }}'


def _value(value: object) -> str:
    # JSON's strings are TOML's basic strings, but for DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f") if isinstance(value, str) else str(value)


def _is_change(old: dict[str, Any], new: dict[str, Any], header: str, entries: Entries) -> bool:
    """Whether ``new`` is ``old`` but for our table, which has the entries."""
    *path, last = header.split(".")
    table = new
    for name in path:
        table = table.get(name, {})
    wanted = entries or {}
    return table.get(last, {}) == wanted and _without(old, header) == _without(new, header)


def _without(document: dict[str, Any], header: str) -> dict[str, Any]:
    name, _, rest = header.partition(".")
    if not rest:
        return {key: value for key, value in document.items() if key != name}
    inner = document.get(name, {})
    return {**document, name: _without(inner if isinstance(inner, dict) else {}, rest)}
