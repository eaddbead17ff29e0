"""A provider that writes down each call of it, behind every kind of target.

Each line of the file that ``RECORD_FILE`` names is one call: which provider, on which loop and thread, which method.
"""

import asyncio
import functools
import itertools
import os
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from knowledge_fakes.handbook import HandbookProvider

_FILE = os.open(os.environ.get("RECORD_FILE", os.devnull), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
_numbers = itertools.count()
# Of this process, from 1: ``FATAL_CALL`` names the one that takes the process away, whichever checks come first.
_retrievals = itertools.count(1)
# Kept, so that no other loop gets the same identity.
_loops: list[asyncio.AbstractEventLoop] = []


def _loop() -> int:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return -1
    if loop not in _loops:
        _loops.append(loop)
    return _loops.index(loop)


class Recorded(HandbookProvider):
    """Writes one line for each call of any method."""

    def __init__(self) -> None:
        super().__init__()
        self.number = f"{os.getpid()}-{next(_numbers)}"

    def note(self, what: str) -> None:
        os.write(_FILE, f"{self.number} {_loop()} {threading.get_ident()} {what}\n".encode())

    def describe(self) -> dict[str, Any]:
        self.note("describe")
        return super().describe()

    async def retrieve(self, request: Any, context: Any) -> Any:
        self.note("retrieve")
        if str(next(_retrievals)) == os.environ.get("FATAL_CALL"):
            os._exit(0)
        return await super().retrieve(request, context)

    async def health(self, signal: Any) -> Any:
        self.note("health")
        return await super().health(signal)

    async def close(self) -> None:
        self.note("close")


def factory() -> Recorded:
    return Recorded()


async def async_factory() -> Recorded:
    await asyncio.sleep(0)
    return Recorded()


@contextmanager
def context_manager() -> Iterator[Recorded]:
    yield Recorded()


@asynccontextmanager
async def closing_context_manager() -> AsyncIterator[Recorded]:
    provider = Recorded()
    try:
        yield provider
    finally:
        await provider.close()


class Manager:
    """A context manager object that lives as long as the module."""

    def __enter__(self) -> Recorded:
        self.provider = Recorded()
        return self.provider

    def __exit__(self, *_error: object) -> None:
        self.provider.note("left")


class AsyncManager:
    """An async context manager that can only be left by the task that entered it, as one over a task group."""

    async def __aenter__(self) -> Recorded:
        self.task = asyncio.current_task()
        self.provider = Recorded()
        return self.provider

    async def __aexit__(self, *_error: object) -> None:
        self.provider.note("left" if self.task is asyncio.current_task() else "left by another task")


class Maker:
    """A callable object that is neither a function nor a provider."""

    def __call__(self) -> Recorded:
        return Recorded()

    def method(self) -> Recorded:
        return Recorded()


instance = Recorded()
manager = Manager()
async_manager = AsyncManager()
maker = Maker()
partial = functools.partial(Recorded)

FACTORIES = ("Recorded", "factory", "async_factory", "maker", "maker.method", "partial")
MANAGERS = ("context_manager", "closing_context_manager", "Manager", "AsyncManager")
INSTANCES = ("instance", "manager", "async_manager")
