"""Providers with several mistakes at once, and the same without them, opened, called and answering in every manner.

``broken.factory`` and ``sound.factory`` are opened the same way, and so on for each attribute of ``Ways``.
"""

import asyncio
import functools
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from knowledge_fakes.handbook import HandbookProvider, SyncHandbookProvider
from knowledge_provider import Health, ProviderDescription, RetrievalResult


class Sound(HandbookProvider):
    """As it should be."""


class Untold(HandbookProvider):
    """Whoever asks gets what either of two owners sees."""

    async def retrieve(self, request: Any, context: Any) -> dict[str, Any]:
        contexts = [context.model_copy(update={"owner_id": name}) for name in ("mara", "tomas")]
        found = [
            result for each in contexts for result in (await super(Untold, self).retrieve(request, each))["results"]
        ]
        results = sorted({result["id"]: result for result in found}.values(), key=lambda result: -result["score"])
        return {"results": results[: request.top_k]}


class Broken(HandbookProvider):
    """Its key is a title, its ids are all the same, its health is a word of its own, and it is closed once."""

    closed = 0

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "key": "The Handbook"}

    async def retrieve(self, request: Any, context: Any) -> dict[str, Any]:
        found = await super().retrieve(request, context)
        return {"results": [{**result, "id": "handbook"} for result in found["results"]]}

    async def health(self, signal: Any) -> dict[str, Any]:
        return {"status": "fine"}

    async def close(self) -> None:
        self.closed += 1
        if self.closed > 1:
            raise RuntimeError("closed already")


class Unsuspended(SyncHandbookProvider):
    """Synchronous, with a health that takes nothing."""


class BrokenUnsuspended(SyncHandbookProvider):
    """The same with the mistakes of ``Broken``, and one more: it keeps the request."""

    closed = 0

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "key": "The Handbook"}

    def retrieve(self, request: Any, context: Any) -> dict[str, Any]:
        found = super().retrieve(request, context)
        return {"results": [{**result, "id": "handbook"} for result in found["results"]]}

    def health(self) -> dict[str, Any]:
        return {"status": "fine"}

    def close(self) -> None:
        self.closed += 1
        if self.closed > 1:
            raise RuntimeError("closed already")


class Answering:
    """Another provider, whose description, answers and health are put into another form."""

    def __init__(self, made: Any, answer: Callable[[Any], Any], describe: Callable[[Any], Any] = dict) -> None:
        self.made = made
        self.answer = answer
        self.describing = describe

    def describe(self) -> Any:
        return self.describing(self.made.describe())

    async def retrieve(self, request: Any, context: Any) -> Any:
        return self.answer((await self.made.retrieve(request, context))["results"])

    def health(self) -> Any:
        status: Any = "ready" if isinstance(self.made, Sound) else "fine"
        return Health.model_construct(status=status, message=None)

    async def close(self) -> None:
        await self.made.close()


def _models(results: Any) -> list[RetrievalResult]:
    return [RetrievalResult.model_validate(result) for result in results]


def _described(description: Any) -> ProviderDescription:
    key = description["key"]
    plain = ProviderDescription.model_validate({**description, "key": "handbook"})
    return plain if key == "handbook" else plain.model_copy(update={"key": key})


def _aliased(results: Any) -> list[dict[str, Any]]:
    return [
        {"chunkId": each["id"], "text": each["content"], "score": each["score"], "source": each["source"]}
        for each in results
    ]


def decorated(factory: Callable[[], Any]) -> Callable[[], Any]:
    """A factory whose provider's methods look synchronous, and give something to await all the same."""

    @functools.wraps(factory)
    def make() -> Any:
        provider = factory()
        asked, closed = provider.retrieve, provider.close
        provider.retrieve = lambda request, context: asked(request, context)
        provider.close = lambda: closed()
        return provider

    return make


class Ways:
    """All ways to come to one provider, and its other forms."""

    def __init__(self, made: Callable[[], Any], unsuspended: Callable[[], Any]) -> None:
        self.instance = made()
        self.factory: Callable[[], Any] = lambda: made()
        self.unsuspended: Callable[[], Any] = lambda: unsuspended()
        self.listing: Callable[[], Any] = lambda: Answering(made(), list)
        self.tuples: Callable[[], Any] = lambda: Answering(made(), tuple)
        self.modelled: Callable[[], Any] = lambda: Answering(made(), _models, _described)
        self.modelled_below: Callable[[], Any] = lambda: Answering(made(), lambda found: {"results": _models(found)})
        self.aliased: Callable[[], Any] = lambda: Answering(made(), _aliased)

        async def async_factory() -> Any:
            return made()

        @contextmanager
        def manager() -> Iterator[Any]:
            yield made()

        @contextmanager
        def unsuspended_manager() -> Iterator[Any]:
            yield unsuspended()

        @asynccontextmanager
        async def async_manager() -> AsyncIterator[Any]:
            yield made()

        async def awaited_manager() -> Any:
            return manager()

        @decorated
        def plain() -> Any:
            return Answering(made(), list)

        self.decorated = plain
        self.async_factory = async_factory
        self.manager = manager
        self.unsuspended_manager = unsuspended_manager
        self.async_manager = async_manager
        self.awaited_manager = awaited_manager


sound = Ways(Sound, Unsuspended)
broken = Ways(Broken, BrokenUnsuspended)


def retrieve() -> Broken:
    """A target whose name is that of a function in its test."""
    return Broken()


class SoundOnALoop(Sound):
    """Made where a loop runs, and nowhere else."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.get_running_loop()


class OnALoop(SoundOnALoop, Broken):
    """The same with the mistakes."""


class Crowded(SyncHandbookProvider):
    """It turns a second caller away while it serves the first."""

    def __init__(self) -> None:
        super().__init__()
        self.served = threading.Lock()

    def retrieve(self, request: Any, context: Any) -> dict[str, Any]:
        if not self.served.acquire(blocking=False):
            raise ConnectionError("no connection left")
        try:
            threading.Event().wait(0.05)
            return super().retrieve(request, context)
        finally:
            self.served.release()


def quiet_health() -> Any:
    """A sound provider whose health takes nothing, and need not be awaited."""
    provider: Any = HandbookProvider()
    provider.health = lambda: {"status": "ready"}
    return provider


def model_description() -> Any:
    """A sound provider that describes itself by the contract's model."""
    provider: Any = HandbookProvider()
    described = provider.describe
    provider.describe = lambda: ProviderDescription.model_validate(described())
    return provider


class Waiting(SyncHandbookProvider):
    """It waits in the host's thread for what does not come."""

    def retrieve(self, request: Any, context: Any) -> dict[str, Any]:
        threading.Event().wait(3)
        return super().retrieve(request, context)


class Stuck(HandbookProvider):
    """It describes what it is asked for, so that nobody can ask."""

    def describe(self, what: str) -> dict[str, Any]:  # type: ignore[override] # which is the mistake
        return super().describe()


class Tagged(HandbookProvider):
    """Its metadata is a list of tags."""

    async def retrieve(self, request: Any, context: Any) -> dict[str, Any]:
        found = await super().retrieve(request, context)
        return {"results": [{**result, "metadata": ["tag"]} for result in found["results"]]}
