"""The frame around retrieved text (clause 12), as pure functions; knows its parts, no message and no budget of others.

Between its lines stands data in which no ``<`` is left, so whatever has one is the frame's own::

    <knowledge>
    (the notice)
    <result>
    {"id": "release-handbook#approvals", "title": "Release handbook"}
    Every release needs two approvals.
    </result>
    </knowledge>

``<cut/>`` stands where something did not fit.
"""

import json
import re
from collections.abc import Iterator
from typing import Final

from knowledge_provider import limits
from knowledge_provider._graphemes import boundary
from knowledge_provider._neutral import entity_at, escaped, is_neutral, is_unusual, neutral
from knowledge_provider.outcome import NOTICE, OutcomeResult
from knowledge_provider.text import content_text, short_text

CUT: Final = "<cut/>"
OPENING: Final = f"<knowledge>\n{NOTICE}\n"
CLOSING: Final = "</knowledge>"
NOTHING: Final = "Nothing was found.\n"
INCOMPLETE: Final = "Not every source could be asked.\n"
CUT_LINE: Final = f"{CUT}\n"

_BEGIN: Final = "<result>\n"
_END: Final = "\n</result>\n"
_FRAME: Final = len(f"{_BEGIN}\n{CUT}{_END}")
PIECE_MIN: Final = 200
"""Code points below which a result has no place for its provenance and some of its text."""

_JSON: Final = json.JSONEncoder(ensure_ascii=False).encode
_LIMITS: Final = {
    "id": limits.RESULT_ID_MAX,
    "citation": limits.RESULT_ID_MAX,
    "title": limits.SOURCE_TITLE_MAX,
    "url": limits.URI_MAX,
    "source": limits.SOURCE_ID_MAX,
    "locator": limits.SOURCE_LOCATOR_MAX,
}

_RESULT: Final = re.compile(r"<result>\n(\{[^<\n]*\})\n([^<]*)(<cut/>)?\n</result>\n")
_BLOCK: Final = re.compile(
    f"{re.escape(OPENING)}(?:{INCOMPLETE})?(?P<results>{NOTHING}|(?:{_RESULT.pattern})*)(?:{CUT_LINE})?{CLOSING}"
)


def piece(result: OutcomeResult, room: int) -> str | None:
    """One result in its part of the frame, at most ``room`` code points, or None where not even its id has place.

    What says where it is from takes at most half of that. Metadata are left out: what a model has to know of them
    belongs into the title or the content, and labels say who else may read it.
    """
    head = _head(result, (room - _FRAME) // 2)
    if head is None:
        return None
    return f"{_BEGIN}{head}\n{_content(result.content, room - _FRAME - len(head))}{_END}"


def pieces_in(block: str) -> Iterator[tuple[str, str, bool]] | None:
    """Head, content and whether that was cut, of each result in a block; None where ``block`` is none."""
    found = _BLOCK.fullmatch(block)
    return None if found is None else ((each[1], each[2], bool(each[3])) for each in _RESULT.finditer(found["results"]))


def _content(content: str, room: int) -> str:
    # One more than there is place for shows whether anything is left.
    most = room + len(CUT)
    text = _neutral_content(content, most + 1)
    whole = len(content) <= most + 1
    if whole and len(text) <= most:
        return text
    place = min(room, len(text) if whole else max(0, len(text) - 1))
    return text[: _cut_place(text, place)].rstrip() + CUT


def _neutral_content(content: str, limit: int) -> str:
    # Rule N6. What a host has normalised is so already, and but for ASCII, one look tells that sooner.
    head = content[:limit]
    usual = not head.isascii() and not is_unusual(head)
    return escaped(head) if usual else neutral(content_text(content, limit))


def _cut_place(text: str, place: int) -> int:
    # An entity is several characters that stand for one.
    return boundary(text, entity_at(text, place))


def _head(result: OutcomeResult, room: int) -> str | None:
    fields = _provenance(result)
    head = _JSON(fields)
    # What a host has normalised is mostly so. The only colon that is no part of JSON is that behind "https".
    colons = len(fields) + fields.get("url", "").startswith(("https:", "http:"))
    if len(head) <= room and "\\" not in head and is_neutral(head, colons):
        return head
    # Neutral before it is JSON, whose own quotes and colons are not the data's.
    clean = {name: neutral(short_text(value, _LIMITS[name])) for name, value in fields.items()}
    while len(head := _JSON(clean)) > room:
        # The id is first, and what a result cannot do without.
        if len(clean) == 1:
            return None
        clean.popitem()
    return head


def _provenance(result: OutcomeResult) -> dict[str, str]:
    source = result.source
    known = {
        "id": result.id,
        "citation": result.citation_id,
        "title": source and source.title,
        # Not the source's own: the URI policy has kept this one.
        "url": result.url,
        "source": source and source.id,
        "locator": source and source.locator,
    }
    return {name: value for name, value in known.items() if value}
