"""What a process writes while it is listened to, whichever way it is written."""

import asyncio
import gc
import logging
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from knowledge_conformance.channels import Search
from knowledge_conformance.listening import ERRORS, LOST, OUTPUT, WARNINGS, listening
from knowledge_conformance.streams import stream_of

SECRET = "tb-live-9vX2Qe7"
LOGGER = logging.getLogger("kit-test.wire")


def heard(write: Callable[[], object], *, own_process: bool = False) -> list[str]:
    """In which channels the secret came out."""

    async def listen() -> list[str]:
        search = Search({"KEY": SECRET}, control="control-4711")
        with listening(search, own_process=own_process) as listener:
            listener.control()
            assert listener.deaf == ()
            write()
            await asyncio.sleep(0)
            listener.settle()
        return list(dict.fromkeys(leak.channel for leak in search.leaks))

    return asyncio.run(listen())


@contextmanager
def quiet(logger: logging.Logger) -> Generator[None]:
    """The logger as a library leaves it that wants to be heard by nobody."""
    logger.propagate, level = False, logger.level
    logger.setLevel(logging.CRITICAL)
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
        logger.propagate = True
        logger.setLevel(level)


@pytest.mark.parametrize("level", [1, logging.DEBUG, logging.ERROR])
def test_every_logger_is_heard_at_every_level(level: int) -> None:
    """Also one that does not propagate, and where logging is switched off."""
    with quiet(LOGGER):
        channels = heard(lambda: LOGGER.log(level, "sent with %s", SECRET))
    assert channels == [f"a log record of 'kit-test.wire' at {logging.getLevelName(level)}"]


def test_what_a_record_carries_beside_its_message_is_heard() -> None:
    """Its extra fields, and the traceback of an exception."""

    def fail() -> None:
        try:
            raise ValueError(SECRET)
        except ValueError:
            LOGGER.exception("failed")

    with quiet(LOGGER):
        assert len(heard(lambda: LOGGER.info("asked", extra={"connection": {"key": SECRET}}))) == 1
        assert len(heard(fail)) == 1


def test_a_filter_that_takes_the_key_out_is_respected() -> None:
    """It is how a library's logger is mended."""

    def without_key(record: logging.LogRecord) -> bool:
        record.msg, record.args = "sent", ()
        return True

    LOGGER.addFilter(without_key)
    try:
        with quiet(LOGGER):
            assert heard(lambda: LOGGER.debug("sent with %s", SECRET)) == []
    finally:
        LOGGER.removeFilter(without_key)


def log_at(*levels: int) -> None:
    for level in levels:
        LOGGER.log(level, "%s", level)


def test_a_record_goes_where_it_would_have_gone(caplog: pytest.LogCaptureFixture) -> None:
    """Those that are enabled to their handlers, the others nowhere; the control to nobody."""
    with caplog.at_level(logging.INFO, "kit-test.wire"):
        heard(lambda: log_at(logging.DEBUG, logging.INFO))
    assert [record.getMessage() for record in caplog.records if record.name != "asyncio"] == ["20"]


def test_a_message_that_logs_itself_or_cannot_be_written_does_no_harm() -> None:
    """What is written of a record is the provider's code."""

    class Logging:
        def __str__(self) -> str:
            LOGGER.debug("again %s", self)
            raise SystemExit

    with quiet(LOGGER):
        assert heard(lambda: LOGGER.debug("once %s", Logging())) == []


@pytest.mark.parametrize("category", [DeprecationWarning, UserWarning, ImportWarning])
def test_every_warning_is_heard(category: type[Warning]) -> None:
    """Also those that Python hides by default, and nobody's errors are made of them."""
    assert heard(lambda: warnings.warn(f"{SECRET} is old", category, stacklevel=1)) == [WARNINGS]


def test_what_asyncio_says_of_a_lost_task_is_heard() -> None:
    """The worker has silenced it."""

    async def fail() -> None:
        raise ValueError(SECRET)

    def lose() -> None:
        task = asyncio.get_running_loop().create_task(fail())
        del task

    assert heard(lose) == [LOST]


def test_prints_are_heard_and_passed_on_without_the_key(capsys: pytest.CaptureFixture[str]) -> None:
    """In a process that others write in."""

    def write() -> None:
        print(f"key {SECRET}")  # noqa: T201 - it is what is listened to
        sys.stderr.writelines(["a\n", f"{SECRET}\n"])

    assert heard(write) == [OUTPUT, ERRORS]
    assert capsys.readouterr() == ("key [redacted]\n", "a\n[redacted]\n")


def test_the_streams_are_put_back() -> None:
    """Where the provider has put another stream in the place, that stays."""
    before = sys.stdout
    heard(lambda: None)
    assert sys.stdout is before
    search = Search({})
    tee: Any = stream_of(1, OUTPUT, search, own_process=False)
    try:
        assert id(sys.stdout) == id(tee)
        assert tee.encoding == before.encoding
        sys.stdout = sys.stderr
        tee.end()
        assert sys.stdout is sys.stderr
    finally:
        sys.stdout = before


def test_everything_is_put_back_when_the_check_fails() -> None:
    """Later checks log, warn and print as ever."""
    before = (logging.Logger.isEnabledFor, logging.Logger.callHandlers, warnings.showwarning, sys.stdout, sys.stderr)

    def fail() -> None:
        raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        heard(fail)
    assert before == (
        logging.Logger.isEnabledFor,
        logging.Logger.callHandlers,
        warnings.showwarning,
        sys.stdout,
        sys.stderr,
    )


# In a process of the kit's own.


def test_descriptors_are_heard_to_the_last_byte(capfd: pytest.CaptureFixture[str]) -> None:
    """What C code and started programs write, in many pieces, and from another thread; and nothing of it is lost."""

    def write() -> None:
        os.write(1, f"... {SECRET}".encode())
        subprocess.run(["/bin/sh", "-c", f"echo {SECRET} >&2"], check=True)

    assert set(heard(write, own_process=True)) == {OUTPUT, ERRORS}
    with capfd.disabled():
        assert heard(lambda: None, own_process=True) == []
    os.write(1, b"after")
    assert capfd.readouterr().out.endswith("after")


def test_a_key_in_pieces_is_put_together() -> None:
    """A pipe is read in whatever pieces come."""

    def write() -> None:
        for character in SECRET:
            os.write(1, character.encode())
            threading.Event().wait(0.001)

    assert heard(write, own_process=True) == [OUTPUT]


def test_a_flood_holds_nobody_up() -> None:
    """More than a pipe holds is read meanwhile, and not kept."""
    chunk = b"x" * 65536

    def flood() -> None:
        for _ in range(64):
            os.write(1, chunk)
        os.write(1, SECRET.encode())

    assert heard(flood, own_process=True) == [OUTPUT]


def test_what_is_closed_is_said_to_be_deaf() -> None:
    """The control does not come back, so nothing can be said of the channel."""
    script = (
        "import asyncio, os; from knowledge_conformance.channels import Search; "
        "from knowledge_conformance.listening import listening\n"
        "os.close(1)\n"
        "async def listen():\n"
        "    with listening(Search({}, 'control-4711'), own_process=True) as listener:\n"
        "        listener.control()\n"
        "    os.write(2, repr(listener.deaf).encode())\n"
        "asyncio.run(listen())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    assert done.stderr == "('standard output',)"


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_the_pipes_are_given_back() -> None:
    """A run listens several times."""
    heard(lambda: None, own_process=True)
    gc.collect()
    before = descriptors()
    for _ in range(5):
        heard(lambda: None, own_process=True)
    deadline = threading.Event()
    for _ in range(100):
        if descriptors() <= before:
            break
        deadline.wait(0.01)
    assert descriptors() <= before


def test_before_there_is_a_loop_the_rest_is_heard() -> None:
    """A module is imported then."""
    search = Search({"KEY": SECRET})
    with listening(search, own_process=False):
        LOGGER.debug("made with %s", SECRET)
    assert [leak.channel for leak in search.leaks] == ["a log record of 'kit-test.wire' at DEBUG"]


def test_a_filter_of_warnings_that_was_set_meanwhile_stays() -> None:
    """A library that is loaded then silences its own."""

    def silence() -> None:
        warnings.filterwarnings("ignore", message="kit-test")

    with warnings.catch_warnings():
        before = [*warnings.filters]
        assert heard(silence) == []
        assert [each for each in warnings.filters if each not in before] == [warnings.filters[0]]
        warnings.warn("kit-test: silenced", stacklevel=1)


def test_a_stream_that_was_kept_is_not_heard_after_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    """What a handler writes later belongs to nothing that was listened to; it still goes where it went."""
    search = Search({"KEY": SECRET})
    with listening(search, own_process=False):
        kept = sys.stdout
    kept.write("the key is " + SECRET)
    assert search.leaks == []
    assert SECRET not in capsys.readouterr().out
