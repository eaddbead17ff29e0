"""Mistakes with a back end that fails; knows clause 5.10 of the contract, no way of catching them.

They stand over a provider that asks by HTTP, and are made out of its client's response where that is the mistake.
"""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from knowledge_fakes.faults._changing import Changed, ask
from knowledge_fakes.faults._fault import fault
from knowledge_fakes.faults._over_http import (
    CUT,
    IMPATIENT,
    LATE,
    OVER_HTTP,
    REFUSED,
    RESET,
    SILENT,
    failed_by,
    failing,
    reading,
    refuse,
    results_of,
)
from knowledge_provider import RetrievalContext, RetrievalRequest, errors
from knowledge_provider.answers import read_json, results_in
from knowledge_provider.services import time_limit

_PAGE: Final = 3
_FAILURES: Final = 3

# Connections


@fault("KP-519", fragment="as if nothing was found", settings=CUT, over=OVER_HTTP)
def unreachable_is_empty(sound: Any) -> Any:
    """A connection that cannot be made becomes an empty answer, so that the agent says there is nothing about it."""
    return failing(sound, lambda error: [] if failed_by(sound, error, REFUSED) else error)


@fault("KP-519", fragment="with connections reset", settings=CUT, over=OVER_HTTP)
def reset_is_the_end(sound: Any) -> Any:
    """A connection that is reset is taken for the end of an answer, in which there was nothing."""
    return failing(sound, lambda error: [] if failed_by(sound, error, RESET) else error)


@fault("KP-519", fragment="Search failed", settings=CUT, over=OVER_HTTP)
def unreachable_is_a_passage(sound: Any) -> Any:
    """What the client says of a connection that failed becomes a passage, and is read out to the user."""

    def instead(error: BaseException) -> Any:
        said = [{"id": "error", "content": f"Search failed: {error.__cause__}"}]
        return said if failed_by(sound, error, REFUSED, LATE, RESET) else error

    return failing(sound, instead)


# Silence


@fault("KP-520", fragment="as if nothing was found", settings=CUT, over=OVER_HTTP)
def silence_is_empty(sound: Any) -> Any:
    """A search that takes too long is given up, and what was found by then is the answer: nothing."""
    return failing(sound, lambda error: [] if failed_by(sound, error, SILENT) else error)


@fault("KP-520", fragment="no answer", settings=IMPATIENT, over=OVER_HTTP, waits=True)
def waits_for_ever(sound: Any) -> Any:
    """Only the wait for the next byte has a limit, and none has the call: a slow back end holds it for ever."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        response = await sound.ask(request)
        refuse(response)
        return results_of(response, request)

    return Changed(sound, retrieve=retrieve)


@fault(
    "KP-519", "KP-520", "KP-521", "KP-522", "KP-524", "KP-525",
    fragment="no answer", settings=IMPATIENT, over=OVER_HTTP, waits=True,
)  # fmt: skip
def asks_until_it_is_answered(sound: Any) -> Any:
    """A call that fails is made again at once, and again, until it does not fail."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        while not sound.client.is_closed:
            with suppress(errors.KnowledgeFailedError):
                return await ask(sound, request, context)
            await asyncio.sleep(0.01)
        return await ask(sound, request, context)

    return Changed(sound, retrieve=retrieve)


# Statuses


def _nothing_at(sound: Any, is_nothing: Callable[[int], bool]) -> Changed:
    """The provider to which a response of such a status says that there is nothing."""

    def read(response: Any, request: RetrievalRequest) -> Any:
        if is_nothing(response.status_code):
            return {"results": []}
        refuse(response)
        return results_of(response, request)

    return reading(sound, read)


@fault("KP-521", fragment="HTTP status 500", settings=CUT, over=OVER_HTTP)
def broken_is_empty(sound: Any) -> Any:
    """A status of 500 or 503 becomes an empty answer, after a line in the log."""
    return _nothing_at(sound, lambda status: status >= 500)


@fault("KP-521", fragment="HTTP status 502", settings=CUT, over=OVER_HTTP)
def bad_gateway_is_empty(sound: Any) -> Any:
    """A status of 502, from a proxy that cannot reach the service, is none of the service's, and becomes nothing."""
    return _nothing_at(sound, lambda status: status == 502)


@fault("KP-521", fragment="from the second page on", settings=CUT, over=OVER_HTTP)
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


@fault("KP-521", fragment="HTTP status 404", settings=CUT, over=OVER_HTTP)
def not_found_is_empty(sound: Any) -> Any:
    """A status of 404, which says that the index is not there, is taken for a search that found nothing."""
    return _nothing_at(sound, lambda status: status == 404)


@fault("KP-521", "KP-522", fragment="HTTP status 401", settings=CUT, over=OVER_HTTP)
def status_is_not_looked_at(sound: Any) -> Any:
    """The body is read whatever the status, and an error has no results in it."""

    def read(response: Any, request: RetrievalRequest) -> Any:
        answer = read_json(response.content)
        return results_in({"results": answer.get("results", [])}, request.top_k, score_kind="similarity")

    return reading(sound, read)


@fault("KP-521", fragment="HTTP status 502", settings=CUT, over=OVER_HTTP)
def bad_gateway_behind_a_breaker(sound: Any) -> Any:
    """A status of 502 becomes nothing; that is seldom seen, since after three failures in a row nothing is asked."""
    inner, failed = _nothing_at(sound, lambda status: status == 502), [0]

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


@fault("KP-521", "KP-525", fragment="the words in which the back end said", settings=CUT, over=OVER_HTTP)
def refusal_is_a_passage(sound: Any) -> Any:
    """What the service says when it refuses becomes a passage: "invalid key" is read out to the user."""

    def read(response: Any, request: RetrievalRequest) -> Any:
        if not response.is_success:
            return [{"id": f"status-{response.status_code}", "content": response.text or "nothing"}]
        return results_of(response, request)

    return reading(sound, read)


# Bodies


@fault("KP-522", fragment="an error as JSON with status 200", settings=CUT, over=OVER_HTTP)
def missing_list_is_empty(sound: Any) -> Any:
    """An answer without its list is read as one with an empty list."""

    def read(response: Any, request: RetrievalRequest) -> Any:
        refuse(response)
        answer = read_json(response.content)
        return results_in({"results": answer.get("results", [])}, request.top_k, score_kind="similarity")

    return reading(sound, read)


@fault("KP-522", "KP-525", fragment="the words in which the back end said", settings=CUT, over=OVER_HTTP)
def envelope_is_a_passage(sound: Any) -> Any:
    """An answer of another shape becomes one passage, as it is: an error in JSON, or a page of HTML."""

    def read(response: Any, request: RetrievalRequest) -> Any:
        refuse(response)
        try:
            return results_of(response, request)
        except errors.KnowledgeFailedError:
            if not response.content:
                raise
            return [{"id": "answer", "content": response.text}]

    return reading(sound, read)


@fault("KP-522", fragment="an empty body", settings=CUT, over=OVER_HTTP)
def no_body_is_empty(sound: Any) -> Any:
    """An answer without a body is taken for one without results."""

    def read(response: Any, request: RetrievalRequest) -> Any:
        refuse(response)
        return results_of(response, request) if response.content else []

    return reading(sound, read)


@fault("KP-522", fragment="the first half of an answer", settings=CUT, over=OVER_HTTP)
def half_an_answer_is_one(sound: Any) -> Any:
    """JSON that is cut off is mended: what can be read of it is the answer."""

    def read(response: Any, request: RetrievalRequest) -> Any:
        refuse(response)
        try:
            return results_of(response, request)
        except errors.KnowledgeInvalidResponseError:
            rows = _whole_rows(response.text)
            if not rows:
                raise
            return rows[: request.top_k]

    return reading(sound, read)


def _whole_rows(text: str) -> list[Any]:
    rows: list[Any] = []
    at, decoder = text.find("[") + 1, json.JSONDecoder()
    with suppress(ValueError):
        while at:
            row, at = decoder.raw_decode(text, at)
            rows.append(row)
            at += len(text[at:]) - len(text[at:].lstrip(", "))
    return [row for row in rows if isinstance(row, dict) and row.get("id")]


def _listed(response: Any) -> Any:
    """An answer that has a list of results, whatever they are."""
    refuse(response)
    found = read_json(response.content)
    if not isinstance(found, dict) or not isinstance(found.get("results"), list):
        raise errors.KnowledgeInvalidResponseError("wanted a list of results")
    return found


@fault("KP-523", fragment="null for each text", settings=CUT, over=OVER_HTTP)
def rows_as_they_come(sound: Any) -> Any:
    """The service's records are handed on as they are, whatever has become of them."""

    def read(response: Any, _request: RetrievalRequest) -> Any:
        return _listed(response)

    return reading(sound, read)


@fault("KP-523", fragment="as if nothing was found", settings=CUT, over=OVER_HTTP)
def unusable_rows_are_none(sound: Any) -> Any:
    """Records that cannot be used are left out, and when that is all of them, nothing was found."""

    def read(response: Any, request: RetrievalRequest) -> Any:
        _listed(response)
        with suppress(errors.KnowledgeInvalidResponseError):
            return results_of(response, request)
        return []

    return reading(sound, read)
