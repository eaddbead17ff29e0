"""What clients send, from bytes to references and windows; knows JSON and limits, no request, task or storage.

Whatever comes, the only thing that is raised is ``RefusedError``.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple, NoReturn

from knowledge_provider.errors import KnowledgeReferenceInvalidError
from knowledge_provider.sources.bindings import read_task
from knowledge_provider.sources.listing import OFFSET_MAX, PAGE_DEFAULT, PAGE_MAX
from knowledge_provider.sources.references import (
    ExternalKnowledgeRef,
    read_reference,
    refuse_unknown_fields,
    shown_name,
)
from knowledge_provider.sources.server._refusals import Location, RefusedError, of_reference, unfit
from knowledge_provider.text import class_name

BODY_MAX: Final = 256 * 1024
"""Bytes of a request's body."""

REFERENCES_MAX: Final = 100
"""References in one request."""

_JSON: Final = re.compile(r"application/(?:[\w.+-]+\+)?json(?:\s*;.*)?", re.IGNORECASE | re.ASCII)
# More digits are no window that there is, and some of what `int` reads is no number to other programs.
_WHOLE: Final = re.compile(r"-?[0-9]{1,18}")


class Window(NamedTuple):
    """Which documents are wanted."""

    limit: int
    offset: int


def read_path_task(value: str) -> str:
    """The task's id in the path."""
    try:
        return read_task(value)
    except KnowledgeReferenceInvalidError as error:
        raise of_reference(error, ("path",)) from None


def require_json(headers: Mapping[str, str]) -> None:
    """Refuse a body of another kind, and one that says that it is too large."""
    # A form of another site can send plain text with the user's cookies, and no JSON.
    if (
        not _JSON.fullmatch(headers.get("content-type", ""))
        or headers.get("content-encoding", "identity").lower() != "identity"
    ):
        raise RefusedError(
            415,
            "content_type_unsupported",
            "Content-Type: wanted application/json, not compressed; another came, or none. Nothing was done. Send "
            "JSON, and say so.",
            ("header", "content-type"),
        )
    if (said := headers.get("content-length", "")).isdecimal() and int(said[:18]) > BODY_MAX:
        raise too_large()


def too_large() -> RefusedError:
    """For a body that is not read to its end."""
    message = (
        f"body: wanted at most {BODY_MAX} bytes, and more came. Nothing was done. Send fewer references at a time."
    )
    return RefusedError(413, "body_too_large", message, ("body",))


def read_removal(body: bytes) -> ExternalKnowledgeRef | str:
    """The one reference of ``{"ref": {…}}``, or the key of ``{"key": "…"}``, which a warning has."""
    fields = _object(body, ("ref", "key"))
    key = fields.get("key")
    if key is None:
        return _reference(_field(fields, "ref"), ("body", "ref"))
    if type(key) is not str or fields.get("ref") is not None:
        raise unfit(("body", "key"), "the key of a warning as a string, and no ref beside it", "something else came")
    return key


def read_additions(body: bytes) -> tuple[ExternalKnowledgeRef, ...]:
    """The references of ``{"refs": […]}``."""
    return _references(_field(_object(body, ("refs",)), "refs"))


def read_selection(body: bytes) -> tuple[tuple[ExternalKnowledgeRef, ...], Window]:
    """The references of ``{"refs": […]}``, with ``limit`` and ``offset`` or without."""
    fields = _object(body, ("refs", "limit", "offset"))
    return _references(_field(fields, "refs")), _window(fields, "body")


def refuse_parameters(names: Iterable[str], known: Collection[str]) -> None:
    """Refuse a query with another parameter than these: one that is mistyped would be one that is left out."""
    if unknown := [name for name in names if name not in known]:
        shown = shown_name(unknown[0])
        wanted = f"no parameter but {', '.join(known)}" if known else "no parameters"
        raise unfit(("query", shown) if shown else ("query",), wanted, "another came")


def read_query(pairs: Iterable[tuple[str, str]]) -> Window:
    """``limit`` and ``offset`` of a query, in which there are no others."""
    sent: dict[str, object] = {}
    for name, value in pairs:
        if name in sent:
            raise unfit(("query", name), "the parameter once", "it came more than once")
        sent[name] = int(value) if _WHOLE.fullmatch(value) else value
    return _window(sent, "query")


def _window(fields: Mapping[str, object], where: str) -> Window:
    return Window(
        _number(fields.get("limit"), PAGE_DEFAULT, (1, PAGE_MAX), (where, "limit")),
        _number(fields.get("offset"), 0, (0, OFFSET_MAX), (where, "offset")),
    )


def _number(value: object, default: int, bounds: tuple[int, int], location: Location) -> int:
    least, most = bounds
    if value is None:
        return default
    if type(value) is not int or not least <= value <= most:
        raise unfit(location, f"a whole number from {least} to {most}", "something else came")
    return value


def _object(body: bytes, known: Collection[str]) -> dict[str, Any]:
    try:
        value = json.loads(body.decode(), object_pairs_hook=_once, parse_constant=_no_number)
    # Nested too deep, or a number of more digits than Python reads.
    except (ValueError, RecursionError):
        raise unfit(("body",), "a JSON object in UTF-8, with each name once", "something else came") from None
    if type(value) is not dict:
        raise unfit(("body",), "a JSON object", f"a {class_name(value)} came")
    if unknown := [name for name, given in value.items() if name not in known and given is not None]:
        shown = shown_name(unknown[0])
        raise unfit(("body", shown) if shown else ("body",), f"no field but {', '.join(known)}", "another came")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError
    return fields


def _no_number(_: str) -> NoReturn:
    raise ValueError


def _field(fields: Mapping[str, Any], name: str) -> Any:
    if fields.get(name) is None:
        raise unfit(("body", name), "a reference" if name == "ref" else "a list of references", "none came")
    return fields[name]


def _references(value: object) -> tuple[ExternalKnowledgeRef, ...]:
    if type(value) is not list or not 1 <= len(value) <= REFERENCES_MAX:
        came = f"{len(value)} came" if type(value) is list else f"a {class_name(value)} came"
        raise unfit(("body", "refs"), f"a list of 1 to {REFERENCES_MAX} references", came)
    return tuple(_reference(each, ("body", "refs", place)) for place, each in enumerate(value))


def _reference(value: object, location: Location) -> ExternalKnowledgeRef:
    try:
        refuse_unknown_fields(value)
        return read_reference(value)
    except KnowledgeReferenceInvalidError as error:
        raise of_reference(error, location) from None
