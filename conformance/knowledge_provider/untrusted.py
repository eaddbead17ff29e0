"""Retrieved text in front of a model, as data that cannot speak as anything else (clause 12); pure functions.

Knows outcomes and messages as dictionaries, no provider, call or model. What the frame looks like is in ``_framing``,
what text is made harmless in ``_neutral``, and where it may be cut in ``_graphemes``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from knowledge_provider import _framing
from knowledge_provider.outcome import Outcome, OutcomeResult
from knowledge_provider.text import class_name, is_a

__all__ = [
    "BLOCK_CHARS",
    "BLOCK_CHARS_MIN",
    "BlockResult",
    "inject",
    "leading_system",
    "parse_block",
    "render_block",
    "require_block",
]

BLOCK_CHARS: Final = 8000
"""Code points of a block unless the caller says otherwise (clause 12.2)."""

BLOCK_CHARS_MIN: Final = 500
"""The fewest that a block can have: its frame, the notice, and some of one result, if its id needs few entities."""

_LEFT_OVER: Final = 64

_FIXED: Final = len(
    _framing.OPENING + _framing.INCOMPLETE + _framing.NOTHING + _framing.CUT_LINE + _framing.CLOSING,
)
_SYSTEM_ROLES: Final = frozenset({"system", "developer"})


@dataclass(frozen=True, slots=True)
class BlockResult:
    """One result as a block has it: its provenance as ``fields``, ``id`` always, its content, and whether any is cut.

    Other fields, where known: ``citation``, ``title``, ``url``, ``source`` and ``locator``.
    """

    fields: Mapping[str, str]
    content: str
    cut: bool


def render_block(outcome: Outcome, *, max_chars: int = BLOCK_CHARS) -> str:
    """An outcome as one block of text for a model, at most ``max_chars`` code points; the same each time.

    It says that it is data, and for each result where that is from. Nothing in a result can end the block or begin
    another: every ``<`` of theirs is written as ``&lt;``. Invisible characters go, and what begins a turn in a chat
    template, a Markdown link or an image is written with entities. Metadata are left out, access labels with them.

    What does not fit is cut between characters, and ``<cut/>`` stands there, or behind the line of provenance where
    that lost fields. Results share the room evenly, and what a short one leaves is for the longer ones. When some
    cannot have a place, those are the last ones.

    Raises ``TypeError`` when ``outcome`` is none or ``max_chars`` no int, ``ValueError`` when that is below 500.
    """
    _require_renderable(outcome, max_chars)
    incomplete = any(report.status == "failed" for report in outcome.sources)
    return "".join(
        (
            _framing.OPENING,
            _framing.INCOMPLETE if incomplete else "",
            _body(outcome.results, max_chars - _FIXED),
            _framing.CLOSING,
        )
    )


def parse_block(text: str) -> tuple[BlockResult, ...]:
    """The results in a block, read as ``render_block`` wrote them; raises ``ValueError`` for any other text.

    Their texts are as in the outcome, but for what is cut, left out or invisible.
    """
    read = _framing.results_in(text) if is_a(text, str) else None
    if read is None:
        raise ValueError(
            "block must be what render_block made, and nothing before or after it, since anything else could speak as "
            f"the user or the system; got {'other text' if is_a(text, str) else class_name(text)}: render the outcome, "
            "and pass that"
        )
    return tuple(BlockResult(each.fields, each.content, each.cut) for each in read)


def require_block(text: str) -> str:
    """The same text; raises ``ValueError`` as ``parse_block`` where it is no block."""
    parse_block(text)
    return text


def inject(
    messages: Sequence[Mapping[str, Any]], block: str, *, allow_untrusted_system_message: bool = False
) -> list[Mapping[str, Any]]:
    """A new list: the same messages, and the block as one of role ``user`` after the leading system messages (12.1).

    ``allow_untrusted_system_message=True`` makes it one of role ``system``: whoever can write what is retrieved then
    speaks with the host's authority, framed or not. Messages are mappings with a ``role``; ``developer`` counts as
    system.

    Raises ``TypeError`` when a message is no mapping or its role no string, ``ValueError`` when ``block`` is not what
    ``render_block`` made.
    """
    place = leading_system([_role(message) for message in messages])
    # Clause 12.1. True alone: a truthy setting read from a file is a mistake.
    role = "system" if allow_untrusted_system_message is True else "user"
    made = {"role": role, "content": require_block(block)}
    return [*messages[:place], made, *messages[place:]]


def leading_system(roles: Iterable[str]) -> int:
    """How many of the first roles are ``system`` or ``developer``, in any case: where a block goes."""
    count = 0
    for role in roles:
        if role.lower() not in _SYSTEM_ROLES:
            break
        count += 1
    return count


def _body(results: Sequence[OutcomeResult], room: int) -> str:
    if not results:
        return _framing.NOTHING
    some = results[: max(1, room // _framing.PIECE_MIN)]
    pieces = _pieces(some, room)
    left_out = len(pieces) < len(results)
    return "".join(pieces) + (_framing.CUT_LINE if left_out else "")


def _pieces(results: Sequence[OutcomeResult], room: int) -> list[str]:
    # Clause 12.2. From the shortest to the longest, so that each leaves to those after it what it does not need.
    made: dict[int, _framing.Piece] = {}
    share = room // len(results)
    order = sorted(range(len(results)), key=lambda place: _framing.size(results[place], share))
    for done, place in enumerate(order):
        piece = _framing.piece(results[place], room // (len(order) - done))
        if piece is not None:
            made[place] = piece
            room -= len(piece.text)
    return [piece.text for _, piece in sorted(_fuller(results, made, room).items())]


def _fuller(results: Sequence[OutcomeResult], made: dict[int, _framing.Piece], room: int) -> dict[int, _framing.Piece]:
    # How much a content needs is only known when it is written; where that left room, what was cut may have it.
    fuller = dict(made)
    for place in [place for place, piece in made.items() if piece.cut]:
        if room < _LEFT_OVER:
            break
        longer = _framing.piece(results[place], len(made[place].text) + room)
        if longer is not None:
            fuller[place] = longer
            room -= len(longer.text) - len(made[place].text)
    return fuller


def _role(message: Mapping[str, Any]) -> str:
    role = message.get("role") if isinstance(message, Mapping) else None
    if not isinstance(role, str):
        raise TypeError(
            "messages must be mappings with a role, since the block goes behind the system's; one is a "
            f"{class_name(message)} without: pass dictionaries with role and content"
        )
    return role


def _require_renderable(outcome: object, max_chars: object) -> None:
    if not is_a(outcome, Outcome):
        raise TypeError(
            f"outcome must be an Outcome, of which every part is known; got {class_name(outcome)}: pass what a host's "
            "search or normalize_response gave"
        )
    if type(max_chars) is not int:
        raise TypeError(f"max_chars must be an int, since it is a count; got {class_name(max_chars)}: pass 8000")
    if max_chars < BLOCK_CHARS_MIN:
        raise ValueError(
            f"max_chars must be {BLOCK_CHARS_MIN} or more, or the frame and its notice have no place; got less: pass "
            "8000, or leave it out"
        )
