"""Values that any vendor's documents may hold, soundly or not: what the strategies of several vendors share.

Knows the contract's text and URI strategies and numpy's scalars; knows no vendor.
"""

from collections.abc import Mapping
from typing import Any, Final

from hypothesis import event
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from knowledge_conformance._text_strategies import hostile_text
from knowledge_conformance._uri_strategies import uris

PLANTED: Final = "sk-planted-3mQ8tZ5d"
"""A secret that stands in many places of the payloads, and belongs into no result and no message."""

# Where a link carries a credential, whatever field it stands in.
LINKS: Final = st.sampled_from(
    [
        f"https://user:{PLANTED}@files.example.org/a.pdf",
        f"https://bucket.example.org/a.pdf?X-Amz-Signature={PLANTED}",
        f"https://example.org/a?page=2&api_key={PLANTED}#top",
        f"https://example.org/a#access_token={PLANTED}",
        f"postgresql://reader:{PLANTED}@db.internal/handbook",
        f"see //user:{PLANTED}@nas/share?key={PLANTED}",
    ]
)
NUMBERS: Final = (
    st.integers()
    | st.floats()
    | st.booleans()
    | st.sampled_from([0, -0.0, 1.0000002, 1e308, 10**400, float("nan"), float("-inf")])
)
TEXT: Final = hostile_text() | st.sampled_from(["", " ", "0", "text " * 2000, "知" * 4001, "<html>", "\ud800"])
SCALARS: Final = st.none() | NUMBERS | TEXT
_IN_JSON: Final = [{"token": PLANTED}, [PLANTED], {"a": {"b": [{"c": PLANTED}]}}, [], {}]
HIDDEN_JSON: Final = st.sampled_from(_IN_JSON)
HIDDEN: Final = st.sampled_from([*_IN_JSON, object()])
VECTORS: Final = st.just([0.01] * 1536)


def _of_numpy(kind: str, value: float) -> Any:
    import numpy

    return getattr(numpy, kind)(value)


NUMPYS: Final = st.builds(
    _of_numpy,
    st.sampled_from(["float64", "float32", "int64", "bool_", "atleast_1d"]),
    st.sampled_from([0, 1, 0.25]),
) | st.builds(_of_numpy, st.just("float32"), st.sampled_from([float("nan"), float("inf")]))

PLAIN_VALUES: Final = SCALARS | LINKS | uris("public") | uris("private") | HIDDEN | VECTORS
_VALUES: Final = PLAIN_VALUES | NUMPYS
META: Final = st.one_of(
    st.dictionaries(
        st.sampled_from(["url", "title", "source_id", "owner", "a" * 200, "", " "]) | hostile_text(),
        _VALUES,
        max_size=4,
    ),
    st.integers(17, 40).map(lambda size: {f"key {n}": n for n in range(size)}),
)


def broken_in_places(
    draw: DrawFn, sound: SearchStrategy[dict[str, Any]], hostile: Mapping[str, SearchStrategy[Any]], what: str
) -> dict[str, Any]:
    """The fields of something sound, with at most two of those that ``hostile`` names drawn from there."""
    fields = draw(sound)
    for name in draw(st.lists(st.sampled_from(sorted(hostile)), max_size=2, unique=True)):
        event(f"broken {what}: {name}")
        fields[name] = draw(hostile[name])
    return fields
