"""What the tests of the API share: an app, one request to it, and whether an answer is as its OpenAPI document says."""

import asyncio
from typing import Any

import httpx
from jsonschema import Draft202012Validator  # type: ignore[import-untyped] # there are no types of it here
from starlette.applications import Starlette
from starlette.types import ASGIApp

from knowledge_fakes.sources import mixed_registry
from knowledge_provider.sources import BindingStorage, MemoryStorage, SourceRegistry, TaskBindings
from knowledge_provider.sources.server import Authorize, external_sources_app, openapi_document

BOUND = "/api/tasks/t1/external-knowledge-refs"
REMOVAL = f"{BOUND}/remove"
DOCUMENTS = f"{BOUND}/documents"
DOCUMENT = {
    "provider": "ap",
    "mode": "explicit",
    "id": "kb-1",
    "target_type": "document",
    "node_id": "document:node-1",
    "document_id": "node-1",
}
WHOLE = {"provider": "ap", "mode": "explicit", "id": "kb-1", "target_type": "knowledge_base"}


def by_header(request: Any, task: str) -> str | None:
    """Believes what a header says, as a test may."""
    user: str | None = request.headers.get("x-user")
    return user


def app_over(
    bindings: TaskBindings | BindingStorage | None = None,
    *,
    registry: SourceRegistry | None = None,
    authorize: Authorize = by_header,
    timeout: float = 5.0,
    storage_timeout: float = 60.0,
) -> Starlette:
    kept = bindings if isinstance(bindings, TaskBindings) else TaskBindings(bindings or MemoryStorage())
    return external_sources_app(
        kept,
        registry=registry or mixed_registry(),
        authorize=authorize,
        timeout=timeout,
        storage_timeout=storage_timeout,
    )


def ask(app: ASGIApp, method: str, path: str, **options: Any) -> httpx.Response:
    """One request of alice's, without a server between; what the app lets out is raised here."""
    headers = {"x-user": "alice", **options.pop("headers", {})}

    async def sent() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://api.test", headers=headers) as client:
            return await client.request(method, path, **options)

    return asyncio.run(sent())


def detail(answer: httpx.Response) -> tuple[int, list[str | int], str]:
    """Status, place and words of a refusal."""
    (said,) = answer.json()["detail"]
    return answer.status_code, said["loc"], said["msg"]


def described(path: str) -> dict[str, Any]:
    """What the document says of a path as it was asked for."""
    template = path.partition("?")[0].replace("/t1/", "/{task_id}/")
    return dict(openapi_document()["paths"][template])


def schema_of(name: str) -> Draft202012Validator:
    return Draft202012Validator({"$ref": f"#/components/schemas/{name}", **openapi_document()})


def as_described(answer: httpx.Response, method: str, path: str) -> httpx.Response:
    """The answer, which has a status and a shape that the document has."""
    said = described(path)[method.lower()]["responses"][str(answer.status_code)]
    shape = said["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    schema_of(shape).validate(answer.json())
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-type"] == "application/json"
    return answer
