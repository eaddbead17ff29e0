"""Clause 12.2: how much of an outcome is in a block, and what of it. Knows sizes and characters, no cuts or attacks."""

import html
import json
import re
from collections.abc import Mapping
from typing import Final

from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.renderer_attacks import everywhere
from knowledge_conformance.frames import read_frame
from knowledge_conformance.marking import outcome_of, raw_outcome_of
from knowledge_conformance.render import show
from knowledge_conformance.renderer_subject import RendererSubject
from knowledge_provider.outcome import Outcome
from knowledge_provider.untrusted import BLOCK_CHARS

BUDGET_MIN: Final = 1000
"""The smallest block that a check asks for: a frame, a notice, and some of one result."""

WORDS: Final = "".join(f" word{place:04}" for place in range(2000))
"""A content that is longer than any block, of which each part shows where it stood."""
_SENTENCES: Final = (
    " Two owners approve a release. They read the plan, and one of them tries it.\n\nThe other one waits 24 hours. "
)
_SPOKEN: Final = re.compile(r"[A-Za-z0-9.,&;#]+")
# Field case 89: over-strict stripping breaks them.
SCRIPTS: Final = ("👩\u200d👩\u200d👧", "🏳\ufe0f\u200d🌈", "نامه\u200cها", "क्\u200dष", "审批🚢", "葛\U000e0100飾")


def _large() -> dict[str, Outcome]:
    full: Mapping[str, str] = {"content": WORDS}
    return {
        "one long content": outcome_of(full),
        "eight long contents": outcome_of(*[full] * 8),
        "long fields": raw_outcome_of(*[dict.fromkeys(("id", "title", "source", "locator", "content"), WORDS)] * 8),
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
        partial = [spoken for text in texts if (spoken := _not_whole(text, repeated)) is not None]
        if len(texts) != count or partial:
            raise Violation(
                wanted=f"{count} whole contents of {repeated} times {show(_said(_SENTENCES), limit=60)} in "
                f"{BLOCK_CHARS:,} characters",
                saw=f"{len(texts) - len(partial)} whole ones"
                + (f", and one as {show(partial[0], limit=80)}" if partial else ""),
                hint="cut only what does not fit, and escape only what could mean something",
            )
        subject.observe()


def _not_whole(text: str, repeated: int) -> str | None:
    """What a text says where that is not each line of the sentences so many times; None where it is."""
    # What begins a line in the frame, as its number, may stand between two of them.
    lines = [line for line in map(_said, _SENTENCES.split("\n")) if line]
    spoken = [_said(reading) for reading in (text, unescaped(text))]
    return None if any(all(each.count(line) == repeated for line in lines) for each in spoken) else spoken[0]


def _said(text: str) -> str:
    return " ".join(_SPOKEN.findall(text))


# Clause 12.2
@check("KP-1220", clause="12.2", level=Level.SHOULD, needs=("KP-1217",))
async def scripts_and_emoji_stay_what_they_are(subject: RendererSubject) -> None:
    """Emoji, and writing that needs joiners, stay as they are, or in escapes that can be read back.

    Who drops everything that nobody sees breaks families apart, and Persian and Hindi words.
    """
    for text in SCRIPTS:
        frame = read_frame(await subject.block(outcome_of({"content": f" {text} "})))
        found = next((each.text for each in frame.regions if each.field == "content"), "") if frame else ""
        if not any(text in reading for reading in readings(found)):
            raise Violation(
                wanted=f"{show(text)} as it is",
                saw=show(found),
                hint="drop joiners and selectors where several stand in a row, and keep single ones",
            )
        subject.observe()


def readings(text: str) -> list[str]:
    """A text as it is, and as entities or JSON are read."""
    return [text, html.unescape(text), unescaped(text)]


def unescaped(text: str) -> str:
    """A text as JSON reads it, or as it is where it is no part of JSON."""
    try:
        return str(json.loads(f'"{text.strip()}"'))
    except ValueError:
        return text


CHECKS: Final[tuple[Check, ...]] = (
    a_block_keeps_its_budget,
    what_fits_is_whole,
    scripts_and_emoji_stay_what_they_are,
)
"""Those of the budget; what is needed of them runs first."""
