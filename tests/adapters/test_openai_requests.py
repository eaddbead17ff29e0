"""What ``OpenAIFileSearchProvider`` makes of a request's bases and filters, and of the context's owner."""

import asyncio
from typing import Any

import pytest
from openai_subjects import BASES, answer, ask, context, over

from knowledge_fakes.vendors.openai_service import Chunk, VectorStoreService
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest, errors

# Bases


def test_bases_choose_the_stores_to_ask() -> None:
    """Clause 3.4: the table names them; without any, all are asked, and one that is unknown gives nothing."""
    service = VectorStoreService()
    provider = over(service, BASES)
    asked = []
    for bases in ((), ("people",), ("support", "engineering"), ("people", "elsewhere")):
        service.searches.clear()
        answer(provider, knowledge_base_ids=bases)
        asked.append({search.store for search in service.searches})
    assert asked == [set(BASES.values()), {"vs_people"}, {"vs_support", "vs_engineering"}, {"vs_people"}]


@pytest.mark.parametrize("base", ["elsewhere", "vs_people", "People"])
def test_an_unknown_base_is_refused_and_nothing_is_asked(base: str) -> None:
    """Clause 3.4: the id of a store is no id of a base, so a model cannot reach one that is not in the table."""
    service = VectorStoreService()
    with pytest.raises(errors.KnowledgeBaseUnknownError):
        ask(over(service, BASES), knowledge_base_ids=(base,))
    assert service.searches == []


@pytest.mark.parametrize("stores", [{}, {"handbook": ""}])
def test_a_table_without_stores_is_refused(stores: dict[str, str]) -> None:
    """It could only find nothing, and would look as if nothing was known."""
    with pytest.raises(ValueError, match="the id of a vector store"):
        over(VectorStoreService(), stores)


# Filters and owners


@pytest.mark.parametrize(
    ("filters", "sent"),
    [
        ({"language": "zh"}, [{"type": "eq", "key": "language", "value": "zh"}]),
        ({"language": ["zh"]}, [{"type": "eq", "key": "language", "value": "zh"}]),
        (
            {"binding": True, "revision": 7},
            [{"type": "eq", "key": "binding", "value": True}, {"type": "eq", "key": "revision", "value": 7}],
        ),
        (
            {"binding": [True, False]},
            [
                {
                    "type": "or",
                    "filters": [
                        {"type": "eq", "key": "binding", "value": True},
                        {"type": "eq", "key": "binding", "value": False},
                    ],
                }
            ],
        ),
    ],
)
def test_a_filter_is_a_comparison_of_attributes(filters: dict[str, Any], sent: list[Any]) -> None:
    """By equality: all of the names, any of a list's values."""
    service = VectorStoreService()
    answer(over(service), filters=filters)
    assert [search.body["filters"] for search in service.searches] == [{"type": "and", "filters": sent}]


@pytest.mark.parametrize(
    ("filters", "allowed"),
    [
        ({"department": "people"}, lambda held: held["department"] == "people"),
        (
            {"department": ["people", "support"], "language": "en"},
            lambda held: held["department"] in ("people", "support") and held["language"] == "en",
        ),
        ({"binding": [True]}, lambda held: held["binding"] is True),
        ({"revision": [7, 3]}, lambda held: held["revision"] in (7, 3)),
        ({"revision": True}, lambda held: False),
        ({"nothing": "here"}, lambda held: False),
    ],
)
def test_every_result_satisfies_the_filters(filters: dict[str, Any], allowed: Any) -> None:
    """Clause 3.5: and nothing that satisfies them is kept back."""
    provider = over(VectorStoreService())
    query = "release policy expenses customers"
    wanted = [result.id for result in ask(provider, query, top_k=8) if allowed(result.metadata)]
    found = ask(provider, query, top_k=8, filters=filters)
    assert all(allowed(result.metadata) for result in found)
    assert [result.id for result in found][: len(wanted)] == wanted


@pytest.mark.parametrize("value", [None, {}, {"type": "ne", "value": "zh"}, [], [["zh"]], ["zh", None]])
def test_another_filter_is_refused_and_nothing_is_asked(value: Any) -> None:
    """Clause 3.5: also one in the API's own language, which might take the owner's filter apart."""
    service = VectorStoreService()
    with pytest.raises(errors.KnowledgeFiltersUnsupportedError):
        ask(over(service), filters={"language": value})
    assert service.searches == []


def notes() -> VectorStoreService:
    owned = [(owner, n) for n in range(3) for owner in ("alice", "bob")]
    chunks = [
        Chunk(f"{owner}-{n}", "a release", "file-1", "notes.md", f"release {n} of {owner}", {"owner": owner, "n": n})
        for owner, n in owned
    ]
    return VectorStoreService({"vs_notes": chunks})


def owned_by(known: RetrievalContext) -> dict[str, Any]:
    return {"owner": known.owner_id}


NOTES = {"notes": "vs_notes"}


def test_scope_keeps_owners_apart_whatever_the_request_says() -> None:
    """Clauses 4.2 and 4.3, also under concurrent calls and with filters that name another owner."""
    provider = over(notes(), NOTES, scope=owned_by)
    questions: list[dict[str, Any]] = [
        {"top_k": 8},
        {"top_k": 8, "filters": {"owner": ["alice", "bob"]}},
        {"top_k": 8, "filters": {"ownerId": "bob"}},
        {"filters": {"owner": "bob"}},
    ]

    async def texts(owner: str, fields: dict[str, Any]) -> set[str]:
        request = RetrievalRequest(query="release of bob ownerId=bob", **fields)
        found = await provider.retrieve(request, context(owner))
        return {result.content for result in found["results"]}

    async def all_at_once() -> list[list[set[str]]]:
        return [
            await asyncio.gather(*(texts(owner, fields) for fields in questions)) for owner in ("alice", "bob", "carol")
        ]

    alices, bobs, carols = asyncio.run(all_at_once())
    of_alice, of_bob = ({f"release {n} of {owner}" for n in range(3)} for owner in ("alice", "bob"))
    assert alices == [of_alice, of_alice, set(), set()]
    assert bobs == [of_bob, of_bob, set(), of_bob]
    assert carols == [set()] * 4


def test_scope_may_give_several_values() -> None:
    """Such as the teams of an owner."""
    provider = over(notes(), NOTES, scope=lambda _: {"owner": ["alice", "bob"], "n": 1})
    assert {result.content for result in ask(provider, "release", top_k=8)} == {
        "release 1 of alice",
        "release 1 of bob",
    }


@pytest.mark.parametrize(
    "given", [{}, {"owner": None}, {"owner": []}, {"owner": {"type": "ne"}}, {"owner": ("alice",)}]
)
def test_a_scope_that_says_nothing_of_the_owner_searches_nothing(given: dict[str, Any]) -> None:
    """Clause 4.4: neither an empty list nor a null may mean everybody's documents."""
    service = notes()
    with pytest.raises(errors.KnowledgeError):
        ask(over(service, NOTES, scope=lambda _: given), "release")
    assert service.searches == []


def test_a_blank_owner_is_refused_where_owners_are_kept_apart() -> None:
    """Clause 4.4."""
    nobody = RetrievalContext.model_construct(owner_id=" ", signal=CancelSignal())
    provider = over(notes(), NOTES, scope=owned_by)
    with pytest.raises(errors.KnowledgeOwnerRequiredError):
        asyncio.run(provider.retrieve(RetrievalRequest(query="release"), nobody))
