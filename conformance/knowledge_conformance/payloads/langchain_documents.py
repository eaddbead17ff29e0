"""Hypothesis strategies for what a LangChain retriever or vector store answers, soundly or not; knows its documents.

LangChain is imported when a value is drawn. A failure shrinks to an answer with one small document in it.
"""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from knowledge_conformance.payloads._values import (
    HIDDEN,
    LINKS,
    META,
    NUMPYS,
    PLANTED,
    SCALARS,
    TEXT,
    VECTORS,
    broken_in_places,
)

__all__ = ["PLANTED", "answers", "documents", "scored_answers"]

_SOUND: Final[SearchStrategy[dict[str, Any]]] = st.fixed_dictionaries(
    {
        "id": st.none() | st.integers(0, 3).map(lambda number: f"document-{number}"),
        "page_content": st.integers(0, 3).map(lambda number: f"passage {number}"),
        "metadata": st.sampled_from(["alice", "bob"]).map(lambda owner: {"owner": owner}),
    }
)
_FIELDS: Final[Mapping[str, SearchStrategy[Any]]] = {
    "id": SCALARS | LINKS | HIDDEN | st.uuids(),
    "page_content": SCALARS | HIDDEN,
    "metadata": META | st.none() | TEXT | st.sampled_from([[PLANTED], object()]),
    "type": st.sampled_from(["Document", PLANTED, None]),
    "embedding": VECTORS | TEXT,
}
_SCORES: Final = st.floats(0, 1) | SCALARS | NUMPYS | st.sampled_from(["0.9", PLANTED, [0.5], object()])


def _document(fields: Mapping[str, Any], *, as_duck: bool) -> Any:
    """A document past all checks, as from a retriever of anybody's."""
    from langchain_core.documents import Document

    if as_duck:
        return SimpleNamespace(**fields)
    return Document.model_construct(**fields)


@st.composite
def documents(draw: DrawFn) -> Any:
    """One document: as LangChain has it, with some fields of other types or hostile values, or no document at all."""
    nothing = draw(st.sampled_from([None] * 8 + [PLANTED, 0, [], {"page_content": PLANTED}, object()]))
    if nothing is not None:
        return nothing
    fields = broken_in_places(draw, _SOUND, _FIELDS, "document")
    return _document(fields, as_duck=draw(st.booleans()))


_SOUND_DOCUMENTS: Final = _SOUND.map(lambda fields: _document(fields, as_duck=False))


def answers() -> SearchStrategy[Any]:
    """All that a retriever gives for a query: a list of at most twelve documents, or something else."""
    return _whole_or_broken(documents(), _SOUND_DOCUMENTS)


def scored_answers() -> SearchStrategy[Any]:
    """All that a vector store's search with scores gives: pairs of a document and a number, or something else."""
    pairs = st.tuples(documents(), _SCORES)
    return _whole_or_broken(pairs | documents(), st.tuples(_SOUND_DOCUMENTS, st.floats(0, 1)))


def _whole_or_broken(one: SearchStrategy[Any], sound: SearchStrategy[Any]) -> SearchStrategy[Any]:
    some = st.lists(one, max_size=12)
    broken = st.one_of(
        st.sampled_from([None, PLANTED, 0, {}, {"documents": None}, {"error": PLANTED}]),
        some.map(lambda found: {str(n): it for n, it in enumerate(found)}),
        some.map(lambda found: [found]),
        some.map(lambda found: {"documents": found, "token": PLANTED}),
    )
    return st.one_of(some, st.lists(sound, max_size=12), some.map(tuple), broken)
