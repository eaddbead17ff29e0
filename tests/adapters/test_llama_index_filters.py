"""``LlamaIndexProvider`` and who may see what: filters, bases and owners."""

import asyncio
from typing import Any

import llama_index_subjects as subjects
import pytest
from llama_index.core.vector_stores import FilterCondition, MetadataFilter, MetadataFilters, SimpleVectorStore
from llama_index_subjects import Answering, Counting, ask, context, ids, node, over, scored

from knowledge_fakes.handbook import load_handbook
from knowledge_fakes.vendors.llama_index_retriever import AsyncHandbookRetriever
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest, errors

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
    {"department": "x' OR '1'='1"},
    {"department": '") or true or ("'},
    {"department": "\\"},
    {"binding": True},
    {"owner": "bob"},
    {"department' = 'x' OR '1'='1' --": "people"},
    {"": "people"},
])  # fmt: skip
def test_another_filter_is_refused_and_nothing_is_asked(filters: dict[str, Any]) -> None:
    """Clause 3.5, field case 83: names that are not the user's, and texts with quotes, are SQL in some stores."""
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
