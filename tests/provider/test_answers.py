"""Results out of JSON by a declared shape, and what becomes of answers that have another."""

import json
import time
from typing import Any

import pytest

from knowledge_provider import Source, errors
from knowledge_provider.answers import JSON_BYTES_MAX, AnswerFields, read_json, results_in
from knowledge_provider.limits import LOOP_HELD_SECONDS

SECRET = "sk-hunter2"


def ids(answer: Any, top_k: int = 8, **options: Any) -> list[str]:
    return [result.id for result in results_in(answer, top_k, **options)]


def result(name: str = "a", **fields: Any) -> dict[str, Any]:
    return {"id": name, "content": f"text of {name}", **fields}


# Bytes


@pytest.mark.parametrize("text", ["{}", '\ufeff{"a": "知识库🙂"}', " [1, 2.5, null] ", '"\\ud800"'])
def test_json_in_utf_8_is_read(text: str) -> None:
    """With a byte order mark or without; a lone surrogate is dealt with where it becomes text."""
    assert read_json(text.encode()) == json.loads(text.lstrip("\ufeff"))


def test_numbers_that_json_does_not_have_are_null() -> None:
    """Some services write NaN all the same; the rest of their answer is sound."""
    assert read_json(b"[NaN, Infinity, -Infinity, 1]") == [None, None, None, 1]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>Sign in</html>",
        b"[1",
        b'{"a": 1}{"a": 2}',
        f'{{"a": "{SECRET} 知识库"}}'.encode("gb18030"),
        f'["{SECRET}"]'.encode("utf-16"),
        b"[" * 100_000,
        b"1" * 5_000,
    ],
    ids=["nothing", "html", "cut off", "two", "gb18030", "utf-16", "too deep", "too many digits"],
)
def test_what_is_no_json_is_a_failure_that_repeats_nothing_of_it(body: bytes) -> None:
    """Clauses 5.10 and 6.4: nor does a cause or context, whose ``repr`` would hold the whole body."""
    with pytest.raises(errors.KnowledgeInvalidResponseError) as caught:
        read_json(body)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize("most", [None, 100])
def test_more_json_than_is_read_is_a_failure(most: int | None) -> None:
    """Clause 7.4: it would hold the event loop; a body of just that length is read."""
    limit = {} if most is None else {"most": most}
    length = most or JSON_BYTES_MAX
    assert read_json(b"1".ljust(length), **limit) == 1
    with pytest.raises(errors.KnowledgeInvalidResponseError, match=str(length)):
        read_json(b"1".ljust(length + 1), **limit)


def test_the_longest_json_that_is_read_does_not_hold_the_event_loop() -> None:
    """Of records as short as they can be; of empty lists alone, it may hold it for twice as long."""
    record = b'{"id":"a","content":"x"},'
    body = b"[" + record * ((JSON_BYTES_MAX - 2) // len(record)) + b"1]"
    began = time.process_time()
    read_json(body)
    assert time.process_time() - began < LOOP_HELD_SECONDS


# The contract's own shape


def test_the_contracts_shape_is_the_default() -> None:
    """Everything that a result may have, and the list with or without a mapping around it."""
    source = {"id": "d", "title": "T", "uri": "https://a.example.org/d", "mimeType": "text/plain", "locator": "p=3"}
    answer = [result(score=0.5, source=source, metadata={"lang": "en", "page": 3})]
    whole, listed = (results_in(form, 8, score_kind="similarity") for form in ({"results": answer}, answer))
    assert whole == listed
    assert whole[0].model_dump(by_alias=True) == {**answer[0], "score": 0.5}


def test_nothing_found_is_nothing() -> None:
    """Clause 3.7."""
    assert results_in({"results": []}, 8) == results_in([], 8) == []


def test_the_order_is_the_services_and_top_k_is_kept() -> None:
    """Clauses 3.3 and 5.4: nothing is sorted."""
    answer = [result(name, score=score) for name, score in (("b", 0.1), ("a", 0.9), ("c", 0.5))]
    assert ids(answer, 2, score_kind="similarity") == ["b", "a"]


@pytest.mark.parametrize("answer", [{}, {"results": None}, {"results": {}}, {"documents": [result()]}, 3, "text", None])
def test_an_answer_without_the_list_is_a_failure(answer: Any) -> None:
    """Clause 5.10: never an empty answer."""
    with pytest.raises(errors.KnowledgeInvalidResponseError, match="wanted a list at 'results'"):
        results_in(answer, 8)


def test_a_bare_list_is_the_contracts_shape_alone() -> None:
    """Where another place was named, a list in its stead is something else."""
    with pytest.raises(errors.KnowledgeInvalidResponseError, match="wanted a list at 'data'"):
        results_in([result()], 8, fields=AnswerFields(results="data"))


# Another shape

FIELDS = AnswerFields(
    results="data.items", id="key", content="body.text", score="@search.score", uri="doc.url", title="doc.name"
)


def test_a_field_map_names_other_places() -> None:
    """Dots lead into objects; a name that has dots itself is found as it is."""
    item = {
        "key": 7,
        "body": {"text": "Refunds take 14 days."},
        "@search.score": 0.25,
        "doc": {"url": "finance/refunds.md", "name": "Refunds"},
    }
    [found] = results_in({"data": {"items": [item]}}, 8, fields=FIELDS, score_kind="similarity")
    assert (found.id, found.content, found.score) == ("7", "Refunds take 14 days.", 0.25)
    assert found.source == Source(id="finance/refunds.md", title="Refunds", locator="finance/refunds.md")


def test_the_whole_may_be_a_place() -> None:
    """For answers that are a list under no name, and results that are texts or hold their metadata beside the text."""
    assert [found.content for found in results_in(["one", "two"], 8, fields=AnswerFields(results="", content=""))] == [
        "one",
        "two",
    ]
    [found] = results_in([result(lang="en", page=3)], 8, fields=AnswerFields(metadata=""))
    assert found.metadata == {"lang": "en", "page": 3}


def test_metadata_that_other_fields_give_are_not_given_twice() -> None:
    """Only those at the very place: another of the same name stays."""
    fields = AnswerFields(content="meta.text", uri="meta.url", metadata="meta")
    [found] = results_in([{"id": "a", "meta": {"text": "T", "url": "a.md", "id": "own", "n": 1}}], 8, fields=fields)
    assert found.metadata == {"id": "own", "n": 1}


# Scores


def test_scores_come_only_where_their_meaning_is_said() -> None:
    """A number does not tell whether more of it is better."""
    answer = [result("a", score=0.25), result("b", score=0.0)]
    scores = {kind: [found.score for found in results_in(answer, 8, score_kind=kind)] for kind in (None, "distance")}
    assert scores == {None: [None, None], "distance": [-0.25, 0.0]}
    assert str(scores["distance"][1]) == "0.0"


@pytest.mark.parametrize("score", [None, "0.9", True, [], float("inf"), 10**400])
def test_a_record_without_a_finite_score_costs_itself_only(score: object) -> None:
    """Clause 5.4; and where there is no score to be, it costs nothing."""
    answer = [result("a", score=score), result("b", score=1)]
    assert ids(answer, score_kind="similarity") == ["b"]
    assert ids(answer) == ["a", "b"]


# Records


@pytest.mark.parametrize(
    "broken", [{}, {"id": "x"}, result(content=None), result(content=" "), None, "text", 3, [result()]]
)
def test_a_record_that_is_none_costs_itself_only(broken: object) -> None:
    """Rules N3 and N7; when none is left, clause 5.10."""
    assert ids([broken, result("b")]) == ["b"]
    with pytest.raises(errors.KnowledgeInvalidResponseError, match="none of them has what a result needs"):
        results_in([broken], 8)


def test_a_record_without_an_id_gets_a_stable_one() -> None:
    """Of place and text; and two under one id are told apart (clause 5.3)."""
    nameless = {"content": "text", "source": {"uri": "https://a.example.org/"}}
    assert ids([nameless]) == ids([nameless, nameless])
    assert len(set(ids([result("a"), result("a", content="other")]))) == 2


def test_credentials_in_places_do_not_come_through() -> None:
    """Clause 6.1: in whatever field a link stands."""
    link = f"https://user:{SECRET}@files.example.org/a.pdf?token={SECRET}"
    source = {"uri": link, "id": link, "title": f"see {link}", "locator": link, "mimeType": link}
    [found] = results_in(
        [{"id": link, "content": "text", "source": source, "metadata": {"link": link, link: "link"}}], 8
    )
    assert SECRET not in found.model_dump_json()
    assert found.source is not None
    assert found.source.id == "https://files.example.org/a.pdf"


_HOSTILE = [
    "//a@b ",
    "http:a ",
    "https://a.example.org/x?y=1 ",
    f"https://a.example.org/?{'%41=&' * 15} ",
    f"s3://b/?{'%41=&' * 800}",
    f"s3://b/{'%41' * 1300}",
    f"s3://b/{'é' * 4000}",
]


@pytest.mark.parametrize("part", _HOSTILE, ids=range(len(_HOSTILE)))
@pytest.mark.parametrize("in_keys", [False, True])
def test_an_answer_full_of_links_does_not_hold_the_event_loop(part: str, in_keys: bool) -> None:
    """Clause 7.4: whatever stands in its texts; measured in the thread's own time, since others are no fault of it."""
    text = (part * 4000)[:4000]
    metadata = {f"{text if in_keys else ''}{n}": text for n in range(128)}
    source = dict.fromkeys(("uri", "title", "id", "mimeType", "locator"), text)
    answer = [{"id": text, "content": f"{n}", "source": source, "metadata": metadata} for n in range(8)]
    taken = []
    for _ in range(3):
        began = time.thread_time()
        assert len(results_in(answer, 8)) == 8
        taken.append(time.thread_time() - began)
    assert min(taken) < LOOP_HELD_SECONDS


def test_a_million_blanks_are_not_all_looked_at() -> None:
    """Rule N2: 64 candidates for 8 results; what comes after them is not there."""
    assert ids([*[None] * 63, result("a")]) == ["a"]
    with pytest.raises(errors.KnowledgeInvalidResponseError):
        results_in([*[None] * 64, result("a")], 8)
    entries: dict[str, Any] = {f"{n}": [] if n < 128 else n for n in range(130)}
    assert results_in([result(metadata=entries)], 8)[0].metadata == {}


# Failures that call themselves answers


@pytest.mark.parametrize(
    "error", [True, "failed", {"message": SECRET}, [SECRET], 500, {"code": 500}, {"code": [SECRET]}]
)
def test_an_error_in_an_answer_is_a_failure(error: object) -> None:
    """Clauses 5.10 and 6.4: also beside results, and without its words."""
    with pytest.raises(errors.KnowledgeFailedError) as caught:
        results_in({"error": error, "results": [result()]}, 8)
    assert caught.value.code == "knowledge_provider_failed"
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("error", [None, False, 0, "", {}, []])
def test_an_empty_error_is_none(error: object) -> None:
    """Many services always write the field."""
    assert ids({"error": error, "results": [result()]}) == ["a"]


@pytest.mark.parametrize(
    ("code", "retryable"),
    [
        ("knowledge_filters_unsupported", False),
        ("knowledge_base_unknown", False),
        ("knowledge_owner_required", False),
        ("knowledge_unauthorized", False),
        ("knowledge_rate_limited", True),
        ("knowledge_unavailable", True),
    ],
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_service_may_say_a_code_of_the_contract(code: str, retryable: bool, wrapped: bool) -> None:
    """It knows best why it refused."""
    with pytest.raises(errors.KnowledgeError) as caught:
        results_in({"error": {"code": code} if wrapped else code}, 8)
    assert (caught.value.code, caught.value.retryable) == (code, retryable)


@pytest.mark.parametrize("code", ["knowledge_timeout", "knowledge_all_sources_failed", "knowledge_unknown"])
def test_a_code_that_is_not_a_services_to_say_is_a_plain_failure(code: str) -> None:
    """Clause 7.6: a time-out of its own is not the host's deadline."""
    with pytest.raises(errors.KnowledgeFailedError) as caught:
        results_in({"error": {"code": code}}, 8)
    assert caught.value.code == "knowledge_provider_failed"
