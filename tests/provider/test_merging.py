"""One answer out of several: each child's status and results, the order, and when nothing found is a failure."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowledge_conformance.strategies import responses
from knowledge_provider import limits, merging
from knowledge_provider.errors import (
    KnowledgeAllSourcesFailedError,
    KnowledgeBaseUnknownError,
    KnowledgeFiltersUnsupportedError,
    KnowledgeInvalidResponseError,
    KnowledgeRateLimitedError,
    KnowledgeSourcesIncompleteError,
    KnowledgeTimeoutError,
    KnowledgeUnauthorizedError,
)
from knowledge_provider.merging import Answer, merge, read_answer
from knowledge_provider.normalize import normalize_response
from knowledge_provider.outcome import Outcome, SourceReport
from knowledge_provider.provider_calls import Ending
from knowledge_provider.text import short_text

HIT = [{"id": "1", "content": "Refunds take 14 days."}]


class ForeignError(Exception):
    """A provider's own exception: its ``code`` alone ties it to the contract."""

    def __init__(self, code: object, retryable: object = None) -> None:
        super().__init__("the key is hunter2")
        self.code, self.retryable = code, retryable


def read(value: Any = None, *, child: str = "a", top_k: int = 5, **ending: Any) -> Answer:
    return read_answer(child, Ending(value, **ending), top_k=top_k)


def raised(error: BaseException, child: str = "a") -> Answer:
    return read(error=error, child=child)


def fared(answer: Answer) -> tuple[str, str | None, int | None]:
    return answer.report.status, answer.report.reason, answer.report.count


def ids(results: list[merging.Result]) -> list[str]:
    return [result["id"] for result in results]


def found(child: str, *names: str) -> Answer:
    return read([{"id": name, "content": "x"} for name in names], child=child, top_k=8)


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (KnowledgeTimeoutError(), "failed", "timeout"),
        (KnowledgeUnauthorizedError(), "failed", "unauthorized"),
        (KnowledgeInvalidResponseError(), "failed", "invalid_response"),
        (KnowledgeRateLimitedError(), "failed", "error"),
        (KnowledgeAllSourcesFailedError(), "failed", "error"),
        (KnowledgeBaseUnknownError(), "ignored", "not_registered"),
        (KnowledgeFiltersUnsupportedError(), "ignored", "not_registered"),
        (ForeignError("knowledge_unauthorized"), "failed", "unauthorized"),
        (ForeignError("knowledge_base_unknown"), "ignored", "not_registered"),
        (ForeignError(["knowledge_base_unknown"]), "failed", "error"),
        # The provider's own time-out is not the deadline that the composite set.
        *((error, "failed", "error") for error in (TimeoutError(), SystemExit(0), GeneratorExit(), ValueError())),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else str(value),
)
def test_what_was_raised_is_a_status_and_a_reason(error: BaseException, status: str, reason: str) -> None:
    """Clause 9.3: read by the code alone; the refusal of a request is no failure."""
    answer = raised(error)
    assert fared(answer) == (status, reason, 0)
    assert (answer.results, answer.error) == ((), error)


def test_a_deadline_that_passed_is_a_failure() -> None:
    """Clause 9.3: the reason is timeout, and trying again may help."""
    answer = read(timed_out=True)
    assert fared(answer) == ("failed", "timeout", 0)
    assert isinstance(answer.error, KnowledgeTimeoutError)


@pytest.mark.parametrize("empty", [[], (), {"results": []}, {"results": ()}, Outcome(status="not_found", query="q")])
def test_an_empty_answer_found_nothing(empty: object) -> None:
    """Clause 9.3: no hit is not a failure."""
    assert fared(read(empty)) == ("no_hit", None, 0)


@pytest.mark.parametrize(
    "nonsense",
    [
        *(None, 0, "", "no results", b"[]", {}, set(), iter([]), object()),
        *({"results": None}, {"results": {}}, {"items": []}, {"error": "rate limit exceeded"}),
        *([None], ["text"], [{}], [{"id": "1"}], [{"id": " ", "content": "x"}], ({"content": "x"},)),
    ],
)
def test_an_answer_of_which_nothing_is_left_is_a_failure(nonsense: object) -> None:
    """Clause 5.10: nonsense never looks like "no results", nor do results that all had to be dropped."""
    answer = read(nonsense)
    assert fared(answer) == ("failed", "invalid_response", 0)
    assert isinstance(answer.error, KnowledgeInvalidResponseError)


def test_results_are_plain_and_name_their_child() -> None:
    """Clause 9.5: by wire names, without a score, and only with what is there."""
    full = {
        "id": "1",
        "content": "Refunds take 14 days.",
        "score": 0.9,
        "source": {"id": "policy", "mime_type": "text/markdown", "uri": "https://docs.example.com/policy"},
        "metadata": {"revision": 3},
        "provider": "someone else",
    }
    assert read([full, {"id": "2", "content": "Ask."}], child="shop").results == (
        {
            "id": "shop:1",
            "content": "Refunds take 14 days.",
            "provider": "shop",
            "source": {"id": "policy", "mimeType": "text/markdown", "uri": "https://docs.example.com/policy"},
            "metadata": {"revision": 3},
        },
        {"id": "shop:2", "content": "Ask.", "provider": "shop"},
    )


def test_only_the_allowed_hosts_pass_the_uri_policy() -> None:
    """Clause 6.1: a child's answer is read as a host reads one."""
    linked = Ending([{"id": "1", "content": "x", "source": {"id": "s", "uri": "https://wiki.corp/x"}}])
    assert "uri" not in read_answer("a", linked, top_k=5).results[0]["source"]
    allowed = read_answer("a", linked, top_k=5, allow_hosts=("wiki.corp",))
    assert allowed.results[0]["source"]["uri"] == "https://wiki.corp/x"


def test_contents_have_as_many_characters_as_they_may() -> None:
    """Rule N6: a host behind it cannot give back what was left out."""
    long = Ending([{"id": "1", "content": "x" * 9000}])
    assert len(read_answer("a", long, top_k=5).results[0]["content"]) == limits.CONTENT_MAX
    assert len(read_answer("a", long, top_k=5, max_content_chars=8000).results[0]["content"]) == 8000


WIKI_DOWN: list[dict[str, Any]] = [
    {"key": "wiki", "status": "failed", "reason": "timeout", "count": 0},
    {"key": "shop", "status": "no_hit"},
]
INNER = [("in.wiki", "failed", "timeout", 0), ("in.shop", "no_hit", None, None)]


def inner(answer: Answer) -> list[tuple[str, str, str | None, int | None]]:
    return [(report.key, report.status, report.reason, report.count) for report in answer.inner]


def test_what_a_child_reports_itself_is_passed_on() -> None:
    """Clause 5.11: by the child's key, a dot and its own; its results count all the same."""
    answer = read({"results": HIT, "sources": WIKI_DOWN}, child="in")
    assert fared(answer) == ("hit", None, 1)
    assert inner(answer) == INNER


def test_an_empty_answer_that_reports_a_failure_is_a_failure() -> None:
    """Clause 9.4: what was asked for may stand in what could not be asked, so the whole does not look complete."""
    answer = read({"results": [], "sources": WIKI_DOWN}, child="in")
    assert fared(answer) == ("failed", "error", 0)
    assert isinstance(answer.error, KnowledgeSourcesIncompleteError)
    assert inner(answer) == INNER
    whole = read({"results": [], "sources": WIKI_DOWN[1:]}, child="in")
    assert fared(whole) == ("no_hit", None, 0)
    assert inner(whole) == INNER[1:]


@pytest.mark.parametrize("kind", [KnowledgeAllSourcesFailedError, KnowledgeSourcesIncompleteError])
def test_a_composite_inside_that_raises_says_who_failed(kind: type[Any]) -> None:
    """Clause 5.11: its error has the reports."""
    error = kind()
    error.sources = tuple(SourceReport(**report) for report in WIKI_DOWN)
    assert inner(raised(error, "in")) == INNER


@pytest.mark.parametrize("sources", [None, 5, "wiki", [None, {}], {"wiki": "failed"}, iter([])])
def test_reports_that_cannot_be_read_are_none(sources: Any) -> None:
    """Clause 9.2: nor does an error of another kind report anything, whatever it calls its sources."""
    error = KnowledgeSourcesIncompleteError()
    error.sources = sources
    assert inner(raised(error)) == []
    assert fared(read({"results": [], "sources": sources})) == ("no_hit", None, 0)
    other = ForeignError("knowledge_unavailable")
    other.sources = WIKI_DOWN  # type: ignore[attr-defined]  # as a provider's own error has it
    assert inner(raised(other)) == []


def test_a_report_is_read_by_the_rules_and_holds_no_other_reason() -> None:
    """Rule N13, and clause 9.3: a text of the child's own is no reason."""
    held = {"key": "k" * 300, "status": " failed\n", "reason": "GET https://api.example.com/?key=hunter2", "count": -1}
    answer = read({"results": [], "sources": [held, {"key": "no status"}]}, child="in")
    assert inner(answer) == [("in." + "k" * 117, "failed", None, None)]
    assert answer.report.status == "failed"


def test_reports_of_children_come_behind_their_own_and_are_bounded() -> None:
    """A host reads 64: every child's own, then what failed inside, then the rest."""
    many = [{"key": f"s{number}", "status": "no_hit"} for number in range(100)]
    answers = [
        read({"results": HIT, "sources": many}, child="a"),
        read({"results": HIT, "sources": WIKI_DOWN}, child="b"),
    ]
    keys = [report.key for report in merging.reports(answers)]
    assert len(keys) == limits.SOURCE_REPORTS_MAX
    assert keys[:4] == ["a", "b", "b.wiki", "a.s0"]
    assert [entry["key"] for entry in merging.report_entries(answers)] == keys


def test_a_child_gives_no_more_than_was_asked_for() -> None:
    """Clause 3.3: the count is of what may be used."""
    answer = read([{"id": str(number), "content": "x"} for number in range(9)], top_k=3)
    assert (len(answer.results), answer.report.count) == (3, 3)


@pytest.mark.parametrize("length", [158, 159, 160])
def test_an_id_that_grows_too_long_becomes_a_stable_one(length: int) -> None:
    """Clause 9.5: within 160 it says what the child said, beyond that it is the same each time and another for each."""
    first, same, other = (read([{"id": name * length, "content": "x"}]).results[0]["id"] for name in ("n", "n", "m"))
    assert first == same != other
    assert (first == "a:" + "n" * length) is (length == 158)
    assert len(first) <= limits.RESULT_ID_MAX


def test_an_id_that_is_another_ones_hash_does_not_stand_twice() -> None:
    """Clause 5.3: also where a child makes it so."""
    long = "n" * 160
    short = read([{"id": long, "content": "x"}]).results[0]["id"].removeprefix("a:")
    answer = read([{"id": long, "content": "first"}, {"id": short, "content": "second"}])
    assert [result["content"] for result in answer.results] == ["first"]
    assert answer.report.count == 1


def test_children_take_turns() -> None:
    """Clause 9.5: each in its own order, and who has no more is passed over."""
    answers = [found("a", "1", "2", "3"), found("b"), found("c", "1"), found("d", "1", "2")]
    assert ids(merge(answers, 8)) == ["a:1", "c:1", "d:1", "a:2", "d:2", "a:3"]
    assert ids(merge(answers, 4)) == ["a:1", "c:1", "d:1", "a:2"]


def test_children_come_one_after_another_by_choice() -> None:
    """Clause 9.5: concatenated up to top_k."""
    answers = [found("a", "1", "2", "3"), found("b", "1")]
    assert ids(merge(answers, 8, concatenate=True)) == ["a:1", "a:2", "a:3", "b:1"]
    assert ids(merge(answers, 2, concatenate=True)) == ["a:1", "a:2"]


def test_the_same_id_of_two_children_is_two_results() -> None:
    """Field case 51: ids stand by child, so neither copy overwrites the other; one child's twice is the first."""
    slow = [{"id": "1", "content": "Same", "score": 0.95, "source": {"title": "A"}}]
    fast = [
        {"id": "1", "content": "Same", "score": 0.2, "source": {"title": "B"}},
        {"id": "1", "content": "Other", "score": 0.9},
    ]
    merged = merge([read(slow, child="a"), read(fast, child="b")], 5)
    assert [(result["id"], result["content"], result["source"]["title"]) for result in merged] == [
        ("a:1", "Same", "A"),
        ("b:1", "Same", "B"),
    ]


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(responses(), responses(), st.integers(1, 8), st.booleans())
def test_whatever_children_answer_the_whole_keeps_the_contract(
    first: Any, second: Any, top_k: int, concatenate: bool
) -> None:
    """Clauses 5.2, 5.3 and 5.9: a host that reads the whole as any answer loses nothing and changes nothing."""
    answers = [read(first, child="a", top_k=top_k), read(second, child="b-2", top_k=top_k)]
    merged = merge(answers, top_k, concatenate=concatenate)
    again = normalize_response(merged, query="q", limit=top_k)
    assert [result.id for result in again.results] == ids(merged)
    assert [result.content for result in again.results] == [result["content"] for result in merged]
    assert merge([read(merged, child="c", top_k=top_k)], top_k) == [
        {**result, "id": f"c:{result['id']}" if len(result["id"]) < 159 else merging.own_id("c", result["id"])}
        | {"provider": "c"}
        for result in merged
    ]
    assert all(short_text(name, limits.RESULT_ID_MAX) == name for name in ids(merged))
    assert all((answer.report.status == "hit") == bool(answer.results) for answer in answers)
    assert len(merged) == min(top_k, sum(len(answer.results) for answer in answers))
