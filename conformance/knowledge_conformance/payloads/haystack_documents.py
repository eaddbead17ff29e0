"""Hypothesis strategies for what a Haystack retriever answers, soundly or not; knows the shape of its documents alone.

Haystack is imported when a value is drawn. A failure shrinks to outputs with one small document in them.
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

__all__ = ["PLANTED", "documents", "outputs"]

_SOUND: Final[SearchStrategy[dict[str, Any]]] = st.fixed_dictionaries(
    {
        "id": st.integers(0, 3).map(lambda number: f"document-{number}"),
        "content": st.integers(0, 3).map(lambda number: f"passage {number}"),
        "meta": st.sampled_from(["alice", "bob"]).map(lambda owner: {"owner": owner}),
        "score": st.floats(0, 1),
    }
)
_FIELDS: Final[Mapping[str, SearchStrategy[Any]]] = {
    "id": SCALARS | LINKS | HIDDEN | st.uuids(),
    "content": SCALARS | HIDDEN,
    "meta": META | st.none() | TEXT | st.sampled_from([[PLANTED], object()]),
    "score": SCALARS | NUMPYS | st.sampled_from(["0.9", "high", PLANTED, [0.5], object()]),
    "blob": st.sampled_from([b"%PDF-1.7", {"data": PLANTED}, PLANTED]),
    "embedding": VECTORS | TEXT,
    "sparse_embedding": HIDDEN | VECTORS,
}


def _document(fields: Mapping[str, Any], *, as_duck: bool) -> Any:
    """A document past all checks, as from a component of anybody's."""
    from haystack import Document

    made: Any = SimpleNamespace(**fields) if as_duck else Document(content="")
    # A change of a document itself makes Haystack warn.
    vars(made).update(fields)
    return made


@st.composite
def documents(draw: DrawFn) -> Any:
    """One document: as Haystack has it, with some fields of other types or hostile values, or no document at all."""
    nothing = draw(st.sampled_from([None] * 8 + [PLANTED, 0, [], {"content": PLANTED}, object()]))
    if nothing is not None:
        return nothing
    fields = broken_in_places(draw, _SOUND, _FIELDS, "document")
    return _document(fields, as_duck=draw(st.booleans()))


def outputs() -> SearchStrategy[Any]:
    """All that a retriever gives for a query: ``{"documents": […]}`` with at most twelve of them, or something else."""
    some = st.lists(documents(), max_size=12)
    sound = st.lists(_SOUND.map(lambda fields: _document(fields, as_duck=False)), max_size=12)
    broken = st.one_of(
        st.sampled_from([None, PLANTED, 0, {}, [], {"documents": None}, {"documents": PLANTED}, {"error": PLANTED}]),
        some,
        some.map(lambda found: {"documents": {str(n): it for n, it in enumerate(found)}}),
        some.map(lambda found: {"documents": [found]}),
        some.map(lambda found: {"results": found, "token": PLANTED}),
    )
    whole = (some | sound).map(lambda found: {"documents": found, "raw": {"token": PLANTED}})
    return st.one_of(whole, whole, some.map(tuple).map(lambda found: {"documents": found}), broken)
