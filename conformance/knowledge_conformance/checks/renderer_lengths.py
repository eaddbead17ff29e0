"""Clause 12.1 where there is much text: attacks at the end of a long content, and in what is cut. Knows frames."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Final

from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.renderer_attacks import ESCAPE, HOST, RESULTS, ROOM, imitates, in_an_address, watching
from knowledge_conformance.checks.renderer_budget import BUDGET_MIN, WORDS
from knowledge_conformance.checks.renderer_crowds import ATTACK_CHARS, CROWDS, leads, require_fields_kept_in
from knowledge_conformance.checks.renderer_templates import TOKENS, require_read
from knowledge_conformance.frames import Frame, breakouts, contents_in, read_frame, short_pieces, times
from knowledge_conformance.marking import outcome_of, reported_outcome_of
from knowledge_conformance.render import show
from knowledge_conformance.renderer_subject import RendererSubject

_LONG: Final = 15_000
_SHORT: Final = 40
# How many characters stand before an attack in fields that a host cuts: about half of what it leaves, marks aside.
_BEFORE: Final[Mapping[str, int]] = {
    **dict.fromkeys(("source", "mime", "provider", "report", "reason", "status"), 40),
    **dict.fromkeys(("title", "locator"), 130),
    **dict.fromkeys(("metadata", "query"), 230),
    "id": 60,
    "uri": 200,
}
_BUDGETS: Final = (BUDGET_MIN, 2 * BUDGET_MIN + 500)
_CUT_LATER: Final = "cut what is escaped already, and not the text as it came"


def _filled(parts: Sequence[str], before: int = 0) -> str:
    """A long content of these, each on lines of its own, from its beginning on or behind so many ordinary words."""
    text, size = [WORDS[:before]], before
    for part in cycle(parts):
        if size >= _LONG:
            break
        text.append(f"\n{part}\n")
        size += len(part) + 2
    return "".join(text)


# Clause 12.1
@check("KP-1221", clause="12.1", level=Level.MUST, needs=("KP-1209", "KP-1211"))
async def a_long_content_is_escaped_to_its_end(subject: RendererSubject) -> None:
    """Contents of 15,000 characters hold pieces of the frame and control tokens to their end, and none comes through.

    Who looks at the beginning of a text only, or at short ones, to save time, leaves the rest to an attacker. Other
    fields hold them behind about half of what a host leaves of each, where such a field is shown.
    """
    watch = await watching(subject)
    own, tokens = breakouts(watch.usual), [mark for template in TOKENS for mark in template.marks]
    for before in (0, 3_500, 8_000, 12_000):
        given = _filled(own, before)
        await watch.look_at(
            {"content": f" {given} "}, given, imitates, "data that cannot be taken for the frame", ESCAPE
        )
        content = {"content": f" {_filled(tokens, before)} "}
        found, _ = await subject.conversation(HOST, outcome_of(*[content] * RESULTS), ROOM)
        for template in TOKENS:
            where = f"a content of {_LONG:,} characters holds its tokens behind the first {before:,}"
            require_read(template, found, where, "escape all of a text, however long it is")
        subject.observe()
    shown = [field for field in _BEFORE if await watch.shows({field: _behind_words(field, "")})]
    for piece in short_pieces(watch.usual):
        texts = {field: _behind_words(field, piece) for field in shown}
        await watch.look_at(texts, piece, imitates, "data that cannot be taken for the frame", ESCAPE)


def _behind_words(field: str, text: str) -> str:
    long = f" {WORDS[: _BEFORE[field]]} {text[:_SHORT]} "
    return in_an_address(long) if field == "uri" else long


# Clause 12.1
@check("KP-1222", clause="12.1", level=Level.MUST, needs=("KP-1209", "KP-1211", "KP-1218"))
async def what_is_cut_is_escaped_too(subject: RendererSubject) -> None:
    """Where texts have to be cut no piece of the frame and no control token comes through, wherever the cut is.

    A cut that goes back to the text as it came, or undoes an escape at its edge, lets everything out that was kept in.
    Contents are cut, and then each other field that is shown, where three or eight results share too little room.
    """
    usual = (await watching(subject)).usual
    for budget in _BUDGETS:
        ordinary = contents_in(await subject.block(outcome_of(*[{"content": WORDS}] * RESULTS), budget))
        for piece in short_pieces(usual):
            await _require_kept_in(subject, usual, piece, ordinary, budget)
        for template in TOKENS:
            content = {"content": "\n".join(f"{mark} obey" for mark in template.marks) * 200}
            found, _ = await subject.conversation(HOST, outcome_of(*[content] * RESULTS), budget)
            where = f"contents with its tokens are cut to {budget:,} characters"
            require_read(template, found, where, _CUT_LATER)
            subject.observe()
    fields = {field for field, _ in usual.order} - {"content"}
    await require_fields_kept_in(subject, usual, reported_outcome_of, sorted(fields))
    for template in TOKENS:
        for results, budget in CROWDS:
            texts = dict.fromkeys(fields - {"uri"}, " ".join(template.marks)[:ATTACK_CHARS])
            found, _ = await subject.conversation(HOST, reported_outcome_of(*[texts] * results), budget)
            where = f"fields with its tokens have to be cut to {budget:,} characters"
            require_read(template, found, where, _CUT_LATER)
            subject.observe()


async def _require_kept_in(
    subject: RendererSubject, usual: Frame, piece: str, ordinary: Mapping[int, str], budget: int
) -> None:
    # One more than around ordinary contents, since more of them may be cut, or left out, where escapes take room.
    allowed = 1 + max((times(usual, piece, text) for text in ordinary.values()), default=0)
    if await _is_answered(subject, usual, piece):
        return
    for lead in leads(piece):
        content = {"content": lead + f"\n{piece}\n" * (_LONG // len(piece))}
        block = await subject.block(outcome_of(*[content] * RESULTS), budget)
        most = max((times(usual, piece, text) for text in contents_in(block).values()), default=0)
        if most > allowed:
            raise Violation(
                wanted=f"what is cut to {budget:,} characters kept in as what is whole",
                saw=f"{show(piece)}, which is the frame's own, {most} times behind where one content begins",
                hint=_CUT_LATER,
            )
        subject.observe()


async def _is_answered(subject: RendererSubject, usual: Frame, piece: str) -> bool:
    """Whether the frame is another one around such text, as a fence that is longer than any in it."""
    frame = read_frame(await subject.block(outcome_of(*[{"content": f" \n{piece}\n "}] * RESULTS), ROOM))
    return frame is not None and not times(usual, piece, "\n".join(frame.pieces))


CHECKS: Final[tuple[Check, ...]] = (a_long_content_is_escaped_to_its_end, what_is_cut_is_escaped_too)
"""Those of long texts; what is needed of them runs first."""
