"""``MCPProvider`` under any result of a tool: conforming results or a ``KnowledgeError``, and never the secret."""

import json
from collections import Counter
from typing import Any

import mcp_subjects as subjects
from hypothesis import HealthCheck, Phase, example, find, given, settings
from hypothesis import strategies as st
from mcp.server import Server
from mcp.types import CallToolResult, ListToolsResult
from mcp_subjects import SECRET, ask, over
from pydantic import ValidationError

from knowledge_conformance.payloads.mcp_results import tool_results
from knowledge_provider import ERROR_CODES, KnowledgeError, RetrievalResult, limits, normalize_response, public_uri

quick = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])


def answered(payload: dict[str, Any], top_k: int = 5, **options: Any) -> list[RetrievalResult] | KnowledgeError:
    """What comes of it behind a real client; what the protocol does not allow is refused by the SDK's own models."""

    async def call(*_: Any) -> Any:
        return {"resultType": "complete", **payload}

    async def tools(*_: Any) -> ListToolsResult:
        return ListToolsResult(tools=[])

    server = Server("any", on_call_tool=call, on_list_tools=tools)
    try:
        return ask(over(server, timeout=30, **options), top_k=top_k)
    except KnowledgeError as error:
        return error


def check(results: list[RetrievalResult], top_k: int, scored: bool) -> None:
    """Clauses 3.3, 5.2 to 5.8, and 5.9: a host loses nothing of it."""
    assert len(results) <= top_k
    plain = [result.model_dump(by_alias=True, exclude_none=True) for result in results]
    json.dumps(plain, allow_nan=False)
    for result in results:
        assert len(result.id) <= limits.RESULT_ID_MAX
        assert len(result.content) <= limits.CONTENT_MAX
        assert (result.score is not None) == scored
        assert result.source is None or result.source.uri is None or public_uri(result.source.uri) == result.source.uri
    kept = normalize_response(plain, query="q", limit=top_k).results
    assert [(each.id, each.content, each.score) for each in kept] == [
        (result.id, result.content.strip(), result.score) for result in results
    ]


@quick
@given(tool_results(SECRET), st.sampled_from([None, "similarity", "distance"]), st.integers(1, limits.TOP_K_MAX))
@example({"content": [], "isError": True}, None, 1)
@example(
    {
        "content": [
            {"type": "resource", "resource": {"uri": "kb://a", "mimeType": f"text/plain; key={SECRET}", "text": "a"}}
        ]
    },
    None,
    1,
)
@example({"structuredContent": {"results": []}}, None, 1)
@example({"content": [{"type": "text", "text": f'"{SECRET}"'}]}, None, 1)
def test_any_result_is_conforming_results_or_a_failure(payload: dict[str, Any], score_kind: Any, top_k: int) -> None:
    """Clauses 5.10 and 6.4: and a failure says nothing of the result, nor do its causes."""
    came = answered(payload, top_k, score_kind=score_kind)
    if isinstance(came, KnowledgeError):
        assert came.code in ERROR_CODES
        assert SECRET not in subjects.said(came)
    else:
        assert payload.get("isError") is not True
        check(came, top_k, score_kind is not None)
        assert SECRET not in repr(came)


@settings(quick, max_examples=50)
@given(tool_results(SECRET), st.integers(1, limits.TOP_K_MAX))
def test_any_text_is_a_passage_or_a_failure(payload: dict[str, Any], top_k: int) -> None:
    """With ``text_as``, where each text is data, whatever stands in it."""
    came = answered(payload, top_k, text_as="passage")
    if isinstance(came, KnowledgeError):
        assert SECRET not in subjects.said(came)
    else:
        check(came, top_k, scored=False)


def test_the_payloads_reach_every_kind_of_end() -> None:
    """A fuzz whose every payload fails in the same way would show nothing."""
    ends: Counter[str] = Counter()

    @settings(quick, database=None, derandomize=True)
    @given(tool_results(SECRET))
    def count(payload: dict[str, Any]) -> None:
        came = answered(payload)
        ends[came.code if isinstance(came, KnowledgeError) else "results" if came else "nothing"] += 1

    count()
    assert ends["results"] > 20
    assert {"nothing", "knowledge_invalid_response", "knowledge_provider_failed"} <= set(ends)


def test_a_failure_shrinks_to_the_smallest_result() -> None:
    """So that what is reported is what matters."""
    alone = settings(deadline=None, database=None, max_examples=50)
    found = find(tool_results(SECRET), lambda payload: "a passage" in json.dumps(payload), settings=alone)
    assert len(json.dumps(found)) <= 120


def test_some_payloads_break_the_protocol() -> None:
    """Field case 23: as the SDK's models see it."""

    def breaks(payload: dict[str, Any]) -> bool:
        try:
            CallToolResult.model_validate(payload)
        except ValidationError:
            return True
        return False

    alone = settings(deadline=None, database=None, max_examples=500, phases=[Phase.generate])
    assert find(tool_results(SECRET), breaks, settings=alone)
