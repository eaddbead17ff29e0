"""What several adapters need to put a vendor's library behind the boundary; knows no vendor, no host and no client.

Three concerns: a vendor's values become plain data (``plain_metadata``, ``place_text``, ``source_of``, ``result_id``),
a vendor's exceptions become the contract's (``failure``), and a vendor's calls stay off the event loop or stay with
the loop they belong to (``DaemonThreads``, ``PerLoop``).
"""

import asyncio
import contextvars
import hashlib
import json
import re
import threading
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from contextlib import suppress
from datetime import date
from functools import partial
from pathlib import PurePath
from typing import Any, Final, Generic, ParamSpec, TypeVar
from uuid import UUID

from pydantic import ValidationError
from pydantic_core import Url

from knowledge_provider import errors, limits
from knowledge_provider.cancel import CancelSignal
from knowledge_provider.models import MetadataValue, RetrievalRequest, Source
from knowledge_provider.text import content_text, finite_number, is_a, short_text
from knowledge_provider.uris import public_uri, uri_fault

_P = ParamSpec("_P")
_T = TypeVar("_T")

_CUT: Final = "…"
_MAY_HOLD_URI: Final = re.compile(r":[/\\]|//|\bhttps?:", re.IGNORECASE)
# The scheme's length is bounded: searching is then linear in the text, whatever the text is.
_URI: Final = re.compile(
    r"[a-z][a-z0-9+.-]{0,30}:(?:[a-z][a-z0-9+.-]{0,30}:)?[/\\]{2}\S*|\bhttps?:\S+|//[^\s/\\]*@\S*", re.IGNORECASE
)
_USER_INFO: Final = re.compile(r"(://)[^/?#]*@")
_QUERY_AND_AFTER: Final = re.compile(r"[?#;].*", re.DOTALL)
_READ_MAX: Final = 2 * limits.URI_MAX


def stable_id(*parts: str) -> str:
    """An id of 32 hexadecimal digits made from ``parts``; the same in every process, for any strings."""
    # JSON keeps ("a", "b") apart from ("ab",), and writes a lone surrogate, which UTF-8 cannot.
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def result_id(value: object, where: object, content: str, taken: dict[str, str]) -> str | None:
    """An id that no other result of this response has, or None when this very passage already stands in ``taken``.

    ``value`` is the vendor's id (a string, an int or a UUID; anything else counts as missing), ``where`` the place
    that the content is from. ``taken`` maps the ids given so far to their contents, and gains this one.
    """
    text = _one_line(value)
    safe = place_text(value, limits.URI_MAX)
    # Clause 5.2: an id that is too long or holds a link is not cut, since what tells two of them apart may go with it.
    fits = 0 < len(text) <= limits.RESULT_ID_MAX and safe == text
    made = stable_id(safe, place_text(where, limits.URI_MAX), content)
    # Clause 5.3. A passage twice is one result; two passages under one id are two, and the later gets an id of its own.
    for candidate in (text, made) if fits else (made,):
        if candidate not in taken:
            taken[candidate] = content
            return candidate
        if taken[candidate] == content:
            return None
    return None


def passage_text(value: object) -> str:
    """A passage's content by rule N6, "" when it is missing or blank; beyond 4,000 code points cut and marked so."""
    text = content_text(value, limits.CONTENT_MAX + 1)
    # Clause 5.2.
    return text if len(text) <= limits.CONTENT_MAX else text[: limits.CONTENT_MAX - len(_CUT)] + _CUT


def place_text(value: object, limit: int) -> str:
    """A name or place on one line of at most ``limit`` code points, "" when there is none, without any credential.

    A public URI in it stays. Any other loses user-info, query and fragment, and goes altogether where it cannot be
    read. Takes strings, ints, UUIDs and paths.
    """
    text = _one_line(value)
    # Clauses 6.1 and 6.4: before the text is cut, since half a link may no longer look like one.
    return short_text(_URI.sub(_shown_uri, text) if _MAY_HOLD_URI.search(text) else text, limit)


def _one_line(value: object) -> str:
    return short_text(str(value) if isinstance(value, UUID | PurePath) else value, _READ_MAX)


def _shown_uri(found: re.Match[str]) -> str:
    if found.end() == _READ_MAX:
        return ""
    # Rule 2: "#" begins the fragment wherever it stands. A public URI keeps its spelling, for the prose around it.
    return found[0].partition("#")[0] if public_uri(found[0]) else _bare_place(found[0])


def _bare_place(uri: str) -> str:
    try:
        url = Url(uri)
    except ValueError:
        return ""
    bare = _QUERY_AND_AFTER.sub("", _USER_INFO.sub(r"\1", str(url)))
    fault = uri_fault(bare)
    return "" if fault is not None and fault.is_credential else bare


def source_of(where: object, title: object = None) -> Source | None:
    """A result's source from a vendor's path or URI and title, or None when both say nothing.

    A public URI becomes ``uri``. Any other place becomes ``id`` and ``locator`` (clause 6.2), without credentials.
    """
    name = place_text(title, limits.SOURCE_TITLE_MAX) or None
    uri = public_uri(where)
    if uri is not None:
        return Source(title=name, uri=uri)
    place = place_text(where, limits.URI_MAX)
    if not place:
        return Source(title=name) if name else None
    short = place if len(place) <= limits.SOURCE_ID_MAX else stable_id(place)
    return Source(id=short, title=name, locator=short_text(place, limits.SOURCE_LOCATOR_MAX))


def plain_number(value: object) -> int | float | None:
    """A finite number as an exact int or float, NumPy's scalars too; None for anything else, booleans included."""
    return finite_number(_from_numpy(value))


def plain_metadata(values: Mapping[Any, Any], *, without: Collection[str] = ()) -> dict[str, MetadataValue]:
    """At most 16 flat entries of exact types (clauses 5.6, 5.7), in order, leaving out the keys in ``without``.

    Booleans, finite numbers, NumPy's scalars, strings (500 code points, without credentials in their URIs), dates and
    UUIDs stay; whatever is nested, a vector, not finite or None goes.
    """
    plain: dict[str, MetadataValue] = {}
    for key, value in values.items():
        name = short_text(key, limits.METADATA_KEY_MAX) if is_a(key, str) and key not in without else ""
        kept = _plain_value(value) if name else None
        if kept is not None:
            plain[name] = kept
        if len(plain) == limits.METADATA_ENTRIES_MAX:
            break
    return plain


def _plain_value(value: object) -> MetadataValue | None:
    value = _from_numpy(value)
    if type(value) is bool:
        return value
    if is_a(value, date):
        value = value.isoformat()
    if is_a(value, str) or is_a(value, UUID):
        return place_text(value, limits.METADATA_TEXT_MAX)
    return finite_number(value)


def _from_numpy(value: Any) -> object:
    # Read by shape and kind, not by importing NumPy; a date of NumPy's would become a bare number, so it is not one.
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    return value.item() if kind in ("b", "i", "u", "f") and getattr(value, "shape", None) == () else value


def refuse_filters(request: RetrievalRequest) -> None:
    """Raise ``KnowledgeFiltersUnsupportedError`` when the request has filters (clause 3.5)."""
    if request.filters:
        raise errors.KnowledgeFiltersUnsupportedError(
            "filters came, and this provider has none to offer: ignoring them would show what they exclude. "
            "Ask without filters."
        )


def refuse_other_bases(request: RetrievalRequest, held: str | None) -> None:
    """Raise ``KnowledgeBaseUnknownError`` when bases are asked for and ``held`` is not among them (clause 3.4)."""
    if request.knowledge_base_ids and held not in request.knowledge_base_ids:
        raise errors.KnowledgeBaseUnknownError(
            "knowledge bases were asked for, and this provider holds none of them: it never answers from another. "
            "Ask for a base that it holds, or for none."
        )


def failure(error: Exception, what: str) -> errors.KnowledgeFailedError:
    """The contract's error for a vendor's exception; raise it ``from error``.

    The message is fixed words and the exception's type: a vendor's own text may hold a record, a query or a key.
    An HTTP status in ``status_code`` or ``response.status_code`` decides between the codes, whatever the library.
    """
    message = f"{what} raised {type(error).__name__}; its text may hold data, so it is left to __cause__"
    response = getattr(error, "response", None)
    status = _status(error) or _status(response)
    if status in (401, 403):
        return errors.KnowledgeUnauthorizedError(message)
    if status == 429:
        return errors.KnowledgeRateLimitedError(message, retry_after=_retry_after(response))
    if status >= 500 or isinstance(error, ConnectionError):
        return errors.KnowledgeUnavailableError(message)
    if isinstance(error, ValidationError):
        return errors.KnowledgeInvalidResponseError(message)
    # Clause 7.6: a vendor's own time-out is an ordinary failure, though another try may help.
    return errors.KnowledgeFailedError(message, retryable=isinstance(error, TimeoutError))


def _status(answer: object) -> int:
    status = getattr(answer, "status_code", 0)
    return status if type(status) is int else 0


def _retry_after(response: object) -> float | None:
    headers = getattr(response, "headers", None)
    try:
        seconds = float(headers["retry-after"]) if headers is not None else None
    except (KeyError, TypeError, ValueError):
        return None
    return seconds if seconds is not None and 0 <= seconds < float("inf") else None


class DaemonThreads:
    """Runs a vendor's synchronous calls in at most ``limit`` threads that end with the process, whatever they do.

    A thread cannot be stopped. One that hangs outlives the call that gave up on it and stays counted until it returns,
    but holds back neither the loop's shutdown nor the interpreter's exit; ``asyncio.to_thread`` would hold back both.
    Belongs to no event loop, so it serves several, one after another or at once (clause 2.4).
    """

    def __init__(self, limit: int = limits.CONCURRENCY_MAX) -> None:
        if limit < 1:
            raise ValueError(f"limit is {limit}: a call needs at least one thread to run in")
        self._free = threading.Semaphore(limit)

    async def run(self, signal: CancelSignal, function: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """The call's result, made with the caller's context variables; its exception is raised as it is.

        Waits until the signal's deadline at most. Raises ``KnowledgeTimeoutError`` when that has passed, and
        ``KnowledgeUnavailableError`` at once when every thread is busy.
        """
        done: asyncio.Future[Future[_T]] = asyncio.get_running_loop().create_future()
        self._start(partial(contextvars.copy_context().run, function, *args, **kwargs), done)
        try:
            async with asyncio.timeout(signal.remaining()):
                outcome = await done
        except TimeoutError:
            raise errors.KnowledgeTimeoutError(
                "the deadline passed before the call ended; its late answer is dropped"
            ) from None
        return outcome.result()

    def _start(self, call: Callable[[], _T], done: "asyncio.Future[Future[_T]]") -> None:
        if not self._free.acquire(blocking=False):
            raise errors.KnowledgeUnavailableError(
                "every thread for synchronous calls is busy with a call that has not returned. "
                "Try again later, or find out why the vendor's calls hang."
            )
        try:
            threading.Thread(target=self._work, args=(call, done), name="knowledge-call", daemon=True).start()
        except RuntimeError as error:
            self._free.release()
            raise errors.KnowledgeUnavailableError("the system starts no more threads; try again later") from error

    def _work(self, call: Callable[[], _T], done: "asyncio.Future[Future[_T]]") -> None:
        outcome = _outcome(call)
        self._free.release()
        # A closed loop refuses, and then nobody waits any more.
        with suppress(RuntimeError):
            done.get_loop().call_soon_threadsafe(_settle, done, outcome)


def _outcome(call: Callable[[], _T]) -> "Future[_T]":
    # Handed over whole: asyncio's own future refuses a StopIteration and leaves its waiter waiting for ever.
    outcome: Future[_T] = Future()
    try:
        outcome.set_result(call())
    except BaseException as error:
        outcome.set_exception(error)
    return outcome


def _settle(done: "asyncio.Future[Future[_T]]", outcome: "Future[_T]") -> None:
    if not done.done():
        done.set_result(outcome)


class PerLoop(Generic[_T]):
    """One client for each event loop, made when first asked for: a connection works on its own loop alone (2.4)."""

    def __init__(self, make: Callable[[], _T]) -> None:
        self._make = make
        self._clients: dict[asyncio.AbstractEventLoop, _T] = {}

    def get(self) -> _T:
        """The running loop's client; those of loops that have ended are forgotten."""
        loop = asyncio.get_running_loop()
        for ended in [known for known in self._clients if known.is_closed()]:
            self._clients.pop(ended, None)
        if loop not in self._clients:
            self._clients[loop] = self._make()
        return self._clients[loop]

    def take(self) -> _T | None:
        """Hand the running loop's client over for closing, or None when there is none; ``get`` makes a new one."""
        return self._clients.pop(asyncio.get_running_loop(), None)
