"""Mistakes with a back end that fails; knows clause 5.10 of the contract, no way of catching them.

They stand over a provider that asks by HTTP, and are made out of its client's response where that is the mistake. Over
another one, what that mistake makes of the response is what its client gets.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from knowledge_fakes.faults._changing import Changed, ask, settled
from knowledge_fakes.faults._misreading import (
    SUCCESS,
    BadReply,
    as_a_passage,
    as_nothing,
)
from knowledge_fakes.faults._over_http import (
    IMPATIENT,
    LATE,
    REFUSED,
    RESET,
    SILENT,
    failed_by,
    failing,
    listless_results_of,
    network_fault,
    reading,
    refuse,
    results_of,
)
from knowledge_provider import RetrievalContext, RetrievalRequest, errors
from knowledge_provider.services import time_limit

_PAGE: Final = 3
_FAILURES: Final = 3

# Connections


@network_fault("KP-519", fragment="as if nothing was found")
def unreachable_is_empty(sound: Any) -> Any:
    """A connection that cannot be made becomes an empty answer, so that the agent says there is nothing about it."""
    return failing(sound, lambda error: [] if failed_by(sound, error, REFUSED) else error)


@network_fault("KP-519", fragment="with connections reset")
def reset_is_the_end(sound: Any) -> Any:
    """A connection that is reset is taken for the end of an answer, in which there was nothing."""
    return failing(sound, lambda error: [] if failed_by(sound, error, RESET) else error)


@network_fault("KP-519", fragment="Search failed")
def unreachable_is_a_passage(sound: Any) -> Any:
    """What the client says of a connection that failed becomes a passage, and is read out to the user."""

    def instead(error: BaseException) -> Any:
        said = [{"id": "error", "content": f"Search failed: {error.__cause__}"}]
        return said if failed_by(sound, error, REFUSED, LATE, RESET) else error

    return failing(sound, instead)


# Silence


@network_fault("KP-520", fragment="as if nothing was found")
def silence_is_empty(sound: Any) -> Any:
    """A search that takes too long is given up, and what was found by then is the answer: nothing."""
    return failing(sound, lambda error: [] if failed_by(sound, error, SILENT) else error)


@network_fault("KP-520", fragment="no answer", settings=IMPATIENT, waits=True)
def waits_for_ever(sound: Any) -> Any:
    """Only the wait for the next byte has a limit, and none has the call: a slow back end holds it for ever."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        try:
            return await ask(sound, request, context)
        except Exception as error:
            late = errors.error_code(error) == errors.KnowledgeTimeoutError.code or failed_by(sound, error, SILENT)
            if late and not context.signal.cancelled:
                await asyncio.Event().wait()
            raise

    return Changed(sound, retrieve=retrieve)


@network_fault(
    "KP-519", "KP-520", "KP-521", "KP-522", "KP-524", "KP-525",
    fragment="no answer", settings=IMPATIENT, waits=True,
)  # fmt: skip
def asks_until_it_is_answered(sound: Any) -> Any:
    """A call that fails is made again at once, and again, until it does not fail."""
    closed: list[Any] = []

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        while True:
            try:
                return await ask(sound, request, context)
            except Exception as error:
                failed = isinstance(error, errors.KnowledgeFailedError) or errors.error_code(error) is None
                if closed or not failed:
                    raise
            await asyncio.sleep(0.01)

    async def close() -> None:
        closed.append(await settled(sound.close()))

    return Changed(sound, retrieve=retrieve, **({"close": close} if hasattr(sound, "close") else {}))


# Statuses


def _nothing_at(sound: Any, is_nothing: Callable[[int], bool]) -> Changed:
    """The provider to which a response of such a status says that there is nothing."""

    def read(response: Any, request: RetrievalRequest) -> Any:
        if is_nothing(response.status_code):
            return {"results": []}
        refuse(response)
        return results_of(response, request)

    return reading(sound, read)


def _is_500_or_more(status: int) -> bool:
    return status >= 500


def _is_502(status: int) -> bool:
    return status == 502


def _is_404(status: int) -> bool:
    return status == 404


def _of_status(is_nothing: Callable[[int], bool]) -> Callable[[BadReply], bool]:
    return lambda reply: is_nothing(reply.status)


def _is_refusal(reply: BadReply) -> bool:
    return reply.status != SUCCESS


@network_fault("KP-521", fragment="HTTP status 500", misread=as_nothing(_of_status(_is_500_or_more)))
def broken_is_empty(sound: Any) -> Any:
    """A status of 500 or 503 becomes an empty answer, after a line in the log."""
    return _nothing_at(sound, _is_500_or_more)


@network_fault("KP-521", fragment="HTTP status 502", misread=as_nothing(_of_status(_is_502)))
def bad_gateway_is_empty(sound: Any) -> Any:
    """A status of 502, from a proxy that cannot reach the service, is none of the service's, and becomes nothing."""
    return _nothing_at(sound, _is_502)


@network_fault(
    "KP-521",
    fragment="from the second page on",
    misread=as_nothing(lambda reply: reply.later and _is_refusal(reply)),
)
def lost_page_is_the_end(sound: Any) -> Any:
    """A second page that the service refuses is taken for the end, and half of the results for all."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        one = request if request.filters or request.top_k <= _PAGE else request.model_copy(update={"top_k": _PAGE})
        first = await ask(sound, one, context)
        if one is request or len(first["results"]) < _PAGE:
            return first
        async with time_limit(context.signal):
            second = await sound.ask(request)
        return results_of(second, request) if second.is_success else first

    return Changed(sound, retrieve=retrieve)


@network_fault("KP-521", fragment="HTTP status 404", misread=as_nothing(_of_status(_is_404)))
def not_found_is_empty(sound: Any) -> Any:
    """A status of 404, which says that the index is not there, is taken for a search that found nothing."""
    return _nothing_at(sound, _is_404)


@network_fault(
    "KP-521",
    "KP-522",
    fragment="HTTP status 401",
    misread=as_nothing(lambda reply: _is_refusal(reply) and reply.json is not None),
)
def status_is_not_looked_at(sound: Any) -> Any:
    """The body is read whatever the status, and an error has no results in it."""
    return reading(sound, listless_results_of)


@network_fault("KP-521", fragment="HTTP status 502", misread=as_nothing(_of_status(_is_502)))
def bad_gateway_behind_a_breaker(sound: Any) -> Any:
    """A status of 502 becomes nothing; that is seldom seen, since after three failures in a row nothing is asked."""
    inner, failed = _nothing_at(sound, _is_502), [0]

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        if failed[0] >= _FAILURES:
            raise errors.KnowledgeUnavailableError("the service failed three times in a row, and was not asked again")
        try:
            answer = await ask(inner, request, context)
        except Exception:
            failed[0] += 1
            raise
        failed[0] = 0
        return answer

    return Changed(inner, retrieve=retrieve)


@network_fault(
    "KP-521",
    "KP-525",
    fragment="the words in which the back end said",
    misread=as_a_passage(_is_refusal),
)
def refusal_is_a_passage(sound: Any) -> Any:
    """What the service says when it refuses becomes a passage: "invalid key" is read out to the user."""

    def read(response: Any, request: RetrievalRequest) -> Any:
        if not response.is_success:
            return [{"id": f"status-{response.status_code}", "content": response.text or "nothing"}]
        return results_of(response, request)

    return reading(sound, read)
