"""What adapters cost beside their vendors' own calls, in normalisings of the same answer, and what many calls leave.

``python tests/bench/bench_adapters.py`` prints both for every adapter and exits with 1 when one is over its bound; with
names of adapters after it, for those alone. Vendors are fakes in this process, without a network.
"""

import asyncio
import gc
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench_normalize import CONTENT_CHARS, METADATA_ENTRIES, RESULTS, TEXTS, answer, report

from knowledge_provider import RetrievalContext, RetrievalRequest, normalize_response

NORMALIZINGS_MAX = 1.0
RUNS = 200
CALLS, WARM_UP = 10_000, 500
CALLS_BYTES_MAX = 2_000_000

REQUEST: Final = RetrievalRequest(query="release policy", top_k=RESULTS)
CONTEXT: Final = RetrievalContext(owner_id="bench")
# Text with white space and other scripts in it, as most is.
ANSWER: Final = answer(TEXTS["mixed"], CONTENT_CHARS)
BODY: Final = json.dumps(ANSWER).encode()


class Subject(NamedTuple):
    """A provider's ``retrieve``, and its vendor's own call with the same answer; ``in_thread`` if that blocks."""

    retrieve: Callable[[RetrievalRequest, RetrievalContext], Awaitable[object]]
    vendor: Callable[[], Awaitable[object]]
    in_thread: bool = False


def _metadata(result: dict[str, Any]) -> dict[str, Any]:
    """16 entries, place and title among them, since that is where most vendors keep those."""
    own = dict(list(result["metadata"].items())[: METADATA_ENTRIES - 2])
    return {**own, "source": result["source"]["uri"], "title": result["source"]["title"]}


def _key(name: str) -> dict[str, Any]:
    return {"key": name, "label": "Bench"}


# Subjects: one function for each, and its name in ``SUBJECTS``. A vendor is imported where it is needed.


def langchain(in_thread: bool = False) -> Subject:
    """A retriever with a method of its own, asynchronous or not."""
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    from knowledge_adapters.langchain_provider import LangChainProvider

    found = [
        Document(id=each["id"], page_content=each["content"], metadata=_metadata(each)) for each in ANSWER["results"]
    ]

    class Sync(BaseRetriever):
        def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            return found[: len(query)]

    class Async(Sync):
        async def _aget_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            return found[: len(query)]

    retriever = Sync() if in_thread else Async()

    async def vendor() -> object:
        return retriever.invoke(REQUEST.query) if in_thread else await retriever.ainvoke(REQUEST.query)

    return Subject(LangChainProvider(retriever, **_key("langchain")).retrieve, vendor, in_thread)


def llama_index() -> Subject:
    """A retriever with an asynchronous method of its own."""
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    from knowledge_adapters.llama_index_provider import LlamaIndexProvider

    found = [
        NodeWithScore(node=TextNode(id_=each["id"], text=each["content"], metadata=_metadata(each)), score=0.5)
        for each in ANSWER["results"]
    ]

    class Retriever(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return found[: len(query_bundle.query_str)]

        async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return self._retrieve(query_bundle)

    retriever = Retriever()
    provider = LlamaIndexProvider(retriever, score_kind="similarity", **_key("llama-index"))
    return Subject(provider.retrieve, lambda: retriever.aretrieve(REQUEST.query))


def haystack() -> Subject:
    """A component with ``run_async``."""
    from haystack import Document, component

    from knowledge_adapters.haystack_provider import HaystackProvider

    found = [
        Document(id=each["id"], content=each["content"], meta=_metadata(each), score=0.5) for each in ANSWER["results"]
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
    return Subject(provider.retrieve, lambda: retriever.run_async(query=REQUEST.query))


def http() -> Subject:
    """A service in the contract's own shape, asked with httpx and read as JSON."""
    import httpx

    from knowledge_adapters.http_provider import HTTPProvider

    url, headers = "https://kb.example.com/search", {"content-type": "application/json"}
    client = httpx.AsyncClient(
        transport=httpx.MockTransport(lambda _: httpx.Response(200, content=BODY, headers=headers))
    )

    async def vendor() -> object:
        answered = await client.post(url, content=REQUEST.model_dump_json(by_alias=True), headers=headers)
        return answered.raise_for_status().json()

    return Subject(HTTPProvider(url, client=client, score_kind="similarity", **_key("http")).retrieve, vendor)


def openai() -> Subject:
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
        for each in ANSWER["results"]
    ]
    body = json.dumps({"object": "list", "data": rows, "has_more": False, "next_page": None}).encode()
    headers = {"content-type": "application/json"}
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, content=body, headers=headers))
    client = AsyncOpenAI(api_key="bench", max_retries=0, http_client=httpx2.AsyncClient(transport=transport))

    async def vendor() -> object:
        return await client.vector_stores.search("vs_bench", query=REQUEST.query, max_num_results=RESULTS)

    provider = OpenAIFileSearchProvider({"bench": "vs_bench"}, client=client, **_key("openai"))
    return Subject(provider.retrieve, vendor)


SUBJECTS: Final[dict[str, Callable[[], Subject]]] = {
    "langchain": langchain,
    "langchain, sync": partial(langchain, in_thread=True),
    "llama-index": llama_index,
    "haystack": haystack,
    "http": http,
    "openai": openai,
}


# Measures


async def seconds(call: Callable[[], Awaitable[object]]) -> float:
    """How long one call takes."""
    began = time.perf_counter()
    await call()
    return time.perf_counter() - began


async def normalizing() -> Callable[[], Awaitable[object]]:
    """One normalising of the answer as it is when it has just come: read anew, outside the clock."""
    response = json.loads(BODY)

    async def call() -> object:
        return normalize_response(response, query=REQUEST.query, limit=RESULTS)

    return call


async def normalizings(subject: Subject) -> tuple[float, float]:
    """What the adapter adds to its vendor's call, in normalisings: by medians of calls in turn, and by the least.

    For a synchronous vendor less what one thread costs.
    """
    adapter, vendor = partial(subject.retrieve, REQUEST, CONTEXT), subject.vendor
    thread: Callable[[], Awaitable[object]] = partial(asyncio.to_thread if subject.in_thread else _nothing, int)
    taken = [
        (await seconds(adapter), await seconds(vendor), await seconds(thread), await seconds(await normalizing()))
        for _ in range(RUNS)
    ]
    columns = list(zip(*taken, strict=True))
    (median, least) = ([of(column) for column in columns] for of in (statistics.median, min))
    return _added(*median), _added(*least)


async def _nothing(_: object) -> None:
    return None


def _added(adapter: float, vendor: float, thread: float, normalized: float) -> float:
    return (adapter - vendor - thread) / normalized


async def left_behind(subject: Subject) -> int:
    """How many bytes larger the process is after many calls than after the first few; the loop turns in between."""

    async def calls(count: int) -> int:
        for _ in range(count):
            await subject.retrieve(REQUEST, CONTEXT)
            await asyncio.sleep(0)
        gc.collect()
        return _resident_bytes()

    before = await calls(WARM_UP)
    return await calls(CALLS) - before


def _resident_bytes() -> int:
    # What the process holds now, where the system says so: imports have held more than they left.
    now = Path("/proc/self/statm")
    if now.exists():
        return int(now.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


async def measured(name: str) -> bool:
    """Measure one adapter and compare; whether something is over its bound."""
    subject = SUBJECTS[name]()
    # An answer that is no answer would be cheap.
    found = normalize_response(await subject.retrieve(REQUEST, CONTEXT), query=REQUEST.query, limit=RESULTS)
    if len(found.results) != RESULTS or not all(len(each.metadata) >= METADATA_ENTRIES - 2 for each in found.results):
        raise RuntimeError(f"{name} has lost results or metadata, so its time would mean nothing")
    over = report(name, await normalizings(subject), NORMALIZINGS_MAX, "normalisings")
    left = await left_behind(subject)
    print(f"{name:<18} {left / 1e6:5.2f} MB more after {CALLS:,} calls (at most {CALLS_BYTES_MAX / 1e6:g})", flush=True)
    return over or left > CALLS_BYTES_MAX


def main(names: list[str]) -> int:
    """One adapter here; several in a process each, since what one has left is room for another."""
    if len(names) == 1:
        return int(asyncio.run(measured(names[0])))
    return max(subprocess.run([sys.executable, __file__, name], check=False).returncode for name in names)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(SUBJECTS)))
