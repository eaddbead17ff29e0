"""A knowledge service that speaks JSON over HTTP as a knowledge provider; knows HTTP and httpx, no host or adapter.

Made to be copied alone. httpx is imported when a provider is made.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from contextlib import aclosing
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any, Final

from knowledge_provider import CancelSignal, adapting, answers, errors, services
from knowledge_provider.models import Health, ProviderDescription, RetrievalContext, RetrievalRequest, RetrievalResult

if TYPE_CHECKING:
    import httpx

_EXCHANGES: Final = 4
# gzip alone, since it is unpacked here.
_PLAIN: Final[Mapping[str, str]] = {
    "accept": "application/json",
    "accept-encoding": "gzip",
    "content-type": "application/json",
}
_CARRIED: Final = {*_PLAIN, "content-length", "host"}


class HTTPProvider:
    """Answers from the service at ``url``, to which it posts the contract's request as JSON.

    ``fields`` says where an answer holds what; by default it has the contract's own shape. ``score_kind`` says what the
    number at ``fields.score`` means: without it there are no scores, and a ``distance`` is negated. ``filters`` says
    that the service keeps to the request's filters, ``citations`` that it gives public URLs. ``knowledge_bases`` has
    the service's id for each base.

    ``headers`` and ``auth`` are credentials; ``scope`` gives more headers, for the context's owner. ``redirect_hosts``
    are hosts beside the service's own that a redirect may lead to, without any of those. ``timeout`` is in seconds for
    a whole call, and ``max_bytes`` bounds an answer, unpacked. A ``client`` of the caller's is used and left open.

    Raises ``ValueError`` for a URL, header, base id or pair of options that cannot be used, and
    ``pydantic.ValidationError``, which is one, when ``key`` or ``label`` breaks clause 1.4 or 1.5.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str,
        label: str,
        fields: answers.AnswerFields | None = None,
        score_kind: answers.ScoreKind | None = None,
        citations: bool = False,
        filters: bool = False,
        knowledge_bases: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        auth: "httpx.Auth | tuple[str, str] | None" = None,
        scope: Callable[[RetrievalContext], Mapping[str, str]] | None = None,
        redirect_hosts: Collection[str] = (),
        timeout: float = 10.0,
        max_bytes: int = 1_000_000,
        client: "httpx.AsyncClient | None" = None,
    ) -> None:
        import httpx

        self._url, self._bases = services.plain_url(url), dict(knowledge_bases or {})
        if scope is not None and redirect_hosts:
            raise ValueError("redirect_hosts with scope: without the owner's headers, a host answers for everyone")
        # All of them go into a request that asks for none, so they have to fit.
        RetrievalRequest(query="any", knowledge_base_ids=tuple(self._bases.values()))
        # Clause 4.3: a cookie that came with one owner's answer must not go along with another's question.
        no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=()))
        # Reading the certificates takes a client's first call longer than all else, so they are read here, once.
        tls = httpx.create_ssl_context() if client is None else True
        self._clients = adapting.PerLoop(partial(httpx.AsyncClient, verify=tls, cookies=no_cookies, timeout=None))
        claims = {"filters": filters, "scores": score_kind is not None, "citations": citations}
        self._description = ProviderDescription(protocol_version=1, key=key, label=label, capabilities=claims)
        self._results = partial(answers.results_in, fields=fields, score_kind=score_kind)
        self._failure = partial(
            services.failure, what="the call", late=httpx.TimeoutException, lost=httpx.TransportError
        )
        self._auth: Any = httpx.USE_CLIENT_DEFAULT if auth is None else auth
        self._headers, self._scope = services.sendable(headers or {}), scope
        self._redirect_hosts, self._timeout, self._max_bytes = frozenset(redirect_hosts), timeout, max_bytes
        self._client, self._closed = client, False

    def describe(self) -> ProviderDescription:
        """The same description each time (clause 1.7)."""
        return self._description.model_copy(deep=True)

    def health(self) -> Health:
        """``ready`` until closed: no question about its health is one that every service knows."""
        return Health(status="unavailable" if self._closed else "ready")

    async def close(self) -> None:
        """Refuse further calls, and end the connections of this event loop (clauses 2.2, 2.3)."""
        self._closed = True
        if client := self._clients.take():
            await client.aclose()

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> list[RetrievalResult]:
        """At most ``request.top_k`` results in the service's order; every failure is a ``KnowledgeError``."""
        if self._closed:
            raise errors.KnowledgeFailedError("this provider is closed; make a new one to search again")
        context.signal.raise_if_cancelled()
        if not self._description.capabilities["filters"]:
            adapting.refuse_filters(request)
        bases = tuple(adapting.bases_asked_for(request, self._bases))
        question = request.model_copy(update={"knowledge_base_ids": bases}).model_dump_json(by_alias=True)
        try:
            own = {} if self._scope is None else adapting.owner_arguments(self._scope, context)
            async with services.time_limit(context.signal, self._timeout) as limit:
                body = await self._ask(question, {**self._headers, **services.sendable(own)}, limit)
            return self._results(answers.read_json(body, self._max_bytes), request.top_k)
        except errors.KnowledgeError:
            raise
        except Exception as error:
            raise self._failure(error) from error

    async def _ask(self, question: str, headers: Mapping[str, str], limit: CancelSignal) -> bytes:
        client, auth = self._client or self._clients.get(), self._auth
        request = client.build_request("POST", self._url, content=question, headers={**_PLAIN, **headers})
        left = _EXCHANGES
        while True:
            left -= 1
            async with aclosing(await client.send(request, auth=auth, stream=True, follow_redirects=False)) as response:
                if response.is_success:
                    return await self._body(response)
            failed = services.refusal(response.status_code, response.headers.get("retry-after"))
            to = response.next_request
            # Redirects other than 307 and 308 turn a POST into a GET, often of a login page: they are failures.
            if left and to is not None and to.method == "POST":
                if not services.stays_at_origin(str(request.url), str(to.url), self._redirect_hosts):
                    # Clause 6.4: whatever may be a credential stays behind, also what the client adds by itself.
                    for name in to.headers.keys() - _CARRIED:
                        del to.headers[name]
                    auth = None
                request = to
            elif left and failed.retry_after is not None and failed.retry_after < (limit.remaining() or 0.0):
                await asyncio.sleep(failed.retry_after)
            else:
                raise failed

    async def _body(self, response: "httpx.Response") -> bytes:
        # A mock, or an event hook of the client's, may have read and unpacked it.
        if response.is_stream_consumed:
            return await services.read_body(response.aiter_bytes(), self._max_bytes)
        gzip = response.headers.get("content-encoding", "").lower() == "gzip"
        return await services.read_body(response.aiter_raw(), self._max_bytes, gzip=gzip)
