"""The shapes on the wire as JSON Schemas, made from the models; knows names and limits, no value of any shape."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from pydantic import BaseModel, TypeAdapter

from knowledge_provider import limits
from knowledge_provider.models import (
    Health,
    ProviderDescription,
    RetrievalContext,
    RetrievalRequest,
    RetrievalResult,
)
from knowledge_provider.outcome import Citation, Outcome, SourceReport

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_FIRST_SENTENCE: Final = re.compile(r".*?\.(?=\s|$)")


class ResultsMapping(BaseModel):
    """A response as a mapping, perhaps with reports about several back ends (clauses 5.1, 5.11)."""

    results: list[RetrievalResult]
    sources: list[SourceReport] | None = None


class _Shape(NamedTuple):
    """A type, whether a receiver reads it or a sender writes it, and whether its names are camelCase."""

    type: Any
    mode: Literal["validation", "serialization"]
    by_alias: bool = True


_SHAPES: Final[Mapping[str, _Shape]] = MappingProxyType(
    {
        "request": _Shape(RetrievalRequest, "serialization"),
        # The signal is an object of the process, and never leaves it; written out, a context has none.
        "context": _Shape(RetrievalContext, "serialization"),
        "description": _Shape(ProviderDescription, "validation"),
        "result": _Shape(RetrievalResult, "validation"),
        "response": _Shape(list[RetrievalResult] | ResultsMapping, "validation"),
        "health": _Shape(Health, "validation"),
        "outcome": _Shape(Outcome, "serialization", by_alias=False),
        "citation": _Shape(Citation, "serialization", by_alias=False),
    }
)


def wire_schemas() -> dict[str, dict[str, Any]]:
    """A JSON Schema (draft 2020-12) for each shape by name, new at each call.

    ``request``, ``context`` (without its signal), ``description``, ``result``, ``response`` and ``health`` have
    camelCase names; ``outcome`` and ``citation`` have snake_case ones. A schema holds what a MUST says; limits that a
    provider only should keep are not in it. "Not blank" is checked for white space, not for every invisible character.
    """
    return {name: _schema(shape) for name, shape in _SHAPES.items()}


def _schema(shape: _Shape) -> dict[str, Any]:
    made = TypeAdapter(shape.type).json_schema(mode=shape.mode, by_alias=shape.by_alias)
    for part in (made, *made.get("$defs", {}).values()):
        _improve(part)
    return {"$schema": DIALECT, "title": "Response", **made}


def _improve(part: dict[str, Any]) -> None:
    for fields in part.get("properties", {}).values():
        # Made from the property's name, which it repeats, and badly: "Knowledgebaseids".
        fields.pop("title", None)
    for name, added in _unseen().get(part.get("title", ""), {}).items():
        part["properties"][name].update(added)
    if "description" in part:
        # The rest of a docstring is for readers of Python.
        part["description"] = _first_sentence(part["description"])


def _unseen() -> dict[str, dict[str, dict[str, Any]]]:
    """What the models check in code, where pydantic cannot see it: model, field, keywords; new at each call."""
    visible = r"\S"
    return {
        # Clause 3.1
        "RetrievalRequest": {
            "query": {"maxLength": limits.QUERY_MAX, "pattern": visible},
            "knowledgeBaseIds": {"items": {"type": "string", "maxLength": limits.BASE_ID_MAX, "pattern": visible}},
        },
        # Clause 4.1
        "RetrievalContext": {"ownerId": {"pattern": visible}},
        # Clauses 1.4 to 1.6
        "ProviderDescription": {
            "key": {"pattern": "^[a-z0-9][a-z0-9-]*$"},
            "label": {"pattern": visible},
            "capabilities": {"type": ["object", "null"]},
        },
        # Clauses 5.1 and 5.2
        "RetrievalResult": {
            "id": {"pattern": visible},
            "content": {"pattern": visible},
            "metadata": {"type": ["object", "null"]},
        },
    }


def _first_sentence(text: str) -> str:
    found = _FIRST_SENTENCE.match(text.replace("``", "`"))
    return found[0] if found else text
