"""Hypothesis strategies for what a Haystack retriever answers, soundly or not; knows the shape of its documents alone.

Haystack is imported when a value is drawn. A failure shrinks to outputs with one small document in them.
"""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, Final

from hypothesis import event
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from knowledge_conformance._text_strategies import hostile_text
from knowledge_conformance._uri_strategies import uris

__all__ = ["PLANTED", "documents", "outputs"]

PLANTED: Final = "sk-planted-3mQ8tZ5d"
"""A secret that stands in many places of the payloads, and belongs into no result and no message."""

# Where a link carries a credential, whatever field it stands in.
_LINKS: Final = st.sampled_from(
    [
        f"https://user:{PLANTED}@files.example.org/a.pdf",
        f"https://bucket.example.org/a.pdf?X-Amz-Signature={PLANTED}",
        f"https://example.org/a?page=2&api_key={PLANTED}#top",
        f"https://example.org/a#access_token={PLANTED}",
        f"postgresql://reader:{PLANTED}@db.internal/handbook",
        f"see //user:{PLANTED}@nas/share?key={PLANTED}",
    ]
)
_NUMBERS: Final = (
    st.integers()
    | st.floats()
    | st.booleans()
    | st.sampled_from([0, -0.0, 1.0000002, 1e308, 10**400, float("nan"), float("-inf")])
)
_TEXT: Final = hostile_text() | st.sampled_from(["", " ", "0", "text " * 2000, "知" * 4001, "<html>", "\ud800"])
_SCALARS: Final = st.none() | _NUMBERS | _TEXT
_HIDDEN: Final = st.sampled_from([{"token": PLANTED}, [PLANTED], {"a": {"b": [{"c": PLANTED}]}}, [], {}, object()])
_VECTORS: Final = st.just([0.01] * 1536)


def _of_numpy(kind: str, value: float) -> Any:
    import numpy

    return getattr(numpy, kind)(value)


_NUMPYS: Final = st.builds(
    _of_numpy,
    st.sampled_from(["float64", "float32", "int64", "bool_", "atleast_1d"]),
    st.sampled_from([0, 1, 0.25]),
) | st.builds(_of_numpy, st.just("float32"), st.sampled_from([float("nan"), float("inf")]))

_VALUES: Final = _SCALARS | _LINKS | uris("public") | uris("private") | _HIDDEN | _VECTORS | _NUMPYS
_META: Final = st.one_of(
    st.dictionaries(
        st.sampled_from(["url", "title", "source_id", "owner", "a" * 200, "", " "]) | hostile_text(),
        _VALUES,
        max_size=4,
    ),
    st.integers(17, 40).map(lambda size: {f"key {n}": n for n in range(size)}),
)
_SOUND: Final[SearchStrategy[dict[str, Any]]] = st.fixed_dictionaries(
    {
        "id": st.integers(0, 3).map(lambda number: f"document-{number}"),
        "content": st.integers(0, 3).map(lambda number: f"passage {number}"),
        "meta": st.sampled_from(["alice", "bob"]).map(lambda owner: {"owner": owner}),
        "score": st.floats(0, 1),
    }
)
_FIELDS: Final[Mapping[str, SearchStrategy[Any]]] = {
    "id": _SCALARS | _LINKS | _HIDDEN | st.uuids(),
    "content": _SCALARS | _HIDDEN,
    "meta": _META | st.none() | _TEXT | st.sampled_from([[PLANTED], object()]),
    "score": _SCALARS | _NUMPYS | st.sampled_from(["0.9", "high", PLANTED, [0.5], object()]),
    "blob": st.sampled_from([b"%PDF-1.7", {"data": PLANTED}, PLANTED]),
    "embedding": _VECTORS | _TEXT,
    "sparse_embedding": _HIDDEN | _VECTORS,
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
    fields = draw(_SOUND)
    for name in draw(st.lists(st.sampled_from(sorted(_FIELDS)), max_size=2, unique=True)):
        event(f"broken document: {name}")
        fields[name] = draw(_FIELDS[name])
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
