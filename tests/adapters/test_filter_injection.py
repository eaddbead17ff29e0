"""Filters that would end a string in a query language, on each adapter that hands filters on (field case 83).

None of them writes a query: what a vendor is told is a structure in which a text stands whole, in its own place, or
nothing at all, since the filter was refused.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import haystack_subjects
import http_subjects
import llama_index_subjects
import mcp_subjects
import openai_subjects
import pytest
from equivalence import asked, opened
from faulty import failure_of
from llama_index.core.vector_stores import SimpleVectorStore
from six_vendors import giving

from knowledge_fakes.vendors.haystack_retriever import AsyncHandbookRetriever
from knowledge_fakes.vendors.http_service import KnowledgeService
from knowledge_fakes.vendors.mcp_service import ToolService
from knowledge_fakes.vendors.openai_service import VectorStoreService
from knowledge_provider import KnowledgeFailedError

TEXTS: Final = (
    '") or true or ("',
    "' OR '1'='1",
    "\\",
    "x\\' UNION SELECT",
    "*",
    "a} | @owner:{bob",
    "${jndi}",
    "\x00;--",
)
KEYS: Final = ('department"] != "" or metadata["x', "department' OR '1'='1", "department == 'x' or owner", "$where")
OPERATORS: Final[tuple[Any, ...]] = ({"$ne": None}, {"$gt": ""}, {"operator": "OR", "conditions": []}, [["x"]])


class Told(NamedTuple):
    """A provider that takes the filter ``department``, and what its vendor was told to filter by, search by search."""

    provider: Any
    filters: Callable[[], list[Any]]


class Noting(SimpleVectorStore):
    """LlamaIndex's own store, and what it is told."""

    told: list[Any] = []  # noqa: RUF012 - pydantic copies a default

    def query(self, query: Any, **kwargs: Any) -> Any:
        self.told.append([each.model_dump() for each in query.filters.filters])
        return super().query(query, **kwargs)


def llama_index() -> Told:
    store = Noting()
    nodes = [llama_index_subjects.node("a", text="release policy", metadata={"department": "people"})]
    retriever = llama_index_subjects.index_of(nodes, store).as_retriever()
    return Told(llama_index_subjects.over(retriever, filter_keys=["department"]), lambda: store.told)


def haystack() -> Told:
    retriever = AsyncHandbookRetriever()
    provider = haystack_subjects.over(retriever, filter_keys=["department"])
    return Told(provider, lambda: [each.filters for each in retriever.asked])


def openai() -> Told:
    service = VectorStoreService()
    return Told(openai_subjects.over(service), lambda: [each.body["filters"] for each in service.searches])


def mcp() -> Told:
    service = ToolService()
    provider = mcp_subjects.over(service, arguments={"query": "query", "filters": "filters"})
    return Told(provider, lambda: [each["filters"] for each in service.seen])


def http() -> Told:
    service = KnowledgeService()
    return Told(http_subjects.over(service, filters=True), lambda: [each.request["filters"] for each in service.seen])


VENDORS: Final[Mapping[str, Callable[[], Told]]] = {
    "LlamaIndex": llama_index,
    "Haystack": haystack,
    "OpenAI": openai,
    "MCP": mcp,
    "HTTP": http,
}
each_vendor = pytest.mark.parametrize("vendor", VENDORS)
# These write names and conditions themselves; MCP and HTTP hand the contract's JSON on as it is.
BY_NAME: Final = ("LlamaIndex", "Haystack")
IN_OWN_WORDS: Final = ("LlamaIndex", "Haystack", "OpenAI")


def told_of(vendor: str, filters: dict[str, Any]) -> list[Any]:
    """What the vendor was told, whatever came of it."""

    async def scene(told: Told) -> list[Any]:
        async with opened(told.provider) as provider:
            await asked(provider, filters=filters)
        return told.filters()

    return asyncio.run(scene(VENDORS[vendor]()))


def texts_in(value: Any) -> Iterator[str]:
    """Every string of a structure, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, held in value.items():
            yield key
            yield from texts_in(held)
    elif isinstance(value, list | tuple):
        for held in value:
            yield from texts_in(held)


@each_vendor
def test_an_ordinary_text_reaches_the_vendor(vendor: str) -> None:
    """Or the others would show nothing."""
    (filters,) = told_of(vendor, {"department": "people"})
    assert [*texts_in(filters)].count("people") == 1


@each_vendor
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("wrap", [lambda text: text, lambda text: ["people", text]], ids=["one", "list"])
def test_a_text_stays_one_value(vendor: str, text: str, wrap: Callable[[str], Any]) -> None:
    """Field case 83: whole in its place, and part of no other text; or the vendor was never asked."""
    told = told_of(vendor, {"department": wrap(text)})
    assert len(told) == 1 or vendor == "LlamaIndex"
    for filters in told:
        assert [each for each in texts_in(filters) if text in each] == [text]


@pytest.mark.parametrize("text", [text for text in TEXTS if set(text) & set("'\"\\")])
def test_llamaindex_is_told_no_text_that_could_end_a_string(text: str) -> None:
    """Field case 83: its stores for PostgreSQL and Db2 paste texts into SQL, so whichever store it is."""
    assert told_of("LlamaIndex", {"department": text}) == []
    own = llama_index_subjects.owned_index().as_retriever()
    error = failure_of(llama_index_subjects.over(own, scope=lambda _: {"owner": text}))
    assert type(error) is KnowledgeFailedError
    assert text not in str(error)


@pytest.mark.parametrize("vendor", BY_NAME)
@pytest.mark.parametrize("key", KEYS)
def test_a_name_that_is_not_the_users_never_reaches_the_vendor(vendor: str, key: str) -> None:
    """Field case 83: also beside one that is."""
    assert told_of(vendor, {key: "people"}) == told_of(vendor, {"department": "people", key: "people"}) == []


@pytest.mark.parametrize("vendor", sorted({*VENDORS} - {*BY_NAME}))
@pytest.mark.parametrize("key", KEYS)
def test_a_name_stays_one_name(vendor: str, key: str) -> None:
    """Field case 83: a service that is told names in JSON gets it whole, and refuses it if it has none such."""
    (filters,) = told_of(vendor, {key: "people"})
    assert [each for each in texts_in(filters) if key in each] == [key]


@pytest.mark.parametrize("vendor", IN_OWN_WORDS)
@pytest.mark.parametrize("value", OPERATORS, ids=str)
def test_an_operator_of_the_requests_never_reaches_the_vendor(vendor: str, value: Any) -> None:
    """Field case 83: it could turn an equality into anything."""
    assert told_of(vendor, {"department": value}) == []


def test_langchain_is_told_no_filter_at_all() -> None:
    """Field case 83: its stores have no filter language in common."""
    searches: list[None] = []
    for filters in ({"department": TEXTS[0]}, {KEYS[0]: "people"}, {"department": OPERATORS[0]}):
        provider = giving("LangChain", lambda: searches.append(None))
        assert failure_of(provider, filters=filters).code == "knowledge_filters_unsupported"
    assert searches == []
