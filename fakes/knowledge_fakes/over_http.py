"""The handbook behind a client of HTTP: a sound provider whose back end can fail; knows httpx, no kit and no fault.

``knowledge_fakes.over_http:provider`` is a target. The service stands in this process, so nothing leaves it, and the
client is a real one. Needs the extra ``http``.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from knowledge_fakes.vendors.http_service import KnowledgeService
from knowledge_provider import PROTOCOL_VERSION, CancelSignal, RetrievalContext, RetrievalRequest
from knowledge_provider.answers import read_json, results_in
from knowledge_provider.errors import KnowledgeError, KnowledgeUnavailableError
from knowledge_provider.services import failure, refusal, time_limit

if TYPE_CHECKING:
    import httpx

URL: Final = "http://handbook.example.com/search"
KEY: Final = "tarnbrook-5f0c2a9d7e"
"""The key that the service wants; invented."""


class HTTPHandbookProvider:
    """The handbook by way of ``POST /search``; claims filters, scores and citations.

    ``client`` is its client, which knows the key.
    """

    def __init__(self) -> None:
        import httpx

        service = httpx.MockTransport(KnowledgeService(token=KEY).respond)
        self.client: httpx.AsyncClient = httpx.AsyncClient(
            transport=service, headers={"authorization": f"Bearer {KEY}"}, timeout=5.0
        )
        self._closed = False

    def describe(self) -> dict[str, Any]:
        """A fresh description each time (clauses 1.7, 1.8)."""
        claims = {"filters": True, "scores": True, "citations": True}
        said: Mapping[str, Any] = {"key": "handbook-http", "label": "Handbook by HTTP", "capabilities": claims}
        return {"protocolVersion": PROTOCOL_VERSION, **said}

    async def ask(self, request: RetrievalRequest) -> "httpx.Response":
        """The service's response, whatever its status; raises what httpx raises."""
        question = request.model_dump_json(by_alias=True)
        return await self.client.post(URL, content=question, headers={"content-type": "application/json"})

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> dict[str, Any]:
        """Ask the service; every failure is a ``KnowledgeError``."""
        # Clauses 7.3 and 2.2.
        context.signal.raise_if_cancelled()
        if self._closed:
            raise KnowledgeUnavailableError("Wanted an open provider; this one was closed. Make a new one.")
        try:
            # The whole call, since a client's own time-outs begin anew with each byte.
            async with time_limit(context.signal):
                response = await self.ask(request)
            # Clause 5.10.
            if not response.is_success:
                raise refusal(response.status_code, response.headers.get("retry-after"))
            found = results_in(read_json(response.content), request.top_k, score_kind="similarity")
        except KnowledgeError:
            raise
        except Exception as error:
            raise failure(error, "the service") from error
        return {"results": found}

    async def health(self, signal: CancelSignal) -> dict[str, Any]:
        """Ready until it is closed (clause 2.1)."""
        signal.raise_if_cancelled()
        return {"status": "unavailable" if self._closed else "ready"}

    async def close(self) -> None:
        """Close the client; a second time changes nothing (clauses 2.2, 2.3)."""
        self._closed = True
        await self.client.aclose()


def provider() -> HTTPHandbookProvider:
    """A fresh one; ``--provider=knowledge_fakes.over_http:provider``."""
    return HTTPHandbookProvider()
