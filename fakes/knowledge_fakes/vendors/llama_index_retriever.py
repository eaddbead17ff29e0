"""Scripted LlamaIndex retrievers over the handbook; knows LlamaIndex's nodes and the handbook, no adapter or kit.

``AsyncHandbookRetriever`` has an asynchronous method of its own; ``SyncHandbookRetriever`` only the one that LlamaIndex
gives to everybody, which blocks the event loop. Each can be told to answer in any way of ``ANSWERS``. Needs
``llama-index-core``.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final
from uuid import uuid4

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import (
    BaseNode,
    Document,
    ImageNode,
    IndexNode,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)

from knowledge_fakes.handbook import load_handbook
from knowledge_fakes.search import search
from knowledge_fakes.vendors._scripted import FAILURES, always, raising

Hits = list[NodeWithScore]
Answerer = Callable[[Hits, str], Any]
"""What a retriever makes of its hits; gets its API key too, which some back ends repeat. May raise."""

_TOP_K: Final = 8
# A search that is held on an event loop holds everything, the test that would let it go too.
_HELD_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A search that came: with which words, for how many nodes, in which thread."""

    query: str
    top_k: int
    thread: str


def handbook_nodes() -> list[TextNode]:
    """Every passage of the handbook as a node, with the passage's id and the document's as that of its source.

    The metadata are the handbook's, and ``source`` and ``title``. Made anew each time, as LlamaIndex changes nodes.
    """
    return [
        TextNode(
            id_=passage.id,
            text=passage.content,
            metadata={**passage.metadata, "source": passage.source["uri"], "title": passage.source["title"]},
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=passage.source["id"])},
        )
        for passage in load_handbook().passages.values()
    ]


class SyncHandbookRetriever(BaseRetriever):
    """Answers with the handbook's passages in the order of its own search, each with the search's score.

    ``similarity_top_k`` is how many, and 0 means all, as in LlamaIndex's own. ``api_key`` is what a failing back end
    repeats. ``asked`` are the searches that came, in their order. ``held`` is set once a search waits, ``gone`` once
    one has given up waiting; ``release`` ends the waiting, which a synchronous search else does after 30 s.
    """

    def __init__(self, how: "str | Answerer" = "sound", *, similarity_top_k: int = _TOP_K, api_key: str = "") -> None:
        self.similarity_top_k = similarity_top_k
        self.asked: list[Asked] = []
        self.held: threading.Event = threading.Event()
        self.gone: threading.Event = threading.Event()
        self._released = threading.Event()
        self._nodes, self._api_key = {node.node_id: node for node in handbook_nodes()}, api_key
        self.answer(how)
        super().__init__()

    def answer(self, how: "str | Answerer") -> None:
        """From now on answer as one of ``ANSWERS``, ``"held"`` among them, or by a function."""
        self._answerer = ANSWERS[how] if isinstance(how, str) else how

    def release(self) -> None:
        """Let every search go that waits or will wait."""
        self._released.set()

    def _retrieve(self, query_bundle: QueryBundle) -> Any:
        answer = self._answered(query_bundle.query_str)
        if answer is _HELD:
            self.held.set()
            self._released.wait(_HELD_SECONDS)
            return []
        return answer

    def _answered(self, query: str) -> Any:
        self.asked.append(Asked(query, self.similarity_top_k, threading.current_thread().name))
        hits = search(load_handbook().index, query)[: self.similarity_top_k or None]
        return self._answerer([NodeWithScore(node=self._nodes[hit.id], score=hit.score) for hit in hits], self._api_key)


class AsyncHandbookRetriever(SyncHandbookRetriever):
    """The same, asynchronous: a search that waits is cancelled with its task."""

    async def _aretrieve(self, query_bundle: QueryBundle) -> Any:
        answer = self._answered(query_bundle.query_str)
        if answer is not _HELD:
            # A cancellation can arrive here.
            await asyncio.sleep(0)
            return answer
        self.held.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.gone.set()


def _with_scores(make: Callable[[float], float | None]) -> Answerer:
    return lambda hits, _: [_scored(hit.node, None if hit.score is None else make(hit.score)) for hit in hits]


def _with_nodes(make: Callable[[BaseNode], Any]) -> Answerer:
    return lambda hits, _: [_scored(make(hit.node), hit.score) for hit in hits]


def _scored(node: Any, score: float | None) -> NodeWithScore:
    return NodeWithScore(node=node, score=score)


def _text(node: BaseNode, **changes: Any) -> TextNode:
    return TextNode.model_validate({**node.model_dump(), **changes})


def _padded(hits: Hits, _: str) -> Hits:
    # As BM25 does: up to the number that was asked for, with whatever there is.
    found = {hit.node.node_id for hit in hits}
    rest = (node for node in handbook_nodes() if node.node_id not in found)
    return [*hits, *(_scored(node, 0.0) for node, _ in zip(rest, range(_TOP_K - len(hits)), strict=False))]


def _kept_from_the_model(node: BaseNode) -> TextNode:
    metadata = {**node.metadata, "api_key": "sk-TEST-0000", "internal_path": "/srv/hr/private.txt"}
    return _text(node, metadata=metadata, excluded_llm_metadata_keys=["api_key", "internal_path"])


def _broken_record(hits: Hits, key: str) -> Hits:
    # A record of the store without a text raises pydantic's error, which repeats the record.
    return [_scored(_text(hit.node, text=None, metadata={"key": key}), hit.score) for hit in hits[:1]]


_HELD: Final = object()

ANSWERS: Final[Mapping[str, Answerer]] = MappingProxyType(
    {
        # As it should be.
        "sound": lambda hits, _: hits,
        "nothing": always([]),
        # What LlamaIndex allows.
        "no score": _with_scores(lambda _: None),
        "first without score": lambda hits, _: [_scored(hits[0].node, None), *hits[1:]],
        "nan": _with_scores(lambda _: float("nan")),
        "first nan": lambda hits, _: [_scored(hits[0].node, float("nan")), *hits[1:]],
        "distance": _with_scores(lambda score: 1 / (1 + score)),
        "padded with zeros": _padded,
        "twice": lambda hits, _: [*hits, *hits],
        "one id for all": _with_nodes(lambda node: _text(node, id_="same")),
        "new ids": _with_nodes(lambda node: _text(node, id_=str(uuid4()))),
        "no document": _with_nodes(lambda node: _text(node, relationships={})),
        "kept from the model": _with_nodes(_kept_from_the_model),
        "first without text": lambda hits, _: [_scored(_text(hits[0].node, text=" "), 1.0), *hits[1:]],
        "whole documents": _with_nodes(
            lambda node: Document(id_=node.node_id, text=node.get_content(), metadata=node.metadata)
        ),
        "behind index nodes": _with_nodes(lambda node: IndexNode(text="see there", index_id=node.node_id, obj=node)),
        "more than asked for": lambda _hits, _key: [_scored(node, 0.5) for node in handbook_nodes()],
        # Answers that are none.
        "no text": _with_nodes(lambda node: _text(node, text="")),
        "images": _with_nodes(lambda node: ImageNode(id_=node.node_id, image_url="https://example.org/a.png")),
        "broken record": _broken_record,
        "none": always(None),
        "dictionaries": lambda hits, _: [hit.model_dump() for hit in hits],
        "nodes without a score's place": lambda hits, _: [hit.node for hit in hits],
        "text": always("The service is down for maintenance."),
        # Refusals and failures, as clients of remote stores and models raise them.
        **FAILURES,
        "wrong argument": raising(lambda key: ValueError(f"cannot read {key}")),
        # Time.
        "held": always(_HELD),
    }
)
"""Every way to answer, by its name. Refusals and failures repeat the API key in their words."""
