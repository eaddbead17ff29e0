"""Ways to spoil a provider that asks by HTTP; knows ``knowledge_fakes.over_http`` and its client's shapes, no fault."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from knowledge_fakes.faults._changing import Changed, ask
from knowledge_fakes.faults._fault import fault
from knowledge_fakes.faults._misreading import SUCCESS
from knowledge_fakes.over_http import URL, HTTPHandbookProvider
from knowledge_provider import RetrievalContext, RetrievalRequest
from knowledge_provider.answers import read_json, results_in
from knowledge_provider.errors import (
    KnowledgeFailedError,
    KnowledgeTimeoutError,
    KnowledgeUnauthorizedError,
    KnowledgeUnavailableError,
    error_code,
)
from knowledge_provider.services import refusal, time_limit

OVER_HTTP: Final = "knowledge_fakes.over_http:provider"
CUT: Final[Mapping[str, Any]] = MappingProxyType({"inject_network_faults": True})
IMPATIENT: Final[Mapping[str, Any]] = MappingProxyType({**CUT, "timeout": 0.5})
network_fault: Final = partial(fault, settings=CUT, over=OVER_HTTP)
"""Declares a fault that shows while the network is cut, under a provider that asks by HTTP."""


def failing(sound: Any, instead: Callable[[BaseException], Any]) -> Changed:
    """The provider with something else in place of a failure: ``instead`` answers, or raises, or gives it back."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        try:
            return await ask(sound, request, context)
        except Exception as error:
            given = instead(error)
        if isinstance(given, BaseException):
            raise given
        return given

    return Changed(sound, retrieve=retrieve)


def reading(sound: Any, read: Callable[[Any, RetrievalRequest], Any]) -> Changed:
    """The provider that reads its client's response in another way; ``read`` gets it whatever its status."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        # What is no matter of a response is the sound provider's: closed, cancelled, a filter that it refuses.
        if request.filters or context.signal.cancelled:
            return await ask(sound, request, context)
        async with time_limit(context.signal):
            return read(await sound.ask(request), request)

    return Changed(sound, retrieve=retrieve)


def probing(
    sound: Any, made_of: Callable[[int], Any], failed: Callable[[Exception], Any], *, seconds: float | None = 0.2
) -> Changed:
    """The provider whose health asks the service, too: ``made_of`` gets the status, ``failed`` what the client raised.

    Both give the health, or an exception to raise. The service has that many ``seconds``.
    """
    status = _status_at_home if isinstance(sound, HTTPHandbookProvider) else _status_elsewhere

    async def health() -> Any:
        try:
            async with asyncio.timeout(seconds):
                given = made_of(await status(sound))
        except Exception as error:
            given = failed(error)
        if isinstance(given, BaseException):
            raise given
        return given

    return Changed(sound, health=health)


async def _status_at_home(sound: HTTPHandbookProvider) -> int:
    # Closed, it answers nobody.
    return 503 if sound.client.is_closed else (await sound.client.get(URL, timeout=None)).status_code


async def _status_elsewhere(sound: Any) -> int:
    # What a user's own provider tells of a status is its code.
    try:
        await ask(sound, RetrievalRequest(query="status"), RetrievalContext(owner_id="status page"))
    except Exception as error:
        status = _STATUSES.get(error_code(error) or "")
        if _kind_of(error) is not None or status is None:
            raise
        return status
    return SUCCESS


REFUSED: Final = "refused"
RESET: Final = "reset"
LATE: Final = "late to connect"
SILENT: Final = "silent"
KINDS: Final = (REFUSED, RESET, LATE, SILENT)

# By name, as httpx, aiohttp, urllib3 and requests call them: none is imported here, and a user's provider has one.
_KINDS: Final = {
    **dict.fromkeys(("ConnectError", "ClientConnectorError", "NewConnectionError", "NameResolutionError"), REFUSED),
    "ClientConnectorDNSError": REFUSED,
    **dict.fromkeys(("ReadError", "ClientOSError", "ConnectionResetError"), RESET),
    **dict.fromkeys(("ConnectTimeout", "ConnectionTimeoutError", "ConnectTimeoutError"), LATE),
    **dict.fromkeys(("ReadTimeout", "SocketTimeoutError", "ReadTimeoutError"), SILENT),
}
_CHAIN_MAX: Final = 20
_STATUSES: Final = {KnowledgeUnauthorizedError.code: 401, KnowledgeUnavailableError.code: 503}


_OUTAGES: Final = (None, KnowledgeFailedError.code, KnowledgeUnavailableError.code, KnowledgeTimeoutError.code)


def failed_by(sound: Any, error: BaseException, *kinds: str) -> bool:
    """Whether the client of ``sound`` failed in one of these ways.

    Of a user's own provider, which may keep to itself what its client raised, an outage whose kind it does not show is
    each of them.
    """
    kind = _kind_of(error)
    if kind is not None or isinstance(sound, HTTPHandbookProvider):
        return kind in kinds
    return isinstance(error, Exception) and error_code(error) in _OUTAGES


def _kind_of(error: BaseException) -> str | None:
    """By the first of a client's exceptions behind an error, or the error itself; None where none is known."""
    behind: BaseException | None = error
    for _ in range(_CHAIN_MAX):
        if behind is None:
            break
        kind = _KINDS.get(type(behind).__name__)
        if kind is not None:
            return kind
        behind = behind.__cause__ or behind.__context__
    return None


def results_of(response: Any, request: RetrievalRequest) -> Any:
    """The results in a response, read as the sound provider reads them."""
    return results_in(read_json(response.content), request.top_k, score_kind="similarity")


def listless_results_of(response: Any, request: RetrievalRequest) -> Any:
    """The same, where an answer without its list is read as one with an empty list."""
    return results_in(
        {"results": read_json(response.content).get("results", [])}, request.top_k, score_kind="similarity"
    )


def refuse(response: Any) -> None:
    """Raise for a status that is no success, as the sound provider does."""
    if not response.is_success:
        raise refusal(response.status_code, response.headers.get("retry-after"))
