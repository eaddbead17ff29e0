"""What code opens is seen, in whichever thread, for as long as somebody looks."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from knowledge_conformance.audit import watch_io, watch_writes


def _connect() -> None:
    with socket.socket() as end:
        end.bind(("127.0.0.1", 0))


OPENS: dict[str, Callable[[], object]] = {
    "open": lambda: Path(os.devnull).read_bytes(),
    "os.listdir": lambda: os.listdir("."),  # noqa: PTH208 - the event of this name
    "os.scandir": lambda: list(os.scandir(".")),
    "socket.bind": _connect,
    "socket.getaddrinfo": lambda: socket.getaddrinfo("127.0.0.1", 80),
    "subprocess.Popen": lambda: subprocess.run([sys.executable, "-c", ""], check=True),
}


@pytest.mark.parametrize(("event", "act"), OPENS.items())
def test_opening_something_is_seen(event: str, act: Callable[[], object]) -> None:
    """By the interpreter's own event, whichever library did it."""
    with watch_io() as seen:
        act()
    assert event in seen


def test_what_opens_nothing_is_not_seen() -> None:
    """Computing is free."""
    with watch_io() as seen:
        sorted(range(100))
        threading.Event().set()
    assert seen == []


def test_other_threads_are_seen_and_other_times_are_not() -> None:
    """A synchronous provider works in a thread; afterwards nobody looks."""
    with watch_io() as seen:
        thread = threading.Thread(target=OPENS["open"])
        thread.start()
        thread.join()
    OPENS["open"]()
    assert seen == ["open"]


def test_looking_twice_shows_each_its_own() -> None:
    """The second look begins with nothing."""
    with watch_io() as first:
        OPENS["open"]()
    with watch_io() as second:
        pass
    assert (first, second) == (["open"], [])


def test_an_error_inside_ends_the_look() -> None:
    """What is opened after it is somebody else's."""
    with pytest.raises(ValueError, match="inside"), watch_io() as seen:
        raise ValueError("inside")
    OPENS["open"]()
    assert seen == []


def test_a_thread_that_was_there_before_is_seen() -> None:
    """A provider's pool works for it as a thread of its own does."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        with watch_io() as seen:
            pool.submit(OPENS["open"]).result()
    assert seen == ["open"]


def test_a_look_inside_a_look_ends_with_its_own_block() -> None:
    """Two that have seen the same are not taken for one another."""
    with watch_io() as outer:
        with watch_io() as inner:
            pass
        OPENS["open"]()
    assert (outer, inner) == (["open"], [])


def test_writing_is_seen(tmp_path: Path) -> None:
    """Making a folder or a file, or opening one for writing; not reading, and not what Python keeps of a module."""
    with watch_writes() as written:
        (tmp_path / "folder").mkdir()
        (tmp_path / "file").write_text("x")
        (tmp_path / "file").rename(tmp_path / "other")
    assert written == ["os.mkdir", "open", "os.rename"]
    (tmp_path / "__pycache__").mkdir()
    with watch_writes() as written:
        (tmp_path / "other").read_text()
        (tmp_path / "__pycache__" / "module.pyc").write_bytes(b"")
    assert written == []
