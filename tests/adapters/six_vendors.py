"""One answer in the form of each of the six vendors, and a vendor that hangs; knows their shapes, no wanted outcome.

Names of adapters are those of ``equivalence.SUBJECTS``.
"""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType, SimpleNamespace
from typing import Any, Final, NamedTuple

import haystack_subjects
import http_subjects
import httpx
import langchain_equivalence
import llama_index_subjects
import mcp_subjects
import openai_subjects
from haystack import Document as HaystackDocument
from langchain_core.documents import Document
from llama_index.core.schema import NodeWithScore, TextNode
from mcp.server import Server
from mcp.types import ListToolsResult, Tool

from knowledge_adapters.http_provider import HTTPProvider
from knowledge_adapters.langchain_provider import LangChainProvider
from knowledge_fakes.vendors import haystack_retriever, llama_index_retriever, openai_answers
from knowledge_fakes.vendors.http_service import KnowledgeService
from knowledge_fakes.vendors.mcp_service import TOOL, ToolService
from knowledge_fakes.vendors.openai_service import VectorStoreService

NOBODY_LISTENS: Final = "http://127.0.0.1:1"
Give = Callable[[], Any]
"""What stands in the place of the list of records, asked for at each search."""


@dataclass(frozen=True)
class Record:
    """One record of a back end; ``text`` and the others may be what a sound record has not."""

    text: Any
    id: Any = None
    score: Any = None
    place: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def meta(self) -> dict[str, Any]:
        """The metadata of those vendors that keep the place there, too."""
        return {**self.metadata, **({} if self.place is None else {"source": self.place})}


def answering(name: str, records: Sequence[Record] = (), *, scored: bool = False) -> Any:
    """A provider over a vendor that gives these records to everything; ``scored``: by the user's word, with scores."""
    items = [_RECORDS[name](record, scored) for record in records]
    return giving(name, lambda: items, scored=scored)


def giving(name: str, give: Give, *, scored: bool = False) -> Any:
    """A provider over a vendor that gives this where the list of records belongs."""
    return _PROVIDERS[name](give, scored)


def _langchain_record(record: Record, scored: bool) -> Any:
    # Without LangChain's own look at it, as stores make documents of what they hold.
    document = Document.model_construct(id=record.id, page_content=record.text, metadata=record.meta)
    return (document, record.score) if scored else document


def _llama_index_record(record: Record, _: bool) -> NodeWithScore:
    node = TextNode.model_construct(**dict(TextNode(text="", metadata=record.meta)))
    vars(node).update(id_=record.id, text=record.text)
    return NodeWithScore.model_construct(node=node, score=record.score)


def _haystack_record(record: Record, _: bool) -> HaystackDocument:
    document = HaystackDocument(content="any", meta=record.meta)
    vars(document).update(id=record.id, content=record.text, score=record.score)
    return document


def _openai_record(record: Record, _: bool) -> dict[str, Any]:
    # There is no place for an id in it.
    return openai_subjects.row(record.text, score=record.score, attributes=record.meta, filename=None)


def _plain_record(record: Record, _: bool) -> dict[str, Any]:
    told = {"id": record.id, "content": record.text, "score": record.score, "metadata": dict(record.metadata)}
    return {**told, "source": {"uri": record.place}}


def _langchain(give: Give, scored: bool) -> LangChainProvider:
    async def search(_query: str, **_: Any) -> Any:
        return give()

    target: Any = SimpleNamespace(ainvoke=search, asimilarity_search_with_score=search)
    return LangChainProvider(target, key="k", label="L", score_kind="similarity" if scored else None)


def _llama_index(give: Give, scored: bool) -> Any:
    async def aretrieve(_query: str) -> Any:
        return give()

    kind = "similarity" if scored else None
    return llama_index_subjects.over(SimpleNamespace(aretrieve=aretrieve), score_kind=kind)


def _haystack(give: Give, scored: bool) -> Any:
    retriever = haystack_retriever.AsyncHandbookRetriever(lambda _hits, _key: {"documents": give()})
    return haystack_subjects.over(retriever, uri_key="source", score_kind="similarity" if scored else None)


def _openai(give: Give, scored: bool) -> Any:
    service = VectorStoreService()
    service.answer(lambda _rows, _limit: openai_answers.as_json({"object": "list", "data": give()}))
    return openai_subjects.over(service, scores=scored)


def _mcp(give: Give, scored: bool) -> Any:
    async def call(*_: Any) -> Any:
        return {"resultType": "complete", "content": [], "structuredContent": {"results": give()}}

    async def tools(*_: Any) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name=TOOL, input_schema={"type": "object"})])

    server = Server("any", on_call_tool=call, on_list_tools=tools)
    return mcp_subjects.over(server, score_kind="similarity" if scored else None)


def _http(give: Give, scored: bool) -> HTTPProvider:
    # Python's own JSON, as many services write it: with NaN.
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=json.dumps({"results": give()}))

    return http_subjects.over(answer, score_kind="similarity" if scored else None)


_RECORDS: Final[Mapping[str, Callable[[Record, bool], Any]]] = MappingProxyType(
    {
        "LangChain": _langchain_record,
        "LlamaIndex": _llama_index_record,
        "Haystack": _haystack_record,
        "OpenAI": _openai_record,
        "MCP": _plain_record,
        "HTTP": _plain_record,
    }
)
_PROVIDERS: Final[Mapping[str, Callable[[Give, bool], Any]]] = MappingProxyType(
    {
        "LangChain": _langchain,
        "LlamaIndex": _llama_index,
        "Haystack": _haystack,
        "OpenAI": _openai,
        "MCP": _mcp,
        "HTTP": _http,
    }
)


class Hanging(NamedTuple):
    """A provider whose vendor never ends the first search, and answers the next ones with the handbook.

    ``held`` is set once the search has come to the vendor, and ``gone`` once it has ended there.
    """

    provider: Any
    held: threading.Event
    gone: threading.Event


def hanging(name: str) -> Hanging:
    """One for each adapter."""
    return _HANGING[name]()


def _first_held(answers: Mapping[str, Callable[[Any, Any], Any]]) -> Callable[[Any, Any], Any]:
    left = iter([answers["held"]])
    return lambda hits, other: next(left, answers["sound"])(hits, other)


def _hanging_langchain() -> Hanging:
    retriever = langchain_equivalence.HandbookRetriever(ways=[None])
    return Hanging(langchain_equivalence.over(retriever), retriever.held, retriever.gone)


def _hanging_llama_index() -> Hanging:
    retriever = llama_index_retriever.AsyncHandbookRetriever(_first_held(llama_index_retriever.ANSWERS))
    return Hanging(llama_index_subjects.over(retriever), retriever.held, retriever.gone)


def _hanging_haystack() -> Hanging:
    retriever = haystack_retriever.AsyncHandbookRetriever(_first_held(haystack_retriever.ANSWERS))
    return Hanging(haystack_subjects.over(retriever), retriever.held, retriever.gone)


def _hanging_openai() -> Hanging:
    service = VectorStoreService()
    service.answer(_first_held(openai_answers.ANSWERS))
    return Hanging(openai_subjects.over(service), service.held, service.gone)


def _hanging_mcp() -> Hanging:
    service = ToolService("text", "silent", times=1)
    return Hanging(mcp_subjects.over(service), service.called, service.cancelled)


def _hanging_http() -> Hanging:
    service, held, gone = KnowledgeService("silent", times=1), threading.Event(), threading.Event()

    async def respond(request: httpx.Request) -> httpx.Response:
        held.set()
        try:
            return await service.respond(request)
        finally:
            gone.set()

    return Hanging(http_subjects.over(respond), held, gone)


_HANGING: Final[Mapping[str, Callable[[], Hanging]]] = MappingProxyType(
    {
        "LangChain": _hanging_langchain,
        "LlamaIndex": _hanging_llama_index,
        "Haystack": _hanging_haystack,
        "OpenAI": _hanging_openai,
        "MCP": _hanging_mcp,
        "HTTP": _hanging_http,
    }
)


def _refused() -> Exception:
    return ConnectionRefusedError(f"no connection to https://{langchain_equivalence.SECRET}@db.internal")


UNREACHABLE: Final[Mapping[str, Callable[[], Any]]] = MappingProxyType(
    {
        "LangChain": lambda: langchain_equivalence.over(langchain_equivalence.HandbookRetriever(ways=[_refused])),
        "LlamaIndex": lambda: llama_index_subjects.over(llama_index_retriever.AsyncHandbookRetriever("refused")),
        "Haystack": lambda: haystack_subjects.over(haystack_retriever.AsyncHandbookRetriever("refused")),
        "OpenAI": lambda: openai_subjects.over_url(NOBODY_LISTENS),
        "MCP": lambda: mcp_subjects.over(f"{NOBODY_LISTENS}/mcp"),
        "HTTP": lambda: HTTPProvider(f"{NOBODY_LISTENS}/search", key="http", label="Service"),
    }
)
"""A provider of each adapter whose back end refuses the connection."""
