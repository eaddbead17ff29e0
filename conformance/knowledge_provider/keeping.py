"""``KeptOpen``: a client that only the task which opened it may close, for all tasks to use; knows no vendor.

Beside ``adapting``, for libraries whose sessions stand on task groups, as those of MCP do.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from contextvars import Context
from typing import Final, Generic, TypeVar

from knowledge_provider.cancel import CancelSignal
from knowledge_provider.errors import KnowledgeUnavailableError

_T = TypeVar("_T")
_OPENING: Final = 60.0
_CLOSING: Final = 10.0


class KeptOpen(Generic[_T]):
    """What ``opened()`` gives, opened by a task of its own when first used, and used by any task of one event loop.

    That task keeps it open until ``close``, and closes it. Opening takes at most 60 s.
    """

    def __init__(self, opened: Callable[[], AbstractAsyncContextManager[_T]]) -> None:
        self._opened = opened
        self._current: _Keeper[_T] | None = None

    @asynccontextmanager
    async def used(self, signal: CancelSignal) -> AsyncGenerator[_T]:
        """The client, once it is open; raises what opening raised, the same to all who wait for it.

        A ``ConnectionError`` out of the block means that it is lost: the next use opens another, and this one is closed
        when nobody uses it any more. A cancelled wait for the opening ends that if nobody else waits. Where the
        signal's deadline has passed it goes on, or what is slow to open would never be there for a later use.
        """
        if self._current is None or self._current.over:
            self._current = _Keeper(self._opened())
        keeper = self._current
        keeper.users += 1
        try:
            yield await keeper.client()
        except ConnectionError:
            keeper.over = True
            raise
        finally:
            keeper.users -= 1
            keeper.settle(out_of_time=signal.remaining() == 0)

    async def close(self) -> None:
        """Close it, and wait until that is done, but at most 10 s; another use opens another."""
        if self._current is not None:
            await self._current.close()


class _Keeper(Generic[_T]):
    def __init__(self, client: AbstractAsyncContextManager[_T]) -> None:
        self.over, self.users = False, 0
        self._decided, self._end = asyncio.Event(), asyncio.Event()
        self._client: list[_T] = []
        self._error: Exception | None = None
        # In no caller's context: it outlives the call that it was opened for, and its trace.
        self._task = asyncio.create_task(self._keep(client), name="knowledge-client", context=Context())

    async def client(self) -> _T:
        await self._decided.wait()
        if not self._client:
            raise self._error or KnowledgeUnavailableError("it was closed before it was open; try again")
        return self._client[0]

    def settle(self, *, out_of_time: bool) -> None:
        if self.users:
            return
        if self.over:
            self._end.set()
        elif not self._decided.is_set() and not out_of_time:
            # Clause 7.2.
            self._give_up()

    async def close(self) -> None:
        self._end.set()
        if not self._decided.is_set():
            self._give_up()
        await asyncio.wait({self._task}, timeout=_CLOSING)
        self._give_up()

    def _give_up(self) -> None:
        self.over = True
        self._task.cancel()

    async def _keep(self, client: AbstractAsyncContextManager[_T]) -> None:
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(_OPENING):
                    self._client.append(await stack.enter_async_context(client))
                self._decided.set()
                await self._end.wait()
        except Exception as error:
            # Nobody waits for this task. Until it is open, its error is that of those who wait; later, a call's own
            # error says that the client is lost.
            self._error = error
        finally:
            self.over = True
            self._decided.set()
