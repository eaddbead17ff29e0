"""Clause 12.1 where results share too little room: attacks in fields that have to be cut. Knows frames, no content."""

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Final

from knowledge_conformance.check import Violation
from knowledge_conformance.checks.renderer_attacks import ROOM, in_an_address
from knowledge_conformance.checks.renderer_budget import BUDGET_MIN, WORDS
from knowledge_conformance.frames import Frame, read_frame, short_pieces, times
from knowledge_conformance.marking import place_of
from knowledge_conformance.render import show
from knowledge_conformance.renderer_subject import RendererSubject
from knowledge_provider.outcome import Outcome

CROWDS: Final = ((3, BUDGET_MIN), (8, BUDGET_MIN + 1500))
"""How many results share how many characters, so that a long field of each has no place."""
ATTACK_CHARS: Final = 300
"""How long such a field is; more of it than a host leaves is cut by the host."""

_SHIFTS: Final = 4


def leads(piece: str) -> Iterable[str]:
    """What may stand before a row of pieces, so that a cut falls into each part of one."""
    return ("x" * shift for shift in range(0, len(piece) + 1, max(1, len(piece) // _SHIFTS)))


async def require_fields_kept_in(
    subject: RendererSubject, usual: Frame, make: Callable[..., Outcome], fields: Sequence[str]
) -> None:
    """No piece of the usual frame comes out of one of the fields, filled with it in every result of a crowd.

    Raises ``Violation`` where there are more of it in a block than around all of as many ordinary results.
    """
    for (results, budget), field in product(CROWDS, fields):
        whole = await subject.block(make(*[{}] * results), ROOM)
        words = await subject.block(make(*[_filled(field, WORDS)] * results), budget)
        for piece in short_pieces(usual, field):
            if await _is_answered(subject, usual, make(*[_filled(field, piece)] * results), piece):
                continue
            # Where escapes take room, fields or results may be left out, and others find place.
            allowed = 1 + max(times(usual, piece, text) for text in (whole, words))
            for lead in leads(piece):
                texts = _filled(field, lead + f" {piece}" * (ATTACK_CHARS // len(piece)))
                block = await subject.block(make(*[texts] * results), budget)
                found = times(usual, piece, block)
                if found > allowed:
                    raise Violation(
                        wanted=f"fields that are cut to {budget:,} characters kept in as those that are whole",
                        saw=f"{show(piece)}, which is the frame's own, {found} times where the {place_of(field, 0)} "
                        f"and those of {results - 1} more are full of it",
                        hint="cut what is escaped already, and not the text as it came",
                    )
                subject.observe()


def _filled(field: str, text: str) -> dict[str, str]:
    short = f" {text[:ATTACK_CHARS]} "
    return {field: in_an_address(short) if field == "uri" else short}


async def _is_answered(subject: RendererSubject, usual: Frame, outcome: Outcome, piece: str) -> bool:
    """Whether the frame is another one around such a field, as a fence that is longer than any in it."""
    frame = read_frame(await subject.block(outcome, ROOM))
    return frame is not None and not times(usual, piece, "\n".join(frame.pieces))
