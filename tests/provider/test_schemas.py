"""The JSON Schemas of the wire shapes: they say what the models accept, and no more than crosses the wire."""

import json
from typing import Any

import pytest
from pydantic import BaseModel

from knowledge_provider import limits
from knowledge_provider.models import (
    Health,
    ProviderDescription,
    RetrievalContext,
    RetrievalRequest,
    RetrievalResult,
    Source,
)
from knowledge_provider.normalize import normalize_response
from knowledge_provider.outcome import Citation, Outcome
from knowledge_provider.schemas import wire_schemas

SCHEMAS = wire_schemas()
CAMEL: dict[str, type[BaseModel]] = {
    "request": RetrievalRequest,
    "context": RetrievalContext,
    "description": ProviderDescription,
    "result": RetrievalResult,
    "health": Health,
}
SNAKE: dict[str, type[BaseModel]] = {"outcome": Outcome, "citation": Citation}
each = pytest.mark.parametrize("name", SCHEMAS)


def definitions(schema: dict[str, Any]) -> list[dict[str, Any]]:
    return [schema, *schema.get("$defs", {}).values()]


def test_every_shape_on_the_wire_has_a_schema() -> None:
    """The eight shapes of the contract, by name."""
    assert set(SCHEMAS) == {*CAMEL, *SNAKE, "response"}


@each
def test_a_schema_is_plain_json_with_its_dialect(name: str) -> None:
    """It can be written to a file and be read by other tools, which learn from it what it is."""
    assert json.loads(json.dumps(SCHEMAS[name], allow_nan=False)) == SCHEMAS[name]
    assert SCHEMAS[name]["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert SCHEMAS[name]["title"]


@each
def test_every_reference_leads_somewhere(name: str) -> None:
    """A schema stands alone: it refers to nothing outside itself."""
    text = json.dumps(SCHEMAS[name])
    referred = {part.split('"')[0] for part in text.split('"$ref": "#/$defs/')[1:]}
    assert text.count('"$ref"') == text.count('"$ref": "#/$defs/')
    assert referred == set(SCHEMAS[name].get("$defs", {}))


@pytest.mark.parametrize(("name", "model"), CAMEL.items())
def test_names_that_cross_the_boundary_are_camel_case(name: str, model: type[BaseModel]) -> None:
    """Every field of the model but the signal, which never leaves the process, under its wire name."""
    aliases = {field.alias for at, field in model.model_fields.items() if at != "signal"}
    assert set(SCHEMAS[name]["properties"]) == aliases


@pytest.mark.parametrize(("name", "model"), SNAKE.items())
def test_names_of_the_host_are_snake_case(name: str, model: type[BaseModel]) -> None:
    """What a host hands to its agent keeps the Python names."""
    assert set(SCHEMAS[name]["properties"]) == set(model.model_fields)


@pytest.mark.parametrize(
    ("name", "required"),
    [
        ("request", {"query"}),
        ("context", {"ownerId"}),
        ("description", {"protocolVersion", "key", "label"}),
        ("result", {"id", "content"}),
        ("health", {"status"}),
        ("outcome", {"status", "query"}),
        ("citation", {"id", "title", "url", "snippet"}),
    ],
)
def test_what_has_to_be_there(name: str, required: set[str]) -> None:
    """Only what the contract wants is required."""
    assert set(SCHEMAS[name]["required"]) == required


def test_the_request_is_bounded() -> None:
    """The numbers of clause 3.1, as a back end in another language would check them."""
    fields = SCHEMAS["request"]["properties"]
    assert fields["query"] == {"type": "string", "maxLength": limits.QUERY_MAX, "pattern": r"\S"}
    assert (fields["topK"]["minimum"], fields["topK"]["maximum"], fields["topK"]["default"]) == (1, 8, 5)
    assert fields["knowledgeBaseIds"]["maxItems"] == limits.BASES_MAX
    assert fields["knowledgeBaseIds"]["items"] == {"type": "string", "maxLength": limits.BASE_ID_MAX, "pattern": r"\S"}


def test_identity_stays_out_of_the_request() -> None:
    """Clause 4.2: nothing that looks like an owner is part of what a model may choose."""
    assert not set(SCHEMAS["request"]["properties"]) & set(SCHEMAS["context"]["properties"])


def test_the_description_names_its_version_and_key() -> None:
    """Clauses 1.3 and 1.4."""
    fields = SCHEMAS["description"]["properties"]
    assert fields["protocolVersion"]["const"] == limits.PROTOCOL_VERSION
    assert fields["key"]["pattern"] == "^[a-z0-9][a-z0-9-]*$"


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("description", "capabilities"),
        ("result", "score"),
        ("result", "source"),
        ("result", "metadata"),
        ("health", "message"),
    ],
)
def test_an_optional_field_may_be_null(name: str, field: str) -> None:
    """Clause 5.1: null is absent."""
    schema = SCHEMAS[name]["properties"][field]
    types = schema["type"] if "type" in schema else [each.get("type", "object") for each in schema["anyOf"]]
    assert "null" in types


def test_a_response_is_a_list_or_holds_one() -> None:
    """Clause 5.1: results in a list, or in a mapping under "results", each of the result's own shape."""
    schema = SCHEMAS["response"]
    array, mapping = schema["anyOf"]
    held = schema["$defs"][mapping["$ref"].rpartition("/")[2]]
    assert array == {"type": "array", "items": {"$ref": "#/$defs/RetrievalResult"}}
    assert held["required"] == ["results"]
    assert held["properties"]["results"] == array
    ignored = {"$schema", "$defs"}
    assert schema["$defs"]["RetrievalResult"] == {k: v for k, v in SCHEMAS["result"].items() if k not in ignored}


def test_an_outcome_has_the_fields_of_its_schema() -> None:
    """What a host really hands over is what the schema says, names of nested shapes included."""
    source = {"uri": "https://docs.example.com/a", "mimeType": "text/html"}
    outcome = normalize_response(
        {"results": [{"id": "a", "content": "b", "source": source}], "sources": [{"key": "k", "status": "hit"}]},
        query="q",
    ).to_dict()
    schema = SCHEMAS["outcome"]
    held = {part["title"]: set(part["properties"]) for part in definitions(schema)}
    assert set(outcome) <= held["Outcome"]
    assert set(outcome["results"][0]) <= held["OutcomeResult"]
    assert set(outcome["results"][0]["source"]) <= held["Source"] == set(Source.model_fields)
    assert set(outcome["citations"][0]) <= held["Citation"]
    assert set(outcome["sources"][0]) <= held["SourceReport"]


@each
def test_a_schema_is_written_for_readers_of_json(name: str) -> None:
    """No titles made from names, no Python exceptions, no markup of docstrings."""
    for part in definitions(SCHEMAS[name]):
        assert not any("title" in field for field in part.get("properties", {}).values())
        assert "``" not in part.get("description", "")
        assert "pydantic" not in part.get("description", "")


def test_a_schema_is_the_callers_own() -> None:
    """A caller may change what it gets without changing what the next one gets."""
    changed = wire_schemas()
    for schema in changed.values():
        for part in definitions(schema):
            for field in part.get("properties", {}).values():
                for value in field.values():
                    value.clear() if isinstance(value, dict | list) else None
                field.clear()
    assert wire_schemas() == SCHEMAS
