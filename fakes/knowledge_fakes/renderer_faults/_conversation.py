"""Mistakes with where a block stands, and as whose word; knows conversations, no way of catching them."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from knowledge_fakes.plain_renderer import PlainRenderer
from knowledge_fakes.renderer_faults._declared import fault
from knowledge_provider.outcome import Outcome, OutcomeResult

Message = Mapping[str, Any]


@fault("KP-1201", fragment="the host's 1 messages as they were, and one more")
class JoinedToTheQuestion(PlainRenderer):
    """The block is written before the user's last words, and is part of what the user said."""

    def inject(self, messages: Sequence[Message], block: str) -> list[Message]:
        if not messages or messages[-1]["role"] != "user":
            return super().inject(messages, block)
        last = messages[-1]
        return [*messages[:-1], {**last, "content": f"{block}\n\n{last['content']}"}]


@fault("KP-1201", fragment="and one more")
class OneMessageForEachResult(PlainRenderer):
    """The block is sent in two messages, of which the second looks like something that the user said."""

    def inject(self, messages: Sequence[Message], block: str) -> list[Message]:
        place, half = self.place(messages), len(block) // 2
        return [*messages[:place], self.message(block[:half]), self.message(block[half:]), *messages[place:]]


@fault("KP-1201", fragment="one of the host's messages changed")
class MessagesRewritten(PlainRenderer):
    """The host's messages are made anew of role and content, and what else was in them is gone."""

    def inject(self, messages: Sequence[Message], block: str) -> list[Message]:
        return super().inject([{name: each[name] for name in ("role", "content")} for each in messages], block)


@fault("KP-1201", fragment="a message whose content is text with the block in it")
class ContentInParts(PlainRenderer):
    """The message holds the block in a list of parts, which not every model takes."""

    def message(self, block: str) -> Message:
        return {"role": "user", "content": [{"type": "text", "text": block}]}


@fault("KP-1201", fragment="the block again in its 'content'")
class TheBlockTwice(PlainRenderer):
    """The message has the block twice, so that the model heeds it, and twice what there is room for."""

    def message(self, block: str) -> Message:
        return {"role": "user", "content": f"{block}\n{block}"}


@fault("KP-1201", fragment="words of a result in its 'name'")
class TheTitleForAName(PlainRenderer):
    """The message is named by the title of what was found, which nobody has escaped."""

    title: str | None = None

    def render_block(self, outcome: Outcome, *, max_chars: int = 8000) -> str:
        self.title = next((each.source.title for each in outcome.results if each.source), None)
        return super().render_block(outcome, max_chars=max_chars)

    def message(self, block: str) -> Message:
        return {**super().message(block), "name": self.title or "knowledge"}


@fault("KP-1201", fragment="called as render_block(outcome, *, max_chars=…)")
class NoRoomIsTaken(PlainRenderer):
    """How much room there is cannot be said, and a host that says so gets an error."""

    def render_block(self, outcome: Outcome) -> str:  # type: ignore[override] # the mistake
        return super().render_block(outcome)


@fault("KP-1202", fragment="before the message of a tool")
class BetweenACallAndItsAnswer(PlainRenderer):
    """The block stands between a call of a tool and what the tool answers, and the model refuses that."""

    def place(self, messages: Sequence[Message]) -> int:
        told = next((at for at, each in enumerate(messages) if each["role"] == "tool"), None)
        return super().place(messages) if told is None else told


@fault("KP-1202", fragment="in place 0")
class BeforeEverything(PlainRenderer):
    """The block is the first message, before the host has said what it is about."""

    def place(self, messages: Sequence[Message]) -> int:  # noqa: ARG002 - the mistake
        return 0


@fault("KP-1202", fragment="behind the 2 leading messages")
class OnlySystemIsSystem(PlainRenderer):
    """The role developer is not known, and the block stands before the developer's message."""

    def place(self, messages: Sequence[Message]) -> int:
        return next((at for at, each in enumerate(messages) if each["role"] != "system"), len(messages))


@fault("KP-1203", fragment="one of the role 'system'")
class TheSystemsWord(PlainRenderer):
    """The block is a system message, since models heed those best."""

    def message(self, block: str) -> Message:
        return {"role": "system", "content": block}


@fault("KP-1203", fragment="one of the role 'assistant'")
class TheAssistantsWord(PlainRenderer):
    """The block is something that the assistant has said, and the model goes on from there."""

    def message(self, block: str) -> Message:
        return {"role": "assistant", "content": block}


@fault("KP-1204", fragment="the list of messages as it was")
class PutIntoTheList(PlainRenderer):
    """The block is put into the list that came, and is there again at the next turn."""

    def inject(self, messages: Any, block: str) -> list[Message]:
        messages.insert(self.place(messages), self.message(block))
        return list(messages)


@fault("KP-1204", fragment="the outcome as it was")
class LabelsTakenOut(PlainRenderer):
    """Metadata are taken out of the outcome itself, since the model needs none."""

    def provenance(self, result: OutcomeResult) -> Mapping[str, str]:
        result.metadata.clear()
        return super().provenance(result)


@fault("KP-1205", fragment="the same block for the same outcome")
class NumberedBlocks(PlainRenderer):
    """Each block has a number, and no prompt is the same twice."""

    numbers = itertools.count(1000)

    def render_block(self, outcome: Outcome, *, max_chars: int = 8000) -> str:
        head, _, rest = super().render_block(outcome, max_chars=max_chars - 20).partition("\n")
        return f"{head} no. {next(self.numbers)}\n{rest}"


@fault("KP-1205", fragment="another one each time")
class KeysAroundTheData(PlainRenderer):
    """Each block has a long random word around the data, that whoever writes them cannot know."""

    def render_block(self, outcome: Outcome, *, max_chars: int = 8000) -> str:
        head, _, rest = super().render_block(outcome, max_chars=max_chars - 40).partition("\n")
        return f"{head}{uuid4().hex}\n{rest}"


@fault("KP-1206", fragment="text that says that nothing was found")
class NothingForNothing(PlainRenderer):
    """Without results there is no block, and the model answers from memory."""

    def render_block(self, outcome: Outcome, *, max_chars: int = 8000) -> str:
        return super().render_block(outcome, max_chars=max_chars) if outcome.results else ""


@fault("KP-1206", fragment="raised IndexError")
class TheFirstOfNone(PlainRenderer):
    """The first result is looked at before it is known whether there is one."""

    def lacking(self, outcome: Outcome) -> str:
        return super().lacking(outcome) if outcome.results[0].content else ""


@fault("KP-1207", fragment="another block where one of the sources failed")
class OutagesForgotten(PlainRenderer):
    """A source that failed is not mentioned, and its answers are taken not to exist."""

    def lacking(self, outcome: Outcome) -> str:  # noqa: ARG002 - the mistake
        return ""
