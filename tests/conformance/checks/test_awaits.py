"""Cancellation at each await: what a provider may keep, and that a report does not depend on how often one waits."""

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any, ClassVar

import pytest

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Profile, Settings
from knowledge_conformance.target import Target
from knowledge_fakes.handbook import HandbookProvider, SyncHandbookProvider
from knowledge_provider import CancelSignal

AWAITS = ("KP-701", "KP-702", "KP-709")


def results(make: Callable[[], Any], *ids: str, **settings: Any) -> list[CheckResult]:
    """What the checks say of a provider."""
    run = Run(Target("m:target", make, instance=False), Settings(**settings))
    try:
        return [run.result(BY_ID[check_id]) for check_id in ids]
    finally:
        run.close()


SIGNAL = {"signal": CancelSignal()}


class Waits(HandbookProvider):
    """Waits ``times`` times before it searches."""

    times = 3

    async def wait(self) -> None:
        await asyncio.sleep(0)

    async def retrieve(self, request: Any, context: Any) -> Any:
        context.signal.raise_if_cancelled()
        for _ in range(self.times):
            await self.wait()
        return await super().retrieve(request, context)


def test_the_report_does_not_depend_on_how_often_a_call_waits() -> None:
    """Some calls open a connection first, others do not: one run of the same provider says what another does."""
    waits = count(1)

    class Varies(Waits):
        async def retrieve(self, request: Any, context: Any) -> Any:
            self.times = next(waits) % 3
            return await super().retrieve(request, context)

    for found in results(Varies, *AWAITS):
        assert (found.outcome, found.observations) == (CheckOutcome.PASSED, 1)


def test_a_call_of_many_awaits_is_cancelled_at_some() -> None:
    """What it costs is bounded."""

    class Polls(Waits):
        times = 200

    for found in results(Polls, *AWAITS):
        assert found.outcome is CheckOutcome.PASSED
        assert found.calls <= BY_ID[found.id].calls_allowed(Settings())


class Keeps(HandbookProvider):
    """Has a worker: ``begun`` says from which call on, ``renewed`` whether each call gets another one."""

    def __init__(self, *, begun: int = 1, renewed: bool = False) -> None:
        super().__init__()
        self._calls = count(1)
        self._begun = begun
        self._renewed = renewed
        self._worker: asyncio.Task[Any] | None = None

    async def retrieve(self, request: Any, context: Any) -> Any:
        if next(self._calls) >= self._begun and (self._worker is None or self._renewed):
            if self._worker is not None:
                self._worker.cancel()
            self._worker = asyncio.create_task(asyncio.Event().wait())
        return await super().retrieve(request, context)

    async def close(self) -> None:
        if self._worker is not None:
            self._worker.cancel()
        await super().close()


@pytest.mark.parametrize(
    "make", [Keeps, lambda: Keeps(begun=2), lambda: Keeps(begun=3), lambda: Keeps(begun=3, renewed=True)]
)
def test_what_a_provider_keeps_is_not_left_behind(make: Callable[[], Any]) -> None:
    """A worker of its own, from whichever call on, and also where each call puts another in its place."""
    assert [found.outcome for found in results(make, *AWAITS)] == [CheckOutcome.PASSED] * 3


def test_one_worker_more_with_each_cancelled_call_is_left_behind() -> None:
    """Although the provider keeps a reference, and knows what it is for."""

    class Grows(Keeps):
        async def retrieve(self, request: Any, context: Any) -> Any:
            self._worker = None
            return await super().retrieve(request, context)

    found = results(Grows, "KP-702")[0]
    assert found.outcome is CheckOutcome.FAILED
    assert "after a call that was cancelled in knowledge_fakes.handbook.retrieve, line " in (found.saw or "")


def test_a_swallowed_cancellation_is_said_with_where_it_goes_on() -> None:
    """The author's own lines: where it was cancelled, and where it waits now."""

    class Deaf(HandbookProvider):
        async def retrieve(self, request: Any, context: Any) -> Any:
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                await asyncio.sleep(2)
            return await super().retrieve(request, context)

    line = Deaf.retrieve.__code__.co_firstlineno
    saw = results(Deaf, "KP-701")[0].saw
    assert saw == (
        f"a call that was still running; it was cancelled in {__name__}.retrieve, line {line + 2}, "
        f"and goes on in {__name__}.retrieve, line {line + 4}"
    )


def test_a_call_that_hangs_after_a_cancelled_one_says_both_places() -> None:
    """Where the next call waits, and where the one before was cancelled."""

    class Locks(HandbookProvider):
        def __init__(self) -> None:
            super().__init__()
            self._lock = asyncio.Lock()

        async def retrieve(self, request: Any, context: Any) -> Any:
            context.signal.raise_if_cancelled()
            await self._lock.acquire()
            found = await super().retrieve(request, context)
            self._lock.release()
            return found

    line = Locks.retrieve.__code__.co_firstlineno
    saw = results(Locks, "KP-709", timeout=0.2)[0].saw or ""
    assert saw.startswith(f"no answer: it waits in {__name__}.retrieve, line {line + 2}; the call before was cancelled")


class Limited(HandbookProvider):
    """At most ``places`` searches at once; ``gives_back`` says whether one that is cancelled gives its place back."""

    def __init__(self, places: int, *, gives_back: bool = False) -> None:
        super().__init__()
        self._places = asyncio.Semaphore(places)
        self._gives_back = gives_back

    async def retrieve(self, request: Any, context: Any) -> Any:
        context.signal.raise_if_cancelled()
        await self._places.acquire()
        try:
            found = await super().retrieve(request, context)
        except asyncio.CancelledError:
            if self._gives_back:
                self._places.release()
            raise
        self._places.release()
        return found


def kept(places: int) -> str:
    line = Limited.retrieve.__code__.co_firstlineno
    return (
        f"no answer: it waits in {__name__}.retrieve, line {line + 2}; "
        "what is limited is not given back by calls that are cancelled in knowledge_fakes.handbook.retrieve, line "
    )


@pytest.mark.parametrize("places", [2, 8])
def test_a_place_that_is_not_given_back_is_found_in_a_pool(places: int) -> None:
    """Up to as many places as calls are made at once; the finding names both lines, whatever held the last call up."""
    found = results(lambda: Limited(places), "KP-709", timeout=0.2)[0]
    assert found.outcome is CheckOutcome.FAILED
    assert (found.saw or "").startswith(kept(places))
    assert found.calls <= BY_ID["KP-709"].calls_allowed(Settings())


def test_a_place_that_is_given_back_is_not() -> None:
    """However often calls are cancelled."""
    found = results(lambda: Limited(1, gives_back=True), *AWAITS, profile=Profile.THOROUGH)
    assert [each.outcome for each in found] == [CheckOutcome.PASSED] * 3
    assert found[2].calls <= BY_ID["KP-709"].calls_allowed(Settings(profile=Profile.THOROUGH))


def test_a_place_that_comes_free_late_is_given_back() -> None:
    """A thread that works on for cancelled calls may hold up the next one: it is waited for a second time."""

    class Late(HandbookProvider):
        cancelled = 0

        async def retrieve(self, request: Any, context: Any) -> Any:
            context.signal.raise_if_cancelled()
            if self.cancelled == Settings().concurrency:
                self.cancelled = 0
                await asyncio.Event().wait()
            try:
                return await super().retrieve(request, context)
            except asyncio.CancelledError:
                self.cancelled += 1
                raise

    found = results(Late, "KP-709", timeout=0.2)[0]
    assert found.outcome is CheckOutcome.PASSED
    assert found.calls == 14  # one more than without it


@pytest.mark.parametrize("cached", [False, True])
def test_as_many_calls_are_cancelled_as_are_made_at_once(cached: bool) -> None:
    """Also where a search that was begun is ended and kept, and the same request waits no more."""

    class Remembers(HandbookProvider):
        known: ClassVar[dict[str, Any]] = {}
        cancelled = 0

        async def retrieve(self, request: Any, context: Any) -> Any:
            context.signal.raise_if_cancelled()
            asked = request.model_dump_json()
            try:
                return self.known[asked] if asked in self.known else await super().retrieve(request, context)
            except asyncio.CancelledError:
                type(self).cancelled += 1
                if cached:
                    self.known[asked] = SyncHandbookProvider().retrieve(request, context.model_copy(update=SIGNAL))
                raise

    assert results(Remembers, "KP-709")[0].outcome is CheckOutcome.PASSED
    # KP-701 and KP-702 cancelled one each.
    assert Remembers.cancelled == 2 + Settings().concurrency


def test_a_task_that_equal_calls_share_is_left_behind_by_the_last() -> None:
    """The same request would join it, and find nothing new."""

    class Shares(HandbookProvider):
        def __init__(self) -> None:
            super().__init__()
            self._flights: dict[str, asyncio.Task[Any]] = {}

        async def retrieve(self, request: Any, context: Any) -> Any:
            context.signal.raise_if_cancelled()
            asked = request.model_dump_json()
            if asked not in self._flights:
                self._flights[asked] = asyncio.create_task(self._fly(asked, request, context))
            return await asyncio.shield(self._flights[asked])

        async def _fly(self, asked: str, request: Any, context: Any) -> Any:
            found = await super().retrieve(request, context.model_copy(update=SIGNAL))
            if context.signal.cancelled:
                await asyncio.Event().wait()
            del self._flights[asked]
            return found

        async def close(self) -> None:
            for flight in self._flights.values():
                flight.cancel()
            await super().close()

    found = results(Shares, "KP-702")[0]
    assert found.outcome is CheckOutcome.FAILED
    assert (found.saw or "").startswith(f"a task in {__name__}._fly, line ")


def test_a_provider_that_always_refuses_says_nothing_about_cancellation() -> None:
    """The control fails: an error is not a cancellation that came out."""

    class Refuses(HandbookProvider):
        refuses = False

        async def retrieve(self, request: Any, context: Any) -> Any:
            if self.refuses:
                raise RuntimeError("no")
            return await super().retrieve(request, context)

    run = Run(Target("m:refuses", Refuses, instance=False), Settings())
    run.result(BY_ID["KP-301"])
    Refuses.refuses = True
    found = [run.result(BY_ID[check_id]).outcome for check_id in ("KP-703", "KP-701")]
    run.close()
    assert found == [CheckOutcome.INCONCLUSIVE] * 2
