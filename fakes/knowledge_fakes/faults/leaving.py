"""Mistakes that stay when a provider is closed, or its loop ends; knows clauses 2.3 and 2.4, no way of catching them.

What is left here goes with the provider at the latest, so that a run with a fault leaves the process as it was.
"""

import asyncio
import contextlib
import socket
import subprocess
import threading
import weakref
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from knowledge_fakes.faults._changing import Changed, ask, settled
from knowledge_fakes.faults._fault import fault
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest

_SOON: Final = {"timeout": 0.5}
_LONG: Final = 20.0
_AWHILE: Final = 2.0


@fault("KP-206", fragment="a task in knowledge_fakes.faults.leaving.refresh", waits=True)
def refresher_outlives_close(sound: Any) -> Any:
    """The first search starts a task that keeps an index fresh, and close() forgets it."""
    refreshers: list[Any] = []

    async def refresh() -> None:
        await asyncio.Event().wait()

    return _beginning(sound, lambda: refreshers.append(asyncio.create_task(refresh())))


@fault("KP-209", fragment="a TCP socket that listens", waits=True)
def socket_stays_open(sound: Any) -> Any:
    """The first search opens a socket for the back end's notices, and close() closes the client alone."""
    listening = contextlib.ExitStack()
    return _ending(
        _beginning(sound, lambda: listening.enter_context(socket.create_server(("127.0.0.1", 0)))), listening.close
    )


@fault("KP-209", fragment="a local socket that is open", waits=True)
def stream_is_not_closed(sound: Any) -> Any:
    """The first row of a stream is enough, and the generator that holds the connection is kept as it is."""
    streams: list[AsyncGenerator[Any, None]] = []

    async def stream() -> AsyncGenerator[Any, None]:
        with contextlib.ExitStack() as connection:
            for end in socket.socketpair():
                connection.enter_context(end)
            yield {}

    async def begin() -> None:
        streams.append(stream())
        await anext(streams[0])

    return _beginning(sound, begin)


@fault("KP-209", fragment="a local socket that is open", waits=True)
def connection_is_kept_for_the_next_call(sound: Any) -> Any:
    """A connection is kept after an answer, and ends with a call that is cancelled; close() knows of none."""
    kept: list[contextlib.ExitStack] = []

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        connection = kept.pop() if kept else _connected()
        try:
            await asyncio.sleep(0)
            answer = await ask(sound, request, context)
        except BaseException:
            connection.close()
            raise
        kept.append(connection)
        return answer

    def end() -> None:
        for connection in kept:
            connection.close()

    return _ending(_closing(sound, retrieve), end)


def _connected() -> contextlib.ExitStack:
    connection = contextlib.ExitStack()
    for end in socket.socketpair():
        connection.enter_context(end)
    return connection


@fault("KP-210", fragment="a child process 'sleep'", waits=True)
def process_stays(sound: Any) -> Any:
    """The first search starts a server process, and close() only forgets it."""
    processes: list[subprocess.Popen[bytes]] = []

    def end() -> None:
        for process in processes:
            process.kill()
            process.wait()

    return _ending(_beginning(sound, lambda: processes.append(subprocess.Popen(["/bin/sleep", "60"]))), end)


@fault("KP-207", fragment="a non-daemon thread in knowledge_fakes.faults.leaving.poll", waits=True)
def thread_stays(sound: Any) -> Any:
    """The first search starts a thread that polls for changes, no daemon, and close() does not stop it."""
    over = threading.Event()

    def poll() -> None:
        over.wait(_LONG)

    return _ending(_beginning(sound, lambda: threading.Thread(target=poll).start()), over.set)


@fault("KP-207", fragment="a thread of a ThreadPoolExecutor", waits=True)
def pool_is_not_shut_down(sound: Any) -> Any:
    """Searches run in a pool of the provider's own, which close() does not shut down."""
    pool = ThreadPoolExecutor(1)

    async def begin() -> None:
        await asyncio.get_running_loop().run_in_executor(pool, int)

    return _ending(_beginning(sound, begin), lambda: pool.shutdown(wait=False))


@fault("KP-207", fragment="in knowledge_fakes.faults.leaving.beat", settings=_SOON, waits=True)
def worker_goes_on(sound: Any) -> Any:
    """A worker thread beats until the search is over, and nobody tells it of one that was cancelled."""

    def beat(over: threading.Event) -> None:
        over.wait(_AWHILE)

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        over = threading.Event()
        asyncio.get_running_loop().run_in_executor(None, beat, over)
        try:
            await asyncio.sleep(0)  # as a sound provider may never do, which could then not be cancelled
            answer = await ask(sound, request, context)
        except Exception:
            over.set()
            raise
        over.set()
        return answer

    return Changed(sound, retrieve=retrieve)


@fault("KP-208", fragment="bound to a different event loop")
def bound_to_its_first_loop(sound: Any) -> Any:
    """A client is made on the loop of the first search, and raises on any other."""
    loops: list[asyncio.AbstractEventLoop] = []

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        loops.append(asyncio.get_running_loop())
        if loops[-1] is not loops[0]:
            raise RuntimeError("the client is bound to a different event loop")
        del loops[1:]
        return await ask(sound, request, context)

    return Changed(sound, retrieve=retrieve)


@fault("KP-208", fragment="no answer: it waits in knowledge_fakes.faults.leaving.retrieve", settings=_SOON, waits=True)
def waits_for_its_first_loop(sound: Any) -> Any:
    """Searches are put into a queue that a task reads, and that task is gone with its loop."""
    queue: asyncio.Queue[tuple[Any, ...]] = asyncio.Queue()
    readers: list[asyncio.Task[None]] = []

    async def read() -> None:
        while True:
            *asked, answer = await queue.get()
            found = await _came(sound, *asked)
            if not answer.done():
                answer.set_result(found)

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        if not readers:
            readers.append(asyncio.create_task(read()))
        answer = asyncio.get_running_loop().create_future()
        queue.put_nowait((request, context.model_copy(update={"signal": CancelSignal()}), answer))
        found = await answer
        if isinstance(found, Exception):
            raise found
        return found

    async def close() -> None:
        for reader in readers:
            reader.cancel()
        readers.clear()
        if hasattr(sound, "close"):
            await settled(sound.close())

    return Changed(sound, retrieve=retrieve, close=close)


@fault("KP-208", fragment="is bound to a different event loop")
def lock_of_its_first_loop(sound: Any) -> Any:
    """A lock is made with the provider, and keeps to the loop on which a search first had to wait for another."""
    lock = asyncio.Lock()

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        async with lock:
            await asyncio.sleep(0)  # as a sound provider may never do, whose searches then never meet
            return await ask(sound, request, context)

    return Changed(sound, retrieve=retrieve)


@fault("KP-211", fragment="a TCP socket that listens", waits=True)
def first_loop_is_forgotten(sound: Any) -> Any:
    """Each loop has a client of its own, and close() closes that of the loop that it is called on."""
    clients: dict[asyncio.AbstractEventLoop, socket.socket] = {}

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        loop = asyncio.get_running_loop()
        if loop not in clients:
            clients[loop] = socket.create_server(("127.0.0.1", 0))
        return await ask(sound, request, context)

    async def close() -> None:
        if client := clients.pop(asyncio.get_running_loop(), None):
            client.close()
        if hasattr(sound, "close"):
            await settled(sound.close())

    def end() -> None:
        for client in clients.values():
            client.close()

    return _ending(Changed(sound, retrieve=retrieve, close=close), end)


async def _came(sound: Any, request: RetrievalRequest, context: RetrievalContext) -> Any:
    """The sound provider's answer, or the exception in its place."""
    try:
        return await ask(sound, request, context)
    except Exception as error:
        return error


def _beginning(sound: Any, begin: Callable[[], Any]) -> Changed:
    """The provider that does something at its first search."""
    begun: list[bool] = []

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        if not begun:
            begun.append(True)
            await settled(begin())
        return await ask(sound, request, context)

    return _closing(sound, retrieve)


def _closing(sound: Any, retrieve: Callable[..., Any]) -> Changed:
    """The provider that searches in this way; its closing is as it was, or closes nothing."""

    async def close() -> None:
        if hasattr(sound, "close"):
            await settled(sound.close())

    return Changed(sound, retrieve=retrieve, close=close)


def _ending(changed: Changed, end: Callable[[], object]) -> Changed:
    weakref.finalize(changed, end)
    return changed
