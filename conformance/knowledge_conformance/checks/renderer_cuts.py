"""Clause 12.2: where what does not fit is cut, and how that is told. Knows cuts and characters, no escaping."""

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Final

from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.renderer_budget import BUDGET_MIN, WORDS, readings
from knowledge_conformance.frames import Region, contents_in, read_frame
from knowledge_conformance.marking import marked, outcome_of, unmarked
from knowledge_conformance.render import show
from knowledge_conformance.renderer_subject import RendererSubject
from knowledge_provider.outcome import Outcome

_BEGINS: Final = "zqcontent{}begins"
_CUT: Final = ([WORDS], [WORDS] * 3, [WORDS[:300]] * 8, [WORDS[:30], WORDS, WORDS[:30]])
# What is made of the data, such as a hash that no attacker can foresee, is another one for other data.
_DIGESTS: Final = re.compile(r"[0-9a-f]{8,}", re.IGNORECASE)
_TAIL: Final = 24

_ESCAPED: Final = {
    "an ampersand": "&",
    "a bracket": "<",
    "a square bracket": "[",
    "a quotation mark": '"',
    "a backslash": "\\",
}
_CLUSTERS: Final = {
    "a family": "👩\u200d👩\u200d👧\u200d👦",
    "a hand with its colour": "👍🏽",
    "a flag": "🇺🇳",
    "a rainbow flag": "🏳\ufe0f\u200d🌈",
    "a letter with its accent": "о\u0301",
    "a Hindi syllable": "क्षि",
    "a Thai syllable": "กำ",
    "a Korean syllable in parts": "\u1100\u1161\u11a8",
}


# Clause 12.2
@check("KP-1218", clause="12.2", level=Level.MUST, needs=("KP-1205", "KP-1216", "KP-1217"))
async def what_is_cut_is_marked(subject: RendererSubject) -> None:
    """What does not fit leaves a mark, a cut content and results without a place, and the frame is closed behind it.

    Without a mark, half a rule reads as the rule. It is told by rendering what was shown, and no more: that is another
    block, since nothing is missing then. Then each content that was cut is made short alone: its mark has to go, and
    the others' to stay. A block that is cut as a whole has lost its own end.
    """
    for texts in _CUT:
        usual = read_frame(await subject.block(outcome_of(*[{}] * len(texts))))
        block = await subject.block(_outcome(_whole(texts)), BUDGET_MIN)
        shown = _shown(block, texts)
        if not shown:
            await _require_said(subject, block, texts)
            continue
        _require_closed(block, texts, [*usual.regions] if usual else [])
        if [*shown.values()] != [text.rstrip() for text in texts]:
            # It has not found place for all of it.
            await _require_a_mark(subject, block, texts, shown)
            await _require_a_mark_for_each(subject, block, texts, shown)
        subject.observe()


async def _require_said(subject: RendererSubject, block: str, texts: Sequence[str]) -> None:
    """Where none of many results has place, that must not read as nothing found; one alone has place."""
    if len(texts) == 1:
        raise Violation(
            wanted=f"some of a result in {BUDGET_MIN:,} characters",
            saw="no content",
            hint="keep the frame small, and share the room that is left",
        )
    if block.split() == (await subject.block(outcome_of(), BUDGET_MIN)).split():
        raise Violation(
            wanted=f"a mark where {len(texts)} results have no place",
            saw="the block of nothing found",
            hint="put a mark of the frame's own where results are left out",
        )


async def _require_a_mark(subject: RendererSubject, block: str, texts: Sequence[str], shown: Mapping[int, str]) -> None:
    contents = _whole(texts)
    # One that was whole keeps the kit's mark at its end.
    held = {
        place: contents[place] if text == texts[place].rstrip() else _unended(place, text)
        for place, text in shown.items()
    }
    again = await subject.block(_outcome(held), 4 * BUDGET_MIN)
    # A mark is something that can be seen.
    if again.split() == block.split():
        raise Violation(
            wanted="a mark where something does not fit",
            saw=f"the block of {len(shown)} whole results, of {sum(map(len, shown.values())):,} characters",
            hint="put a mark of the frame's own behind what is cut, and where results are left out",
        )


async def _require_a_mark_for_each(
    subject: RendererSubject, block: str, texts: Sequence[str], shown: Mapping[int, str]
) -> None:
    for place, text in shown.items():
        # Less than what had place, so that it has place again, whatever the others leave it.
        short = text[: 3 * len(text) // 4].rstrip()
        if text == texts[place].rstrip() or not short:
            continue
        # The mark behind the last one that is shown may be that of those that are left out, so without these.
        kept = [*shown] if place == max(shown) else range(len(texts))
        contents = {at: whole for at, whole in _whole(texts).items() if at in kept}
        other = await subject.block(_outcome(contents | {place: _unended(place, short)}), BUDGET_MIN)
        if _around(other, [*texts[:place], short, *texts[place + 1 :]]) == _around(block, texts):
            raise Violation(
                wanted=f"a mark at the content of result {place} of {len(texts)}, which is cut",
                saw=f"the same around it as where it has {len(short)} characters and is whole",
                hint="mark each content that is cut, and not the first, or the block alone",
            )


def _whole(texts: Sequence[str]) -> dict[int, str]:
    return {place: marked("content", place, text) for place, text in enumerate(texts)}


def _unended(place: int, text: str) -> str:
    return marked("content", place, text).removesuffix(f"zqcontent{place}ends")


def _outcome(contents: Mapping[int, str]) -> Outcome:
    """Results of these places alone, with these contents as they are."""
    outcome = outcome_of(*[{}] * (max(contents) + 1))
    results = [outcome.results[place].model_copy(update={"content": text}) for place, text in contents.items()]
    return outcome.model_copy(update={"results": tuple(results)})


def _shown(block: str, texts: Sequence[str]) -> dict[int, str]:
    """How much of each content of harmless words stands in the block, by its place, of those that are in it."""
    segments = contents_in(block)
    return {place: _common(segments[place], texts[place]).rstrip() for place in sorted(segments)}


def _around(block: str, texts: Sequence[str]) -> list[str]:
    """A block without what it shows of the contents, as a reader sees it."""
    for place, segment in contents_in(block).items():
        begins = _BEGINS.format(place)
        block = block.replace(f"{begins}{_common(segment, texts[place])}", begins, 1)
    return _DIGESTS.sub("", unmarked(block)).split()


def _require_closed(block: str, texts: Sequence[str], usual: Sequence[Region]) -> None:
    """Raise ``Violation`` unless each content is closed as it usually is, and the block, whatever is put between."""
    segments = contents_in(block)
    closings = {region.place: _lines(region.after)[:1] for region in usual if region.field == "content"}
    last = max(segments)
    for place, segment in segments.items():
        shown = len(_common(segment, texts[place]))
        behind, closing = segment[shown:], closings.get(place, [])
        if place == last:
            # Without the kit's marks, the fields that are further behind are still there.
            behind = unmarked(block.partition(_BEGINS.format(place))[2][shown:])
            closing = list(dict.fromkeys((*closings[max(closings)], *_lines(usual[-1].after)[-1:])))
        missing = _missing(closing, behind)
        if missing is not None:
            raise Violation(
                wanted=f"the frame closed behind what is cut, with {show(missing)}",
                saw=f"a content of {shown} characters and then {show(behind[-60:])}",
                hint="cut the texts, and not the block: keep room for the frame",
            )


def _lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()]


def _missing(closing: Sequence[str], behind: str) -> str | None:
    """The first line of what closes a frame that is not there, also with something put into it; or None.

    What a frame closes with may have the mark in it, as ``", "cut": true}``, so that its signs are what is looked for.
    """
    signs, rest = "".join(_DIGESTS.sub("", "".join(closing)).split()), iter(_DIGESTS.sub("", behind))
    if all(sign in rest for sign in signs):
        return None
    return next((line for line in closing if line not in behind), closing[0])


def _common(one: str, other: str) -> str:
    """What two texts have in common at their beginnings."""
    return "".join(pair[0] for pair in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


# Clause 12.2
@check("KP-1219", clause="12.2", level=Level.MUST, needs=("KP-1218",))
async def cuts_fall_outside_of_escapes(subject: RendererSubject) -> None:
    """A cut falls between characters, and not within what one of them is escaped to.

    Half an entity is none, and a backslash that is left alone escapes what closes the field. A row of one character is
    moved along the cut, so that a cut by the number of characters written is seen.
    """
    await _require_cut_between(subject, _ESCAPED, "move the cut back to the beginning of an escape, or count before it")


# Clause 12.2
@check("KP-1223", clause="12.2", level=Level.SHOULD, needs=("KP-1219",))
async def cuts_fall_between_characters_as_readers_see_them(subject: RendererSubject) -> None:
    """A cut falls between characters as a reader sees them: between two emoji, and behind a letter's accents.

    Half a family is another picture, and a letter without its accent another word. Readers' characters are the extended
    grapheme clusters of Unicode (UAX #29), which Python's own library does not tell; the package regex does.
    """
    hint = (
        r"move the cut back to a boundary of grapheme clusters: the last end of a match of regex's \X within the room"
    )
    await _require_cut_between(subject, _CLUSTERS, hint)


async def _require_cut_between(subject: RendererSubject, characters: Mapping[str, str], hint: str) -> None:
    behind = await _behind_a_cut(subject)
    for name, cluster in characters.items():
        written = await _written(subject, cluster)
        if not any(cluster in reading for reading in readings(written)):
            # It is no longer that character, which is another check's business.
            continue
        for shift in range(len(written) + 1):
            lead = "x" * shift
            block = await subject.block(outcome_of({"content": f"{lead}{cluster * 1500}"}), BUDGET_MIN)
            rest = _after_whole(block, lead, written)
            if rest is None:
                continue
            if _common(rest, written) and not rest.startswith(behind):
                raise Violation(
                    wanted=f"a cut before or after {name}, {show(written)}",
                    saw=f"a cut within it: {show(_common(rest, written))}",
                    hint=hint,
                )
            subject.observe()


async def _behind_a_cut(subject: RendererSubject) -> str:
    """What begins the frame behind a content that is cut, which may begin as a character does."""
    block = await subject.block(outcome_of({"content": "x" * 15_000}), BUDGET_MIN)
    return contents_in(block).get(0, "").lstrip("x")[:_TAIL]


async def _written(subject: RendererSubject, cluster: str) -> str:
    """What a renderer makes of one such character, by what a row of two adds to a row of one."""
    frames = [read_frame(await subject.block(outcome_of({"content": f"x{cluster * count}x"}))) for count in (1, 2)]
    texts = [next((each.text for each in frame.regions if each.field == "content"), "") for frame in frames if frame]
    one, two = texts if len(texts) == 2 else ("", "")
    return two[1 : 1 + len(two) - len(one)]


def _after_whole(block: str, lead: str, written: str) -> str | None:
    """What stands behind the last whole character, or None where there is none to be seen."""
    begins = f"{_BEGINS.format(0)}{lead}"
    at = block.find(begins)
    if at < 0 or not written:
        return None
    rest = block[at + len(begins) :]
    whole = 0
    while rest.startswith(written, whole):
        whole += len(written)
    return rest[whole:] if whole else None


CHECKS: Final[tuple[Check, ...]] = (
    what_is_cut_is_marked,
    cuts_fall_outside_of_escapes,
    cuts_fall_between_characters_as_readers_see_them,
)
"""Those of cuts; what is needed of them runs first."""
