"""The OpenAPI document of the API, made from the models and limits; knows paths and shapes, no Starlette."""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

from pydantic.json_schema import models_json_schema

from knowledge_provider import limits
from knowledge_provider.sources.bindings import TASK_ID_MAX
from knowledge_provider.sources.listing import OFFSET_MAX, PAGE_DEFAULT, PAGE_MAX, DocumentListing
from knowledge_provider.sources.references import REFERENCE_NAME_MAX, ExternalKnowledgeRef
from knowledge_provider.sources.server._reading import REFERENCES_MAX

BOUND: Final = "/api/tasks/{task_id}/external-knowledge-refs"
REMOVAL: Final = f"{BOUND}/remove"
DOCUMENTS: Final = f"{BOUND}/documents"
DOCUMENT: Final = "/openapi.json"
OWN_DOCUMENT: Final = "/api/external-knowledge-refs/openapi.json"
"""The same under a name that no other app has: beside FastAPI, its own document has the first."""

_VERSION: Final = "3.1.0"
_PROBLEMS: Final[Mapping[int, str]] = {
    401: "The user is not known.",
    403: "The user may not do this.",
    404: "There is no such task, or the reference is not bound to it.",
    409: "The reference is not bound, but its whole source is, or parts of it.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    422: "A field cannot be read, or its source does not let a reference stand; `loc` names it.",
    500: "The request could not be done.",
    503: "The bindings cannot be reached, or a source cannot say whether its references stand.",
}
_WITHOUT_BODY: Final = (401, 403, 404, 422, 500, 503)
_WITH_BODY: Final = (401, 403, 404, 413, 415, 422, 500, 503)
_FIRST_SENTENCE: Final = re.compile(r".*?\.(?=\s|$)", re.DOTALL)


def openapi_document(root: str = "") -> dict[str, Any]:
    """The OpenAPI 3.1 document, new at each call; ``root`` is the path under which the app is mounted.

    References are shown in snake_case, in which they are written; camelCase is read as well.
    """
    return {
        "openapi": _VERSION,
        "info": {"title": "External knowledge sources of a task", "version": str(limits.PROTOCOL_VERSION)},
        "servers": [{"url": root or "/"}],
        "paths": {
            BOUND: {
                "parameters": _task(),
                "get": _operation("listBoundRefs", "What the task has bound.", "BoundRefs", _WITHOUT_BODY),
                "post": _operation(
                    "addRefs",
                    "Bind references that their sources let stand, all or none.",
                    "BoundRefs",
                    _WITH_BODY,
                    "AddRefs",
                ),
            },
            REMOVAL: {
                "parameters": _task(),
                "post": _operation(
                    "removeRef", "Take away one by its target.", "BoundRefs", (*_WITH_BODY, 409), "RemoveRef"
                ),
            },
            DOCUMENTS: {
                "parameters": _task(),
                "get": {
                    **_operation("listDocuments", "Documents of what is bound.", "DocumentListing", _WITHOUT_BODY),
                    "parameters": [
                        {"name": name, "in": "query", "required": False, "schema": schema}
                        for name, schema in _window().items()
                    ],
                },
                "post": _operation(
                    "listDocumentsOf",
                    "Documents of sources that may be bound.",
                    "DocumentListing",
                    _WITH_BODY,
                    "SelectRefs",
                ),
            },
        },
        "components": {"schemas": {**_models(), **deepcopy(_SHAPES)}},
    }


def _task() -> list[dict[str, Any]]:
    schema = {"type": "string", "minLength": 1, "maxLength": TASK_ID_MAX}
    return [{"name": "task_id", "in": "path", "required": True, "schema": schema}]


def _operation(
    name: str, summary: str, answer: str, problems: tuple[int, ...], body: str | None = None
) -> dict[str, Any]:
    said = {str(status): _content("Problem", _PROBLEMS[status]) for status in sorted(problems)}
    asked = {} if body is None else {"requestBody": {**_content(body), "required": True}}
    responses = {"200": _content(answer, "It was done."), **said}
    return {"operationId": name, "summary": summary, **asked, "responses": responses}


def _content(shape: str, description: str | None = None) -> dict[str, Any]:
    held = {"content": {"application/json": {"schema": _ref(shape)}}}
    return held if description is None else {"description": description, **held}


def _ref(shape: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{shape}"}


def _list(shape: str, **bounds: int) -> dict[str, Any]:
    return {"type": "array", "items": _ref(shape), **bounds}


def _object(required: Mapping[str, Any], *, closed: bool = False, **optional: Any) -> dict[str, Any]:
    shape = {"type": "object", "properties": {**required, **optional}, "required": list(required)}
    return {**shape, "additionalProperties": False} if closed else shape


def _window() -> dict[str, Any]:
    return {
        "limit": {"type": "integer", "minimum": 1, "maximum": PAGE_MAX, "default": PAGE_DEFAULT},
        "offset": {"type": "integer", "minimum": 0, "maximum": OFFSET_MAX, "default": 0},
    }


_REFS: Final = _list("ExternalKnowledgeRef", minItems=1, maxItems=REFERENCES_MAX)
_TEXT: Final = {"type": "string"}
_SHAPES: Final[Mapping[str, Any]] = {
    "AddRefs": _object({"refs": _REFS}, closed=True),
    "SelectRefs": _object({"refs": _REFS}, closed=True, **_window()),
    "RemoveRef": {
        "oneOf": [
            _object({"ref": _ref("ExternalKnowledgeRef")}, closed=True),
            _object({"key": {"type": "string"}}, closed=True),
        ]
    },
    "BoundRefs": _object(
        {
            "items": _list("ExternalKnowledgeRef"),
            "total": {"type": "integer", "minimum": 0},
            "warnings": _list("BindingWarning"),
        }
    ),
    "BindingWarning": _object({"key": _TEXT, "reason": {"type": "string", "enum": ["unreadable", "not_registered"]}}),
    "Problem": _object({"detail": _list("ProblemDetail", minItems=1)}),
    "ProblemDetail": _object(
        {"type": _TEXT, "loc": {"type": "array", "items": {"type": ["string", "integer"]}}, "msg": _TEXT}
    ),
}


def _models() -> dict[str, Any]:
    _, made = models_json_schema(
        [(ExternalKnowledgeRef, "validation"), (DocumentListing, "validation")],
        by_alias=False,
        ref_template="#/components/schemas/{model}",
    )
    shapes: dict[str, Any] = made["$defs"]
    for shape in _parts(shapes):
        shape.pop("title", None)
        if "description" in shape:
            shape["description"] = _first_sentence(shape["description"])
    for name in ("DocumentListing", "DocumentPage"):
        # All of them are always there.
        shapes[name]["required"] = list(shapes[name]["properties"])
    reference = shapes["ExternalKnowledgeRef"]
    reference["additionalProperties"] = False
    reference["properties"]["provider"] |= {"pattern": "^[a-z0-9][a-z0-9-]*$", "maxLength": limits.KEY_MAX}
    for name, field in reference["properties"].items():
        most = REFERENCE_NAME_MAX if name in ("name", "target_name") else limits.RESULT_ID_MAX
        for kind in field.get("anyOf", ()):
            if kind["type"] == "string":
                kind["maxLength"] = most
    return shapes


def _parts(shapes: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for shape in shapes.values():
        yield shape
        yield from shape.get("properties", {}).values()


def _first_sentence(text: str) -> str:
    found = _FIRST_SENTENCE.match(" ".join(text.replace("``", "`").split()))
    return found[0] if found else text
