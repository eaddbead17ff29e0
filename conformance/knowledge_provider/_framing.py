"""The frame around retrieved text (clause 12), as pure functions; knows its parts, no message and no budget of others.

Between its lines stands data in which no ``<`` is left, so whatever has one is the frame's own::

    <knowledge>
    (the notice)
    <result>
    {"id": "release-handbook#approvals", "title": "Release handbook"}
    Every release needs two approvals.
    </result>
    </knowledge>

``<cut/>`` stands where something did not fit, behind the line of JSON where that lost fields.
"""

import json
import re
from typing import Final, NamedTuple

from knowledge_provider import limits
from knowledge_provider._graphemes import boundary
from knowledge_provider._neutral import (
    entity_at,
    is_content,
    is_harmless,
    is_neutral,
    is_tame,
    literal,
    neutral,
    unusual_in,
)
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
_FRAME: Final = len(f"{_BEGIN}\n{_END}")
PIECE_MIN: Final = 200
"""Code points below which a result has no place for its provenance and some of its text."""
_CONTENT_MIN: Final = 20

_JSON: Final = json.JSONEncoder(ensure_ascii=False).encode
_LIMITS: Final = {
    "id": limits.RESULT_ID_MAX,
    "citation": limits.RESULT_ID_MAX,
    "title": limits.SOURCE_TITLE_MAX,
    "url": limits.URI_MAX,
    "source": limits.SOURCE_ID_MAX,
    "locator": limits.SOURCE_LOCATOR_MAX,
}

_RESULT: Final = re.compile(r"<result>\n(\{[^<\n]*\})(<cut/>)?\n([^<]*)(<cut/>)?\n</result>\n")
_BLOCK: Final = re.compile(
    f"{re.escape(OPENING)}(?:{INCOMPLETE})?(?P<results>{NOTHING}|(?:{_RESULT.pattern})*)(?:{CUT_LINE})?{CLOSING}"
)


class Piece(NamedTuple):
    """A result in its part of the frame, and whether something of it is cut."""

    text: str
    cut: bool


class Read(NamedTuple):
    """A result as a block has it; its content and fields are those that were given, as far as they are there."""

    fields: dict[str, str]
    content: str
    cut: bool


def size(result: OutcomeResult, room: int) -> int:
    """About how many code points the content needs, to tell the shorter from those that need ``room`` and more."""
    content = result.content
    # Most have none, and to see that takes a tenth of counting them.
    return len(content) + ((len("&lt;") - 1) * content.count("<", 0, room) if "<" in content else 0)


def piece(result: OutcomeResult, room: int) -> Piece | None:
    """One result in its part of the frame, at most ``room`` code points, or None where not even its id has place.

    What says where it is from takes at most half of that, unless the content leaves more. Metadata are left out: what a
    model has to know of them belongs into the title or the content, and labels say who else may read it.
    """
    room -= _FRAME
    fields, head = _whole_head(result)
    if len(head) > room // 2:
        kept = _shortened(fields, result.content, room)
        if kept is None:
            return None
        head = kept
    text, whole = _content(result.content, room - len(head))
    return Piece(f"{_BEGIN}{head}\n{text}{_END}", not whole or head.endswith(CUT))


def results_in(block: str) -> tuple[Read, ...] | None:
    """Each result in a block; None where ``block`` is none that could have been made here."""
    found = _BLOCK.fullmatch(block)
    if found is None:
        return None
    read = tuple(map(_read, _RESULT.finditer(found["results"])))
    return None if None in read else tuple(each for each in read if each is not None)


def _read(found: re.Match[str]) -> Read | None:
    head, lost, content, cut = found.groups()
    fields = _fields_in(head)
    # Clause 12.1: what somebody else wrote into the same frame could speak as anybody.
    if fields is None or not is_harmless(content) or not all(map(is_harmless, fields.values())):
        return None
    return Read({name: literal(value) for name, value in fields.items()}, literal(content), bool(lost or cut))


def _fields_in(head: str) -> dict[str, str] | None:
    try:
        fields: dict[str, object] = json.loads(head)
        written = _JSON(fields)
    except (ValueError, RecursionError):
        return None
    known = {name: value for name, value in fields.items() if name in _LIMITS and isinstance(value, str)}
    return known if "id" in known and len(known) == len(fields) and written == head else None


def _content(content: str, room: int) -> tuple[str, bool]:
    # One more than there is place for shows whether anything is left.
    text = _neutral_content(content, room + 1)
    whole = len(content) <= room + 1
    if whole and len(text) <= room:
        return text, True
    place = max(0, min(room - len(CUT), len(text) if whole else len(text) - 1))
    return text[: _cut_place(text, place)].rstrip() + CUT, False


def _neutral_content(content: str, limit: int) -> str:
    # Rule N6. What a host has normalised is so already, which one look tells sooner.
    head = content[:limit]
    marks = unusual_in(head)
    if not is_content(head, marks):
        return neutral(content_text(content, limit))
    return neutral(head.rstrip() if head.isascii() else head, marks)


def _cut_place(text: str, place: int) -> int:
    # An entity is several characters that stand for one.
    return boundary(text, entity_at(text, place))


def _whole_head(result: OutcomeResult) -> tuple[dict[str, str], str]:
    fields = _provenance(result)
    # The only colon that is no part of JSON is that behind "https".
    colons = _colons(fields.get("url", ""))
    # What a host has normalised is mostly so.
    if is_tame("".join(fields.values()), colons):
        return fields, _quoted(fields)
    head = _written(fields)
    if "\\" not in head and is_neutral(head, len(fields) + colons):
        return fields, head
    # Neutral before it is JSON, whose own quotes and colons are not the data's.
    clean = {name: _clean(name, value) for name, value in fields.items()}
    return clean, _written(clean)


def _written(fields: dict[str, str]) -> str:
    # As JSON has it, which takes a quarter of a short result's time to find out that there is nothing to escape.
    values = "".join(fields.values())
    return _quoted(fields) if values.isprintable() and '"' not in values and "\\" not in values else _JSON(fields)


def _quoted(fields: dict[str, str]) -> str:
    # Of pairs such as ``id": "a``: where nothing is to be escaped, this is all of JSON.
    return '{"' + '", "'.join(map('": "'.join, fields.items())) + '"}'


def _clean(name: str, value: str) -> str:
    # One title with a bracket must not make the other fields cost as much.
    if len(value) <= _LIMITS[name] and is_tame(value, _colons(value)):
        return value
    return neutral(short_text(value, _LIMITS[name]))


def _colons(text: str) -> int:
    return 1 if text.startswith(("https:", "http:")) else 0


def _shortened(fields: dict[str, str], content: str, room: int) -> str | None:
    # Half of the room is the content's if it needs that; and the id, which a result cannot do without, may have more.
    needed = len(_neutral_content(content, room))
    most = max(room // 2, room - needed)
    kept = dict(fields)
    while len(head := f"{_JSON(kept)}{CUT if len(kept) < len(fields) else ''}") > most:
        # The id is first.
        if len(kept) == 1:
            return head if len(head) <= room - _CONTENT_MIN else None
        kept.popitem()
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
