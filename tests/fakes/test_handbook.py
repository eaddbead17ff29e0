"""The handbook itself: what it finds and what it refuses."""

import json
import os
import subprocess
import sys
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_fakes.handbook import load_handbook, read_document
from knowledge_provider import (
    RetrievalContext,
    RetrievalRequest,
    limits,
)
from knowledge_provider.errors import KnowledgeFiltersUnsupportedError

CONTEXT = RetrievalContext(owner_id="alice")
BOOK = load_handbook()


def found(query: str, **rest: Any) -> list[dict[str, Any]]:
    return BOOK.search(RetrievalRequest(query=query, **rest))


def ids(query: str, **rest: Any) -> list[str]:
    return [result["id"] for result in found(query, **rest)]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("What is the release policy?", "release-handbook#approvals"),
        ("How many days of paid holiday are there?", "holidays#allowance"),
        ("my laptop was stolen", "laptop-security#lost"),
        ("per diem for meals", "travel-and-expenses#meals"),
        ("how long are backups kept", "data-retention#backups"),
        ("when is the support desk open", "support-hours#hours"),
        ("severity 1 incident", "incident-response#severity"),
        ("发票丢了怎么报销", "expenses-zh#receipts"),
        ("发布需要几位审批人？", "release-approval-zh#approvers"),
    ],
)
def test_a_question_finds_its_section(query: str, first: str) -> None:
    """Ordinary questions in English and Chinese get the section that answers them first."""
    assert ids(query)[0] == first


@pytest.mark.parametrize("query", ["how", "the", "zzqx nonsense 9731", "🚢", "天气怎么样"])
def test_nothing_is_found_for_nothing(query: str) -> None:
    """Clause 3.7: a query that matches nothing gives an empty list."""
    assert found(query) == []


def test_a_result_has_every_field_of_the_contract() -> None:
    """One result, in full: the wire shape that the contract's example has."""
    result = found("release policy", top_k=1)[0]
    assert result == {
        "id": "release-handbook#approvals",
        "content": BOOK.passages["release-handbook#approvals"].content,
        "score": result["score"],
        "source": {
            "id": "release-handbook",
            "title": "Release handbook",
            "uri": "https://handbook.example.com/release-handbook",
            "mimeType": "text/markdown",
            "locator": "section=approvals",
        },
        "metadata": {"department": "engineering", "language": "en", "revision": 7, "binding": True},
    }
    assert "two approvals" in result["content"]


def test_every_passage_fits_the_contract() -> None:
    """Clauses 5.2 to 5.9: no passage of the shipped documents is over a limit or would be changed by a host."""
    assert len(BOOK.passages) > 40
    assert {passage.base for passage in BOOK.passages.values()} == {"engineering", "people", "support"}
    for key, passage in BOOK.passages.items():
        assert key == passage.id == passage.id.strip()
        assert len(passage.id) <= limits.RESULT_ID_MAX
        assert 40 <= len(passage.content) <= limits.CONTENT_MAX
        assert passage.content == passage.content.strip()
        assert passage.content.isprintable()
        assert passage.source["title"].isprintable()
        assert set(passage.metadata) == {"department", "language", "revision", "binding"}


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.sampled_from(["release", "policy", "approval", "days", "报销", "发布审批"]), min_size=1, max_size=4),
    st.integers(limits.TOP_K_MIN, limits.TOP_K_MAX),
)
def test_scores_fall_and_results_are_bounded(words: list[str], top_k: int) -> None:
    """Clauses 3.3, 5.3, 5.4 and 5.7: at most top_k, each id once, scores that never rise, plain data."""
    results = found(" ".join(words), top_k=top_k)
    assert 1 <= len(results) <= top_k
    assert len({result["id"] for result in results}) == len(results)
    assert all(one["score"] >= two["score"] for one, two in pairwise(results))
    assert json.loads(json.dumps(results)) == results
    assert found(" ".join(words), top_k=limits.TOP_K_MAX)[:top_k] == results


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=limits.QUERY_MAX).map(lambda text: f"q{text}"))
def test_every_query_is_accepted(query: str) -> None:
    """Clause 3.2: no text makes a search fail."""
    assert len(found(query)) <= limits.TOP_K_DEFAULT


@pytest.mark.parametrize("base", ["engineering", "people"])
def test_a_knowledge_base_restricts_the_answer(base: str) -> None:
    """Clause 3.4: only passages of the base, and all of those that were found without it."""
    everything = {result["id"] for result in found("working days approval", top_k=8)}
    restricted = set(ids("working days approval", top_k=8, knowledge_base_ids=(base,)))
    assert restricted
    assert {BOOK.passages[key].base for key in restricted} == {base}
    assert restricted >= {key for key in everything if BOOK.passages[key].base == base}


def test_several_knowledge_bases_add_up() -> None:
    """Two bases give the passages of both, and an unknown one beside them adds nothing."""
    bases = {
        BOOK.passages[key].base
        for key in ids("release customer tickets", top_k=8, knowledge_base_ids=("engineering", "support", "nowhere"))
    }
    assert bases == {"engineering", "support"}


def test_an_unknown_knowledge_base_holds_nothing() -> None:
    """Clause 3.4: an empty intersection never widens to everything; names are compared exactly."""
    assert ids("release policy", knowledge_base_ids=("nowhere",)) == []
    assert ids("release policy", knowledge_base_ids=("Engineering",)) == []


@pytest.mark.parametrize(
    "filters", [{"department": "finance"}, {"language": "zh"}, {"binding": False}, {"revision": 8, "language": "en"}]
)
def test_filters_select_by_equality(filters: dict[str, Any]) -> None:
    """Clause 3.5: every result satisfies every filter."""
    results = found("approval 审批 days training 报销", top_k=8, filters=filters)
    assert results
    assert all(result["metadata"].items() >= filters.items() for result in results)


@pytest.mark.parametrize(
    "filters", [{"department": "nobody"}, {"revision": True}, {"binding": 1}, {"revision": "7"}, {"language": "EN"}]
)
def test_a_filter_that_nothing_equals_finds_nothing(filters: dict[str, Any]) -> None:
    """Equality is that of JSON: 1 is not true, "7" is not 7."""
    assert found("release policy", filters=filters) == []


def test_a_number_is_equal_however_it_is_written() -> None:
    """7.0 is 7 in JSON."""
    assert found("release policy", filters={"revision": 7.0}) == found("release policy", filters={"revision": 7})


@pytest.mark.parametrize(
    "filters",
    [
        {"department": None},
        {"department": ["engineering"]},
        {"department": {"$ne": "engineering"}},
        {"departmnt": "engineering"},
        {"ownerId": "bob"},
        {"language": "en", "operator": "AND", "conditions": []},
    ],
)
def test_another_form_of_filter_is_refused(filters: dict[str, Any]) -> None:
    """Clause 3.5: what it cannot honour is refused with its own code, also when nothing would be found."""
    for query in ("release policy", "zzqx"):
        with pytest.raises(KnowledgeFiltersUnsupportedError, match="department, language, revision"):
            found(query, filters=filters)


def test_a_refused_filter_is_not_repeated_in_the_error() -> None:
    """Clause 6.4: a filter may hold a secret; its place is named instead."""
    with pytest.raises(KnowledgeFiltersUnsupportedError, match="filter 2 of 2") as refused:
        found("release policy", filters={"language": "en", "sk-invented-1": ["sk-invented-2"]})
    assert "sk-invented" not in str(refused.value)


def test_narrowing_and_unknown_documents() -> None:
    """A provider may be narrowed to some documents; an id that does not exist is named, with the ones that do."""
    few = load_handbook(["holidays", "expenses-zh"])
    assert {passage.source["id"] for passage in few.passages.values()} == {"holidays", "expenses-zh"}
    assert load_handbook([]).passages == {}
    with pytest.raises(ValueError, match=r"\['vacations'\] came too.*holidays"):
        load_handbook(["holidays", "vacations"])


def test_an_opened_handbook_is_shared_and_cannot_be_changed() -> None:
    """It is read once for a process, so nothing that one provider does may show in another."""
    assert load_handbook() is BOOK
    passage: Any = BOOK.passages["holidays#allowance"]
    for target, name in ((BOOK.passages, passage.id), (passage.source, "title"), (passage.metadata, "language")):
        shared: Any = target
        with pytest.raises(TypeError):
            shared[name] = "spoilt"
    with pytest.raises(AttributeError):
        passage.content = "spoilt"


def test_reading_a_document() -> None:
    """The form of a document: a head in TOML, a title, and sections with their ids."""
    text = (
        '+++\nbase = "b"\n[metadata]\nyear = 1\n+++\n\n# Tïtle\n\nPreface\n\n## One {#one}\n\n1\n\n## Two {#two}\n\n2\n'
    )
    one, two = read_document("doc", text.replace("\nPreface\n", ""))
    assert (one.id, one.base, one.heading, one.content, dict(one.metadata)) == ("doc#one", "b", "One", "1", {"year": 1})
    assert (two.id, two.content, two.source["title"]) == ("doc#two", "2", "Tïtle")
    assert two.source["locator"] == "section=two"


def test_two_processes_give_the_same_answer() -> None:
    """Clause 3.6: ids, order and scores do not depend on the seed of string hashes."""
    program = (
        "import json; from knowledge_fakes.handbook import load_handbook;"
        "from knowledge_provider import RetrievalRequest;"
        "print(json.dumps(load_handbook().search(RetrievalRequest(query='release approval days 审批', top_k=8))))"
    )
    answers = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", program],
                env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
                check=True,
                capture_output=True,
            ).stdout
        )
        for seed in ("1", "2")
    ]
    assert answers == [found("release approval days 审批", top_k=8)] * 2
