"""The OpenAPI document: it is one, it has the routes that there are, and what is sent and answered is as it says."""

import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from openapi_spec_validator import validate
from source_api import BOUND, DOCUMENT, DOCUMENTS, REMOVAL, WHOLE, app_over, as_described, ask, schema_of
from starlette.routing import Route

from knowledge_provider import KnowledgeReferenceInvalidError
from knowledge_provider.sources import (
    ExternalKnowledgeRef,
    MemoryStorage,
    TaskBindings,
    read_reference,
)
from knowledge_provider.sources.server import openapi_document
from knowledge_provider.sources.server.openapi import OWN_DOCUMENT

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
BODIES = {BOUND: "AddRefs", REMOVAL: "RemoveRef", DOCUMENTS: "SelectRefs"}


def test_it_is_an_openapi_document() -> None:
    """By the specification's own schema, and new at each call."""
    first = openapi_document("/knowledge")
    validate(first)
    first["components"]["schemas"].clear()
    first["paths"][BOUND.replace("t1", "{task_id}")]["parameters"].clear()
    validate(openapi_document())


def test_it_has_the_routes_that_there_are() -> None:
    """Each path, and of each the methods that OPTIONS names."""
    app = app_over()
    routes = {route.path for route in app.routes if isinstance(route, Route)} - {"/openapi.json", OWN_DOCUMENT}
    paths = openapi_document()["paths"]
    assert set(paths) == routes
    for path, operations in paths.items():
        allowed = ask(app, "OPTIONS", path.replace("{task_id}", "t1")).headers["allow"].lower().split(", ")
        assert set(operations) & set(METHODS) == set(allowed) - {"head", "options"}


def test_the_documents_own_two_routes_are_there() -> None:
    """By their paths and methods, with the body of a removal."""
    paths = openapi_document()["paths"]
    assert "get" in paths["/api/tasks/{task_id}/external-knowledge-refs"]
    assert "post" in paths["/api/tasks/{task_id}/external-knowledge-refs/remove"]
    schema_of("RemoveRef").validate({"ref": DOCUMENT})


def test_the_app_answers_it_to_anybody() -> None:
    """It holds no secret."""
    assert ask(app_over(), "GET", "/openapi.json", headers={"x-user": ""}).json() == openapi_document()


TEXTS = st.text(max_size=8) | st.sampled_from(["ap", "kb-1", "folder", "document", "all_accessible", "x" * 161, " "])
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
NAMES = [*ExternalKnowledgeRef.model_fields, "targetType", "documentId", "other"]
REFS = st.builds(
    lambda base, changed: {**base, **changed},
    st.sampled_from([{}, WHOLE, DOCUMENT]),
    st.dictionaries(st.sampled_from(NAMES), JSON | TEXTS, max_size=3),
)
SENT = st.fixed_dictionaries(
    {},
    optional={
        "ref": REFS | JSON,
        "refs": st.lists(REFS, max_size=3) | JSON,
        "limit": JSON,
        "offset": st.integers(-1, 9) | JSON,
        "other": JSON,
    },
)


@given(path=st.sampled_from(list(BODIES)), body=SENT | JSON)
@example(path=BOUND, body={"refs": [{**DOCUMENT, "id": "\ud800"}]})
@settings(deadline=None, max_examples=300)
def test_whatever_is_sent_is_answered_as_described(path: str, body: Any) -> None:
    """With a status and a shape that it has; what it does not allow in snake_case is refused, and nothing is stored."""
    bindings = TaskBindings(MemoryStorage())
    bindings.add("t1", WHOLE)
    headers = {"content-type": "application/json"}
    answer = as_described(
        ask(app_over(bindings), "POST", path, content=json.dumps(body), headers=headers), "POST", path
    )
    assert answer.status_code in (200, 404, 409, 422)
    assert "Traceback" not in answer.text
    if answer.status_code != 200:
        assert bindings.list("t1").refs == (read_reference(WHOLE),)


@given(ref=REFS)
@settings(deadline=None, max_examples=300)
def test_a_reference_that_is_read_is_as_described(ref: dict[str, Any]) -> None:
    """In snake_case, with the limits of each field."""
    try:
        read = read_reference(ref)
    except KnowledgeReferenceInvalidError:
        return
    schema_of("ExternalKnowledgeRef").validate(read.model_dump(exclude_none=True))


@pytest.mark.parametrize(
    "change",
    [
        {"provider": "AP"},
        {"provider": "a" * 65},
        {"mode": "everything"},
        {"id": 7},
        {"id": "x" * 161},
        {"name": "x" * 301},
        {"target_type": "page"},
        {"other": 1},
    ],
)
def test_a_reference_that_is_not_as_described_is_refused(change: dict[str, Any]) -> None:
    """The document and the model have the same limits."""
    assert schema_of("ExternalKnowledgeRef").is_valid(DOCUMENT)
    assert not schema_of("ExternalKnowledgeRef").is_valid({**DOCUMENT, **change})
    assert ask(app_over(), "POST", BOUND, json={"refs": [{**DOCUMENT, **change}]}).status_code == 422


PARTS = st.text(st.characters(codec="utf-8"), max_size=6) | st.sampled_from(["..", "%", "api", "remove", "documents"])


@given(
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "BREW"]),
    task=PARTS,
    rest=st.lists(PARTS, max_size=2),
    query=st.text(max_size=8),
)
@settings(deadline=None, max_examples=200)
def test_whatever_path_is_asked_for_is_answered(method: str, task: str, rest: list[str], query: str) -> None:
    """By JSON with the reason, or by nothing where that is the answer; never by a redirect or a traceback."""
    parts = (quote(part, safe="") for part in (task, "external-knowledge-refs", *rest))
    answer = ask(app_over(), method, f"/api/tasks/{'/'.join(parts)}", params={"limit": query})
    assert answer.status_code in (200, 204, 401, 404, 405, 415, 422)
    assert answer.headers["cache-control"] == "no-store"
    if method != "HEAD" and answer.status_code >= 400:
        assert answer.json()["detail"][0]["msg"]


@pytest.mark.parametrize("size", [0, 101])
def test_numbers_of_references_are_in_it(size: int) -> None:
    """What the app refuses by its number, the document does."""
    refs = [{"provider": "ap", "id": f"kb-{place}"} for place in range(size)]
    assert not schema_of("AddRefs").is_valid({"refs": refs})
    assert ask(app_over(), "POST", BOUND, json={"refs": refs}).status_code == 422
