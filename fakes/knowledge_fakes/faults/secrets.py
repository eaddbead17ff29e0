"""Mistakes that let a provider's own key out; knows clause 6.4 of the contract, no way of catching them.

The key comes from an environment variable, as a provider's does; where that is not set it is an invented one.
"""

import asyncio
import json
import logging
import os
import sys
import warnings
from base64 import b64encode
from collections.abc import Callable
from typing import Any, Final, NoReturn
from urllib.parse import quote

from knowledge_fakes.faults._changing import (
    Changed,
    ask,
    describing,
    doing,
    is_async,
    settled,
    with_each,
    with_metadata,
    with_source,
)
from knowledge_fakes.faults._fault import fault
from knowledge_provider import RetrievalContext, RetrievalRequest

VARIABLE: Final = "TARNBROOK_API_KEY"
"""The environment variable that the key is read from."""
VALUE: Final = 'tb-live/9vX+Qe7"Zk4m=2Lw'
"""An invented key: of characters that every way of writing it changes."""

DECLARED: Final = {"secrets": (VARIABLE,)}
"""The settings of a run that looks for it."""


def key() -> str:
    """The key as a provider reads it."""
    return os.environ.get(VARIABLE) or VALUE


# In what is said.


class _Shown(Changed):
    def __repr__(self) -> str:
        return f"TarnbrookProvider(site='handbook', api_key='{key()}')"


@fault("KP-604", fragment="as it is, in repr(provider)", settings=DECLARED)
def key_in_repr(sound: Any) -> Any:
    """The provider is a dataclass, and its repr() shows the key among its fields."""
    return _Shown(sound)


@fault("KP-604", fragment="description['label']", settings=DECLARED)
def key_in_label(sound: Any) -> Any:
    """The label names the connection, key and all, so a settings page shows it."""
    return describing(sound, lambda said: {**said, "label": f"Tarnbrook at handbook:{key()}"})


@fault("KP-604", fragment="health['message']", settings=DECLARED)
def key_in_health(sound: Any) -> Any:
    """health() says with which key the back end was reached."""
    return Changed(sound, health=lambda: {"status": "ready", "message": f"connected with {key()}"})


@fault("KP-604", fragment="in Base64, in answer", settings=DECLARED)
def basic_header_in_metadata(sound: Any) -> Any:
    """The vendor's record keeps the request that found it, and with it the Basic header."""
    return with_metadata(sound, request=f"GET /search, Basic {b64encode(f'reader:{key()}'.encode()).decode()}")


@fault("KP-604", fragment="percent-encoded, in answer", settings=DECLARED)
def key_in_a_link(sound: Any) -> Any:
    """The citation is the address that the API was asked at, with the key in a parameter that no list names."""
    return with_source(sound, uri=f"https://handbook.example.com/approvals?site={quote(key(), safe='')}")


@fault("KP-604", fragment="escaped as in JSON, in answer", settings=DECLARED)
def configuration_in_content(sound: Any) -> Any:
    """The back end indexes its own configuration, and a passage quotes it."""
    return with_each(sound, lambda row: {**row, "content": f"{row['content']}\n{json.dumps({'apiKey': key()})}"})


# In what is raised.


class TransportError(Exception):
    """What a vendor's client raises; the request that failed is held beside a message that is harmless."""

    def __str__(self) -> str:
        return "the back end refused the request"


def _failing(sound: Any, change: Callable[[Exception], BaseException]) -> Changed:
    """The provider whose errors are other ones."""

    def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        try:
            return sound.retrieve(request, context)
        except Exception as error:
            raise change(error)  # noqa: B904 - how they hang together is what the faults are about

    async def retrieve_later(request: RetrievalRequest, context: RetrievalContext) -> Any:
        try:
            return await sound.retrieve(request, context)
        except Exception as error:
            raise change(error)  # noqa: B904 - as above

    return Changed(sound, retrieve=retrieve_later if is_async(sound.retrieve) else retrieve)


def header() -> str:
    """A request as an error or a log shows it, with the key."""
    return f"GET https://handbook.example.com/search, Authorization: Bearer {key()}"


@fault("KP-605", fragment="the message of the exception", settings=DECLARED)
def key_in_an_error(sound: Any) -> Any:
    """An error quotes the request that failed, with its header."""
    return _failing(sound, lambda error: _with(error, args=(f"{error}: {header()}",)))


@fault("KP-605", fragment="the arguments of the exception", settings=DECLARED)
def key_in_arguments(sound: Any) -> Any:
    """The error's message is harmless, and its arguments hold the request, which an error tracker sends on."""
    return _failing(sound, lambda error: _CodedError(error, "refused", {"headers": [header()]}))


@fault("KP-605", fragment="a note of the exception", settings=DECLARED)
def key_in_a_note(sound: Any) -> Any:
    """A helpful decorator adds the request to every exception as a note."""

    def noted(error: Exception) -> Exception:
        error.add_note(f"while asking {header()}")
        return error

    return _failing(sound, noted)


@fault("KP-605", fragment="the message of the __cause__", settings=DECLARED)
def key_in_a_cause(sound: Any) -> Any:
    """The error is the provider's own, raised from the client's, which quotes the request."""
    return _failing(sound, lambda error: _with(_CodedError(error, "refused"), __cause__=ConnectionError(header())))


@fault("KP-605", fragment="the message of the __context__", settings=DECLARED)
def key_in_a_hidden_context(sound: Any) -> Any:
    """The error is raised "from None", which hides the client's from a traceback and leaves it for an error tracker."""

    def hiding(error: Exception) -> NoReturn:
        try:
            raise ConnectionError(header())
        except ConnectionError:
            raise _CodedError(error, "refused") from None

    return _failing(sound, hiding)


@fault("KP-605", fragment="a note of the exception", settings=DECLARED)
def key_in_a_note_of_a_cancellation(sound: Any) -> Any:
    """A search that is cancelled adds its request to the cancellation as a note, and lets it through."""
    return _when_cancelled(sound, lambda cancelled: cancelled.add_note(f"while asking {header()}"))


def _when_cancelled(sound: Any, act: Callable[[asyncio.CancelledError], object]) -> Changed:
    """The provider that does something of its own with a cancellation, and lets it through."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        try:
            await asyncio.sleep(0)  # as a sound provider may never do, which could then not be cancelled
            return await ask(sound, request, context)
        except asyncio.CancelledError as cancelled:
            act(cancelled)
            raise

    return Changed(sound, retrieve=retrieve)


class _CodedError(TransportError):
    def __init__(self, error: Exception, *arguments: object) -> None:
        super().__init__(*arguments)
        self.code = getattr(error, "code", "knowledge_provider_failed")


def _with(error: Exception, **attributes: Any) -> Exception:
    for name, value in attributes.items():
        setattr(error, name, value)
    return error


# In what is written.


@fault("KP-606", fragment="a log record of 'tarnbrook.wire' at DEBUG", settings=DECLARED)
def key_logged_at_debug(sound: Any) -> Any:
    """The client logs each request at DEBUG, to a logger that does not propagate, so that no test sees it."""
    logger = logging.getLogger("tarnbrook.wire")
    logger.propagate = False
    return doing(sound, lambda _request: logger.debug("sending %s", header()))


@fault("KP-606", fragment="a log record of 'tarnbrook.audit' at INFO", settings=DECLARED)
def key_beside_a_log_message(sound: Any) -> Any:
    """The key stands in the extra fields of a log record, which only the JSON formatter of production writes."""
    logger = logging.getLogger("tarnbrook.audit")
    return doing(sound, lambda _request: logger.info("asked", extra={"connection": {"key": key()}}))


@fault("KP-606", fragment="in a warning", settings=DECLARED)
def key_in_a_warning(sound: Any) -> Any:
    """A warning about an old way to log in, which Python does not show by default, quotes the key."""

    def warn(_request: RetrievalRequest) -> None:
        warnings.warn(f"Tarnbrook keys such as {key()} are replaced by tokens", DeprecationWarning, stacklevel=2)

    return doing(sound, warn)


@fault("KP-606", fragment="in standard output", settings=DECLARED)
def key_printed(sound: Any) -> Any:
    """A print() of the headers was left in."""
    return doing(sound, lambda _request: print({"Authorization": f"Bearer {key()}"}))  # noqa: T201 - the mistake itself


@fault("KP-606", fragment="in standard output", settings=DECLARED)
def key_printed_when_cancelled(sound: Any) -> Any:
    """A search that is cancelled prints the headers of its request."""
    return _when_cancelled(sound, lambda _: print("cancelled:", header()))  # noqa: T201 - the mistake itself


# While closing.


@fault("KP-607", fragment="in standard error", settings=DECLARED)
def key_written_while_closing(sound: Any) -> Any:
    """close() writes to standard error which connections it drops, with their keys."""

    async def close() -> None:
        sys.stderr.write(f"dropping a connection: {header()}\n")
        if hasattr(sound, "close"):
            await settled(sound.close())

    return Changed(sound, close=close)


@fault("KP-607", fragment="the message of the exception", settings=DECLARED)
def key_in_the_error_of_a_closed_client(sound: Any) -> Any:
    """A closed client says, when it is asked again, what it was: address, user and key."""
    state = {"open": True}

    def refuse(_request: RetrievalRequest) -> None:
        if not state["open"]:
            raise RuntimeError(f"the client of {header()} is closed")

    async def close() -> None:
        state["open"] = False
        if hasattr(sound, "close"):
            await settled(sound.close())

    return Changed(doing(sound, refuse), close=close)


# While it is made.


@fault("KP-606", fragment="a log record of 'tarnbrook.setup' at INFO", settings=DECLARED)
def key_logged_when_made(sound: Any) -> Any:
    """The constructor logs its configuration once, key and all, and is quiet from then on."""
    logging.getLogger("tarnbrook.setup").info("configured with %s", {"site": "handbook", "api_key": key()})
    return Changed(sound)
