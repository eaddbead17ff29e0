"""Hypothesis strategies for what a LlamaIndex retriever answers, soundly or not; knows the shapes of its nodes alone.

LlamaIndex is imported when a value is drawn. A failure shrinks to a list with one small node in it.
"""

from collections.abc import Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from knowledge_conformance._text_strategies import hostile_text
from knowledge_conformance._uri_strategies import uris
from knowledge_conformance.payloads._values import (
    HIDDEN,
    LINKS,
    NUMBERS,
    PLAIN_VALUES,
    PLANTED,
    SCALARS,
    TEXT,
    broken_in_places,
)

__all__ = ["PLANTED", "answers", "scored_nodes"]

_METADATA: Final = st.one_of(
    st.dictionaries(
        st.sampled_from(["source", "title", "file_name", "a" * 200, "", " "]) | hostile_text(), PLAIN_VALUES, max_size=4
    ),
    st.integers(17, 40).map(lambda size: {f"key {n}": n for n in range(size)}),
)
_KINDS: Final = st.sampled_from(["TextNode", "Document", "ImageNode", "IndexNode", "duck"])
_SOUND: Final[SearchStrategy[dict[str, Any]]] = st.fixed_dictionaries(
    {
        "id_": st.integers(0, 3).map(lambda number: f"node-{number}"),
        "text": st.integers(0, 3).map(lambda number: f"passage {number}"),
        "metadata": st.builds(dict[str, Any]),
        "excluded_llm_metadata_keys": st.builds(list[str]),
        "document": st.none() | st.sampled_from(["handbook", "releases.md"]),
    }
)
_FIELDS: Final[Mapping[str, SearchStrategy[Any]]] = {
    "id_": SCALARS | LINKS | HIDDEN | st.uuids(),
    "text": SCALARS | HIDDEN,
    "metadata": _METADATA | st.none() | TEXT | st.sampled_from([[PLANTED], object()]),
    "excluded_llm_metadata_keys": st.lists(hostile_text(), max_size=3) | st.none() | NUMBERS | HIDDEN,
    "document": SCALARS | LINKS | HIDDEN | uris("public") | uris("private"),
    "relationships": st.sampled_from([None, [PLANTED], {"1": {"node_id": PLANTED}}]),
}
_SCORES: Final = st.none() | NUMBERS | st.sampled_from(["0.9", "high", "", PLANTED, [0.5], object()])


def _node(kind: str, fields: Mapping[str, Any]) -> Any:
    """A node past all validation, as from a store with records of any kind."""
    from llama_index.core import schema

    document, text = fields["document"], fields["text"]
    told = {name: value for name, value in fields.items() if name not in ("document", "text")}
    if document is not None:
        relation: Any = schema.RelatedNodeInfo
        made = relation.model_construct(node_id=document, metadata={"token": PLANTED}, hash=PLANTED)
        told.setdefault("relationships", {schema.NodeRelationship.SOURCE: made})
    told |= {"metadata_template": PLANTED + "{key}{value}", "text_template": PLANTED + "{content}{metadata_str}"}
    if kind == "duck":
        return SimpleNamespace(**told, node_id=told["id_"], ref_doc_id=document, get_content=partial(_ignoring, text))
    if kind == "Document":
        resource: Any = schema.MediaResource
        return schema.Document.model_construct(**told, text_resource=resource.model_construct(text=text, url=PLANTED))
    # For index nodes and images; there is nothing that the index node leads to.
    told |= {"index_id": PLANTED, "image_url": f"https://example.org/a?sig={PLANTED}&sv=1"}
    node: Any = getattr(schema, kind)
    return node.model_construct(**told, text=text)


def _ignoring(text: Any, **_: object) -> Any:
    return text


@st.composite
def _some_node(draw: DrawFn) -> Any:
    fields = broken_in_places(draw, _SOUND, _FIELDS, "node")
    if isinstance(fields["metadata"], dict) and draw(st.booleans()):
        # What its owner keeps from the model; a list that cannot be read keeps everything from it.
        fields["metadata"] = {"api_key": PLANTED, **fields["metadata"], "password": PLANTED}
        fields["excluded_llm_metadata_keys"] = ["api_key", "password"]
    return _node(draw(_KINDS), fields)


def _with_score(node: Any, score: Any) -> Any:
    from llama_index.core.schema import NodeWithScore

    return NodeWithScore.model_construct(node=node, score=score)


def scored_nodes() -> SearchStrategy[Any]:
    """One node with its score: as LlamaIndex has it, with some fields of other types or hostile values, or no node."""
    nodes = _some_node()
    whole = st.builds(_with_score, nodes, st.floats(0, 1) | st.none() | _SCORES)
    nothing = st.sampled_from([None, PLANTED, [], 0, {"node": {"text": PLANTED}}, object()])
    return st.one_of(whole, whole, whole, nodes, nothing, nothing.map(lambda value: _with_score(value, 0.5)))


def answers() -> SearchStrategy[Any]:
    """All that a retriever gives for a query: a list of at most twelve nodes with scores, or something else."""
    some = st.lists(scored_nodes(), max_size=12)
    sound = st.lists(st.builds(_with_score, _SOUND.map(lambda fields: _node("TextNode", fields)), st.floats(0, 1)))
    return st.one_of(some, sound, some.map(tuple), st.sampled_from([None, PLANTED, 0, {"nodes": PLANTED}, object()]))
