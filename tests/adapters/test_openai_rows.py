"""What ``OpenAIFileSearchProvider`` makes of the rows of an answer, and of several stores' answers."""

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from openai_subjects import BASES, HANDBOOK, SECRET, answer, answering, ask, over, row

from knowledge_fakes.handbook import load_handbook
from knowledge_fakes.vendors.openai_answers import Reply, Row, as_json
from knowledge_fakes.vendors.openai_service import Chunk, VectorStoreService
from knowledge_provider import RetrievalRequest, RetrievalResult, Source, errors, normalize_response

QUERY = "release policy for customers"


def contents(results: list[RetrievalResult]) -> list[str]:
    return [result.content for result in results]


def ids(results: list[RetrievalResult]) -> list[str]:
    return [result.id for result in results]


# Rows


def test_a_row_becomes_a_result() -> None:
    """``file_id`` and ``filename`` become the source, ``attributes`` the metadata but for the URL among them."""
    attributes = {"source": "https://example.org/refunds#days", "department": "finance", "page": 3, "binding": True}
    [result] = ask(answering(row(attributes=attributes)))
    assert result.content == "Refunds take 14 days."
    assert result.score == 0.5
    assert result.source == Source(id="file-1", title="refunds.md", uri="https://example.org/refunds")
    assert result.metadata == {"department": "finance", "page": 3, "binding": True}


def test_the_attribute_with_the_url_can_be_named_and_a_private_place_is_no_uri() -> None:
    """Clause 6.2; a name with a dot in it is found as it is."""
    [result] = ask(answering(row(attributes={"doc.url": "finance/refunds.md", "source": "scan"}), uri_key="doc.url"))
    assert result.source == Source(id="file-1", title="refunds.md", locator="finance/refunds.md")
    assert result.metadata == {"source": "scan"}


def test_nulls_cost_only_what_they_stand_for() -> None:
    """Attributes, a file's name and its id may be null; the text is there all the same."""
    [result] = ask(answering(row(attributes=None, filename=None, file_id=None)))
    assert (result.content, result.score, result.source, result.metadata) == ("Refunds take 14 days.", 0.5, None, {})


@pytest.mark.parametrize(
    "content",
    [
        "one\n\ntwo",
        {"type": "text", "text": "one\n\ntwo"},
        [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
        ["one", "two"],
        [{"type": "text", "text": "one"}, {"type": "image"}, None, 7, {"text": ["x"]}, {"text": "two"}],
    ],
)
def test_content_may_be_text_or_several_parts(content: object) -> None:
    """Parts stand in their order, with a blank line between them; what is not text goes."""
    assert contents(ask(answering(row(content=content)))) == ["one\n\ntwo"]


def test_a_row_without_text_costs_itself_only_and_none_with_text_is_a_failure() -> None:
    """Clause 5.10: a store that cannot be read must not look like one that found nothing."""
    blank = [row(content=content) for content in (None, [], "", " \n", [{"type": "image"}], 7)]
    rows = [None, "text", *blank, row()]
    assert contents(ask(answering(*rows), top_k=8)) == ["Refunds take 14 days."]
    for unusable in (rows[:-1], [None], ["text", 7], blank):
        with pytest.raises(errors.KnowledgeInvalidResponseError):
            ask(answering(*unusable))


def test_an_id_comes_from_base_file_and_text() -> None:
    """The API has none: the same in every call and process, and another for each base, file and text."""
    rows = [row(), row(), row(file_id="file-2"), row("Other text."), row(file_id=None)]
    first, again = ask(answering(*rows)), ask(answering(*reversed(rows)))
    assert len(first) == len(set(ids(first))) == 4
    assert set(ids(first)) == set(ids(again))
    assert ids(first)[0] == "571a67646da747629f667b554cce3554"
    assert set(ids(first)).isdisjoint(ids(ask(answering(*rows, stores={"other": "vs_handbook"}))))


def test_two_chunks_of_a_file_are_two_results() -> None:
    """They share ``file_id``, so it cannot be the id (clause 5.3)."""
    results = ask(over(VectorStoreService()), "release", top_k=8)
    files = [result.source.id for result in results if result.source]
    assert len(set(files)) < len(files) == len(set(ids(results)))


def test_a_long_text_is_cut_and_says_so() -> None:
    """Clause 5.2: chunks of OpenAI's may have more than 4,000 characters."""
    [result] = ask(answering(row("知" * 9000)))
    assert len(result.content) == 4000
    assert result.content.endswith("…")


def test_links_with_credentials_are_shown_nowhere() -> None:
    """Clauses 6.1 and 6.4: in whatever field they stand."""
    link = f"https://files.example.org/a.pdf?X-Amz-Signature={SECRET}"
    bad = row(file_id=link, filename=link, attributes={"source": link, "download": link, "nested": {"a": SECRET}})
    [result] = ask(answering(bad))
    assert SECRET not in result.model_dump_json()
    assert result.metadata == {"download": "https://files.example.org/a.pdf"}


# Scores


@pytest.mark.parametrize(
    ("score", "read"),
    [
        (0.25, 0.25),
        (1, 1.0),
        (0, 0.0),
        (-0.17, -0.17),
        (1.0000002, 1.0000002),
        ("0.9", 0.9),
        ("-1.5e-3", -0.0015),
        ("7", 7.0),
    ],
)
def test_a_score_is_a_number_or_one_in_text(score: object, read: float) -> None:
    """Some services write it as a string; nothing is clipped to 0 and 1."""
    [result] = ask(answering(row(score=score)))
    assert (result.score, type(result.score)) == (read, float)


@pytest.mark.parametrize(
    "score", [None, "high", "", "nan", "1_0", "९", True, [0.5], float("nan"), float("inf"), "9e999"]
)
def test_what_is_no_score_costs_its_row_where_scores_are_claimed(score: object) -> None:
    """Clause 5.4; the other rows stay, and when there is none, it is a failure."""
    assert contents(ask(answering(row(score=score), row("Other text.")))) == ["Other text."]
    with pytest.raises(errors.KnowledgeInvalidResponseError):
        ask(answering(row(score=score)))
    assert contents(ask(answering(row(score=score), scores=False))) == ["Refunds take 14 days."]


def test_without_scores_none_is_claimed_and_none_is_given() -> None:
    """Clause 1.9."""
    provider = answering(row(), scores=False)
    assert [result.score for result in ask(provider)] == [None]
    assert provider.describe().capabilities["scores"] is False


@pytest.mark.parametrize(
    "how", ["score as text", "content as text", "content in parts", "more than asked for", "a row without text"]
)
def test_what_other_services_do_differently_makes_no_difference(how: str) -> None:
    """The same ranking, texts and scores, but for the row that has no text."""
    service = VectorStoreService()
    sound = ask(over(service), QUERY, top_k=4)
    service.answer(how)
    told = ask(over(service), QUERY, top_k=4)
    assert [result.score for result in told] == [result.score for result in sound][: len(told)]
    assert [content.split() for content in contents(told)] == [content.split() for content in contents(sound)][
        : len(told)
    ]


def test_rows_without_name_score_and_attributes_are_knowledge_where_no_scores_are_claimed() -> None:
    """A service that gives nulls has texts in an order, and that is enough."""
    service = VectorStoreService()
    sound = ask(over(service), QUERY)
    service.answer("nulls")
    told = ask(over(service, scores=False), QUERY)
    assert contents(told) == contents(sound)
    assert {result.source and result.source.title for result in told} == {None}


# Several stores


def test_one_store_and_a_store_for_each_base_give_the_same_ranking() -> None:
    """The scores of one ranker are comparable, so several stores are merged by them: the handbook's own order."""
    handbook = load_handbook()
    wanted = [found["content"] for found in handbook.search(RetrievalRequest(query=QUERY, top_k=8))]
    assert len(wanted) == 8
    for stores in (HANDBOOK, BASES):
        results = ask(over(VectorStoreService(), stores), QUERY, top_k=8)
        assert contents(results) == wanted
        scores = [result.score or 0.0 for result in results]
        assert scores == sorted(scores, reverse=True)


def _all_of(rows: list[Any], _found: Sequence[Row], _limit: int) -> Reply:
    return as_json({"data": rows})


def three_of(*ranks: float) -> VectorStoreService:
    """Stores ``vs_a``, ``vs_b`` and ``vs_c`` with eight rows each, whose first score is given."""
    service = VectorStoreService({f"vs_{name}": () for name in "abc"})
    for name, first in zip("abc", ranks, strict=True):
        rows = [row(f"{name}{n}", file_id=f"file-{name}", score=first - n / 10) for n in range(8)]
        service.answer(partial(_all_of, rows), f"vs_{name}")
    return service


ABC = {name: f"vs_{name}" for name in "abc"}


def test_three_stores_of_eight_give_top_k_highest_first() -> None:
    """Field case 19 (ogx-ai/ogx#5973): not stores times ``top_k``; the rule is the score, then the order of stores."""
    results = ask(over(three_of(0.9, 1.0, 0.9), ABC), top_k=5)
    assert contents(results) == ["b0", "a0", "b1", "c0", "a1"]
    assert len(set(ids(results))) == 5


def test_a_stores_own_order_stands_whatever_its_scores_say() -> None:
    """Clause 5.4: order is the vendor's ranking. Scores that rise down the list are then the kit's to report."""
    rows = [row("first", score=0.1), row("second", score=0.7)]
    assert contents(ask(answering(*rows))) == ["first", "second"]


def test_without_scores_the_stores_take_turns() -> None:
    """One from each in the order of ``stores``, since nothing says which is better."""
    assert contents(ask(over(three_of(0, 0, 9), ABC, scores=False), top_k=5)) == ["a0", "b0", "c0", "a1", "b1"]


def test_each_store_is_asked_once_for_top_k_with_the_query_as_it_is() -> None:
    """The query is not rewritten, and no more is asked for than can be used."""
    service = VectorStoreService()
    answer(over(service, BASES), "报销政策 “?”", top_k=3)
    assert {search.store for search in service.searches} == set(BASES.values())
    assert [search.body for search in service.searches] == [{"query": "报销政策 “?”", "max_num_results": 3}] * 3


def test_the_same_passage_in_two_stores_is_two_results_with_ids_of_their_own() -> None:
    """A base is a place to answer from, and ids are unique within a response (clause 5.3)."""
    chunk = Chunk("1", "release", "file-1", "a.md", "A release.", {})
    service = VectorStoreService({"vs_a": [chunk], "vs_b": [chunk]})
    results = ask(over(service, {"a": "vs_a", "b": "vs_b"}), "release")
    assert contents(results) == ["A release."] * 2
    assert len(set(ids(results))) == 2


def test_the_answer_says_how_each_store_fared_and_a_host_can_read_it() -> None:
    """Clause 5.11, rule N13."""
    outcome = normalize_response(answer(over(VectorStoreService(), BASES), "receipts"), query="receipts")
    assert [(report.key, report.status, report.reason) for report in outcome.sources] == [
        ("engineering", "no_hit", None),
        ("people", "hit", None),
        ("support", "no_hit", None),
    ]
    assert outcome.sources[1].count == len(outcome.results) > 0
    assert all(result.url for result in outcome.results)
    json.dumps(outcome.to_dict(), allow_nan=False)
