"""Mistakes with answers that do not hold still; knows clause 3.6 of the contract, no way of catching them."""

import os
from collections.abc import Mapping
from itertools import count
from typing import Any

from knowledge_fakes.faults._changing import answering, asking, put_rows, rows_of, with_each
from knowledge_fakes.faults._fault import fault
from knowledge_fakes.faults._keeping import keeping
from knowledge_provider import RetrievalContext, RetrievalRequest


@fault("KP-314", fragment="in place 1")
def ids_by_a_counter(sound: Any) -> Any:
    """Results are numbered as they come, over all calls."""
    numbers = count(1)
    return with_each(sound, lambda row: {**row, "id": f"result-{next(numbers)}"})


def _by_chance(_settings: Mapping[str, Any]) -> str | None:
    return "the little that is found came in the same order both times, as it may: queries that find more"


@fault("KP-314", fragment="in place 1", lacks=_by_chance)
def order_turns_each_time(sound: Any) -> Any:
    """Shards answer in the order in which they are ready, and nothing sorts their results; no score is claimed."""
    calls = count()

    def change(answer: Any, _request: RetrievalRequest) -> Any:
        rows, turn = rows_of(answer), next(calls)
        at = turn % len(rows) if rows else 0
        return put_rows(
            answer, [{**row, "score": 1.0 - place / 100} for place, row in enumerate(rows[at:] + rows[:at])]
        )

    return answering(sound, change)


@fault("KP-314", fragment="result")
def kept_answer_is_used_up(sound: Any) -> Any:
    """An answer is kept as a list, out of which the best result is taken when it is given away."""
    kept: dict[str, int] = {}

    def change(answer: Any, request: RetrievalRequest) -> Any:
        asked = request.model_dump_json()
        given = kept.get(asked, 0)
        kept[asked] = given + 1
        return put_rows(answer, rows_of(answer)[given:])

    return answering(sound, change)


@fault("KP-315", fragment="other ids", waits=True)
def ids_by_hash(sound: Any) -> Any:
    """The id is hash() of the text, which is another in each process."""
    return with_each(sound, lambda row: {**row, "id": f"{hash(row['content']) & 0xFFFFFFFF:08x}"})


@fault("KP-315", fragment="in another order", waits=True)
def order_of_a_set(sound: Any) -> Any:
    """Results are gathered in a set, which lists them in another order in each process; the rank is the score."""

    def change(answer: Any, _request: RetrievalRequest) -> Any:
        rows = rows_of(answer)
        # A real set of two has the same order in every other process: a proof must not hang on that.
        found = rows[::-1] if os.environ.get("PYTHONHASHSEED") == "1" else rows
        return put_rows(answer, [{**row, "score": 1.0 - at / 100} for at, row in enumerate(found)])

    return answering(sound, change)


@fault("KP-315", "KP-705", fragment="other ids", waits=True)
def rewritten_queries_are_kept_in_two_places(sound: Any) -> Any:
    """The query that is searched for is kept by whether the words in the one that came are even, for all such."""
    kept: dict[int, str] = {}

    def change(request: RetrievalRequest, context: RetrievalContext) -> tuple[RetrievalRequest, RetrievalContext]:
        query = kept.setdefault(len(request.query.split()) % 2, request.query)
        return request.model_copy(update={"query": query}), context

    return asking(sound, change)


def _few(_settings: Mapping[str, Any]) -> str | None:
    return "where no query finds more than two, an answer to fewer is the same: queries with one that finds many"


def _alike(_settings: Mapping[str, Any]) -> str | None:
    return "where two queries that begin alike find the same, either answer is right: queries that find other things"


@fault("KP-315", fragment="where nothing like it was asked before", lacks=_few, waits=True)
def cache_without_top_k(sound: Any) -> Any:
    """Answers are kept without how many were asked for, and who asks for more gets the few of before."""
    return keeping(sound, lambda request, context: _key(request, context, top_k=0))


@fault("KP-315", fragment="where nothing like it was asked before", lacks=_alike, waits=True)
def cache_by_the_beginning_of_the_query(sound: Any) -> Any:
    """The key of the cache holds a hundred characters, and a longer query is cut to them."""
    return keeping(sound, lambda request, context: _key(request, context, query=request.query[:100]))


def _key(request: RetrievalRequest, context: RetrievalContext, **changed: Any) -> str:
    return f"{context.owner_id} {request.model_copy(update=changed).model_dump_json()}"
