"""One corpus, the same queries and faults through all six adapters: the same answers, and the codes of the page."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from equivalence import SECRETS, SUBJECTS, asked, found, opened, said, table
from six_vendors import UNREACHABLE, hanging

from knowledge_fakes.handbook import load_handbook
from knowledge_provider import KnowledgeError, RetrievalRequest, RetrievalResult

QUERIES = ("release policy", "lost laptop", "expense receipts", "报销", "on-call; DROP TABLE", "🙂", "zzqx 973")
ABILITIES, CODES = table("what"), table("what happened")
# How much longer than the deadline a call may take before it counts as one that does not keep to it.
GRACE_SECONDS = 2.0

each_adapter = pytest.mark.parametrize("name", SUBJECTS)


def wanted(query: str, top_k: int) -> list[dict[str, Any]]:
    return load_handbook().search(RetrievalRequest(query=query, top_k=top_k))


async def answers(name: str) -> list[tuple[list[dict[str, Any]], list[RetrievalResult]]]:
    """What the handbook has and what the adapter gives, for every query and several sizes."""
    async with SUBJECTS[name](None) as provider:
        asking = [(query, top_k) for query in QUERIES for top_k in (1, 5, 8)]
        return [(wanted(query, top_k), await found(provider, query, top_k=top_k)) for query, top_k in asking]


def ids_of(passages: list[dict[str, Any]]) -> list[str]:
    return [passage["id"] for passage in passages]


def by_content(pairs: list[tuple[list[dict[str, Any]], list[RetrievalResult]]]) -> dict[str, set[str]]:
    ids: dict[str, set[str]] = {}
    for _, came in pairs:
        for result in came:
            ids.setdefault(result.content, set()).add(result.id)
    return ids


# Answers


def test_the_queries_find_something_and_nothing() -> None:
    """Without that, equal answers would say little."""
    sizes = [len(wanted(query, 8)) for query in QUERIES]
    assert max(sizes) > 5
    assert min(sizes) == 0


@each_adapter
def test_the_same_query_has_the_same_passages_in_the_same_order(name: str) -> None:
    """The whole text and no more, the same public place, and the metadata."""
    for passages, came in asyncio.run(answers(name)):
        assert [result.content for result in came] == [passage["content"] for passage in passages]
        places = [result.source.uri if result.source else None for result in came]
        assert places == [passage["source"]["uri"] for passage in passages]
        for passage, result in zip(passages, came, strict=True):
            assert passage["metadata"].items() <= result.metadata.items()


@each_adapter
def test_ids_are_the_systems_own_or_made(name: str) -> None:
    """Each passage has one id, whatever the query; a made one is the same from another provider."""
    pairs = asyncio.run(answers(name))
    own = all(ids_of(passages) == [result.id for result in came] for passages, came in pairs)
    assert own is not ABILITIES["ids"][name].startswith("made")
    ids = by_content(pairs)
    assert [len(held) for held in ids.values()] == [1] * len(ids)
    assert len(set.union(*ids.values())) == len(ids)
    assert by_content(asyncio.run(answers(name))) == ids


@each_adapter
def test_titles_are_the_documents_or_the_files(name: str) -> None:
    """The page says which."""
    [(passages, came)] = [pair for pair in asyncio.run(answers(name)) if len(pair[0]) == 8][:1]
    same = [result.source.title for result in came if result.source] == [each["source"]["title"] for each in passages]
    assert same is not (ABILITIES["title"][name] == "the file's name")


# Faults

Outcome = list[RetrievalResult] | KnowledgeError


def told(fault: str) -> Callable[[str], Coroutine[Any, Any, Outcome]]:
    async def outcome(name: str) -> Outcome:
        async with SUBJECTS[name](fault) as provider:
            return await asked(provider)

    return outcome


def asking(**fields: Any) -> Callable[[str], Coroutine[Any, Any, Outcome]]:
    async def outcome(name: str) -> Outcome:
        async with SUBJECTS[name](None) as provider:
            return await asked(provider, **fields)

    return outcome


async def closed(name: str) -> Outcome:
    async with SUBJECTS[name](None) as provider:
        await found(provider)
        ending = provider.close()
        if ending is not None:
            await ending
        return await asked(provider)


async def unreachable(name: str) -> Outcome:
    async with opened(UNREACHABLE[name]()) as provider:
        return await asked(provider)


async def too_late(name: str) -> Outcome:
    vendor = hanging(name)
    async with opened(vendor.provider) as provider:
        return await asyncio.wait_for(asked(provider, seconds=0.1), 0.1 + GRACE_SECONDS)


FAULTS = {
    "the key is refused": told("unauthorized"),
    "too many questions": told("rate_limited"),
    "the service is overloaded": told("unavailable"),
    "nobody listens there": unreachable,
    "a time-out of the vendor's own": told("timeout"),
    "the host's deadline passes": too_late,
    "an answer that is none": told("invalid_response"),
    "a base that it does not have": asking(knowledge_base_ids=("nowhere",)),
    "a filter that it cannot keep": asking(filters={"department": {"$ne": "engineering"}}),
    "it was closed": closed,
}


def test_the_page_has_every_fault_and_adapter() -> None:
    """And no other, so that nothing in its table goes untried."""
    assert [*CODES] == [*FAULTS]
    assert all([*row] == ["another try may help", *SUBJECTS] for row in CODES.values())
    assert all([*row] == [*SUBJECTS] for row in ABILITIES.values())


@each_adapter
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_has_the_code_that_the_page_names(fault: str, name: str) -> None:
    """And says the same of another try through each adapter, and nothing that is secret."""
    outcome, row = asyncio.run(FAULTS[fault](name)), CODES[fault]
    assert isinstance(outcome, KnowledgeError)
    assert f"`{outcome.code.removeprefix('knowledge_')}`" == row[name]
    assert outcome.retryable is (row["another try may help"] == "yes")
    assert not any(secret in said(outcome) for secret in SECRETS)


@each_adapter
def test_how_long_to_wait_is_told(name: str) -> None:
    """Whatever says it: a header of a response, or of the response that an exception has."""
    outcome = asyncio.run(told("rate_limited")(name))
    assert isinstance(outcome, KnowledgeError)
    assert getattr(outcome, "retry_after", None) == 7.0
