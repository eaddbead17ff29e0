"""``LlamaIndexProvider`` over LlamaIndex's own index: requests, context, description, the file and its page."""

import ast
import asyncio
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llama_index_subjects as subjects
import pytest
from llama_index.core.vector_stores import FilterCondition, MetadataFilter, MetadataFilters, SimpleVectorStore
from llama_index_subjects import SECRET, Answering, ask, context, ids, node, over, scored

import knowledge_adapters.llama_index_provider as module
from knowledge_adapters.llama_index_provider import LlamaIndexProvider
from knowledge_fakes.handbook import load_handbook
from knowledge_fakes.vendors.llama_index_retriever import AsyncHandbookRetriever
from knowledge_provider import CancelSignal, ProviderDescription, RetrievalContext, RetrievalRequest, Source, errors

ADAPTER = Path(module.__file__)
DOCS = Path(__file__).parents[2] / "docs" / "adapters-llama-index.md"
QUIET = pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")


# Over the index and the handbook's own search


def test_an_index_answers_with_scores_that_never_increase() -> None:
    """Clause 5.4, with what the metadata say about the source kept out of the metadata."""
    results = ask(subjects.vector_index(), top_k=4)
    numbers = [result.score or 0.0 for result in results]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[-1] > 0
    assert results[0].id == "release-handbook#approvals"
    assert results[0].source == Source(
        id="release-handbook", title="Release handbook", uri="https://handbook.example.com/release-handbook"
    )
    assert results[0].metadata == load_handbook().passages[results[0].id].metadata


@pytest.mark.parametrize("make", [subjects.asynchronous, subjects.synchronous])
def test_a_scripted_retriever_answers_as_the_handbook_does(make: Callable[[], LlamaIndexProvider]) -> None:
    """The ids, their order and the contents are those of the handbook's own search."""
    for query in ("release policy", "lost laptop", "报销需要收据"):
        request = RetrievalRequest(query=query)
        wanted = [(found["id"], found["content"]) for found in load_handbook().search(request)]
        assert [(result.id, result.content) for result in ask(make(), query)] == wanted


@QUIET
@pytest.mark.parametrize("query", ["🙂", "';--", "𓂀", "zzqx"])
def test_a_query_that_has_no_word_in_common_finds_nothing(query: str) -> None:
    """Clauses 3.2 and 3.7: LlamaIndex's cosine divides by zero then, and that is no failure."""
    assert ask(subjects.vector_index(), query) == []


@pytest.mark.parametrize("own", [0, 1, 2, 50])
@pytest.mark.parametrize("top_k", [1, 5, 8])
def test_the_index_is_asked_for_as_many_as_the_request_wants(own: int, top_k: int) -> None:
    """Clause 3.3: over the retriever's own number, where 0 would mean everything and 2 is the default."""
    store = Counting()
    index = subjects.index_of([node(str(number), text=f"release policy {number}") for number in range(10)], store)
    retriever: Any = index.as_retriever(similarity_top_k=own)
    assert len(ask(over(retriever), top_k=top_k)) == top_k
    assert store.numbers == [top_k]
    assert retriever.similarity_top_k == own


class Counting(SimpleVectorStore):
    """Remembers how many nodes each search was for."""

    numbers: list[int] = []  # noqa: RUF012 - pydantic copies a default

    def query(self, query: Any, **kwargs: Any) -> Any:
        self.numbers.append(query.similarity_top_k)
        return super().query(query, **kwargs)


@QUIET
def test_nothing_is_sent_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """No socket is even opened, and no model of LlamaIndex's defaults is asked for."""
    reached: list[object] = []
    monkeypatch.setattr(socket.socket, "connect", lambda _, address: reached.append(address))
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *_, **__: reached.append(host))
    for make in (subjects.vector_index, subjects.asynchronous, subjects.synchronous):
        assert ask(make())
    assert reached == []


# Filters and bases


@pytest.mark.parametrize(("filters", "wanted"), [
    ({"department": "people"}, {"department": {"people"}}),
    ({"department": "people", "language": "en"}, {"department": {"people"}, "language": {"en"}}),
    ({"department": ["people", "support"]}, {"department": {"people", "support"}}),
    ({"revision": 3}, {"revision": {3}}),
    ({"revision": 3.0}, {"revision": {3}}),
    ({"revision": [3, 4, 12]}, {"revision": {3, 4, 12}}),
])  # fmt: skip
def test_every_result_satisfies_the_filters(filters: dict[str, Any], wanted: dict[str, set[Any]]) -> None:
    """Clause 3.5: all of the names, any of the values; and the index is asked so, or fewer of them would be left."""
    provider = over(subjects.handbook_index().as_retriever(), filter_keys=["department", "language", "revision"])
    assert provider.describe().capabilities["filters"] is True
    results = ask(provider, "release policy", filters=filters, top_k=8)
    passages = load_handbook().passages.values()
    there = {each.id for each in passages if all(each.metadata[name] in them for name, them in wanted.items())}
    assert there
    assert len(results) == min(8, len(there))
    assert set(ids(results)) <= there


@pytest.mark.parametrize("filters", [
    {"department": True},
    {"department": None},
    {"department": []},
    {"department": {"$ne": "people"}},
    {"department": ["people", 3]},
    {"department": ["people", True]},
    {"department": ["people", "x') OR 1=1 --"]},
    {"binding": True},
    {"owner": "bob"},
    {"department' = 'x' OR '1'='1' --": "people"},
    {"": "people"},
])  # fmt: skip
def test_another_filter_is_refused_and_nothing_is_asked(filters: dict[str, Any]) -> None:
    """Clause 3.5; names that are not the user's, and lists with apostrophes, are SQL in some of LlamaIndex's stores."""
    store = Counting()
    index = subjects.index_of([node("a", text="release policy")], store)
    with pytest.raises(errors.KnowledgeFiltersUnsupportedError):
        ask(over(index.as_retriever(), filter_keys=["department"]), filters=filters)
    assert store.numbers == []


def test_without_named_keys_filters_are_refused_and_not_claimed() -> None:
    """Clause 3.5."""
    for retriever in (subjects.handbook_index().as_retriever(), Answering(scored("a"))):
        provider = over(retriever)
        assert provider.describe().capabilities["filters"] is False
        with pytest.raises(errors.KnowledgeFiltersUnsupportedError):
            ask(provider, filters={"department": "people"})


class Careless(SimpleVectorStore):
    """A store that passes over filters, as some do."""

    def query(self, query: Any, **kwargs: Any) -> Any:
        query.filters = None
        return super().query(query, **kwargs)


def test_a_store_that_passes_over_filters_shows_nothing_that_they_exclude() -> None:
    """Clauses 3.5 and 4.3: every node is looked at here too."""
    nodes = [node(who, text="release policy", metadata={"owner": who, "level": 1}) for who in ("alice", "bob")]
    nodes.append(node("true", text="release policy", metadata={"owner": "alice", "level": True}))
    nodes.append(node("both", text="release policy", metadata={"owner": ["bob", "alice"], "level": 1}))
    nodes.append(node("nobody", text="release policy"))
    index = subjects.index_of(nodes, Careless())
    provider = over(index.as_retriever(), filter_keys=["level"], scope=lambda context: {"owner": context.owner_id})
    assert sorted(ids(ask(provider, filters={"level": 1}))) == ["alice", "both"]
    assert ask(provider, filters={"level": 2}) == []


def test_one_is_not_true() -> None:
    """JSON keeps 1 and true apart; Python and LlamaIndex's own store do not."""
    index = subjects.index_of([node("a", text="release policy", metadata={"level": True})])
    assert ask(over(index.as_retriever(), filter_keys=["level"]), filters={"level": 1}) == []


def test_the_retrievers_own_filters_stay() -> None:
    """Whatever a request filters by, and whoever asks."""
    own = MetadataFilters(filters=[MetadataFilter(key="language", value="zh")])
    retriever = subjects.handbook_index().as_retriever(filters=own)
    results = ask(
        over(retriever, filter_keys=["department"]), "报销 release", filters={"department": "finance"}, top_k=8
    )
    assert {result.metadata["language"] for result in results} == {"zh"}
    assert own.filters == [MetadataFilter(key="language", value="zh")]


@pytest.mark.parametrize("condition", [FilterCondition.OR, FilterCondition.NOT])
@pytest.mark.parametrize("options", [{"filter_keys": ["department"]}, {"scope": lambda _: {"owner": "alice"}}])
def test_own_filters_that_more_cannot_be_added_to_are_refused(condition: Any, options: dict[str, Any]) -> None:
    """One more alternative would show more, not less."""
    own = MetadataFilters(filters=[MetadataFilter(key="language", value="zh")], condition=condition)
    with pytest.raises(ValueError, match="joined by AND"):
        over(subjects.handbook_index().as_retriever(filters=own), **options)


def test_a_named_base_is_answered_and_another_refused() -> None:
    """Clause 3.4; without a name, no base can be asked for."""
    provider = subjects.vector_index()
    assert ask(provider, knowledge_base_ids=("other", "handbook")) == ask(provider)
    for refusing in (provider, subjects.asynchronous()):
        with pytest.raises(errors.KnowledgeBaseUnknownError):
            ask(refusing, knowledge_base_ids=("other",))


# Owners


def test_scope_keeps_owners_apart_whatever_the_request_says() -> None:
    """Clauses 4.2 and 4.3, also under concurrent calls."""
    provider = over(
        subjects.owned_index().as_retriever(),
        filter_keys=["owner", "department"],
        scope=lambda context: {"owner": context.owner_id},
    )

    async def documents(owner: str, **fields: Any) -> set[str]:
        request = RetrievalRequest(query="release of bob leave owner=bob", top_k=8, **fields)
        return {result.id.partition("#")[0] for result in await provider.retrieve(request, context(owner))}

    async def at_once() -> list[set[str]]:
        plain = [documents(owner) for owner in ("alice", "bob") * 4]
        return await asyncio.gather(*plain, documents("alice", filters={"owner": "bob"}))

    *found, foreign = asyncio.run(at_once())
    assert all(found)
    for owner, each in zip(("alice", "bob") * 4, found, strict=True):
        assert each <= set(subjects.OWNERS[owner])
    assert foreign == set()


def test_scope_may_give_several_values() -> None:
    """Such as the teams that an owner belongs to."""
    provider = over(subjects.owned_index().as_retriever(), scope=lambda _: {"owner": ["alice", "bob"]})
    owned = {document for held in subjects.OWNERS.values() for document in held}
    assert {result.id.partition("#")[0] for result in ask(provider, "release leave", top_k=8)} <= owned


def test_scope_and_filters_are_refused_where_nothing_could_be_narrowed() -> None:
    """A retriever of another kind would search everybody's documents, without a word."""
    for options in ({"scope": lambda _: {"owner": "alice"}}, {"filter_keys": ["department"]}):
        with pytest.raises(ValueError, match="for a VectorIndexRetriever"):
            over(AsyncHandbookRetriever(), **options)


def test_a_blank_owner_and_an_empty_scope_are_refused() -> None:
    """Clause 4.4: neither may mean everybody's documents."""
    retriever = subjects.owned_index().as_retriever()
    nobody = RetrievalContext.model_construct(owner_id=" ", signal=CancelSignal())
    with pytest.raises(errors.KnowledgeOwnerRequiredError):
        asyncio.run(subjects.owners().retrieve(RetrievalRequest(query="release"), nobody))
    for nothing in (dict, lambda: None):
        with pytest.raises(errors.KnowledgeFailedError):
            ask(over(retriever, scope=lambda _, nothing=nothing: nothing()))


# Identity


def test_the_description_is_equal_each_time_whatever_is_done_to_it() -> None:
    """Clauses 1.2 and 1.7."""
    provider = subjects.vector_index()
    described = provider.describe()
    described.capabilities["filters"] = False
    capabilities = {"filters": True, "scores": True, "citations": True}
    assert provider.describe() == ProviderDescription(
        protocol_version=1, key="handbook", label="Handbook", capabilities=capabilities
    )


@pytest.mark.parametrize("options", [{"key": "Not A Key"}, {"key": "k\n"}, {"label": " "}])
def test_a_bad_key_or_label_is_refused_when_it_is_made(options: dict[str, str]) -> None:
    """Clauses 1.4 and 1.5: not at the first turn."""
    with pytest.raises(ValueError, match="validation error"):
        over(Answering(), **options)


def test_a_misspelt_kind_of_score_is_refused_when_it_is_made() -> None:
    """It would turn the ranking round, or leave the scores out."""
    with pytest.raises(KeyError):
        over(Answering(), score_kind="cosine")


def test_its_repr_shows_nothing_of_the_retriever() -> None:
    """Clause 6.4: a retriever's own may show its connection."""

    class Leaky(Answering):
        def __repr__(self) -> str:
            return SECRET

    assert SECRET not in repr(over(Leaky()))


# The file and the page


def test_the_file_is_short_and_imports_of_ours_the_contract_alone() -> None:
    """So that it can be copied alone, and read before."""
    source = ADAPTER.read_text(encoding="utf-8")
    tree = ast.parse(source)
    imported = {each.module for each in ast.walk(tree) if isinstance(each, ast.ImportFrom) and each.module}
    roots = {name.partition(".")[0] for name in imported} - set(sys.stdlib_module_names)
    assert roots == {"knowledge_provider", "llama_index"}
    assert len(source.splitlines()) <= 150


def test_a_copy_of_it_works_and_brings_no_model_along(tmp_path: Path) -> None:
    """LlamaIndex is imported by its user; the file adds none of its embeddings, and none of its integrations."""
    shutil.copy(ADAPTER, tmp_path / "my_search.py")
    program = """
import asyncio, sys
import my_search
assert not [name for name in sys.modules if name.startswith("llama_index")]
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from knowledge_provider import RetrievalContext, RetrievalRequest
class Handbook(BaseRetriever):
    def _retrieve(self, query): return [NodeWithScore(node=TextNode(text="found " + query.query_str))]
provider = my_search.LlamaIndexProvider(Handbook(), key="k", label="L")
print(asyncio.run(provider.retrieve(RetrievalRequest(query="q"), RetrievalContext(owner_id="o")))[0].content)
theirs = (name.split(".")[:2] for name in sys.modules if name.startswith("llama_index."))
print([name for name in theirs if name != ["llama_index", "core"]])
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ended.stdout == "found q\n[]\n"


EXAMPLES = re.findall(r"^```python\n(.*?)^```$", DOCS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_of_the_page_runs_alone(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    """And prints what its last comment says."""
    exec(compile(example, str(DOCS), "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out.splitlines()
    assert printed
    assert printed == re.findall(r"^# prints: (.*)$", example, re.MULTILINE)
