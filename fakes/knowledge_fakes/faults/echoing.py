"""Mistakes with the ids of a session, turn or trace, which come back; knows clause 4.5, no way of catching them."""

from base64 import b64encode
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from knowledge_fakes.faults._changing import Changed, ask, described, put_rows, put_source, rows_of
from knowledge_fakes.faults._fault import fault
from knowledge_provider import KnowledgeFiltersUnsupportedError, RetrievalContext, RetrievalRequest


def _echoing(sound: Any, put: Callable[[dict[str, Any], RetrievalContext], dict[str, Any]]) -> Changed:
    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        answer = await ask(sound, request, context)
        return put_rows(answer, [put(row, context) for row in rows_of(answer)])

    return Changed(sound, retrieve=retrieve)


@fault("KP-407", fragment="session_id")
def session_in_the_metadata(sound: Any) -> Any:
    """The id of the session stands in each result's metadata, for debugging."""
    return _echoing(sound, lambda row, context: {**row, "metadata": {"session": context.session_id}})


@fault("KP-407", fragment="trace_id")
def trace_in_the_ids(sound: Any) -> Any:
    """The id of each result begins with the trace's, so that logs can be joined."""
    return _echoing(sound, lambda row, context: {**row, "id": f"{context.trace_id}/{row['id']}"})


@fault("KP-407", fragment="trace_id, in Base64")
def trace_in_an_encoded_link(sound: Any) -> Any:
    """Each link goes over a counter of clicks, which gets the trace in a parameter, in Base64."""

    def put(row: dict[str, Any], context: RetrievalContext) -> dict[str, Any]:
        where = b64encode(f"from {context.trace_id}".encode()).decode()
        return put_source(row, uri=f"https://clicks.example.com/to?t={quote(where)}")

    return _echoing(sound, put)


@fault("KP-407", fragment="the message of the exception")
def session_in_the_error(sound: Any) -> Any:
    """An error names the session that it happened in, and a host shows it to whoever looks."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        try:
            if request.filters and not described(sound)["capabilities"]["filters"]:
                raise KnowledgeFiltersUnsupportedError
            return await ask(sound, request, context)
        except Exception as error:
            error.args = (f"{error} (session {context.session_id})",)
            raise

    return Changed(sound, retrieve=retrieve)


@fault("KP-407", fragment="health")
def last_turn_in_the_health(sound: Any) -> Any:
    """The health says which turn was served last, to everybody who asks."""
    last = {"turn": "none"}

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        last["turn"] = context.turn_id
        return await ask(sound, request, context)

    return Changed(
        sound, retrieve=retrieve, health=lambda: {"status": "ready", "message": f"last turn: {last['turn']}"}
    )


@fault("KP-407", fragment="description")
def last_session_in_the_description(sound: Any) -> Any:
    """The label says for whom the provider worked last."""
    last = {"session": "nobody"}

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        last["session"] = context.session_id
        return await ask(sound, request, context)

    def describe() -> dict[str, Any]:
        return {**described(sound), "label": f"Handbook, last asked in {last['session']}"}

    return Changed(sound, retrieve=retrieve, describe=describe)
