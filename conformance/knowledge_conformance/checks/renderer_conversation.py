"""Clause 12.1: how a block stands in a conversation. Knows messages and their places, nothing of what is in a block."""

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Final

from knowledge_conformance.apart import difference
from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.marking import has_marks, outcome_of, reported_outcome_of
from knowledge_conformance.plain import plain
from knowledge_conformance.render import show
from knowledge_conformance.renderer_subject import Message, RendererSubject
from knowledge_provider.outcome import Outcome, SourceReport

SYSTEM: Final[Message] = {"role": "system", "content": "You answer from the handbook."}
DEVELOPER: Final[Message] = {"role": "developer", "content": "Be brief."}
QUESTION: Final[Message] = {"role": "user", "content": "Who approves a release?"}
ANSWER: Final[Message] = {"role": "assistant", "content": "Two owners."}
_CALL: Final[Message] = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "call-1", "function": {"name": "knowledge", "arguments": "{}"}}],
}
_SAID: Final[Message] = {"role": "tool", "tool_call_id": "call-1", "content": "nothing"}
_CALLS: Final[Message] = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": f"call-{at}", "function": {"name": "knowledge", "arguments": "{}"}} for at in (1, 2)],
}
_SAID_TOO: Final[Message] = {"role": "tool", "tool_call_id": "call-2", "content": "no more"}
_NAMED: Final[Message] = {"role": "user", "name": "alice", "content": "And then?"}

CONVERSATIONS: Final[tuple[tuple[Message, ...], ...]] = (
    (),
    (SYSTEM,),
    (QUESTION,),
    (SYSTEM, QUESTION),
    (SYSTEM, DEVELOPER, QUESTION),
    (SYSTEM, SYSTEM, DEVELOPER),
    (SYSTEM, QUESTION, ANSWER, _NAMED),
    (SYSTEM, QUESTION, _CALL, _SAID, SYSTEM, QUESTION),
    (QUESTION, SYSTEM, ANSWER),
    (SYSTEM, QUESTION, _CALLS, _SAID, _SAID_TOO),
)
_ANSWERS: Final = frozenset({"tool", "function"})
_DATA_ROLES: Final = _ANSWERS | {"user"}
_NO_WORD: Final = re.compile(r"[^\w-]")
_BENIGN: Final[Mapping[str, str]] = {"content": " Two owners approve a release. "}


def data_message(messages: Sequence[Message], found: Sequence[Message]) -> tuple[int, Message]:
    """Where the one message stands that was not there before; ``Violation`` unless the rest is as it was.

    A message is told by what it is, not by what it says that it is.
    """
    kept = [place for place in range(len(found)) if [*found[:place], *found[place + 1 :]] == list(messages)]
    if len(found) == len(messages) + 1 and kept:
        # Where one like it stands beside it, either may be the new one.
        return kept[-1], found[kept[-1]]
    raise Violation(
        wanted=f"the host's {len(messages)} messages as they were, and one more",
        saw=f"{len(found)} messages: {show([each.get('role') for each in found], limit=160)}"
        if len(found) != len(messages) + 1
        else "one of the host's messages changed, or moved",
        hint="return a new list of the same messages, and the block in a message of its own",
    )


# Clause 12.1
@check("KP-1201", clause="12.1", level=Level.MUST)
async def a_block_is_one_message_of_its_own(subject: RendererSubject) -> None:
    """A conversation gets one more message, which holds the block, and the host's own stay as they were.

    Data that are joined to somebody's message are that person's words. The block is looked for by what it is: what is
    left without it has to be the conversation that came. What the message has besides the block holds nothing of the
    results: neither a second block nor a title that nobody has escaped.
    """
    for messages in CONVERSATIONS:
        found, block = await subject.conversation(messages, reported_outcome_of(_BENIGN, _BENIGN))
        _, message = data_message(messages, found)
        content = message.get("content")
        if type(content) is not str or block not in content or not content.strip():
            raise Violation(
                wanted="a message whose content is text with the block in it",
                saw=show(content),
                hint="put the block into the message as it is: {'role': 'user', 'content': block}",
            )
        besides = {**message, "content": content.replace(block, "", 1)}
        more = [name for name, value in besides.items() if has_marks(repr(plain(value)))]
        if more:
            what = "the block again" if block in besides["content"] else "words of a result"
            raise Violation(
                wanted="nothing of the results in the message but the block, once",
                saw=f"{what} in its {show(more[0])}",
                hint="give the message a role and the block, and no name or text that is made of what was found",
            )
        subject.observe()


# Clause 12.1
@check("KP-1202", clause="12.1", level=Level.MUST, needs=("KP-1201",))
async def a_block_comes_after_the_leading_system_messages(subject: RendererSubject) -> None:
    """The block stands after all leading messages of the roles system and developer, and never before a tool's answer.

    What stands before them, or between them, is read as the setting in which the host's rules are given. Between a
    message that calls tools and their answers, or between two of these, nothing may stand: models refuse that.
    """
    for messages in CONVERSATIONS:
        found, _ = await subject.conversation(messages, outcome_of(_BENIGN))
        place, _ = data_message(messages, found)
        if any(message.get("role") in _ANSWERS for message in messages[place : place + 1]):
            raise Violation(
                wanted="the block where no call of a tool waits for its answer",
                saw=f"in place {place}, counted from 0, before the message of a tool that was called before it",
                hint="put the block behind the leading messages, or behind the last of a tool's answers",
            )
        leading = next((at for at, each in enumerate(messages) if not _is_system(each)), len(messages))
        if place < leading:
            raise Violation(
                wanted=f"the block behind the {leading} leading messages of system and developer",
                saw=f"in place {place}, counted from 0",
                hint="count the first messages of these roles, and put the block behind them",
            )
        subject.observe()


# Clause 12.1
@check("KP-1203", clause="12.1", level=Level.MUST, needs=("KP-1201",))
async def a_block_is_never_the_systems_word(subject: RendererSubject) -> None:
    """Unless the host asks for exactly that, the block is a message of the user or a tool, never of the system.

    Whoever can write a page that is retrieved would else give the model its rules. As the assistant's own words they
    would be what it has already decided.
    """
    for messages in CONVERSATIONS:
        found, _ = await subject.conversation(messages, outcome_of(_BENIGN))
        _, message = data_message(messages, found)
        role = message.get("role")
        if role not in _DATA_ROLES:
            raise Violation(
                wanted="a message of the role user or tool",
                saw=f"one of the role {show(role)}",
                hint="give the block the role user, and let only an explicit option make it the system's",
            )
        subject.observe()


# Clause 12.1
@check("KP-1204", clause="12.1", level=Level.MUST, needs=("KP-1201",))
async def what_came_stays_as_it_was(subject: RendererSubject) -> None:
    """Neither the outcome nor the list of messages, nor a message in it, is changed.

    The host keeps its conversation, and shows the outcome to its user. A block that grows into the list that came is
    there twice at the next turn.
    """
    for messages in CONVERSATIONS:
        outcome, before = outcome_of(_BENIGN, _BENIGN), outcome_of(_BENIGN, _BENIGN)
        given = deepcopy(list(messages))
        block = await subject.block(outcome)
        await subject.injected_into(given, block)
        _require_unchanged("the outcome", before.to_dict(), outcome.to_dict())
        _require_unchanged("the list of messages", list(messages), given)
        subject.observe()


def _require_unchanged(what: str, before: object, after: object) -> None:
    if before != after:
        raise Violation(
            wanted=f"{what} as it was",
            saw=show(after, limit=200),
            hint="make new values; change nothing that came: [*messages[:place], block, *messages[place:]]",
        )


# Clause 12.1
@check("KP-1205", clause="12.1", level=Level.MUST, needs=("KP-1201",))
async def the_same_outcome_is_the_same_block(subject: RendererSubject) -> None:
    """Rendering the same outcome again gives the same block, and so do other outcomes between.

    A block with a clock or a random word in it cannot be cached with the prompt, and what a model was shown cannot be
    shown again. Data are kept in by escaping them, not by a secret.
    """
    outcomes = [outcome_of(_BENIGN), outcome_of(_BENIGN, _BENIGN), outcome_of({})]
    first = [await subject.block(outcome) for outcome in outcomes]
    for outcome, block in [*zip(outcomes, first, strict=True)][::-1]:
        again = await subject.block(outcome.model_copy(deep=True))
        if again != block:
            raise Violation(
                wanted="the same block for the same outcome",
                saw=_difference(block, again),
                hint="leave times, counters and random words out; escape what could close the frame",
            )
        subject.observe()


def _difference(one: str, other: str) -> str:
    """In words, from where on two texts differ, and in what; also where that may not be shown."""
    at = difference(one, other).at
    # The whole word, and what stands before it. A run of letters and digits is shown to nobody: it may be a key.
    begin = at - len(_NO_WORD.split(one[:at])[-1])
    words = [_NO_WORD.split(text[begin:], maxsplit=1)[0] or text[begin : begin + 40] for text in (one, other)]
    if words[0] == words[1]:
        return f"once {len(one):,} and once {len(other):,} characters, which begin the same"
    before = f"behind {show(one[max(0, begin - 40) : begin])}" if begin else "at its beginning"
    shown = [show(word, limit=40) for word in words]
    if shown[0] == shown[1]:
        return f"{before}, a word of {len(words[0])} characters that is another one each time"
    return f"{before}, once {shown[0]} and once {shown[1]}"


# Clause 12.1
@check("KP-1206", clause="12.1", level=Level.MUST, needs=("KP-1201",))
async def nothing_found_is_a_block_too(subject: RendererSubject) -> None:
    """An outcome without results becomes a block that can be put into a conversation.

    A model that gets no message answers from memory. It has to be told that the knowledge has nothing.
    """
    empty = outcome_of()
    for messages in CONVERSATIONS[:4]:
        found, block = await subject.conversation(messages, empty)
        data_message(messages, found)
        if not block.strip():
            raise Violation(
                wanted="text that says that nothing was found",
                saw=show(block),
                hint="render the frame, and a sentence in it",
            )
        subject.observe()


# Clause 12.1
@check("KP-1207", clause="12.1", level=Level.SHOULD, needs=("KP-1205", "KP-1206"))
async def an_outage_does_not_read_as_nothing(subject: RendererSubject) -> None:
    """Where a source could not be asked, the block says so.

    "Nothing is known" and "not everybody could be asked" are different answers, and the model cannot tell them apart
    unless it is told.
    """
    failed = (SourceReport(key="wiki", status="failed", reason="timeout"),)
    for outcome in (outcome_of(), outcome_of(_BENIGN)):
        whole, lacking = await _both(subject, outcome, failed)
        if whole == lacking:
            raise Violation(
                wanted="another block where one of the sources failed",
                saw="the same block as without a failure",
                hint="look at outcome.sources, and add a sentence where a status is failed",
            )
        subject.observe()


async def _both(subject: RendererSubject, outcome: Outcome, sources: tuple[SourceReport, ...]) -> tuple[str, str]:
    return await subject.block(outcome), await subject.block(outcome.model_copy(update={"sources": sources}))


def _is_system(message: Mapping[str, Any]) -> bool:
    return message.get("role") in ("system", "developer")


CHECKS: Final[tuple[Check, ...]] = (
    a_block_is_one_message_of_its_own,
    a_block_comes_after_the_leading_system_messages,
    a_block_is_never_the_systems_word,
    what_came_stays_as_it_was,
    the_same_outcome_is_the_same_block,
    nothing_found_is_a_block_too,
    an_outage_does_not_read_as_nothing,
)
"""Those of conversations; what is needed of them runs first."""
