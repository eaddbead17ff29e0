"""Targets that leave something behind, or take their process away at the end of their lives."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from hostile_base import LONG, on, once, retrieving

from knowledge_fakes.handbook import HandbookProvider

OFFSPRING = "OFFSPRING_FILE"
"""The environment variable with the file that a provider writes the ids of its processes to."""

# Processes of its own.


def _report(*pids: int) -> None:
    with Path(os.environ[OFFSPRING]).open("a", encoding="ascii") as file:
        file.writelines(f"{pid}\n" for pid in (os.getpid(), *pids))


def _spawn(**options: Any) -> None:
    _report(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], **options).pid)


def _daemonize() -> None:
    # Two forks and a session of its own: nothing of it hangs on the provider's process any more.
    first = os.fork()
    if first:
        os.waitpid(first, 0)
        return
    os.setsid()
    if os.fork() == 0:
        _report()
        time.sleep(LONG)
    os._exit(0)


spawns = retrieving(once(_spawn))
spawns_a_session = retrieving(once(lambda: _spawn(start_new_session=True)))
daemonizes = retrieving(once(_daemonize))
forks = retrieving(once(os.fork))


def _fork_and_stay() -> None:
    if os.fork() == 0:
        _report()
        time.sleep(LONG)


forks_and_reports = retrieving(once(_fork_and_stay))
spawns_and_loops = retrieving(lambda: _spawn(start_new_session=True), lambda: sum(iter(int, 1)))
kills_its_parent = retrieving(_report, lambda: os.kill(os.getppid(), signal.SIGKILL), lambda: time.sleep(LONG))


# The ends of a provider's life.

exits_closing = on("close", lambda: os._exit(0))


class BlocksClosing(HandbookProvider):
    """A close that holds the event loop."""

    async def close(self) -> None:
        time.sleep(LONG)  # noqa: ASYNC251 - that is the point


class ExitsWhenCollected(HandbookProvider):
    """Takes the process away when nobody refers to it any more."""

    def __del__(self) -> None:
        os._exit(0)


class LeavesATask(HandbookProvider):
    """Leaves a task behind that cannot be cancelled."""

    async def retrieve(self, request: Any, context: Any) -> Any:
        async def stay() -> None:
            while True:
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(LONG)

        self.left = asyncio.create_task(stay())
        return await super().retrieve(request, context)


class ExitsWhenLeft:
    """A context manager that lives for the whole run, and takes the process away when it is left."""

    def __enter__(self) -> HandbookProvider:
        return HandbookProvider()

    def __exit__(self, *_error: object) -> None:
        os._exit(0)


exits_when_left = ExitsWhenLeft()
