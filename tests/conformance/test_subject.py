"""The provider as a check sees it: every call counted, bounded, announced and written down."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from knowledge_conformance import calls
from knowledge_conformance.check import Violation
from knowledge_conformance.exchange import Exchange
from knowledge_conformance.settings import OwnerExpectation, Settings
from knowledge_conformance.subject import DEFAULT_OWNER, ProviderRaisedError, Subject
from knowledge_conformance.watched import TRANSCRIPT_MAX, OutOfCallsError
from knowledge_fakes.handbook import HandbookProvider, SyncHandbookProvider
from knowledge_provider import CancelSignal, RetrievalRequest, limits

REQUEST = RetrievalRequest(query="release policy", top_k=2)
SHOWN = "retrieve(RetrievalRequest(query='release policy', top_k=2), context)"


class NoSurvey:
    async def __call__(self, subject: Subject) -> Sequence[Exchange]:
        raise AssertionError

    def unasked(self, count: int) -> list[RetrievalRequest]:
        raise AssertionError


def subject_of(provider: Any, *, allowed: int = 9, announced: list[Any] | None = None, **settings: Any) -> Subject:
    told = [] if announced is None else announced
    return Subject(
        provider,
        Settings(**{"timeout": 0.1, **settings}),
        allowed=allowed,
        announce=lambda shown, seconds: told.append((shown, seconds)),
        surveyor=NoSurvey(),
    )


@pytest.fixture(autouse=True)
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "GRACE_SECONDS", 0.05)


class Raises:
    """A provider whose every method raises."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def describe(self) -> Any:
        raise self._error

    async def retrieve(self, request: Any, context: Any) -> Any:
        raise self._error

    health = close = describe


@pytest.mark.parametrize("provider", [HandbookProvider(), SyncHandbookProvider()])
def test_an_answer_comes_back_with_its_request_and_context(provider: Any) -> None:
    """From a coroutine or from a thread."""
    subject = subject_of(provider)

    async def ask() -> Exchange:
        return await subject.retrieve(REQUEST)

    exchange = asyncio.run(ask())
    assert (exchange.request, exchange.count, exchange.error) == (REQUEST, 2, None)
    assert exchange.context.owner_id == DEFAULT_OWNER
    assert subject.shown == subject.transcript[-1] == f"{SHOWN} -> 2 results"


def test_every_call_is_counted_and_announced_before_it_is_made() -> None:
    """With how it reads and how long it may take, so that whoever watches can tell which took the process away."""
    announced: list[Any] = []
    subject = subject_of(HandbookProvider(), announced=announced, timeout=7)

    async def ask() -> None:
        await subject.describe()
        await subject.attempt(REQUEST)
        await subject.health()
        await subject.start(REQUEST, subject.context())
        await subject.close()

    asyncio.run(ask())
    names = ["describe()", SHOWN, "health()", SHOWN, "close()"]
    assert announced == [(name, limits.HEALTH_SECONDS if name == "health()" else 7.0) for name in names]
    assert subject.calls == 5
    assert list(subject.transcript) == [names[0], f"{SHOWN} -> 2 results", *names[2:]]


ASKS: dict[str, Callable[[Subject], Awaitable[Any]]] = {
    "describe": Subject.describe,
    "retrieve": lambda subject: subject.retrieve(REQUEST),
    "attempt": lambda subject: subject.attempt(REQUEST),
    "health": Subject.health,
    "close": Subject.close,
    "start": lambda subject: subject.start(REQUEST, subject.context()),
}


def ask(subject: Subject, method: str) -> Any:
    async def asking() -> Any:
        return await ASKS[method](subject)

    return asyncio.run(asking())


@pytest.mark.parametrize("method", ASKS)
def test_no_call_is_made_beyond_what_is_allowed(method: str) -> None:
    """Nor announced."""
    announced: list[Any] = []
    subject = subject_of(Raises(AssertionError()), allowed=0, announced=announced)
    with pytest.raises(OutOfCallsError):
        ask(subject, method)
    assert (announced, subject.calls) == ([], 0)


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(1), KeyboardInterrupt(), asyncio.CancelledError()])
def test_what_comes_out_of_a_method_is_the_providers(error: BaseException) -> None:
    """With the call, a hint and the original as its cause, or as an ending that a check looks at."""
    for method, where in (("describe", "describe()"), ("retrieve", SHOWN)):
        with pytest.raises(ProviderRaisedError) as caught:
            ask(subject_of(Raises(error)), method)
        assert caught.value.where == where
        assert caught.value.hint
        assert caught.value.__cause__ is error
        assert type(error).__name__ in str(caught.value)
    assert ask(subject_of(Raises(error)), "attempt").error is error
    assert ask(subject_of(Raises(error)), "health").error is error
    assert ask(subject_of(Raises(error)), "close").error is error


class Hangs:
    """A provider that never answers."""

    signal: CancelSignal | None = None

    async def retrieve(self, request: Any, context: Any) -> Any:
        self.signal = context.signal
        await asyncio.sleep(1000)

    async def close(self) -> None:
        await asyncio.sleep(1000)

    health = close


@pytest.mark.parametrize(("method", "where"), [("retrieve", SHOWN), ("attempt", SHOWN), ("close", "close()")])
def test_a_call_that_does_not_end_is_a_violation(method: str, where: str) -> None:
    """Whatever the check was about: no host can use such a provider."""
    provider = Hangs()
    with pytest.raises(Violation) as caught:
        ask(subject_of(provider), method)
    assert (caught.value.wanted, caught.value.where) == ("an answer within 0.1 s", where)
    held = "close" if method == "close" else "retrieve"
    assert caught.value.saw.startswith(f"no answer: it waits in {__name__}.{held}, line ")
    assert provider.signal is None or provider.signal.reason == "timeout"


def test_a_health_that_does_not_end_is_an_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    """KP-202 is about that."""
    monkeypatch.setattr(limits, "HEALTH_SECONDS", 0.02)
    assert ask(subject_of(Hangs()), "health").hung


def test_health_in_a_trial_has_no_more_time_than_a_call() -> None:
    """A fault that hangs there is seen to hang."""
    announced: list[Any] = []
    assert ask(subject_of(Hangs(), announced=announced, trial=True), "health").hung
    assert announced == [("health()", 0.1)]


def test_health_gets_a_signal_when_it_takes_one() -> None:
    """Clause 2.1."""
    got: list[Any] = []

    class Provider:
        def health(self, signal: CancelSignal) -> None:
            got.append(signal)

    class Bare:
        def health(self) -> None:
            got.append(None)

    ask(subject_of(Provider()), "health")
    ask(subject_of(Bare()), "health")
    assert [type(signal) for signal in got] == [CancelSignal, type(None)]


def test_an_attribute_that_raises_is_the_providers_error() -> None:
    """Also when it is looked at for the second time."""

    class Provider:
        def __getattribute__(self, name: str) -> Any:
            raise SystemExit(name)

    subject = subject_of(Provider())
    for method in ("retrieve", "attempt", "health", "close", "start"):
        with pytest.raises(ProviderRaisedError) as caught:
            ask(subject, method)
        assert caught.value.where.startswith("provider.")
    with pytest.raises(ProviderRaisedError):
        subject.member("anything")
    assert subject_of(object()).member("anything") is None


def test_a_context_is_fresh_and_bounded_by_the_time_for_a_call() -> None:
    """Each call has its own signal, with the host's deadline."""
    subject = subject_of(HandbookProvider(), timeout=30)

    async def contexts() -> list[Any]:
        return [subject.context(), subject.context(turn_id="other")]

    first, second = asyncio.run(contexts())
    assert first.signal is not second.signal
    assert 0 < first.signal.remaining() <= 30
    assert (first.turn_id, second.turn_id) == ("conformance-turn", "other")


def test_the_first_owner_of_the_settings_is_who_asks() -> None:
    """A provider that separates owners answers only those that it knows."""
    owners = {"alice": OwnerExpectation(query="a"), "bob": OwnerExpectation(query="b")}
    subject = subject_of(HandbookProvider(), owners=owners)

    async def owner() -> str:
        return subject.context().owner_id

    assert asyncio.run(owner()) == "alice"


def test_what_was_seen_is_counted_and_what_was_looked_at_is_shown() -> None:
    """The last call is what a finding shows, unless a check looked at another."""
    subject = subject_of(HandbookProvider())
    subject.observe()
    subject.observe(3)
    assert subject.observations == 4
    exchange = ask(subject, "attempt")
    ask(subject, "describe")
    assert subject.shown == "describe()"
    subject.look_at(exchange)
    assert subject.shown == str(exchange)


def test_the_transcript_is_bounded() -> None:
    """A fuzzing check makes hundreds of calls."""
    subject = subject_of(HandbookProvider(), allowed=500)

    async def describe() -> None:
        for _ in range(TRANSCRIPT_MAX + 5):
            await subject.describe()

    asyncio.run(describe())
    assert len(subject.transcript) == TRANSCRIPT_MAX
