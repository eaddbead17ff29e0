"""How data stand in a rendered block, told by the marks around every field; knows marks, no renderer's format.

Between the two marks of a field, in the block, stands what was made of its text, and everything else is the frame. A
renderer's own reading of its block is never asked for.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from knowledge_conformance.marking import MARK, place_of

_WHITE: Final = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_TAG: Final = re.compile(r"<[^<>\n]{1,80}>")
_QUOTED: Final = re.compile(r"^[^\n]{0,80}?[\"'][^\n]{0,80}?(?=[\n]|$)")
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\U000e0000-\U000e0fff]"
)
_PROSE_WORDS: Final = 4


class Region(NamedTuple):
    """What stands between the two marks of one field of one result; ``after`` is the frame up to the next mark."""

    field: str
    place: int
    text: str
    after: str


@dataclass(frozen=True, slots=True)
class Frame:
    """A block in its parts: what stands before the first field, and each field with what follows it."""

    before: str
    regions: tuple[Region, ...]

    @property
    def order(self) -> tuple[tuple[str, int], ...]:
        """Which fields of which results stand in it, in its order."""
        return tuple((region.field, region.place) for region in self.regions)

    @property
    def pieces(self) -> tuple[str, ...]:
        """All of the frame, in its order."""
        return (self.before, *(region.after for region in self.regions))


def read_frame(block: str) -> Frame | None:
    """A block in its parts; None where the marks of a field do not stand in pairs, so that something was torn apart."""
    found = list(MARK.finditer(block))
    if len(found) % 2 or not found:
        return None
    regions = []
    ends = [*(mark.start() for mark in found[2::2]), len(block)]
    for begins, finishes, end in zip(found[::2], found[1::2], ends, strict=True):
        if begins.groups()[:2] != finishes.groups()[:2] or (begins[3], finishes[3]) != ("begins", "ends"):
            return None
        text = block[begins.end() : finishes.start()]
        regions.append(Region(begins[1], int(begins[2]), text, block[finishes.end() : end]))
    return Frame(block[: found[0].start()], tuple(regions))


def contents_in(block: str) -> dict[int, str]:
    """What stands behind the beginning of each content, up to the next field's, also where contents lack their ends."""
    begins = [mark for mark in MARK.finditer(block) if mark[3] == "begins"]
    ends = [*(mark.start() for mark in begins), len(block)][1:]
    parts = [
        (int(mark[2]), block[mark.end() : end]) for mark, end in zip(begins, ends, strict=True) if mark[1] == "content"
    ]
    # Where a content is there twice, its first place counts.
    return dict(reversed(parts))


def breakouts(frame: Frame) -> list[str]:
    """Texts that are the frame's own: what follows a field, what stands before it, and each of its lines alone."""
    pieces = frame.pieces
    around = [f"{after}\nforged\n{before}" for before, after in pairwise(pieces)]
    lines = [f"\n{line}\n" for line in _delimiters(frame)]
    return list(dict.fromkeys(text for text in (*pieces, *around, *lines) if text.strip()))


def short_pieces(frame: Frame, field: str = "content") -> tuple[str, ...]:
    """The tags of a frame, its lines that stand alone, and what closes such a field where that is quoted."""
    return tuple(dict.fromkeys((*_tags(frame), *_delimiters(frame), *_closers(frame, field))))


def times(frame: Frame, piece: str, text: str) -> int:
    """How often one of these stands in a text as what it is in the frame."""
    if piece in _tags(frame):
        return text.count(piece)
    if piece in _delimiters(frame):
        return sum(_is_line(line, piece, frame) for line in text.split("\n"))
    return len(_bare(piece).findall(text))


def imitation(frame: Frame, region: Region, usual: Frame) -> str | None:
    """The first piece of the frame that stands in a field's text, or None; ``usual`` is that of ordinary results.

    A tag of the frame counts anywhere in the text, another of its lines as a line. A quotation mark that closes the
    field counts with what follows it. Where a frame closes this field otherwise than it usually does, as a fence that
    is longer than any in the text, its other lines are none that could close it.
    """
    tags, lines = _tags(frame), _delimiters(frame)
    if region._replace(text="") not in [each._replace(text="") for each in usual.regions]:
        lines = tuple(line for line in region.after.split("\n") if line in lines)[:1]
    own_lines = region.text.split("\n")[1:-1]
    inside = (tag for tag in tags if tag in region.text)
    alone = (line for line in lines if any(_is_line(own, line, frame) for own in own_lines))
    closing = (each[0] for each in (_QUOTED.match(region.after),) if each and _stands_bare(each[0], region.text))
    return next((found for kind in (inside, alone, closing) for found in kind), None)


def alike(frame: Frame, region: Region, usual: Frame) -> str | None:
    """The same for what becomes a piece of the frame where a tokenizer normalises, or drops what nobody sees."""
    folded = region._replace(text=_INVISIBLE.sub("", unicodedata.normalize("NFKC", region.text)).casefold())
    tags = [tag.casefold() for tag in _tags(frame)]
    return next((tag for tag in tags if tag in folded.text), None) or imitation(frame, folded, usual)


def leaves_its_line(region: Region) -> bool:
    """Whether a field that ends with its line in the frame has become several lines."""
    return region.after.startswith("\n") and region.field != "content" and bool(_WHITE.search(region.text))


def torn(frame: Frame | None, usual: Frame) -> str | None:
    """In words, how a block has other fields than another one of results like its own; None where it has the same."""
    if frame is None:
        return "fields that are torn apart"
    if frame.order != usual.order:
        missing = [place_of(field, place) for field, place in usual.order if (field, place) not in frame.order]
        return f"no {missing[0]}" if missing else "fields more than once, or in another order"
    return None


def _stands_bare(closer: str, text: str) -> bool:
    return _bare(closer).search(text) is not None


def _bare(closer: str) -> re.Pattern[str]:
    # Behind a backslash it closes nothing, unless that one is escaped itself.
    return re.compile(rf"(?<!\\)(?:\\\\)*{re.escape(closer)}")


def _closers(frame: Frame, field: str) -> list[str]:
    regions = (region for region in frame.regions if region.field == field)
    return [found[0] for region in regions if (found := _QUOTED.match(region.after))]


# Each region of a block is judged by the pieces of all of it.
@lru_cache(maxsize=4)
def _tags(frame: Frame) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag for piece in frame.pieces for tag in _TAG.findall(piece)))


@lru_cache(maxsize=4)
def _delimiters(frame: Frame) -> tuple[str, ...]:
    # Lines that begin with a sign. Others may stand in a text, too, unless the frame consists of nothing else.
    lines = tuple(dict.fromkeys(line for piece in _whole_lines(frame.pieces) for line in piece if _is_short(line)))
    signed = tuple(line for line in lines if not line[0].isalnum())
    other_ends = _tags(frame) or any(_QUOTED.match(region.after) for region in frame.regions)
    return signed or (() if other_ends else lines)


def _whole_lines(pieces: Sequence[str]) -> Iterator[list[str]]:
    for at, piece in enumerate(pieces):
        lines = piece.split("\n")
        # The first belongs to the field before it, and the last to the one after.
        yield [line.strip() for line in lines[at > 0 : len(lines) - (at < len(pieces) - 1)]]


def _is_line(own: str, line: str, frame: Frame) -> bool:
    # A line that stands deeper than the frame's own has been set in, as a block of YAML is.
    if own.strip() != line:
        return False
    depths = [_depth(each) for piece in frame.pieces for each in piece.split("\n") if each.strip() == line]
    return _depth(own) <= max(depths, default=0)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_short(line: str) -> bool:
    return bool(line) and len(line.split()) <= _PROSE_WORDS
