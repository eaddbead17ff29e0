"""One call and its answer: what is read of it never runs the answer's own code."""

import itertools
import re
import unittest.mock
from collections import OrderedDict, UserDict, namedtuple
from typing import Any

import hostile_values as hostile
import pytest

from knowledge_conformance.exchange import (
    ITEMS_READ_MAX,
    Exchange,
    as_dict,
    first_present,
    misused,
    place,
    raised_at,
    results_of,
    show_request,
    source_of,
    text_of,
)
from knowledge_fakes.handbook import HandbookProvider
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest, RetrievalResult, Source

CONTEXT = RetrievalContext(owner_id="o", session_id="s", turn_id="t", trace_id="x", signal=CancelSignal())
ITEM: dict[str, Any] = {"id": "a", "content": "text"}
Pair = namedtuple("Pair", "a b")


def exchange(response: object = None, error: BaseException | None = None) -> Exchange:
    return Exchange(RetrievalRequest(query="release policy"), CONTEXT, response, error)


@pytest.mark.parametrize(
    "response", [[ITEM], (ITEM,), {"results": [ITEM]}, {"results": (ITEM,)}, OrderedDict(results=[ITEM])]
)
def test_an_answer_is_a_list_or_a_mapping_with_one(response: object) -> None:
    """Rule N1."""
    found = exchange(response)
    assert (found.items, found.count) == ((ITEM,), 1)
    assert found.entries == ((0, ITEM),)


@pytest.mark.parametrize(
    "response",
    [
        None,
        3,
        "results",
        {},
        {"results": None},
        {"results": "text"},
        {"results": {}},
        UserDict(results=[]),
        iter([]),
        hostile.Hostile(),
        hostile.Liar(),
        {hostile.Hostile(): [ITEM]},
        {"results": hostile.Liar()},
        unittest.mock.Mock(spec=dict),
        unittest.mock.Mock(spec=list),
    ],
    ids=itertools.count(),
)
def test_anything_else_has_no_items(response: object) -> None:
    """Objects that raise when they are looked at or say that they are something else, among others."""
    found = exchange(response)
    assert (found.items, found.count, found.entries) == ((), 0, ())
    assert results_of(response) is None
    assert " -> " in str(found)


def test_a_subclass_is_read_through_the_base_types_own_methods() -> None:
    """What a vendor's list says of its length is not asked."""

    class List(list[Any]):
        def __len__(self) -> int:
            raise RuntimeError

        def __iter__(self) -> Any:
            raise RuntimeError

    class Dict(dict[str, Any]):
        def items(self) -> Any:
            raise RuntimeError

        def keys(self) -> Any:
            raise RuntimeError

        def __iter__(self) -> Any:
            raise RuntimeError

    answer = Dict()
    dict.__setitem__(answer, "results", List([Dict(ITEM), Pair(1, 2)]))
    found = exchange(answer)
    assert found.count == 2
    assert found.entries == ((0, ITEM),)


def test_a_flood_is_counted_and_not_read() -> None:
    """The number of results is what clause 3.3 is about; the first few say enough of the rest."""
    found = exchange([ITEM] * 100_000)
    assert found.count == 100_000
    assert len(found.items) == len(found.entries) == ITEMS_READ_MAX


def test_items_that_cannot_be_read_are_left_out_with_their_places() -> None:
    """The place of each of the others stays its own."""
    found = exchange([3, ITEM, hostile.Liar(), RetrievalResult(id="b", content="c")])
    assert [at for at, _ in found.entries] == [1, 3]
    assert found.entries[1][1] == {"id": "b", "content": "c", "metadata": {}}


def test_null_and_odd_keys_are_absent() -> None:
    """Optional fields may be null, and a key that is no string names no field."""
    assert as_dict({"id": "a", "score": None, 3: "x", hostile.Hostile(): 1}) == {"id": "a"}
    assert as_dict(Source(id="a")) is None


def test_camel_case_and_snake_case_are_the_same_field() -> None:
    """The first name that is there counts, also with a value that is false."""
    assert first_present({"mime_type": "", "mimeType": "x"}, "mime_type", "mimeType") == ""
    assert first_present({}, "a") is None


def test_the_hosts_aliases_are_read() -> None:
    """Rule N4."""
    assert text_of({"chunk_id": "c", "text": "t"}, "id") == "c"
    assert text_of({"chunk_id": "c", "text": "t"}, "content") == "t"
    assert text_of({}, "id") is None


@pytest.mark.parametrize("source", [{"id": "a", "mimeType": "b", "secret": "x"}, Source(id="a", mime_type="b")])
def test_a_source_is_read_as_a_dict_or_a_model(source: object) -> None:
    """Only the fields that the contract knows."""
    read = source_of({"source": source})
    assert read.pop("mimeType", None) or read.pop("mime_type")
    assert read == {"id": "a"}


@pytest.mark.parametrize("source", [None, "text", 3, hostile.Liar(), hostile.Hostile()], ids=itertools.count())
def test_a_source_that_is_none_has_no_fields(source: object) -> None:
    """Its shape is a check's business."""
    assert source_of({"source": source}) == {}


def test_a_call_reads_as_an_author_would_write_it() -> None:
    """With what was asked beyond the query, and what came."""
    full = RetrievalRequest(query="a 'b'", top_k=2, knowledge_base_ids=("x",), filters={"year": 2024})
    assert show_request(full) == (
        """retrieve(RetrievalRequest(query="a 'b'", top_k=2, knowledge_base_ids=('x',), """
        """filters={'year': 2024}), context)"""
    )
    asked = "retrieve(RetrievalRequest(query='release policy', top_k=5), context)"
    assert str(exchange([ITEM])) == f"{asked} -> 1 result"
    assert str(exchange("nothing")) == f"{asked} -> 'nothing'"
    assert str(exchange(error=ValueError("no"))) == f"{asked} -> raised ValueError: no"
    assert place(exchange([]), "results[0].id") == f"results[0].id of {asked} -> 0 results"


def test_an_error_says_where_in_the_authors_code_it_came_from() -> None:
    """By module, function and line: a path would differ on another machine."""
    try:
        HandbookProvider(("no such document",))
    except ValueError as error:
        where = raised_at(error)
    assert where.startswith(" in knowledge_fakes.handbook._load, line ")
    assert raised_at(ValueError("never raised")) == ""


def test_an_error_out_of_a_library_names_the_authors_line_or_the_librarys() -> None:
    """The author's own frame, and only without one the library's."""
    with pytest.raises(Exception, match="Field required") as caught:
        RetrievalRequest.model_validate({})
    assert raised_at(caught.value).startswith(f" in {__name__}.test_an_error_out_of_a_library")
    tail = caught.value.__traceback__
    assert tail is not None
    assert " in pydantic" in raised_at(caught.value.with_traceback(tail.tb_next))


def test_an_unfinished_model_is_read_as_far_as_it_goes() -> None:
    """A field that was never set is absent."""
    result: Any = RetrievalResult
    source: Any = Source
    assert as_dict(result.model_construct(id="a")) == {"id": "a", "metadata": {}}
    assert source_of({"source": source.model_construct(id=3)}) == {"id": 3}


REQUEST: Any = RetrievalRequest(query="q")
GIVEN: Any = CONTEXT


@pytest.mark.parametrize(
    ("use", "model"),
    [
        (lambda: REQUEST.text, "RetrievalRequest"),
        (lambda: REQUEST["query"], "RetrievalRequest"),
        (lambda: GIVEN.query, "RetrievalContext"),
        (lambda: len(GIVEN), "RetrievalContext"),
        (lambda: re.findall("q", REQUEST), "RetrievalRequest"),
    ],
)
def test_an_argument_that_is_taken_for_another_is_told_with_what_it_has(use: Any, model: str) -> None:
    """In the words of this interpreter and of this pydantic: a name of another library, or the two the other way."""
    with pytest.raises((AttributeError, TypeError)) as raised:
        use()
    hint = str(misused(raised.value))
    assert f"with the request, and then the context; a {model} has " in hint
    assert ("query, top_k" if model == "RetrievalRequest" else "owner_id, session_id") in hint


@pytest.mark.parametrize(
    "error",
    [
        ZeroDivisionError("division by zero"),
        AttributeError(),
        AttributeError("'Client' object has no attribute 'search'"),
        AttributeError(b"'RetrievalRequest' object has no attribute 'text'"),
        type("OddError", (AttributeError,), {})("'RetrievalRequest' object has no attribute 'text'"),
    ],
)
def test_any_other_error_is_not_about_an_argument(error: Exception) -> None:
    """Nor what a class of somebody else's says."""
    assert misused(error) is None
