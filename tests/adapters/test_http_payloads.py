"""``HTTPProvider`` under any payload: conforming results or a ``KnowledgeError``, in time, and never the secret."""

import json
from collections import Counter
from collections.abc import AsyncGenerator
from typing import Any

import http_subjects as subjects
import httpx
from http_subjects import SECRET, ask, over
from hypothesis import HealthCheck, Phase, example, find, given, settings
from hypothesis import strategies as st

from knowledge_conformance.payloads.http_service import HTTPPayload, http_payloads, json_answers
from knowledge_provider import ERROR_CODES, KnowledgeError, RetrievalResult, limits, normalize_response, public_uri

quick = settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
alone = settings(deadline=None, database=None, max_examples=50)


async def _chunks(body: bytes) -> AsyncGenerator[bytes]:
    middle = len(body) // 2
    for piece in (body[:middle], body[middle:]):
        yield piece


def answered(payload: HTTPPayload, score_kind: Any, top_k: int) -> list[RetrievalResult] | KnowledgeError:
    def respond(_: httpx.Request) -> httpx.Response:
        return httpx.Response(payload.status, headers=payload.headers, content=_chunks(payload.body))

    provider = over(respond, timeout=30, headers={"Authorization": SECRET}, score_kind=score_kind)
    try:
        return ask(provider, top_k=top_k)
    except KnowledgeError as error:
        return error


def check(results: list[RetrievalResult], top_k: int, scored: bool) -> None:
    """Clauses 3.3, 5.2 to 5.8 and 6.1, and 5.9: a host loses nothing of it."""
    assert len(results) <= top_k
    plain = [result.model_dump(by_alias=True, exclude_none=True) for result in results]
    assert SECRET not in json.dumps(plain, allow_nan=False)
    for result in results:
        assert RetrievalResult.model_validate(result.model_dump()) == result
        assert len(result.id) <= limits.RESULT_ID_MAX
        assert len(result.content) <= limits.CONTENT_MAX
        assert (result.score is not None) == scored
        assert result.source is None or result.source.uri is None or public_uri(result.source.uri) == result.source.uri
    kept = normalize_response(plain, query="q", limit=top_k).results
    assert [(each.id, each.content, each.score) for each in kept] == [
        (result.id, result.content.strip(), result.score) for result in results
    ]


@quick
@given(http_payloads(SECRET), st.sampled_from([None, "similarity", "distance"]), st.integers(1, limits.TOP_K_MAX))
@example(HTTPPayload(503, {"retry-after": SECRET}, b""), None, 1)
@example(HTTPPayload(307, {"location": f"https://user:{SECRET}@kb.example.com/"}, b""), None, 1)
@example(HTTPPayload(200, {}, b'{"error": {"code": "knowledge_unauthorized"}}'), None, 1)
def test_any_payload_is_conforming_results_or_a_failure(payload: HTTPPayload, score_kind: Any, top_k: int) -> None:
    """Clauses 5.10 and 6.4: and a failure says nothing of the payload, nor do its causes."""
    came = answered(payload, score_kind, top_k)
    if isinstance(came, KnowledgeError):
        assert came.code in ERROR_CODES
        assert SECRET not in subjects.said(came)
    else:
        check(came, top_k, score_kind is not None)


def test_the_payloads_reach_every_kind_of_end() -> None:
    """A fuzz whose every payload fails in the same way would show nothing."""
    ends: Counter[str] = Counter()

    @settings(quick, max_examples=200, database=None, derandomize=True)
    @given(http_payloads(SECRET))
    def count(payload: HTTPPayload) -> None:
        came = answered(payload, None, 5)
        ends[came.code if isinstance(came, KnowledgeError) else "results" if came else "nothing"] += 1

    count()
    assert ends["results"] > 20
    assert {"nothing", "knowledge_invalid_response", "knowledge_provider_failed", "knowledge_unavailable"} <= set(ends)


def test_a_failure_shrinks_to_the_smallest_answer() -> None:
    """So that what is reported is what matters."""
    found = find(json_answers(SECRET), lambda answer: "a passage" in json.dumps(answer), settings=alone)
    assert len(json.dumps(found)) <= len('{"results": [{"id": "a", "content": "a passage", "score": 0}]}')


def test_a_secret_is_planted_and_not_in_a_content() -> None:
    """So that seeing it means a leak."""
    planted = settings(alone, phases=[Phase.generate], max_examples=500)
    assert find(json_answers(SECRET), lambda answer: SECRET in json.dumps(answer), settings=planted) is not None


@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(json_answers(SECRET))
def test_no_content_has_the_secret(answer: Any) -> None:
    """It is data there, and an adapter could not know."""
    records = answer.get("results") if isinstance(answer, dict) else answer
    for record in records if isinstance(records, list) else []:
        if isinstance(record, dict):
            assert SECRET not in json.dumps(record.get("content"))
