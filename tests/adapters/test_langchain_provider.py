"""``LangChainProvider`` over LangChain's own targets: requests, context, description and life."""

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

import langchain_subjects as subjects
import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_subjects import SECRET, Answering, ask, context, document, ids, over
from pydantic import ValidationError

import knowledge_adapters.langchain_provider as module
from knowledge_adapters.langchain_provider import LangChainProvider
from knowledge_provider import (
    CancelSignal,
    ProviderDescription,
    RetrievalContext,
    RetrievalRequest,
    RetrievalResult,
    Source,
    errors,
)

ADAPTER = Path(module.__file__)
DOCS = Path(__file__).parents[2] / "docs" / "adapters-langchain.md"


# Over real targets


def test_a_store_answers_with_scores_that_never_increase() -> None:
    """Clause 5.4, with what the metadata say about the source kept out of the metadata."""
    results = ask(subjects.vector_store(), top_k=4)
    scores = [result.score or 0.0 for result in results]
    assert set(ids(results)) >= {"release-policy", "on-call"}
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 0
    policy = next(result for result in results if result.id == "release-policy")
    assert policy.source == Source(uri="https://handbook.example.org/release-policy", title="release policy")
    assert policy.metadata == {"language": "en"}


@pytest.mark.parametrize("make", [subjects.keyword_retriever, subjects.async_retriever])
def test_a_retriever_answers_in_its_own_order_without_scores(make: Callable[[], LangChainProvider]) -> None:
    """A retriever gives no numbers, so none are claimed and none are made up."""
    provider = make()
    results = ask(provider, "release manager on call", top_k=3)
    assert results[0].id == "on-call"
    assert [result.score for result in results] == [None] * 3
    assert provider.describe().capabilities["scores"] is False


def test_a_chinese_query_finds_a_chinese_page_by_its_path() -> None:
    """Clause 6.2: a path is no URI, so it becomes the source's id and locator."""
    for make in (subjects.vector_store, subjects.keyword_retriever, subjects.async_retriever):
        first = ask(make(), "报销需要收据")[0]
        assert first.id == "expenses-zh"
        assert first.source == Source(
            id="handbook/expenses-zh.md", locator="handbook/expenses-zh.md", title="expenses zh"
        )


@pytest.mark.parametrize("make", [subjects.vector_store, subjects.keyword_retriever, subjects.async_retriever])
@pytest.mark.parametrize("query", ["🙂", "';--", "𓂀", "zzqx"])
def test_a_query_that_has_no_word_in_common_finds_nothing(make: Callable[[], LangChainProvider], query: str) -> None:
    """Clauses 3.2 and 3.7: LangChain's cosine raises on a vector of zeros, and that is no failure."""
    assert ask(make(), query) == []


@pytest.mark.parametrize("top_k", [1, 3, 8])
@pytest.mark.parametrize("make", [subjects.vector_store, subjects.keyword_retriever, subjects.async_retriever])
def test_there_are_at_most_top_k_results(make: Callable[[], LangChainProvider], top_k: int) -> None:
    """Clause 3.3, whether or not the target can be told."""
    results = ask(make(), "release review customer data receipt needs a the", top_k=top_k)
    assert 1 <= len(results) <= top_k


def test_a_store_and_its_retriever_are_told_how_many() -> None:
    """``k`` reaches the store also through ``as_retriever``, over what its ``search_kwargs`` say."""
    store = subjects.in_memory_store()
    assert len(ask(over(store.as_retriever(search_kwargs={"k": 1})), top_k=8)) == 8
    assert len(ask(over(store, score_kind="similarity"), top_k=8)) == 8
    duck = Answering([])
    ask(over(duck))
    assert duck.asked == [{}]


class Multilingual(BaseRetriever):
    """Takes a search argument, but not ``k``."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, language: str = "en"
    ) -> list[Document]:
        return [document(f"{language}-{n}") for n in range(9)]


def test_a_retriever_that_takes_no_number_is_not_given_one() -> None:
    """It would raise for the argument; what it takes is ``scope``'s to give."""
    provider = over(Multilingual(), scope=lambda _: {"language": "zh"})
    assert ids(ask(provider, top_k=2)) == ["zh-0", "zh-1"]


def test_it_works_on_a_second_loop_and_for_many_calls_at_once() -> None:
    """Clauses 2.4 and 7.5: 32 calls at once give what the same calls give one after another."""
    queries = ["release policy", "refund signature", "报销", "incident review"] * 8

    async def at_once(provider: LangChainProvider) -> list[list[RetrievalResult]]:
        calls = [provider.retrieve(RetrievalRequest(query=query), context()) for query in queries]
        return await asyncio.gather(*calls)

    for make in (subjects.vector_store, subjects.keyword_retriever, subjects.async_retriever):
        provider = make()
        one_after_another = [ids(ask(provider, query)) for query in queries]
        assert [ids(results) for results in asyncio.run(at_once(provider))] == one_after_another


def test_nothing_is_sent_anywhere_and_tracing_is_not_switched_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """No socket is even opened; LangSmith posts only when the environment asks it to."""
    for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2", "LANGSMITH_API_KEY", "LANGCHAIN_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    reached: list[object] = []
    monkeypatch.setattr(socket.socket, "connect", lambda _, address: reached.append(address))
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *_, **__: reached.append(host))
    for make in (subjects.vector_store, subjects.keyword_retriever, subjects.async_retriever):
        assert ask(make())
    assert reached == []


# Requests and context


def test_filters_are_refused_and_not_claimed() -> None:
    """Clause 3.5: LangChain's stores have no filter language in common."""
    provider = subjects.vector_store()
    assert provider.describe().capabilities["filters"] is False
    with pytest.raises(errors.KnowledgeFiltersUnsupportedError):
        ask(provider, filters={"language": "en"})


def test_a_named_base_is_answered_and_another_refused() -> None:
    """Clause 3.4; without a name, no base can be asked for."""
    provider = over(subjects.in_memory_store(), score_kind="similarity", knowledge_base="handbook")
    assert ask(provider, knowledge_base_ids=("other", "handbook")) == ask(provider)
    for refusing in (provider, subjects.vector_store()):
        with pytest.raises(errors.KnowledgeBaseUnknownError):
            ask(refusing, knowledge_base_ids=("other",))


def shared_store() -> InMemoryVectorStore:
    store = InMemoryVectorStore(subjects.BagOfWords())
    owned = [(owner, n) for n in range(3) for owner in ("alice", "bob")]
    store.add_documents(
        [Document(f"release {n} of {owner}", id=f"{owner}-{n}", metadata={"owner": owner}) for owner, n in owned]
    )
    return store


def owned_by(known: RetrievalContext) -> dict[str, Any]:
    return {"filter": lambda found: found.metadata["owner"] == known.owner_id}


@pytest.mark.parametrize(("target", "options"), [
    (shared_store(), {"score_kind": "similarity"}),
    (shared_store().as_retriever(), {}),
    (shared_store().as_retriever(), {"in_thread": True}),
])  # fmt: skip
def test_scope_keeps_owners_apart_whatever_the_request_says(target: Any, options: dict[str, Any]) -> None:
    """Clauses 4.2 and 4.3, also under concurrent calls."""
    provider = over(target, scope=owned_by, **options)

    async def both() -> list[set[str]]:
        request = RetrievalRequest(query="release of bob ownerId=bob", top_k=8)
        calls = [provider.retrieve(request, context(owner)) for owner in ("alice", "bob") * 4]
        return [{result.id for result in results} for results in await asyncio.gather(*calls)]

    wanted = [{f"{owner}-{n}" for n in range(3)} for owner in ("alice", "bob")]
    assert asyncio.run(both()) == wanted * 4


def test_scope_is_refused_where_langchain_would_drop_its_arguments() -> None:
    """A retriever without parameters for them would search everybody's documents, without a word."""
    targets: list[object] = [subjects.KeywordRetriever(corpus=[]), RunnableLambda(len), Answering([])]
    for target in targets:
        with pytest.raises(ValueError, match="would keep no owners apart"):
            over(target, scope=owned_by)


def test_a_blank_owner_and_an_empty_scope_are_refused() -> None:
    """Clause 4.4: neither may mean everybody's documents."""
    provider = over(shared_store(), score_kind="similarity", scope=owned_by)
    request = RetrievalRequest(query="release")
    nobody = RetrievalContext.model_construct(owner_id=" ", signal=CancelSignal())
    with pytest.raises(errors.KnowledgeOwnerRequiredError):
        asyncio.run(provider.retrieve(request, nobody))
    with pytest.raises(errors.KnowledgeFailedError):
        ask(over(shared_store(), score_kind="similarity", scope=lambda _: {}))


# Identity and life


def test_the_description_is_equal_each_time_whatever_is_done_to_it() -> None:
    """Clauses 1.2 and 1.7."""
    provider = subjects.vector_store()
    described = provider.describe()
    described.capabilities["filters"] = True
    capabilities = {"filters": False, "scores": True, "citations": True}
    assert provider.describe() == ProviderDescription(
        protocol_version=1, key="handbook-store", label="Handbook", capabilities=capabilities
    )


@pytest.mark.parametrize(("key", "label"), [("Not A Key", "L"), ("k\n", "L"), ("k", " ")])
def test_a_bad_key_or_label_is_refused_when_it_is_made(key: str, label: str) -> None:
    """Clauses 1.4 and 1.5: not at the first turn."""
    with pytest.raises(ValidationError):
        LangChainProvider(Answering([]), key=key, label=label)  # type: ignore[arg-type]  # a duck


def test_after_closing_it_raises_and_the_target_stays_open() -> None:
    """Clause 2.2: twice is fine, and what the caller passed in is the caller's."""
    closed: list[str] = []
    duck = Answering([document("a")])
    duck.close = duck.aclose = lambda: closed.append("target")  # type: ignore[attr-defined]
    provider = over(duck)
    assert provider.health().status == "ready"
    provider.close()
    provider.close()
    with pytest.raises(errors.KnowledgeFailedError, match="closed"):
        ask(provider)
    assert provider.health().status == "unavailable"
    assert closed == []


def test_its_repr_shows_nothing_of_the_target() -> None:
    """Clause 6.4: a retriever's own may show its connection."""

    class Leaky(Answering):
        def __repr__(self) -> str:
            return SECRET

    assert SECRET not in repr(over(Leaky([])))


# The file and the page


def test_the_file_is_short_and_imports_of_ours_the_contract_alone() -> None:
    """So that it can be copied alone, and read before."""
    source = ADAPTER.read_text(encoding="utf-8")
    tree = ast.parse(source)
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    roots = {name.partition(".")[0] for name in imported} - set(sys.stdlib_module_names)
    assert roots == {"knowledge_provider", "langchain_core"}
    assert len(source.splitlines()) <= 150


def test_a_copy_of_it_works_where_there_is_no_langchain(tmp_path: Path) -> None:
    """A duck is enough: LangChain is imported by nobody but its user."""
    shutil.copy(ADAPTER, tmp_path / "my_search.py")
    program = """
import asyncio, sys
sys.modules["langchain_core"] = None
from types import SimpleNamespace
from my_search import LangChainProvider
from knowledge_provider import RetrievalContext, RetrievalRequest
duck = SimpleNamespace(invoke=lambda query: [SimpleNamespace(page_content="found " + query)])
provider = LangChainProvider(duck, key="k", label="L")
print(asyncio.run(provider.retrieve(RetrievalRequest(query="q"), RetrievalContext(owner_id="o")))[0].content)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ended.stdout == "found q\n"


EXAMPLES = re.findall(r"^```python\n(.*?)^```$", DOCS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_of_the_page_runs_alone(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    """And prints what its last comment says."""
    exec(compile(example, str(DOCS), "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out.splitlines()
    assert printed
    assert printed == re.findall(r"^# prints: (.*)$", example, re.MULTILINE)
