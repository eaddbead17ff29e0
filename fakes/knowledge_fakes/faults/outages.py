"""Mistakes after a back end has failed, and with what is said of it; knows 2.1, 5.10 and 7.6, no way of catching.

They stand over a provider that asks by HTTP.
"""

import asyncio
from typing import Any, Final

from knowledge_fakes.faults._changing import Changed, ask
from knowledge_fakes.faults._over_http import (
    CUT,
    KINDS,
    LATE,
    REFUSED,
    RESET,
    failed_by,
    failing,
    network_fault,
    probing,
)
from knowledge_fakes.faults.secrets import DECLARED, header, key
from knowledge_provider import RetrievalContext, RetrievalRequest, errors

# A provider of one's own may have no code for it.
_UNREADABLE: Final = (None, errors.KnowledgeInvalidResponseError.code)

# Afterwards


@network_fault("KP-524", fragment="after a call with connections refused")
def remembers_that_it_was_down(sound: Any) -> Any:
    """Whether the service is there is found out by the first call, once and for all."""
    state: dict[str, BaseException] = {}
    calls: list[RetrievalRequest] = []

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        if "down" in state:
            raise errors.KnowledgeUnavailableError("the service is down")
        calls.append(request)
        try:
            return await ask(sound, request, context)
        except Exception as error:
            if len(calls) == 1 and failed_by(sound, error, *KINDS):
                state["down"] = error
            raise

    return Changed(sound, retrieve=retrieve)


@network_fault("KP-524", fragment="the client has been closed")
def keeps_a_broken_client(sound: Any) -> Any:
    """A client whose connection was reset is closed, and no other is made."""
    closed: list[BaseException] = []

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        if closed:
            raise errors.KnowledgeFailedError("cannot send a request, as the client has been closed")
        try:
            return await ask(sound, request, context)
        except Exception as error:
            if failed_by(sound, error, RESET):
                closed.append(error)
            raise

    return Changed(sound, retrieve=retrieve)


@network_fault("KP-524", fragment="after a call with an empty body")
def keeps_what_it_cannot_read(sound: Any) -> Any:
    """Whatever comes with a status of success is kept before it is read, and is all there is for that question."""
    kept: dict[str, BaseException] = {}

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        question = request.model_dump_json()
        if question in kept:
            raise kept[question]
        try:
            return await ask(sound, request, context)
        except Exception as error:
            if errors.error_code(error) in _UNREADABLE:
                kept[question] = error
            raise

    return Changed(sound, retrieve=retrieve)


@network_fault("KP-524", fragment="nothing, without asking")
def a_dead_client_finds_nothing(sound: Any) -> Any:
    """After an outage the client is let go of, and without one there is nothing to search."""
    state = {"there": True}

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        if not state["there"]:
            return {"results": []}
        try:
            return await ask(sound, request, context)
        except Exception as error:
            state["there"] = not failed_by(sound, error, REFUSED)
            raise

    return Changed(sound, retrieve=retrieve)


# What comes out


_SECRET: Final = {**CUT, **DECLARED}


@network_fault("KP-525", fragment="in the message of the exception", settings=_SECRET)
def error_repeats_the_service(sound: Any) -> Any:
    """The error says what the service said, who repeats the key that it refuses."""

    def instead(error: BaseException) -> Any:
        if errors.error_code(error) == errors.KnowledgeUnauthorizedError.code:
            error.args = (f"HTTP 401: invalid key {key()}",)
        return error

    return failing(sound, instead)


@network_fault("KP-525", "KP-605", fragment="in a note of the exception", settings=_SECRET)
def note_has_the_question(sound: Any) -> Any:
    """A note beside the error has the headers of the question, for whoever has to find out."""

    def instead(error: BaseException) -> Any:
        error.add_note(header())
        return error

    return failing(sound, instead)


@network_fault("KP-525", fragment="with connections refused", settings=_SECRET)
def refused_connection_has_the_question(sound: Any) -> Any:
    """The error of a connection that was refused tells what was to be sent, with all headers."""

    def instead(error: BaseException) -> Any:
        if failed_by(sound, error, REFUSED):
            error.args = (f"cannot send {header()}",)
        return error

    return failing(sound, instead)


@network_fault("KP-525", fragment="in standard output", settings=_SECRET)
def rate_limit_prints_the_key(sound: Any) -> Any:
    """A line that was to show whose key is asked to slow down was left in."""

    def instead(error: BaseException) -> Any:
        if errors.error_code(error) == errors.KnowledgeRateLimitedError.code:
            print("slow down", key())  # noqa: T201 - the mistake
        return error

    return failing(sound, instead)


@network_fault("KP-525", fragment="in health['message']", settings=_SECRET)
def health_has_the_question(sound: Any) -> Any:
    """The health of a service that cannot be reached has the headers of the question in its message."""

    def failed(error: Exception) -> Any:
        return {"status": "unavailable", "message": f"{type(error).__name__} {header()}"}

    return probing(sound, _of_status, failed)


# What health says


def _of_status(status: int) -> Any:
    return {"status": "unavailable" if status >= 500 else "ready"}


def _unavailable(_error: Exception) -> Any:
    return {"status": "unavailable"}


@network_fault("KP-212", fragment="health(), with connections refused")
def health_raises_in_an_outage(sound: Any) -> Any:
    """health() asks the service, and lets out what its client raises just when somebody looks."""
    return probing(sound, _of_status, lambda error: error)


@network_fault("KP-212", fragment="with HTTP status 503")
def health_does_not_look_at_the_status(sound: Any) -> Any:
    """health() asks the service, and takes any answer for a good one: also that it cannot answer now."""
    return probing(sound, lambda _: {"status": "ready"}, _unavailable)


@network_fault("KP-212", fragment="ready, though retrieve fails")
def health_passes_over_what_fails(sound: Any) -> Any:
    """health() asks the service, writes down that it cannot be reached, and is ready."""
    return probing(sound, _of_status, lambda _: {"status": "ready"})


@network_fault("KP-212", fragment="no answer", waits=True)
def health_waits_for_ever(sound: Any) -> Any:
    """health() asks the service without a limit, so that a service which says nothing holds the status page."""
    return probing(sound, _of_status, _unavailable, seconds=None)


# With which code


@network_fault("KP-526", fragment="knowledge_provider_failed")
def rate_limit_is_any_failure(sound: Any) -> Any:
    """A back end that asks to slow down has failed like any other, and a host tries again at once."""

    def instead(error: BaseException) -> Any:
        limited = errors.error_code(error) == errors.KnowledgeRateLimitedError.code
        return errors.KnowledgeFailedError("the service did not answer") if limited else error

    return failing(sound, instead)


@network_fault("KP-526", fragment="retry_after 7, as the back end asks")
def rate_limit_without_a_time(sound: Any) -> Any:
    """A back end says for how long it wants to be left alone, and the error does not."""

    def instead(error: BaseException) -> Any:
        limited = errors.error_code(error) == errors.KnowledgeRateLimitedError.code
        return errors.KnowledgeRateLimitedError("slow down") if limited else error

    return failing(sound, instead)


@network_fault("KP-526", fragment="the code knowledge_unauthorized")
def unauthorized_is_unavailable(sound: Any) -> Any:
    """A key that is refused is called an outage, which passes; it is tried again for a week."""

    def instead(error: BaseException) -> Any:
        refused = errors.error_code(error) == errors.KnowledgeUnauthorizedError.code
        return errors.KnowledgeUnavailableError("the service is not there") if refused else error

    return failing(sound, instead)


# Clause 7.6


@network_fault("KP-707", fragment="with the code knowledge_timeout")
def own_time_out_is_the_hosts(sound: Any) -> Any:
    """A time-out of the client's is called the host's deadline, which has seconds left."""

    def instead(error: BaseException) -> Any:
        return errors.KnowledgeTimeoutError("out of time") if failed_by(sound, error, LATE) else error

    return failing(sound, instead)


@network_fault("KP-707", fragment="raised TimeoutError")
def own_time_out_has_no_name(sound: Any) -> Any:
    """A time-out of the client's comes out as Python's own, which is what a host's deadline raises."""
    return failing(sound, lambda error: TimeoutError() if failed_by(sound, error, LATE) else error)


@network_fault("KP-707", fragment="raised asyncio.exceptions.CancelledError")
def own_time_out_cancels(sound: Any) -> Any:
    """A time-out of the client's cancels the call from within, and looks like a host that gave up."""

    def instead(error: BaseException) -> Any:
        return asyncio.CancelledError("timed out") if failed_by(sound, error, LATE) else error

    return failing(sound, instead)
