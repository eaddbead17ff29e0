"""A factory of renderers as a check sees it: every call bounded, counted and announced."""

import asyncio
import threading
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from knowledge_conformance import calls, renderer_subject
from knowledge_conformance.check import Hang, Violation
from knowledge_conformance.marking import outcome_of
from knowledge_conformance.renderer_subject import RendererSubject, show_outcome
from knowledge_conformance.settings import Settings
from knowledge_fakes.plain_renderer import factory

OUTCOME = outcome_of({"content": " Two owners. "})
MESSAGES = [{"role": "user", "content": "Who?"}]


def subject_of(make: Any, announced: list[str] | None = None) -> RendererSubject:
    seen = [] if announced is None else announced
    return RendererSubject(make, Settings(), announce=lambda shown, _: seen.append(shown))


def ended(work: Coroutine[Any, Any, Any]) -> Any:
    async def run() -> Any:
        return await work

    return asyncio.run(run())


def answering(block: Any = "block", messages: Any = None) -> Any:
    """What makes a renderer that answers these."""
    return lambda: SimpleNamespace(render_block=lambda *_, **__: block, inject=lambda *_: messages)


def test_every_call_is_counted_and_announced() -> None:
    """The renderer is made once for a check, when it is first used."""
    announced: list[str] = []
    subject = subject_of(factory, announced)

    async def use() -> None:
        found, block = await subject.conversation(MESSAGES, OUTCOME)
        assert found[0]["content"] == block
        await subject.block(OUTCOME, 1000)

    asyncio.run(use())
    assert announced == [
        "factory()",
        "render_block(an outcome with 'Two owners.')",
        "inject([{'role': 'user', 'content': 'Who?'}], block)",
        "render_block(an outcome with 'Two owners.', max_chars=1000)",
    ]
    assert subject.calls == 4


@pytest.mark.parametrize("block", [None, b"block", 5])
def test_a_block_is_text(block: Any) -> None:
    """Of exact type, since it goes into a prompt."""
    with pytest.raises(Violation, match="wanted a block of text"):
        ended(subject_of(answering(block)).block(OUTCOME))


@pytest.mark.parametrize("messages", [None, "block", ["block"], [["role", "user"]]])
def test_a_conversation_is_a_list_of_messages(messages: Any) -> None:
    """As mappings."""
    with pytest.raises(Violation, match="wanted a list of messages"):
        ended(subject_of(answering(messages=messages)).injected(MESSAGES, "block"))


def test_the_checks_own_messages_stay() -> None:
    """The renderer gets a copy, and this very list only where that is what is looked at."""

    def inject(messages: Any, block: str) -> Any:
        messages[0]["content"] = block
        return messages

    make = lambda: SimpleNamespace(render_block=factory().render_block, inject=inject)  # noqa: E731 - a factory
    given = [dict(MESSAGES[0])]
    assert ended(subject_of(make).injected(given, "block"))[0]["content"] == "block"
    assert given == MESSAGES
    ended(subject_of(make).injected_into(given, "block"))  # type: ignore[arg-type]  # mappings, as a host has them
    assert given[0]["content"] == "block"


def test_what_is_no_renderer_is_a_finding() -> None:
    """The method that is missing, or what the factory raises."""
    with pytest.raises(Violation, match="a renderer with a callable render_block"):
        ended(subject_of(object).block(OUTCOME))

    def raising() -> Any:
        raise RuntimeError("no model")

    with pytest.raises(Violation, match="RuntimeError: no model"):
        ended(subject_of(raising).block(OUTCOME))


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        (
            SimpleNamespace(render_block=lambda outcome: "", inject=lambda messages, block: []),
            "render_block, called as",
        ),
        (SimpleNamespace(render_block=factory().render_block, inject=lambda block: []), "inject, called as"),
    ],
)
def test_another_signature_is_said_before_anything_is_called(made: Any, wanted: str) -> None:
    """As that of a factory of another kind is, and not by the first call that needs it."""
    subject = subject_of(lambda: made)
    with pytest.raises(Violation, match=f"a renderer with a callable {wanted}"):
        ended(subject.block(OUTCOME))
    assert subject.calls == 1


def test_what_has_no_signature_is_called() -> None:
    """Some callables of Python's own cannot say how they are called."""
    made = SimpleNamespace(render_block=lambda *_, **__: "block", inject=dict.fromkeys)
    assert ended(subject_of(lambda: made).block(OUTCOME)) == "block"


def test_what_hangs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it blocks its thread."""
    monkeypatch.setattr(renderer_subject, "RENDER_SECONDS", 0.1)
    monkeypatch.setattr(calls, "GRACE_SECONDS", 0.1)
    released = threading.Event()
    hanging = SimpleNamespace(render_block=lambda *_, **__: released.wait(), inject=lambda *_: [])
    make = lambda: hanging  # noqa: E731 - a factory
    with pytest.raises(Hang, match="an end within"):
        ended(subject_of(make).block(OUTCOME))
    released.set()


def test_an_outcome_is_shown_without_its_marks() -> None:
    """By its first content."""
    assert show_outcome(outcome_of()) == "an outcome without results"
    assert show_outcome(outcome_of({"content": " a "}, {})) == "an outcome with 'a' and 1 more"
    assert show_outcome(outcome_of({}, {})) == "an outcome of 2 with no text but the kit's marks"
