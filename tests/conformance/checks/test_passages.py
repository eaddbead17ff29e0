"""The names of fields, and when a host's own outcome may be an answer again; and what to do about ids."""

from typing import Any

import pytest

from knowledge_conformance.check import Violation
from knowledge_conformance.checks.passages import fields_have_their_names, ids_are_unique
from knowledge_conformance.exchange import Exchange
from knowledge_provider import (
    CancelSignal,
    CitationLedger,
    RetrievalContext,
    RetrievalRequest,
    Source,
    normalize_response,
)

REQUEST = RetrievalRequest(query="release policy")
CONTEXT = RetrievalContext(owner_id="o", session_id="s", turn_id="t", trace_id="x", signal=CancelSignal())
SOURCE = {"id": "h", "title": "Handbook", "uri": "https://example.com/h", "mimeType": "text/plain"}
ITEM: dict[str, Any] = {"id": "a", "content": "text", "source": SOURCE}


def judge(response: object) -> int:
    assert fields_have_their_names.judge is not None
    return fields_have_their_names.judge(Exchange(REQUEST, CONTEXT, response))


@pytest.mark.parametrize(
    "alias", ["chunkId", "chunk_id", "text", "documentId", "document_id", "title", "url", "mimeType", "mime_type"]
)
def test_each_alias_of_a_host_is_named(alias: str) -> None:
    """Rule N4, whatever else the result has."""
    with pytest.raises(Violation, match=f"the aliases {alias}$"):
        judge([{**ITEM, alias: "x"}])


@pytest.mark.parametrize("alias", ["chunkId", "text", "title"])
def test_a_citation_excuses_no_other_alias(alias: str) -> None:
    """Only the url stands beside a citation's id."""
    with pytest.raises(Violation, match=f"the aliases {alias}$"):
        judge([{**ITEM, alias: "x", "url": "https://example.com/h", "citation_id": "source_1"}])


def test_the_source_has_aliases_of_its_own() -> None:
    """A url in there is the uri; mimeType is the wire's own name."""
    with pytest.raises(Violation, match=r"source\.url"):
        judge([{**ITEM, "source": {"url": "https://example.com/h"}}])


def test_the_contracts_names_are_left_alone() -> None:
    """In either spelling, and as a model."""
    assert judge([ITEM, {**ITEM, "source": Source.model_validate(SOURCE)}, {**ITEM, "title": None}]) == 3


def test_a_hosts_outcome_can_be_an_answer() -> None:
    """Its results have a url beside each citation's id (rule N13)."""
    outcome = normalize_response([ITEM], query="q", citations=CitationLedger()).to_dict()
    assert {"url", "citation_id"} <= outcome["results"][0].keys()
    assert judge(outcome) == 1


@pytest.mark.parametrize(
    ("content", "hint"),
    [("text", "give each passage once: both have the same content"), ("another", "add the passage's place to the id")],
)
def test_an_id_that_comes_twice_is_mended_by_what_is_wrong(content: str, hint: str) -> None:
    """One passage twice, as a padded answer has it, is to be left out; two passages need two ids."""
    assert ids_are_unique.judge is not None
    with pytest.raises(Violation, match="'a' at places 0 and 1") as found:
        ids_are_unique.judge(Exchange(REQUEST, CONTEXT, [ITEM, {**ITEM, "content": content}]))
    assert found.value.hint.startswith(hint)
