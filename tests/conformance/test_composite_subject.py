"""A factory of composites as a check sees it: every call bounded, counted, announced, and read without running it."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from composite_runs import subject_of

from knowledge_conformance import calls, composite_subject
from knowledge_conformance.check import Hang, Violation
from knowledge_conformance.composite_subject import Composite, Refusal, contents, new_context, reports
from knowledge_conformance.exchange import Exchange
from knowledge_fakes.plain_composite import PlainComposite, factory
from knowledge_fakes.scripted import MALFORMED, ScriptedProvider
from knowledge_provider import KnowledgeProviderInvalidError, RetrievalRequest, SourceReport

REQUEST = RetrievalRequest(query="release policy")
ROWS = {"results": [{"id": "a", "content": "one"}]}


@pytest.fixture(autouse=True)
def little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """What hangs is given up at once."""
    monkeypatch.setattr(composite_subject, "CLOSE_SECONDS", 0.1)
    monkeypatch.setattr(composite_subject, "SLACK_SECONDS", 0.1)
    monkeypatch.setattr(calls, "GRACE_SECONDS", 0.1)


def children() -> dict[str, Any]:
    return {"first": ScriptedProvider([ROWS], key="first")}


class Stub(PlainComposite):
    """A composite that answers what its class says."""

    given: object = ROWS

    async def retrieve(self, request: RetrievalRequest, context: Any) -> Any:
        return self.given


def test_every_call_is_counted_and_announced() -> None:
    """Whoever watches learns of each call before it is made, and how long it may take."""
    announced: list[tuple[str, float]] = []
    subject = subject_of(factory, lambda shown, seconds: announced.append((shown, seconds)))

    async def use() -> None:
        async with subject.composed(children(), deadline=0.3) as composite:
            await composite.describe()
            await composite.answer(REQUEST)
            await composite.health()

    asyncio.run(use())
    shown = [text.partition("(")[0] for text, _ in announced]
    assert shown == ["factory", "describe", "retrieve", "health", "close"]
    assert subject.calls == 5
    assert dict(announced)["factory({'first': …}, timeout=0.3)"] == 0.1
    assert [seconds for text, seconds in announced if text.startswith("retrieve")] == [pytest.approx(0.4)]


def test_a_finding_shows_the_call_before_closing() -> None:
    """That a composite is closed at the end of a check is nobody's finding."""
    subject = subject_of(factory)

    async def use() -> None:
        async with subject.composed(children()) as composite:
            await composite.answer(REQUEST)

    asyncio.run(use())
    assert str(subject.shown).endswith("-> 1 result")


def test_an_asynchronous_factory_is_awaited() -> None:
    """A composite may need the loop to be made."""

    async def make(given: Mapping[str, Any], *, timeout: float) -> PlainComposite:  # noqa: ASYNC109 - the protocol's
        await asyncio.sleep(0)
        return PlainComposite(given, timeout=timeout)

    async def use() -> Exchange:
        async with subject_of(make).composed(children()) as composite:
            return await composite.answer(REQUEST)

    assert contents(asyncio.run(use())) == ["one"]


def compose(make: Any) -> Composite:
    return asyncio.run(subject_of(make).compose(children()))


def test_a_refusal_is_told_from_a_failure() -> None:
    """Only ``knowledge_provider_invalid`` says that the children are to blame."""

    def refuse(_children: Any, **_: Any) -> Any:
        raise KnowledgeProviderInvalidError("the child first is none")

    def fail(_children: Any, **_: Any) -> Any:
        raise RuntimeError("no settings")

    with pytest.raises(Refusal, match="the child first is none"):
        compose(refuse)
    with pytest.raises(Violation, match="RuntimeError: no settings") as failed:
        compose(fail)
    assert not isinstance(failed.value, Refusal)


@pytest.mark.parametrize("made", [None, "composite", object()], ids=["none", "text", "object"])
def test_what_is_no_provider_is_a_finding(made: object) -> None:
    """A composite is itself a version-1 provider."""
    with pytest.raises(Violation, match="a provider with a callable describe"):
        compose(lambda *_, **__: made)


def test_a_factory_that_never_ends_is_a_hang() -> None:
    """No check waits for ever."""

    async def make(*_: Any, **__: Any) -> Any:
        await asyncio.Event().wait()

    with pytest.raises(Hang, match=r"an end within 0\.1 s"):
        compose(make)


def ask(composite: type[PlainComposite]) -> Exchange:
    async def use() -> Exchange:
        async with subject_of(composite).composed(children(), deadline=0.05) as made:
            return await made.ask(REQUEST)

    return asyncio.run(use())


def test_a_composite_that_hangs_fails_its_check() -> None:
    """Its call ends a second after the children's deadline, here sooner, whatever it waits for."""

    class Hanging(PlainComposite):
        async def retrieve(self, request: Any, context: Any) -> Any:
            await asyncio.Event().wait()

    class Deaf(PlainComposite):
        async def retrieve(self, request: Any, context: Any) -> Any:
            for _ in range(3):
                try:
                    await asyncio.sleep(0.3)
                except asyncio.CancelledError:
                    continue

    with pytest.raises(Hang, match="saw no answer"):
        ask(Hanging)
    with pytest.raises(Hang, match="still running after it was cancelled"):
        ask(Deaf)


def test_what_a_composite_raises_is_no_accident() -> None:
    """An exception is what a check looks at; one that wants an answer finds it missing."""

    class Raising(PlainComposite):
        async def retrieve(self, request: Any, context: Any) -> Any:
            raise SystemExit(3)

    assert isinstance(ask(Raising).error, SystemExit)

    async def use() -> None:
        async with subject_of(Raising).composed(children()) as composite:
            await composite.answer(REQUEST)

    with pytest.raises(Violation, match="saw raised SystemExit: 3"):
        asyncio.run(use())


def test_what_was_asked_is_kept() -> None:
    """Whatever becomes of the request on its way."""

    class Changing(PlainComposite):
        async def retrieve(self, request: Any, context: Any) -> Any:
            object.__setattr__(request, "top_k", 1)
            return ROWS

    assert ask(Changing).request.top_k == REQUEST.top_k == 5


def test_an_answer_that_is_none_is_a_finding() -> None:
    """None, a text and a mapping without results are no answer of a composite's."""

    async def use(answer: object) -> None:
        made: Any = type("Made", (Stub,), {"given": answer})
        async with subject_of(made).composed(children()) as composite:
            await composite.answer(REQUEST)

    answers: tuple[object, ...] = (None, "none", {"documents": []})
    for answer in answers:
        with pytest.raises(Violation, match="an answer with the results"):
            asyncio.run(use(answer))


def test_a_description_is_checked() -> None:
    """What breaks clauses 1.2 to 1.6 is said, and so is what is raised."""

    class Undescribed(PlainComposite):
        def describe(self) -> Any:
            return {"key": "Plain Composite"}

    class Raising(PlainComposite):
        def describe(self) -> Any:
            raise ConnectionError("not yet")

    for made, saw in ((Undescribed, "protocolVersion"), (Raising, "raised ConnectionError: not yet")):
        with pytest.raises(Violation, match=saw):
            asyncio.run(compose(made).describe())


def test_a_started_call_can_be_cancelled() -> None:
    """Its cancellation comes out of the task; whatever else it raises is the task's value."""

    class Waiting(PlainComposite):
        async def retrieve(self, request: Any, context: Any) -> Any:
            await asyncio.sleep(0)
            raise KeyError("lost")

    async def use() -> tuple[bool, Any]:
        async with subject_of(Waiting).composed(children()) as composite:
            first, second = [await composite.start(REQUEST, new_context()) for _ in range(2)]
            await asyncio.sleep(0)
            first.cancel()
            await asyncio.wait({first, second})
            return first.cancelled(), second.result()

    cancelled, value = asyncio.run(use())
    assert cancelled
    assert isinstance(value, calls.Raised)
    assert isinstance(value.error, KeyError)


def test_closing_is_optional_and_bounded() -> None:
    """A composite without close is one; one whose close hangs is found out."""

    class Hanging(PlainComposite):
        async def close(self) -> None:
            await asyncio.Event().wait()

    composite = compose(type("Closeless", (PlainComposite,), {"close": None}))
    assert not composite.can_close
    assert asyncio.run(composite.close()) == calls.Ending()
    with pytest.raises(Hang, match=r"an end within 0\.1 s"):
        asyncio.run(compose(Hanging).close())


def test_a_composite_is_closed_whatever_its_check_finds() -> None:
    """A finding does not leave the children open."""
    child = ScriptedProvider(key="first")

    async def use() -> None:
        async with subject_of(factory).composed({"first": child}):
            raise Violation(wanted="a", saw="b", hint="c")

    with pytest.raises(Violation, match="wanted a"):
        asyncio.run(use())
    assert child.closed == 1


def exchange(response: object) -> Exchange:
    return Exchange(REQUEST, new_context(), response)


def test_contents_and_reports_are_read_in_either_form() -> None:
    """Models and mappings, lists and tuples; what is neither is left out."""
    rows = ({"id": "a", "text": "one"}, "two", {"id": "c", "content": "three"}, {"id": "d", "content": 4})
    sources = [{"key": "a", "status": "hit"}, SourceReport(key="b", status="failed"), "c", None]
    read = exchange({"results": rows, "sources": sources})
    assert contents(read) == ["one", "three"]
    assert reports(read) == [{"key": "a", "status": "hit"}, {"key": "b", "status": "failed"}]
    assert reports(exchange([])) == []


@pytest.mark.parametrize("name", MALFORMED)
def test_no_answer_runs_its_code_or_raises(name: str) -> None:
    """Whatever a composite hands on, a check can look at it."""
    read = exchange(MALFORMED[name]())
    assert isinstance(contents(read), list)
    assert isinstance(reports(read), list)


def test_a_child_that_was_handed_over_is_the_checks_own() -> None:
    """The factory gets a mapping of its own, and the very children."""
    given = children()
    got: list[Any] = []

    def make(mapping: dict[str, Any], *, timeout: float) -> PlainComposite:
        got.extend(mapping.values())
        made = PlainComposite(mapping, timeout=timeout)
        mapping.clear()
        return made

    asyncio.run(subject_of(make).compose(given))
    assert got == [given["first"]]
    assert given.keys() == {"first"}
