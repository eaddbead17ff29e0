"""Hypothesis strategies for both sides of the boundary: what a host may ask, and what a hostile provider may answer.

Knows the contract's shapes and limits and how each is broken; knows no provider, host or check. All of it is public:
users fuzz their own hosts and providers with it. Values are made anew for each example, so that a host which changes
what it got does not spoil the next one. ``hypothesis.event`` names what is broken, for
``--hypothesis-show-statistics``.
"""

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from hypothesis import event
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from knowledge_conformance._result_strategies import (
    FIELDS,
    NOT_PLAIN,
    REQUIRED_FIELDS,
    WRITERS,
    Fields,
    Vendor,
    VendorDict,
    VendorList,
    VendorTuple,
    results,
)
from knowledge_conformance._text_strategies import hostile_text, long_lines
from knowledge_conformance._uri_strategies import UriKind, uris
from knowledge_provider import RetrievalRequest, limits

__all__ = ["UriKind", "hostile_text", "requests", "responses", "results", "uris"]


def requests(
    *,
    knowledge_base_ids: SearchStrategy[Sequence[str]] | None = None,
    filters: SearchStrategy[Mapping[str, Any]] | None = None,
) -> SearchStrategy[RetrievalRequest]:
    """Valid requests (clause 3.1): no provider may fail on any of their texts (clause 3.2).

    Queries are normalised, 1 to 500 code points: any script, emoji, quotes, query-language operators, SQL, JSON,
    template syntax. ``top_k`` is 1 to 8. There are no base ids and no filters unless strategies for them are given;
    what those draw must be valid, or drawing raises ``pydantic.ValidationError``.
    """
    return st.builds(
        RetrievalRequest,
        query=long_lines(limits.QUERY_MAX),
        top_k=st.integers(limits.TOP_K_MIN, limits.TOP_K_MAX),
        knowledge_base_ids=st.just(()) if knowledge_base_ids is None else knowledge_base_ids.map(tuple),
        filters=st.builds(dict) if filters is None else filters.map(dict),
    )


def _id(fields: Fields) -> Any:
    return fields["id"]


@st.composite
def _conforming(draw: DrawFn) -> object:
    # Clauses 5.3 and 5.4: ids are unique; every result has a score or none, and their order is the results' order.
    drawn = draw(
        st.lists(FIELDS, unique_by=_id, max_size=2)
        | st.lists(REQUIRED_FIELDS, unique_by=_id, max_size=limits.TOP_K_MAX)
    )
    scores = sorted((fields.pop("score", 0) for fields in drawn), reverse=True)
    if draw(st.booleans()):
        drawn = [{**fields, "score": score} for fields, score in zip(drawn, scores, strict=True)]
    return draw(_WRAPPERS)(list(map(draw(WRITERS), drawn)))


def _in_mapping(results: list[object]) -> object:
    return {"results": results}


_WRAPPERS: Final[SearchStrategy[Callable[[list[object]], object]]] = st.sampled_from([list, tuple, _in_mapping])


@st.composite
def _nearly_conforming(draw: DrawFn) -> object:
    broken = draw(results(valid=False))
    others = draw(st.lists(REQUIRED_FIELDS, unique_by=_id, max_size=3))
    at = draw(st.integers(0, len(others)))
    return draw(_WRAPPERS)([*others[:at], broken, *others[at:]])


def _containing_itself(results: list[object]) -> object:
    results.append(results)
    return {"results": results, "sources": results}


# What is wrong with a response as a whole.
_RESPONSES: Final[dict[str, Callable[[list[Any]], object]]] = {
    # Clauses 3.3, 5.3 and 5.4, rules N2 and N7.
    "an id twice": lambda found: [*found, dict(found[0])],
    "an id twice, once normalised": lambda found: [*found, {**found[0], "id": f"\u00a0{found[0]['id']} \n"}],
    "scores that rise": lambda found: [{**found[0], "id": str(n), "score": n} for n in range(2)],
    "more than top_k": lambda found: [{**found[0], "id": str(n)} for n in range(limits.TOP_K_MAX + 1)],
    "more than anyone looks at": lambda found: [*[None] * (limits.TOP_K_MAX * limits.CANDIDATES_PER_RESULT), *found],
    # Clause 5.1, rule N1.
    "null": lambda _: None,
    "one result without a list": lambda found: found[0],
    "a list under another name": lambda found: {"documents": found},
    "a mapping without a list": lambda _: {},
    "null for a list": lambda _: {"results": None},
    "a mapping for a list": lambda found: {"results": {str(n): each for n, each in enumerate(found)}},
    "a response in a response": lambda found: {"results": {"results": found}},
    "a list in a list": lambda found: [found],
    "a list that contains itself": _containing_itself,
    "an iterator": iter,
    "a generator": lambda found: (each for each in found),
    "a deque": deque,
    "a set": lambda found: {each["id"] for each in found},
    "a subclass of list": VendorList,
    "a subclass of tuple": VendorTuple,
    "a subclass of dict": lambda found: VendorDict(results=found),
    "a vendor's object": lambda _: Vendor(),
    "a number": lambda _: 0,
    "JSON text": json.dumps,
    "bytes": lambda found: json.dumps(found).encode(),
    # Clause 5.10.
    "an error for an answer": lambda _: {"error": {"code": 503, "message": "upstream unavailable"}},
    "an exception for an answer": lambda _: ConnectionError("upstream unavailable"),
    # Clause 5.11, rule N13.
    "reports that cannot be read": lambda found: {
        "results": found,
        "sources": [None, {"key": 5}, {"key": "a", "count": -1}],
    },
    "too many reports": lambda found: {"results": found, "sources": [{"key": "a", "status": "hit"}] * 65},
}


@st.composite
def _broken(draw: DrawFn) -> object:
    fault = draw(st.sampled_from(list(_RESPONSES)))
    event(f"broken response: {fault}")
    return _RESPONSES[fault](draw(st.lists(REQUIRED_FIELDS, min_size=1, max_size=2)))


# Anything that a response may be made of, under the names that rule N4 reads.
_NAMES: Final = st.sampled_from(
    [
        *("results", "id", "content", "source", "metadata", "score", "uri", "title", "url", "text", "chunkId"),
        *("documentId", "mimeType", "provider", "sources", "key", "status"),
    ]
)
_ANYTHING: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | hostile_text() | uris() | NOT_PLAIN,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_NAMES, inner, max_size=6),
    max_leaves=12,
)


def responses() -> SearchStrategy[object]:
    """What ``retrieve`` of a hostile provider may answer, as Python values.

    Conforming responses to ``top_k=8``; conforming results around one that is broken in one way; responses that are
    broken as a whole; and any values under the names that a host reads. Together they break each rule of section 5
    and exercise N1 to N13. Types may be anyone's, and their methods may raise.
    """
    return st.one_of(_conforming(), _nearly_conforming(), _broken(), _ANYTHING)
