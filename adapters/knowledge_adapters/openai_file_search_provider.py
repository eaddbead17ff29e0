"""OpenAI's file search in vector stores as a knowledge provider; knows that API's shapes, and no host or adapter.

Made to be copied alone. Needs ``openai`` from 3.4 on; any service with the same API may be behind it.
"""

import asyncio
import heapq
import re
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from knowledge_provider import CancelSignal, SourceReport, adapting, answers, errors, merging, models, services

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_NUMBER: Final = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?")


class OpenAIFileSearchProvider:
    """Answers from the vector stores in ``stores``, which has the id of each under that of the knowledge base it is.

    All stores that a request asks for are searched at once. ``scores`` says that their numbers are similarities by one
    ranker, as OpenAI's are: the results have them and are merged by them, otherwise in turn. ``uri_key`` names the
    attribute with a document's URL, ``citations`` says that public URLs are among them. ``scope`` gives the attributes,
    each with a value or a list of values, that keep to the context's owner. ``api_key`` and ``base_url`` are the
    client's, which reads ``OPENAI_API_KEY`` and ``OPENAI_BASE_URL`` without them, and does not retry. ``client`` is one
    of yours, for one event loop, and stays open; or a function that makes one for each loop, to be closed here.

    Raises ``openai.OpenAIError`` without an API key, and ``ValueError`` without a store, for an API key that HTTP
    cannot carry, and for a ``key`` or ``label`` that breaks clause 1.4 or 1.5.
    """

    def __init__(
        self,
        stores: Mapping[str, str],
        *,
        key: str,
        label: str,
        api_key: str | None = None,
        base_url: str | None = None,
        client: "AsyncOpenAI | Callable[[], AsyncOpenAI] | None" = None,
        scores: bool = True,
        uri_key: str = "source",
        citations: bool = False,
        scope: Callable[[models.RetrievalContext], Mapping[str, Any]] | None = None,
    ) -> None:
        from openai import APIConnectionError, APITimeoutError, AsyncOpenAI, DefaultAsyncHttpxClient

        def make() -> AsyncOpenAI:
            # An HTTP client that it makes itself would start a task wherever it is collected.
            http = DefaultAsyncHttpxClient()
            return AsyncOpenAI(api_key=api_key, base_url=base_url, max_retries=0, http_client=http)

        if not stores or not all(stores.values()):
            raise ValueError("wanted the id of a vector store for each base, and one is missing: {'handbook': 'vs_…'}")
        if client is None:
            services.sendable({"authorization": make().api_key})
        self._yours = client if isinstance(client, AsyncOpenAI) else None
        self._clients = adapting.PerLoop(make if client is None or isinstance(client, AsyncOpenAI) else client)
        claims = {"filters": True, "scores": scores, "citations": citations}
        self._description = models.ProviderDescription(protocol_version=1, key=key, label=label, capabilities=claims)
        where, self._stores = f"attributes.{uri_key}", {base: (base, store) for base, store in stores.items()}
        fields = answers.AnswerFields("data", uri=where, title="filename", source_id="file_id", metadata="attributes")
        self._results_in = partial(answers.results_in, fields=fields, score_kind="similarity" if scores else None)
        self._failure = partial(adapting.failure, what="OpenAI", late=APITimeoutError, lost=APIConnectionError)
        self._scores, self._scope, self._closed = scores, scope, False

    def describe(self) -> models.ProviderDescription:
        """The same description each time (clause 1.7)."""
        return self._description.model_copy(deep=True)

    async def health(self) -> models.Health:
        """``degraded`` when a store is gone or does not answer within 4 s, ``unavailable`` when all are so."""
        if self._closed:
            return models.Health(status="unavailable")
        asking = (asyncio.wait_for(self._looked_at(store), 4) for _, store in self._stores.values())
        found = await asyncio.gather(*asking, return_exceptions=True)
        there = [getattr(each, "status", None) in ("completed", "in_progress") for each in found]
        return models.Health(status="ready" if all(there) else "degraded" if any(there) else "unavailable")

    async def _looked_at(self, store: str) -> Any:
        return await (self._yours or self._clients.get()).vector_stores.retrieve(store)

    async def close(self) -> None:
        """Refuse further calls, and close the client that was made for this event loop (clauses 2.2, 2.3)."""
        self._closed = True
        if client := self._clients.take():
            await client.close()

    async def retrieve(self, request: models.RetrievalRequest, context: models.RetrievalContext) -> dict[str, Any]:
        """At most ``request.top_k`` results, and how each store fared; it fails with a ``KnowledgeError``."""
        if self._closed:
            raise errors.KnowledgeFailedError("this provider is closed; make a new one to search again")
        context.signal.raise_if_cancelled()
        asked, left = adapting.bases_asked_for(request, self._stores), context.signal.remaining()
        arguments = {"query": request.query, "max_num_results": request.top_k, **self._filters(request, context)}
        # A store that hangs must not cost the answers of the others, so each gets less than what is left.
        limit = context.signal.within(None if left is None or len(asked) == 1 else 0.9 * left)
        found = await asyncio.gather(*(self._ask(base, store, arguments, limit) for base, store in asked))
        failed = [answer.error for answer in found if answer.error]
        # A key that is refused is one fault, however many stores refuse it.
        if len(failed) == len(found) and len({errors.error_code(error) for error in failed}) == 1:
            raise failed[0]
        # Clauses 5.10 and 9.4.
        if failure := merging.failure(found, self._description.key):
            raise failure
        listed: list[Any] = [answer.results for answer in found]
        by_score = heapq.merge(*listed, key=lambda result: -(result.score or 0))
        results = list(by_score)[: request.top_k] if self._scores else merging.merge(found, request.top_k)
        return {"results": results, "sources": [answer.report for answer in found]}

    def _filters(self, request: models.RetrievalRequest, context: models.RetrievalContext) -> dict[str, Any]:
        wanted = adapting.equal_filters(request) + adapting.owner_filters(self._scope, context)
        # "in" takes no booleans, so several values are several comparisons.
        equal = ([{"type": "eq", "key": name, "value": value} for value in values] for name, values in wanted)
        compared = [each[0] if len(each) == 1 else {"type": "or", "filters": each} for each in equal]
        return {"filters": {"type": "and", "filters": compared}} if compared else {}

    async def _ask(self, base: str, store: str, arguments: Any, limit: CancelSignal) -> merging.Answer:
        client = self._yours or self._clients.get()
        try:
            async with services.time_limit(limit):
                raw = await client.vector_stores.with_raw_response.search(store, **arguments)
            page = answers.read_json(raw.http_response.content)
            if isinstance(page, dict) and isinstance(page.get("data"), list):
                rows = page["data"][:64]
                page["data"] = [_record(base, row) if isinstance(row, dict) else None for row in rows]
            found: Any = self._results_in(page, arguments["max_num_results"])
        except Exception as error:
            failed = error if isinstance(error, errors.KnowledgeError) else self._failure(error)
            # Clause 6.4: services repeat a key that they refuse, and HTTP libraries one that they cannot send.
            if failed is not error and client.api_key.strip() not in "".join(traceback.format_exception(error)):
                failed.__cause__ = error
            code = failed.code.removeprefix("knowledge_")
            reason = code if code in ("timeout", "unauthorized", "invalid_response") else "error"
            return merging.Answer(SourceReport(key=base, status="failed", reason=reason, count=0), error=failed)
        return merging.Answer(SourceReport(key=base, status="hit" if found else "no_hit", count=len(found)), found)


def _record(base: str, row: dict[str, Any]) -> dict[str, Any]:
    content, score = row.get("content"), row.get("score")
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    text = "\n\n".join(text for text in texts if isinstance(text, str))
    number = float(score) if isinstance(score, str) and _NUMBER.fullmatch(score) else score
    return {**row, "id": adapting.stable_id(base, str(row.get("file_id")), text), "content": text, "score": number}
