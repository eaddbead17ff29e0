"""Ways to spoil a provider that asks by HTTP; knows ``knowledge_fakes.over_http`` and its client's shapes, no fault."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from knowledge_fakes.faults._changing import Changed, ask
from knowledge_fakes.over_http import URL
from knowledge_provider import RetrievalContext, RetrievalRequest, errors
from knowledge_provider.answers import read_json, results_in
from knowledge_provider.services import refusal, time_limit

OVER_HTTP: Final = "knowledge_fakes.over_http:provider"
CUT: Final[Mapping[str, Any]] = MappingProxyType({"inject_network_faults": True})
IMPATIENT: Final[Mapping[str, Any]] = MappingProxyType({**CUT, "timeout": 0.5})


def failing(sound: Any, instead: Callable[[BaseException], Any]) -> Changed:
    """The provider with something else in place of a failure: ``instead`` answers, or raises, or gives it back."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        try:
            return await ask(sound, request, context)
        except errors.KnowledgeFailedError as error:
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


def probing(sound: Any, made_of: Callable[[int], Any], failed: Callable[[Exception], Any], **limit: Any) -> Changed:
    """The provider whose health asks the service, too: ``made_of`` gets the status, ``failed`` what the client raised.

    Both give the health, or an exception to raise. ``limit`` is ``timeout`` in seconds, where it is not short.
    """

    async def health() -> Any:
        # Closed, it is the sound provider's.
        if sound.client.is_closed:
            return {"status": "unavailable"}
        try:
            given = made_of((await sound.client.get(URL, **{"timeout": 0.2, **limit})).status_code)
        except Exception as error:
            given = failed(error)
        if isinstance(given, BaseException):
            raise given
        return given

    return Changed(sound, health=health)


def cause_of(error: BaseException) -> str:
    """The name of the client's exception behind an error."""
    return type(error.__cause__).__name__


def results_of(response: Any, request: RetrievalRequest) -> Any:
    """The results in a response, read as the sound provider reads them."""
    return results_in(read_json(response.content), request.top_k, score_kind="similarity")


def refuse(response: Any) -> None:
    """Raise for a status that is no success, as the sound provider does."""
    if not response.is_success:
        raise refusal(response.status_code, response.headers.get("retry-after"))
