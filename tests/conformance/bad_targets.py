"""Targets that cannot be used, each named by why."""

import fcntl
import os
import sys
import time
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from knowledge_fakes.handbook import HandbookProvider

number = 3
path = Path(os.environ.get("OPENED_FILE", os.devnull))


def none() -> None:
    return None


def wants_arguments(index: str) -> HandbookProvider:
    return HandbookProvider((index,))


def raises() -> HandbookProvider:
    raise ValueError("no index")


async def exits() -> HandbookProvider:
    sys.exit(3)


def crashes() -> HandbookProvider:
    os._exit(0)


def floods() -> HandbookProvider:
    while True:
        os.write(1, b"x" * 65536)


def never_returns() -> HandbookProvider:
    time.sleep(1000)
    return HandbookProvider()


@asynccontextmanager
async def refuses_to_enter() -> Any:
    raise OSError("no socket")
    yield


@contextmanager
def yields_nothing() -> Any:
    yield None


class CrashesDescribing(HandbookProvider):
    """Ends its process in describe."""

    def describe(self) -> Any:
        os._exit(0)


_opened_here: list[bool] = []
_locks: list[Any] = []


def opens_in_one_process() -> HandbookProvider:
    """Holds a lock that a lost process leaves behind."""
    if path.exists() and not _opened_here:
        raise OSError("locked")
    _opened_here.append(True)
    path.touch()
    return CrashesDescribing()


def one_process_at_a_time() -> HandbookProvider:
    """Holds a lock for as long as its process lives."""
    if not _locks:
        lock = path.open("w")
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _locks.append(lock)
    return HandbookProvider()


def opens_once() -> HandbookProvider:
    """Makes one provider and no more."""
    if _opened_here:
        raise OSError("used up")
    _opened_here.append(True)
    return HandbookProvider()
