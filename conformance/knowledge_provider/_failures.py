"""The contract's error for what a vendor raised or a service answered; knows statuses and headers, no vendor or client.

Public through ``adapting`` and ``services``.
"""

import logging
import re
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from functools import cache, partial
from pathlib import PurePath
from time import time
from typing import Any, Final

from pydantic import ValidationError

from knowledge_provider import errors
from knowledge_provider.text import class_name, finite_number, is_a, short_text

Kinds = type[Exception] | tuple[type[Exception], ...]
"""One class of exceptions, or several."""

_ASKS_TO_WAIT: Final = (429, 503)
# More than nine digits of seconds are more than a life, and no help to wait for. No date is as long as this.
_SECONDS: Final = re.compile(r"[0-9]{1,9}")
_WAIT_MAX: Final = 10**9
_HEADER_MAX: Final = 100
_BY_STATUS: Final[Mapping[int, type[errors.KnowledgeFailedError]]] = {
    401: errors.KnowledgeUnauthorizedError,
    403: errors.KnowledgeUnauthorizedError,
    429: errors.KnowledgeRateLimitedError,
    **dict.fromkeys(range(500, 600), errors.KnowledgeUnavailableError),
}
# What clients of HTTP call an error when they time out, lose or never get a connection; vendors let these through.
# The first of an error's classes that stands here tells, since some are both; nothing is imported for it.
_CLIENTS: Final = frozenset({"aiohttp", "httpcore", "httpcore2", "httpx", "httpx2", "requests", "urllib3"})
_LATE: Final = frozenset({"ConnectTimeout", "ServerTimeoutError", "Timeout", "TimeoutError", "TimeoutException"})
_LOST: Final = frozenset(
    {
        "ClientConnectionError",
        "ConnectError",
        "ConnectionError",
        "MaxRetryError",
        "NetworkError",
        "NewConnectionError",
        "ProxyError",
        "RemoteProtocolError",
    }
)
# A body in another encoding than it says.
_GARBLED: Final = frozenset({"ContentDecodingError", "ContentEncodingError", "DecodeError", "DecodingError"})
_MODULE_MAX: Final = 100
_NAME: Final = type.__dict__["__name__"]
_MODULE: Final = type.__dict__["__module__"]
_MRO: Final = type.__dict__["__mro__"]
# Clause 7.6: a time-out of the service's own is an ordinary failure, though another try may help.
_TIMED_OUT: Final = 408


def refusal(status: int, retry_after: str | None = None) -> errors.KnowledgeFailedError:
    """The contract's error for an HTTP status that is no success; ``retry_after`` is the text of that header.

    For 429 and 503, the error's ``retry_after`` is in seconds, from 0 to below 10**9, where the header holds a whole
    number or a date.
    """
    message = f"the service answered with HTTP status {status}; its text may hold data, so it is not repeated"
    return _of_status(status, message, retry_after) or errors.KnowledgeFailedError(message)


def failure(error: Exception, what: str, *, late: Kinds = (), lost: Kinds = ()) -> errors.KnowledgeFailedError:
    """The contract's error for a vendor's exception; raise it ``from error``.

    The message is fixed words and the exception's type: a vendor's own text may hold a record, a query or a key.
    ``late`` and ``lost`` are a client's own exceptions for time-outs and for connections; ``late`` wins, as in some
    libraries ``lost`` is its base class. Otherwise an HTTP status in ``status_code`` or ``response.status_code``
    decides, as in ``refusal``, whatever the library; and without one, the exception's type, among them those of the
    common HTTP clients. Whatever the exception is made of, nothing but a ``KeyboardInterrupt`` comes out of reading it.
    """
    message = f"{what} raised {class_name(error)}; its text may hold data, so it is left to __cause__"
    if _is_one(error, late):
        return errors.KnowledgeFailedError(message, retryable=True)
    if _is_one(error, lost):
        # Some call it so, too, when a body is in another encoding than it says.
        garbled = _clients_name(errors.read_or_none(lambda: error.__cause__)) in _GARBLED
        return (errors.KnowledgeInvalidResponseError if garbled else errors.KnowledgeUnavailableError)(message)
    response = errors.read_or_none(lambda: getattr(error, "response", None))
    return _of_status(_status(error) or _status(response), message, _header(response)) or _of_type(error, message)


def log_without_tracebacks(package: str, *loggers: str) -> None:
    """Leave the traceback out of what a vendor's package logs through these loggers, in this process; twice is once.

    For one that logs the exception of an answer that it cannot read, whose text holds the answer, a key in it included
    (clause 6.4). What the package says in words of its own is logged as before, and so is what others log there.
    """
    for name in loggers:
        logging.getLogger(name).addFilter(_without_tracebacks_of(package))


@cache
def _without_tracebacks_of(package: str) -> Callable[[logging.LogRecord], bool]:
    def passes(record: logging.LogRecord) -> bool:
        if package in PurePath(record.pathname).parts:
            record.exc_info = record.exc_text = None
        return True

    return passes


def _of_status(status: int, message: str, retry_after: object) -> errors.KnowledgeFailedError | None:
    wait = _seconds(short_text(retry_after, _HEADER_MAX)) if status in _ASKS_TO_WAIT else None
    if kind := _BY_STATUS.get(status):
        return kind(message, retry_after=wait)
    return errors.KnowledgeFailedError(message, retryable=True) if status == _TIMED_OUT else None


def _of_type(error: Exception, message: str) -> errors.KnowledgeFailedError:
    named = _clients_name(error)
    if is_a(error, ConnectionError) or named in _LOST:
        return errors.KnowledgeUnavailableError(message)
    if is_a(error, ValidationError) or named in _GARBLED:
        return errors.KnowledgeInvalidResponseError(message)
    # Clause 7.6.
    return errors.KnowledgeFailedError(message, retryable=is_a(error, TimeoutError) or named in _LATE)


def _clients_name(error: object) -> str:
    # Neither the exception nor a metaclass is asked: both may run foreign code.
    for kind in _MRO.__get__(type(error)):
        name, module = str.__str__(_NAME.__get__(kind)), errors.read_or_none(partial(_MODULE.__get__, kind))
        if short_text(module, _MODULE_MAX).partition(".")[0] in _CLIENTS and name in _LATE | _LOST | _GARBLED:
            return name
    return ""


def _is_one(error: Exception, kinds: Kinds) -> bool:
    return any(is_a(error, kind) for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))


def _status(place: object) -> int:
    # A plain number, 0 where there is none: http.HTTPStatus is an int too, and a foreign one compares as it likes.
    number = finite_number(errors.read_or_none(lambda: getattr(place, "status_code", None)))
    return number if is_a(number, int) else 0


def _header(response: Any) -> object:
    return errors.read_or_none(lambda: response.headers.get("retry-after"))


def _seconds(written: str) -> float | None:
    if _SECONDS.fullmatch(written):
        return float(written)
    try:
        wait = parsedate_to_datetime(written).timestamp() - time()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return max(0.0, wait) if wait < _WAIT_MAX else None
