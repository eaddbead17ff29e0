"""What a process writes while it is listened to: logs, warnings, standard output and error; knows no provider.

Each kind is opened at its lowest common place, so that no level, filter, handler or stream of the provider's keeps it
from being heard. What the provider would have written goes where it would have gone, except on standard output and
error of the child process, which nobody reads.
"""

import asyncio
import gc
import logging
import threading
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Final

from knowledge_conformance.channels import Search, text_of, texts_of_answer
from knowledge_conformance.render import show
from knowledge_conformance.streams import Stream, stream_of
from knowledge_provider.text import is_a

OUTPUT: Final = "standard output"
ERRORS: Final = "standard error"
WARNINGS: Final = "a warning"
LOST: Final = "what asyncio logs of a task that nobody waited for"

_CONTROL_LOGGER: Final = "knowledge_conformance.control"
_CONTROL_LOG: Final = f"a log record of '{_CONTROL_LOGGER}' at DEBUG"
_RECORD_FIELDS: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}

Hear = Callable[[str, str], None]


class Listener:
    """What is written while it is open; ``search`` is shown all of it.

    ``deaf`` names, after ``control``, what cannot be listened to in this process.
    """

    def __init__(self, search: Search, streams: list[Stream]) -> None:
        self._search = search
        self._streams = streams
        self.deaf: tuple[str, ...] = ()

    def settle(self) -> None:
        """Take what was written up to now, so that it belongs to the call that has ended."""
        for stream in self._streams:
            stream.settle()

    def control(self) -> None:
        """Write the control of the search everywhere: what does not come back cannot be heard."""
        control = self._search.control or ""
        # One of its own, which nobody's configuration has disabled.
        logging.Logger(_CONTROL_LOGGER).debug(control)  # noqa: LOG001
        warnings.warn(control, stacklevel=1)
        for stream in self._streams:
            stream.control(control)
        self.settle()
        wanted = {_CONTROL_LOG: "the log", WARNINGS: "warnings", OUTPUT: OUTPUT, ERRORS: ERRORS}
        self.deaf = tuple(name for channel, name in wanted.items() if channel not in self._search.controlled)


@contextmanager
def listening(search: Search, *, own_process: bool | None = None) -> Generator[Listener]:
    """Listen for as long as the context lasts; ``own_process``: at the file descriptors, too."""
    with ExitStack() as stack:
        streams: list[Stream] = []
        for number, channel in ((1, OUTPUT), (2, ERRORS)):
            stream = stream_of(number, channel, search, own_process=own_process)
            if stream is not None:
                streams.append(stream)
                stack.callback(stream.end)
        for hearing in (_logging, _warnings, _lost_tasks):
            stack.enter_context(hearing(search.hear))
        listener = Listener(search, streams)
        yield listener
        gc.collect()  # a coroutine that was never awaited, and a task's lost exception, are said when they are freed
        listener.settle()


# Logging: each record of each logger, whatever its level, whether or not it propagates.


@contextmanager
def _logging(hear: Hear) -> Iterator[None]:
    enabled, call_handlers = logging.Logger.isEnabledFor, logging.Logger.callHandlers
    hearing = threading.local()

    def call_handlers_heard(self: logging.Logger, record: logging.LogRecord) -> None:
        # After the logger's own filters, which may take a key out of the record. What is written of a record is the
        # provider's code, which may log itself.
        if not getattr(hearing, "now", False):
            hearing.now = True
            with suppress(Exception):  # nothing that goes wrong here is the caller's affair
                _hear_record(hear, record)
            hearing.now = False
        if record.name != _CONTROL_LOGGER and enabled(self, record.levelno):
            call_handlers(self, record)

    logger: Any = logging.Logger
    logger.isEnabledFor, logger.callHandlers = _always, call_handlers_heard
    try:
        yield
    finally:
        # What was put over it meanwhile, as error trackers do, stays.
        if logger.isEnabledFor is _always:
            logger.isEnabledFor = enabled
        if logger.callHandlers is call_handlers_heard:
            logger.callHandlers = call_handlers


def _always(self: logging.Logger, level: int) -> bool:
    del self, level
    return True


def _hear_record(hear: Hear, record: logging.LogRecord) -> None:
    channel = f"a log record of {show(record.name, limit=60)} at {logging.getLevelName(record.levelno)}"
    hear(channel, text_of(lambda held: held.getMessage(), record))
    error = record.exc_info[1] if type(record.exc_info) is tuple else None
    hear(channel, _traceback_of(error))
    # What stands beside the message (``extra``) is written by formatters that make JSON.
    extra = {name: held for name, held in vars(record).items() if name not in _RECORD_FIELDS}
    for _, text in texts_of_answer(extra):
        hear(channel, text)


def _traceback_of(error: object) -> str:
    if not is_a(error, BaseException):
        return ""
    return text_of(lambda held: "".join(traceback.format_exception(held)), error)


@contextmanager
def _warnings(hear: Hear) -> Iterator[None]:
    def show_warning(message: Warning | str, *_place: object, **_more: object) -> None:
        hear(WARNINGS, text_of(str, message))

    with warnings.catch_warnings():
        # Also those that are not shown by default: others run with -W.
        warnings.simplefilter("always")
        warnings.showwarning = show_warning
        ours = [*warnings.filters]
        yield
        added = [each for each in warnings.filters if each not in ours]
    # What the provider, or a library that it loads, filters is its own affair.
    filters: Any = warnings.filters
    filters[:0] = added


@contextmanager
def _lost_tasks(hear: Hear) -> Iterator[None]:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # before there is one, no task is lost
        yield
        return
    before = loop.get_exception_handler()

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        hear(LOST, text_of(str, context.get("message")))
        hear(LOST, _traceback_of(context.get("exception")))
        if before is not None:
            before(loop, context)

    loop.set_exception_handler(handle)
    try:
        yield
    finally:
        loop.set_exception_handler(before)
