"""The six adapters over vendors in this process that give one answer, each beside its vendor's own call.

Knows the vendors' shapes and nothing of what is measured. A vendor is imported where it is needed, and none of them
goes to a network.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from typing import Any, Final, NamedTuple

from bench_normalize import METADATA_ENTRIES, RESULTS

from knowledge_provider import RetrievalContext, RetrievalRequest

Answer = dict[str, Any]
REQUEST: Final = RetrievalRequest(query="release policy", top_k=RESULTS)


class Subject(NamedTuple):
    """A provider's ``retrieve``, and its vendor's own call with the same answer, in a thread if that blocks."""

    retrieve: Callable[[RetrievalRequest, RetrievalContext], Awaitable[object]]
    vendor: Callable[[], Awaitable[object]]


Opened = AbstractAsyncContextManager[Subject]


def _metadata(result: dict[str, Any]) -> dict[str, Any]:
    """16 entries, place and title among them, since that is where most vendors keep those."""
    own = dict(list(result["metadata"].items())[: METADATA_ENTRIES - 2])
    return {**own, "source": result["source"]["uri"], "title": result["source"]["title"]}


def _key(name: str) -> dict[str, Any]:
    return {"key": name, "label": "Bench"}


def langchain(answer: Answer, in_thread: bool = False) -> Opened:
    """A retriever with a method of its own, asynchronous or not."""
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    from knowledge_adapters.langchain_provider import LangChainProvider

    found = [
        Document(id=each["id"], page_content=each["content"], metadata=_metadata(each)) for each in answer["results"]
    ]

    class Sync(BaseRetriever):
        def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            return found[: len(query)]

    class Async(Sync):
        async def _aget_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            return found[: len(query)]

    retriever = Sync() if in_thread else Async()

    async def vendor() -> object:
        if in_thread:
            return await asyncio.to_thread(retriever.invoke, REQUEST.query)
        return await retriever.ainvoke(REQUEST.query)

    return nullcontext(Subject(LangChainProvider(retriever, **_key("langchain")).retrieve, vendor))


def llama_index(answer: Answer) -> Opened:
    """A retriever with an asynchronous method of its own."""
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode

    from knowledge_adapters.llama_index_provider import LlamaIndexProvider

    def node(each: dict[str, Any]) -> TextNode:
        # As out of an index, which knows the document that a node was cut from.
        document = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=each["source"]["id"])}
        return TextNode(id_=each["id"], text=each["content"], metadata=_metadata(each), relationships=document)

    found = [NodeWithScore(node=node(each), score=0.5) for each in answer["results"]]

    class Retriever(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return found[: len(query_bundle.query_str)]

        async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return self._retrieve(query_bundle)

    retriever = Retriever()
    provider = LlamaIndexProvider(retriever, score_kind="similarity", **_key("llama-index"))
    return nullcontext(Subject(provider.retrieve, lambda: retriever.aretrieve(REQUEST.query)))


def haystack(answer: Answer) -> Opened:
    """A component with ``run_async``."""
    from haystack import Document, component

    from knowledge_adapters.haystack_provider import HaystackProvider

    found = [
        Document(id=each["id"], content=each["content"], meta=_metadata(each), score=0.5) for each in answer["results"]
    ]

    @component
    class Retriever:
        @component.output_types(documents=list[Document])
        def run(self, query: str) -> dict[str, Any]:
            return {"documents": found[: len(query)]}

        @component.output_types(documents=list[Document])
        async def run_async(self, query: str) -> dict[str, Any]:
            return {"documents": found[: len(query)]}

    retriever: Any = Retriever()
    provider = HaystackProvider(retriever, score_kind="similarity", uri_key="source", **_key("haystack"))
    return nullcontext(Subject(provider.retrieve, lambda: retriever.run_async(query=REQUEST.query)))


def http(answer: Answer) -> Opened:
    """A service in the contract's own shape, asked with httpx and read as JSON."""
    import httpx

    from knowledge_adapters.http_provider import HTTPProvider

    url, headers = "https://kb.example.com/search", {"content-type": "application/json"}
    body = json.dumps(answer).encode()
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=body, headers=headers))
    client = httpx.AsyncClient(transport=transport)

    async def vendor() -> object:
        answered = await client.post(url, content=REQUEST.model_dump_json(by_alias=True), headers=headers)
        return answered.raise_for_status().json()

    provider = HTTPProvider(url, client=client, score_kind="similarity", **_key("http"))
    return nullcontext(Subject(provider.retrieve, vendor))


def openai(answer: Answer) -> Opened:
    """A vector store, asked with OpenAI's client."""
    import httpx2
    from openai import AsyncOpenAI

    from knowledge_adapters.openai_file_search_provider import OpenAIFileSearchProvider

    rows = [
        {
            "file_id": f"file-{each['id']}",
            "filename": each["source"]["title"],
            "score": each["score"],
            "attributes": _metadata(each),
            "content": [{"type": "text", "text": each["content"]}],
        }
        for each in answer["results"]
    ]
    body = json.dumps({"object": "list", "data": rows, "has_more": False, "next_page": None}).encode()
    headers = {"content-type": "application/json"}
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, content=body, headers=headers))
    client = AsyncOpenAI(api_key="bench", max_retries=0, http_client=httpx2.AsyncClient(transport=transport))

    async def vendor() -> object:
        return await client.vector_stores.search("vs_bench", query=REQUEST.query, max_num_results=RESULTS)

    provider = OpenAIFileSearchProvider({"bench": "vs_bench"}, client=client, **_key("openai"))
    return nullcontext(Subject(provider.retrieve, vendor))


@asynccontextmanager
async def mcp(answer: Answer) -> AsyncGenerator[Subject]:
    """A tool of a server in this process, with its answer as structured content, over a session that stays open."""
    from mcp import Client
    from mcp.server import Server
    from mcp.types import CallToolResult, ListToolsResult, Tool

    from knowledge_adapters.mcp_provider import MCPProvider

    async def call(*_: Any) -> CallToolResult:
        return CallToolResult(content=[], structured_content=answer)

    async def tools(*_: Any) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name="search", input_schema={"type": "object"})])

    server: Server[Any] = Server("bench", on_call_tool=call, on_list_tools=tools)
    provider = MCPProvider(server, tool="search", score_kind="similarity", **_key("mcp"))
    async with Client(server) as client:
        yield Subject(provider.retrieve, lambda: client.call_tool("search", {"query": REQUEST.query}))
        await provider.close()


SUBJECTS: Final[dict[str, Callable[[Answer], Opened]]] = {
    "langchain": langchain,
    "langchain, sync": partial(langchain, in_thread=True),
    "llama-index": llama_index,
    "haystack": haystack,
    "http": http,
    "openai": openai,
    "mcp": mcp,
}
