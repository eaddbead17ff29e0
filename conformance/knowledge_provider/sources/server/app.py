"""``external_sources_app``: the HTTP API of a task's external sources as a Starlette app (clause 10).

This file awaits. It knows requests and the order in which things are asked; who may do what, its host knows.
"""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from typing import Any, Final, TypeVar

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from knowledge_provider._origins import origin
from knowledge_provider.cancel import read_seconds
from knowledge_provider.errors import (
    KnowledgeReferenceInvalidError,
    KnowledgeReferenceUnknownError,
    KnowledgeUnavailableError,
)
from knowledge_provider.models import RetrievalContext
from knowledge_provider.provider_calls import is_async
from knowledge_provider.sources._asking import SOURCE_SECONDS
from knowledge_provider.sources.bindings import BoundReferences, TaskBindings
from knowledge_provider.sources.listing import list_documents
from knowledge_provider.sources.registry import References, SourceRegistry, read_registry
from knowledge_provider.sources.server import _answering, _reading, _refusals, openapi
from knowledge_provider.sources.server._refusals import RefusedError
from knowledge_provider.sources.server._storing import STORING_SECONDS, stored
from knowledge_provider.sources.validating import validate_references
from knowledge_provider.text import class_name, is_a, is_blank

_LOG: Final = logging.getLogger(__name__)

Authorize = Callable[[Request, str], str | Awaitable[str | None] | None]
"""Called with the request and the task's id; gives the id of the user who may do this, or None where none is known."""

_Read = TypeVar("_Read")
_Call = Callable[[TaskBindings], BoundReferences]
_Stored = Callable[[_Call], Awaitable[BoundReferences]]
_Handler = Callable[[Request], Awaitable[Response]]
# What one user may see is kept by nobody, and read as nothing else than it is.
_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def external_sources_app(
    bindings: TaskBindings,
    *,
    registry: SourceRegistry,
    authorize: Authorize,
    timeout: float = SOURCE_SECONDS,
    storage_timeout: float = STORING_SECONDS,
) -> Starlette:
    """The API as an app, to serve or to mount at ``/`` after the routes of another app.

    Its paths begin with ``/api/tasks/{task_id}/external-knowledge-refs``; its OpenAPI document is at ``/openapi.json``
    and, for apps that have one there, at ``/api/external-knowledge-refs/openapi.json``.
    Every body is JSON, and every refusal names the field; what went wrong inside is only in the log, and there by its
    class and place. A body has at most 256 KiB and 100 references.

    Args:
        bindings: What the tasks have bound; called in at most 32 threads of this package's own.
        registry: The sources that are asked whether references stand before these are bound, and for documents.
        authorize: Who may read (GET) and change (POST) a task; ``async`` or not, and then called in a thread. It
            raises ``HTTPException`` with 403 or 404, or ``PermissionError``, for a user who may not, and gives None
            where the user is not known (clause 10.9). Of what it raises, the status is answered, and the headers
            ``WWW-Authenticate`` and ``Retry-After``.
        timeout: Seconds for each source in one request.
        storage_timeout: Seconds for ``bindings`` in one request, waiting for a thread and for others' changes included;
            then the answer is 503, and nothing was changed. A storage that has no ``within`` ends its calls itself.

    Raises:
        TypeError: ``authorize`` is no function, ``bindings`` no ``TaskBindings``, ``registry`` no ``SourceRegistry`` or
            a timeout no number.
        ValueError: A timeout is not above 0.
    """
    if not is_a(bindings, TaskBindings):
        raise TypeError(
            "bindings must be a TaskBindings, since nothing else knows what a task has bound; got "
            f"{class_name(bindings)}: pass TaskBindings(...) over your storage"
        )
    if not callable(authorize):
        raise TypeError(
            f"Wanted a function as authorize, and {class_name(authorize)} came: without one, everybody could read and "
            "change the sources of every task. Pass one that takes the request and the task's id, and gives the user's."
        )
    storing = read_seconds(storage_timeout)
    api = _Api(partial(_stored, bindings, storing), read_registry(registry), authorize, read_seconds(timeout))
    app = Starlette(
        routes=[
            Route(openapi.BOUND, _Resource({"GET": api.bound, "POST": api.add})),
            Route(openapi.REMOVAL, _Resource({"POST": api.remove})),
            Route(openapi.DOCUMENTS, _Resource({"GET": api.documents, "POST": api.documents_of})),
            Route(openapi.DOCUMENT, _Resource({"GET": _document})),
            Route(openapi.OWN_DOCUMENT, _Resource({"GET": _document})),
        ],
        exception_handlers={404: _no_path},
    )
    # It would lead to whatever host the client names.
    app.router.redirect_slashes = False
    return app


class _Api:
    """What each method does: who asks, what is asked, and then the answer, in this order."""

    def __init__(self, stored: _Stored, registry: SourceRegistry, authorize: Authorize, seconds: float) -> None:
        self._stored = stored
        self._registry = registry
        self._authorize = authorize
        self._seconds = seconds

    async def bound(self, request: Request) -> Response:
        who = await self._admit(request)
        return self._answer(await self._stored(lambda bindings: bindings.list(who.session_id)))

    async def add(self, request: Request) -> Response:
        who = await self._admit(request)
        refs = await _sent(request, _reading.read_additions)
        # Clause 10.1.
        verdicts = await validate_references(refs, context=who, registry=self._registry, timeout=self._seconds)
        if refused := _refusals.of_verdicts(verdicts):
            raise refused
        return self._answer(await self._stored(lambda bindings: bindings.add(who.session_id, *refs)))

    async def remove(self, request: Request) -> Response:
        who = await self._admit(request)
        ref = await _sent(request, _reading.read_removal)
        return self._answer(await self._stored(lambda bindings: bindings.remove(who.session_id, ref)))

    async def documents(self, request: Request) -> Response:
        who = await self._admit(request, _reading.Window._fields)
        window = _reading.read_query(request.query_params.multi_items())
        bound = await self._stored(lambda bindings: bindings.list(who.session_id))
        return await self._list(bound.refs, who, window)

    async def documents_of(self, request: Request) -> Response:
        who = await self._admit(request)
        refs, window = await _sent(request, _reading.read_selection)
        return await self._list(refs, who, window)

    async def _list(self, refs: References, who: RetrievalContext, window: _reading.Window) -> Response:
        listing = await list_documents(
            refs, context=who, registry=self._registry, timeout=self._seconds, **window._asdict()
        )
        return _json(_answering.listing_answer(listing))

    def _answer(self, bound: BoundReferences) -> Response:
        return _json(_answering.bound_answer(bound, self._registry.names))

    async def _admit(self, request: Request, known: Collection[str] = ()) -> RetrievalContext:
        """Who asks, and as the session for which task; what is sent is not read before that.

        ``known`` are the parameters that a query may have.
        """
        task = _reading.read_path_task(request.path_params["task_id"])
        try:
            user = await self._user(request, task)
        except HTTPException as error:
            raise _refusals.by_host(error.status_code, error.headers) from None
        except PermissionError:
            raise _refusals.by_host(403, None) from None
        # Clause 10.9.
        if user is None or (is_a(user, str) and is_blank(user)):
            raise _refusals.by_host(401, None)
        if not is_a(user, str):
            _LOG.error("authorize gave a %s; wanted the user's id as a string, or None", class_name(user))
            raise _refusals.failed()
        _reading.refuse_parameters(request.query_params, known)
        return RetrievalContext(owner_id=user, session_id=task)

    async def _user(self, request: Request, task: str) -> Any:
        if is_async(self._authorize):
            given: Any = self._authorize(request, task)
        else:
            given = await run_in_threadpool(self._authorize, request, task)
        return await given if inspect.isawaitable(given) else given


class _Resource:
    """One path: which of its methods answers, and that each request is answered; an ASGI app of its own."""

    def __init__(self, handlers: Mapping[str, _Handler]) -> None:
        self._handlers = {**handlers, **({"HEAD": handlers["GET"]} if "GET" in handlers else {})}
        self._allowed = {"Allow": ", ".join(sorted({*self._handlers, "OPTIONS"}))}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response = await self._answer(request)
        if request.method == "HEAD":
            # Its length stays in the headers.
            response.body = b""
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        try:
            return await self._called(request)
        except RefusedError as refused:
            return _refusal(refused)
        except ClientDisconnect:
            # Nobody reads it.
            return Response(status_code=400)
        except BaseException as error:
            # ``authorize`` and a storage are the host's, and may raise anything: a ``SystemExit`` would end the server.
            if _is_the_servers(error):
                raise
            _log(error)
            return _refusal(_refusals.failed())

    async def _called(self, request: Request) -> Response:
        if handler := self._handlers.get(request.method):
            return await handler(request)
        if request.method == "OPTIONS":
            return Response(status_code=204, headers={**_HEADERS, **self._allowed})
        message = f"Wanted one of the methods {self._allowed['Allow']}, and another came. Nothing was done."
        raise RefusedError(405, "method_not_allowed", message, headers=self._allowed)


async def _stored(bindings: TaskBindings, seconds: float, call: _Call) -> BoundReferences:
    """What the bindings say, or what the client is told where they refuse or cannot be reached in time."""
    try:
        return await stored(bindings, call, seconds)
    except KnowledgeReferenceInvalidError as error:
        raise _refusals.of_reference(error, ("body",)) from None
    except KnowledgeReferenceUnknownError as error:
        raise _refusals.of_unbound(error) from None
    except KnowledgeUnavailableError as error:
        _log(error)
        raise _refusals.of_storage(error) from None


async def _sent(request: Request, read: Callable[[bytes], _Read]) -> _Read:
    """What a client sent; read in a thread, since a hundred references take a tenth of a second."""
    _reading.require_json(request.headers)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _reading.BODY_MAX:
            raise _reading.too_large()
    return await run_in_threadpool(read, bytes(body))


async def _document(request: Request) -> Response:
    return _json(openapi.openapi_document(request.scope.get("root_path", "")))


async def _no_path(_: Request, __: Exception) -> Response:
    # Where it is mounted is not said: a path may hold what the client sent.
    words = f"There is nothing under this path. See {openapi.OWN_DOCUMENT}, under the same mount, for those there are."
    return _refusal(RefusedError(404, "path_unknown", words))


def _json(content: Mapping[str, Any]) -> Response:
    return JSONResponse(content, headers=_HEADERS)


def _refusal(refused: RefusedError) -> Response:
    return JSONResponse(refused.body, refused.status, {**_HEADERS, **refused.headers})


def _is_the_servers(error: BaseException) -> bool:
    if is_a(error, asyncio.CancelledError):
        # One that nobody asked for is a failure like any other.
        task = asyncio.current_task()
        return task is None or task.cancelling() > 0
    return is_a(error, KeyboardInterrupt) or is_a(error, GeneratorExit)


def _log(error: BaseException) -> None:
    # Clause 10.8: a class and a place; the text may hold anything.
    _LOG.error("a request about external sources failed: %s", origin(error))
