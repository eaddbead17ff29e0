"""Clause 12.2: how much of an outcome is in a block, and where it is cut. Knows sizes and characters, no escaping."""

import html
import json
import re
from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Final

from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.renderer_attacks import everywhere
from knowledge_conformance.frames import outcome_of, raw_outcome_of, read_frame
from knowledge_conformance.render import show
from knowledge_conformance.renderer_subject import RendererSubject
from knowledge_provider.outcome import Outcome
from knowledge_provider.untrusted import BLOCK_CHARS

BUDGET_MIN: Final = 1000
"""The smallest block that a check asks for: a frame, a notice, and some of one result."""

_BEGINS: Final = "zqcontent{}begins"
_WORDS: Final = "".join(f" word{place:04}" for place in range(2000))
_SENTENCES: Final = (
    " Two owners approve a release. They read the plan, and one of them tries it.\n\nThe other one waits 24 hours. "
)
_SPOKEN: Final = re.compile(r"[A-Za-z0-9.,&;#]+")
_CLUSTERS: Final = {
    "a family": "👩\u200d👩\u200d👧\u200d👦",
    "a hand with its colour": "👍🏽",
    "a flag": "🇺🇳",
    "a rainbow flag": "🏳\ufe0f\u200d🌈",
    "a letter with its accent": "о\u0301",
    "a Hindi syllable": "क्षि",
    "a Thai syllable": "กำ",
    "a Korean syllable in parts": "\u1100\u1161\u11a8",
    "an ampersand": "&",
    "a bracket": "<",
}
# Field case 89: over-strict stripping breaks them.
SCRIPTS: Final = ("👩\u200d👩\u200d👧", "🏳\ufe0f\u200d🌈", "نامه\u200cها", "क्\u200dष", "审批 🚢", "葛\U000e0100飾")


def _large() -> dict[str, Outcome]:
    full: Mapping[str, str] = {"content": _WORDS}
    return {
        "one long content": outcome_of(full),
        "eight long contents": outcome_of(*[full] * 8),
        "long fields": raw_outcome_of(*[dict.fromkeys(("id", "title", "source", "locator", "content"), _WORDS)] * 8),
        "nothing but brackets": outcome_of(*[{"content": "<" * 15_000}] * 3),
        "nothing but ampersands": outcome_of({"content": "&lt;" * 3000}),
        "nothing but line ends": outcome_of({"content": "\n" * 9000 + "end"}),
        "nothing but quotes": outcome_of(everywhere('"' * 50), {"content": '"\\' * 6000}),
        "one endless character": outcome_of({"content": "a" + "\u0301" * 12_000}),
        "three hundred results": raw_outcome_of(*[{"content": _SENTENCES}] * 9).model_copy(
            update={"results": raw_outcome_of(*[{"content": _SENTENCES}] * 9).results * 34}
        ),
    }


# Clause 12.2
@check("KP-1216", clause="12.2", level=Level.MUST, needs=("KP-1201",))
async def a_block_keeps_its_budget(subject: RendererSubject) -> None:
    """A block has at most 8,000 characters, or as many as max_chars says, whatever is in the outcome.

    Characters are Unicode code points. Escaping makes text longer, and so does a frame around each of many results:
    who retrieves must not decide what is left of the model's window.
    """
    for name, outcome in _large().items():
        for budget in (None, BUDGET_MIN, 2500, 20_000):
            block = await subject.block(outcome, budget)
            allowed = BLOCK_CHARS if budget is None else budget
            if len(block) > allowed:
                raise Violation(
                    wanted=f"at most {allowed:,} characters of {name}",
                    saw=f"{len(block):,} characters",
                    hint="count what is left while you write: the frame first, then each result, escaped",
                )
            subject.observe()


# Clause 12.2
@check("KP-1217", clause="12.2", level=Level.MUST, needs=("KP-1201",))
async def what_fits_is_whole(subject: RendererSubject) -> None:
    """What fits into the budget is there from its first character to its last, in ordinary words unchanged.

    A passage that ends early for no reason loses what it says. Letters, digits, full stops and commas have no need to
    be escaped.
    """
    for count, repeated in ((1, 1), (8, 1), (2, 20), (1, 60)):
        block = await subject.block(outcome_of(*[{"content": _SENTENCES * repeated}] * count))
        frame = read_frame(block)
        texts = [region.text for region in frame.regions if region.field == "content"] if frame else []
        # What begins a line in the frame may stand between two of them.
        spoken = [[" ".join(_SPOKEN.findall(reading)) for reading in (text, _unescaped(text))] for text in texts]
        sentences = " ".join(_SPOKEN.findall(_SENTENCES))
        if len(texts) != count or any(
            max(each.count(sentences) for each in readings) != repeated for readings in spoken
        ):
            raise Violation(
                wanted=f"{count} whole contents of {repeated} times {show(sentences, limit=60)} in "
                f"{BLOCK_CHARS:,} characters",
                saw=f"{len(texts)} whole ones"
                + (f", one as {show(spoken[0][0], limit=80)}" if len(texts) == count else ""),
                hint="cut only what does not fit, and escape only what could mean something",
            )
        subject.observe()


# Clause 12.2
@check("KP-1218", clause="12.2", level=Level.MUST, needs=("KP-1205", "KP-1216", "KP-1217"))
async def what_is_cut_is_marked(subject: RendererSubject) -> None:
    """What does not fit leaves a mark, a cut content and results without a place, and the frame is closed behind it.

    Without a mark, half a rule reads as the rule. It is told by rendering what was shown, and no more: that is another
    block, since nothing is missing then. A block that is cut as a whole has lost its own end.
    """
    closing = await _closing(subject)
    for texts in ([_WORDS], [_WORDS] * 3, [_WORDS[:300]] * 8, [_WORDS[:30], _WORDS, _WORDS[:30]]):
        block = await subject.block(outcome_of(*({"content": text} for text in texts)), BUDGET_MIN)
        shown = {place: text for place in range(len(texts)) if (text := _shown(block, place, texts[place])) is not None}
        if not shown:
            raise Violation(
                wanted=f"some of the first result in {BUDGET_MIN:,} characters",
                saw="no content",
                hint="keep the frame small, and share the room that is left",
            )
        _require_closed(block, closing)
        if [*shown.values()] == [text.rstrip() for text in texts]:
            # It has found place for all of it.
            continue
        again = await subject.block(_cut_outcome(texts, shown), 4 * BUDGET_MIN)
        # A mark is something that can be seen.
        if again.split() == block.split():
            raise Violation(
                wanted="a mark where something does not fit",
                saw=f"the block of {len(shown)} whole results, of {sum(map(len, shown.values())):,} characters",
                hint="put a mark of the frame's own behind what is cut, and where results are left out",
            )
        subject.observe()


async def _closing(subject: RendererSubject) -> list[str]:
    """The lines of the frame behind the last content of an ordinary block."""
    frame = read_frame(await subject.block(outcome_of({})))
    return [line for line in frame.regions[-1].after.split("\n") if line.strip()] if frame else []


def _require_closed(block: str, closing: Iterable[str]) -> None:
    missing = [line for line in closing if line not in block]
    if missing:
        raise Violation(
            wanted=f"the frame closed behind what is cut, with {show(missing[0])}",
            saw=f"a block that ends with {show(block[-60:])}",
            hint="cut the texts, and not the block: keep room for the frame",
        )


def _shown(block: str, place: int, text: str) -> str | None:
    """How much of a content of harmless words stands in the block, or None where there is none of it."""
    begins = _BEGINS.format(place)
    at = block.find(begins)
    return None if at < 0 else _common(block[at + len(begins) :], text).rstrip()


def _common(one: str, other: str) -> str:
    """What two texts have in common at their beginnings."""
    return "".join(pair[0] for pair in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _cut_outcome(texts: list[str], shown: Mapping[int, str]) -> Outcome:
    # The same results, each of which ends where it was cut; one that was whole keeps the mark at its end.
    outcome = outcome_of(*({"content": text} for text in texts))
    results = [
        outcome.results[place]
        if text == texts[place].rstrip()
        else outcome.results[place].model_copy(update={"content": f"{_BEGINS.format(place)}{text}"})
        for place, text in shown.items()
    ]
    return outcome.model_copy(update={"results": tuple(results)})


# Clause 12.2
@check("KP-1219", clause="12.2", level=Level.MUST, needs=("KP-1218",))
async def cuts_fall_between_characters(subject: RendererSubject) -> None:
    """A cut falls between characters as a reader sees them, and not within what a character is written as.

    Half a family is another picture, a letter without its accent another word, and half an entity is none. A row of
    one character is moved along the cut, so that a cut by code points is seen.
    """
    for name, cluster in _CLUSTERS.items():
        written = await _written(subject, cluster)
        if not any(cluster in reading for reading in _readings(written)):
            # It is no longer that character, which is another check's business.
            continue
        for shift in range(len(written) + 1):
            lead = "x" * shift
            block = await subject.block(outcome_of({"content": f"{lead}{cluster * 1500}"}), BUDGET_MIN)
            rest = _after_whole(block, lead, written)
            if rest is None:
                continue
            if _common(rest, written):
                raise Violation(
                    wanted=f"a cut before or after {name}, {show(written)}",
                    saw=f"a cut within it: {show(_common(rest, written))}",
                    hint="cut beside an entity, not in it; between two ASCII characters, beside white space, or at a "
                    r"boundary of grapheme clusters, which \X of the package regex finds",
                )
            subject.observe()


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


# Clause 12.2
@check("KP-1220", clause="12.2", level=Level.SHOULD, needs=("KP-1217",))
async def scripts_and_emoji_stay_what_they_are(subject: RendererSubject) -> None:
    """Emoji, and writing that needs joiners, stay as they are, or in escapes that can be read back.

    Who drops everything that nobody sees breaks families apart, and Persian and Hindi words.
    """
    for text in SCRIPTS:
        frame = read_frame(await subject.block(outcome_of({"content": f" {text} "})))
        found = next((each.text for each in frame.regions if each.field == "content"), "") if frame else ""
        if not any(text in reading for reading in _readings(found)):
            raise Violation(
                wanted=f"{show(text)} as it is",
                saw=show(found),
                hint="drop joiners and selectors where several stand in a row, and keep single ones",
            )
        subject.observe()


def _readings(text: str) -> list[str]:
    return [text, html.unescape(text), _unescaped(text)]


def _unescaped(text: str) -> str:
    """A text as JSON reads it, or as it is where it is no part of JSON."""
    try:
        return str(json.loads(f'"{text.strip()}"'))
    except ValueError:
        return text


CHECKS: Final[tuple[Check, ...]] = (
    a_block_keeps_its_budget,
    what_fits_is_whole,
    what_is_cut_is_marked,
    cuts_fall_between_characters,
    scripts_and_emoji_stay_what_they_are,
)
"""Those of the budget; what is needed of them runs first."""
