"""``HaystackProvider`` over Haystack's own targets: requests, description, telemetry and life."""

import ast
import asyncio
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import haystack_subjects as subjects
import pytest
from haystack_subjects import SECRET, ask, ids, over
from pydantic import ValidationError

# isort: split
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever

import knowledge_adapters.haystack_provider as module
from knowledge_fakes.vendors.haystack_retriever import (
    AsyncHandbookRetriever,
    PlainHandbookRetriever,
    SyncHandbookRetriever,
    pipeline_of,
)
from knowledge_provider import CancelSignal, ProviderDescription, RetrievalContext, RetrievalRequest, errors

ADAPTER = Path(module.__file__)
DOCS = Path(__file__).parents[2] / "docs" / "adapters-haystack.md"
APPROVALS = "release-handbook#approvals"
NEEDS_QDRANT = pytest.mark.skipif(not subjects.HAS_QDRANT, reason="needs qdrant-haystack")
QDRANT = pytest.param(subjects.qdrant, marks=NEEDS_QDRANT)


# Over real engines


def bm25_retriever() -> InMemoryBM25Retriever:
    return InMemoryBM25Retriever(subjects.in_memory_store())


def embedding_retriever() -> InMemoryEmbeddingRetriever:
    return InMemoryEmbeddingRetriever(subjects.in_memory_store())


def qdrant_pipeline() -> Any:
    return subjects.embedding_pipeline_of(subjects.qdrant_retriever())


@pytest.mark.parametrize("make", [subjects.bm25, subjects.embedding_pipeline, QDRANT])
def test_an_engine_answers_with_scores_that_never_increase(make: Any) -> None:
    """Clause 5.4: and with what the meta say about the source."""
    results = ask(make(), top_k=4)
    numbers = [result.score or 0.0 for result in results]
    assert ids(results)[0] == APPROVALS
    assert numbers == sorted(numbers, reverse=True)
    assert min(numbers) > 0
    assert results[0].source is not None
    assert results[0].source.uri == "https://handbook.example.com/release-handbook"


@pytest.mark.parametrize("make", [subjects.bm25, subjects.embedding_pipeline, QDRANT])
@pytest.mark.parametrize("query", ["🙂", "';--", "𓂀", "zzqx"])
def test_a_query_that_has_no_word_in_common_finds_nothing(make: Any, query: str) -> None:
    """Clauses 3.2 and 3.7: also where its vector is all zeros, which is near nothing."""
    assert ask(make(), query) == []


@NEEDS_QDRANT
def test_a_qdrant_in_memory_is_asked_where_its_documents_are() -> None:
    """Its asynchronous client has another store, so ``run_async`` finds nothing, without a word."""
    assert ask(over(qdrant_pipeline(), **subjects.EMBEDDED))
    assert ask(over(qdrant_pipeline(), in_thread=False, **subjects.EMBEDDED)) == []


# How it asks


@pytest.mark.parametrize("top_k", [1, 3, 8])
def test_the_number_is_told_where_it_can_be(top_k: int) -> None:
    """Clause 3.3: and cut where it cannot, or is not kept to."""
    retriever = AsyncHandbookRetriever()
    assert len(ask(over(retriever), top_k=top_k)) <= top_k
    assert len(ask(over(pipeline_of(retriever), **subjects.IN_PIPELINE), top_k=top_k)) <= top_k
    assert [asked.top_k for asked in retriever.asked] == [top_k, top_k]
    for careless in (AsyncHandbookRetriever("more than asked for"), PlainHandbookRetriever("more than asked for")):
        assert len(ask(over(careless), top_k=top_k)) == top_k


def hybrid(**made: Any) -> Any:
    """Two retrievers and what joins their lists."""
    pipeline = pipeline_of(AsyncHandbookRetriever(**made))
    pipeline.add_component("plain", PlainHandbookRetriever())
    pipeline.add_component("joiner", DocumentJoiner())
    pipeline.connect("retriever.documents", "joiner.documents")
    pipeline.connect("plain.documents", "joiner.documents")
    return pipeline


HYBRID: dict[str, Any] = {"query_to": ["retriever.query", "plain.query"], "documents_from": "joiner.documents"}


def test_a_hybrid_pipeline_gives_the_query_to_all_and_the_number_to_the_last() -> None:
    """Fewer candidates would leave what joins or ranks them nothing to choose from."""
    pipeline = hybrid()
    results = ask(over(pipeline, **HYBRID), top_k=2)
    assert len(results) == 2
    parts = [pipeline.get_component(name) for name in ("retriever", "plain")]
    assert [(asked.query, asked.top_k) for part in parts for asked in part.asked] == [("release policy", None)] * 2


@pytest.mark.parametrize(
    ("target", "options"),
    [
        (object(), {}),
        (SyncHandbookRetriever(), {"in_thread": False}),
        (SyncHandbookRetriever(), {"query_to": "text"}),
        (SyncHandbookRetriever(), {"query_to": ()}),
        (SyncHandbookRetriever(), {"query_to": "retriever.query"}),
        (pipeline_of(SyncHandbookRetriever()), {}),
        (hybrid(), {"query_to": "joiner.query"}),
        (subjects.embedding_pipeline_of(embedding_retriever()), {"query_to": "retriever.query_embedding"}),
    ],
)
def test_what_cannot_be_asked_is_refused_when_it_is_made(target: Any, options: dict[str, Any]) -> None:
    """Not at the first turn; and the free inputs are named."""
    with pytest.raises(TypeError, match="free inputs: "):
        over(target, **options)


def test_a_kind_of_score_that_nobody_knows_is_refused() -> None:
    """A guess would turn the ranking round."""
    with pytest.raises(KeyError):
        over(SyncHandbookRetriever(), score_kind="cosine")


# Filters


EQUAL = {"field": "meta.department", "operator": "==", "value": "engineering"}
AMONG = {"field": "meta.revision", "operator": "in", "value": [7, 8]}


@pytest.mark.parametrize("piped", [False, True])
def test_filters_become_haystacks_own(piped: bool) -> None:
    """A value is compared, of several values any will do, and all names count."""
    retriever = AsyncHandbookRetriever()
    target = pipeline_of(retriever) if piped else retriever
    provider = over(target, filter_keys=subjects.FILTERS, **(subjects.IN_PIPELINE if piped else {}))
    assert provider.describe().capabilities["filters"] is True
    assert APPROVALS in ids(ask(provider, filters={"department": "engineering", "revision": [7, 8]}))
    assert ask(provider, filters={"department": "nobody"}) == []
    ask(provider)
    told, _, without = [asked.filters for asked in retriever.asked]
    assert told == {"operator": "AND", "conditions": [{"operator": "AND", "conditions": [EQUAL, AMONG]}]}
    assert without is None


@pytest.mark.parametrize("make", [subjects.bm25, subjects.embedding_pipeline, QDRANT, subjects.asynchronous])
def test_every_result_satisfies_the_filters(make: Any) -> None:
    """Clause 3.5: also by a boolean, which to Python is a number."""
    held: dict[str, Any] = {"binding": True, "department": "engineering"}
    for result in ask(make(), filters=held, top_k=8):
        assert result.metadata is not None
        assert held.items() <= result.metadata.items()
    assert ask(make(), filters={"binding": 1}) == []
    assert ask(make(), filters={"revision": True}) == []


@pytest.mark.parametrize(
    "filters",
    [
        {"field": "meta.year", "operator": "gt", "value": 2020},
        {"operator": "XOR", "conditions": []},
        {"field": "meta.year", "value": 2020},
        {"year": 2020},
        {"field": "meta.x", "operator": "in"},
        {"revision": {"$gt": 3}},
        {"revision": []},
        {"revision": None},
        {"revision": [7, None]},
        {"owner": "bob"},
    ],
)
def test_filters_that_cannot_be_said_are_refused_before_anything_is_asked(filters: dict[str, Any]) -> None:
    """Field case 15 (deepset-ai/haystack#11794): by one code, and no store has seen a query."""
    retriever = AsyncHandbookRetriever()
    with pytest.raises(errors.KnowledgeFiltersUnsupportedError):
        ask(over(retriever, filter_keys=["revision"]), filters=filters)
    assert retriever.asked == []


def test_filters_are_refused_and_not_claimed_where_none_are_named() -> None:
    """Clause 3.5."""
    provider = over(AsyncHandbookRetriever())
    assert provider.describe().capabilities["filters"] is False
    with pytest.raises(errors.KnowledgeFiltersUnsupportedError):
        ask(provider, filters={"language": "en"})


def test_what_takes_no_filters_is_refused_where_some_have_to_be_kept() -> None:
    """Without an input for them, everybody's documents would be searched."""
    options: list[dict[str, Any]] = [{"filter_keys": ["language"]}, {"scope": lambda _: {"owner": "x"}}]
    for each in options:
        with pytest.raises(ValueError, match="no free input 'filters'"):
            over(PlainHandbookRetriever(), **each)


@pytest.mark.parametrize("policy", ["replace", "merge"])
@pytest.mark.parametrize("own", [
    {"field": "meta.department", "operator": "==", "value": "people"},
    {"operator": "AND", "conditions": [{"field": "meta.department", "operator": "==", "value": "people"}]},
    {"operator": "NOT", "conditions": [{"field": "meta.department", "operator": "==", "value": "engineering"}]},
])  # fmt: skip
def test_a_request_cannot_undo_what_the_retriever_was_made_with(policy: str, own: dict[str, Any]) -> None:
    """Haystack's policies replace them, or leave one of two on the same field out."""
    from haystack.document_stores.types import FilterPolicy

    retriever = InMemoryBM25Retriever(
        subjects.in_memory_store(), filters=own, filter_policy=FilterPolicy.from_str(policy)
    )
    provider = over(retriever, filter_keys=subjects.FILTERS)
    assert ask(provider, "sick leave", filters={"language": "en"})
    assert ask(provider, "release policy", filters={"department": "engineering"}) == []


def test_a_part_that_takes_no_filters_shows_nothing_that_they_exclude() -> None:
    """In a pipeline one retriever may take them and another not."""
    provider = over(hybrid(), filter_keys=["department"], **HYBRID)
    results = ask(provider, "release policy leave", filters={"department": "people"}, top_k=8)
    assert {(result.metadata or {})["department"] for result in results} == {"people"}


# Owners and bases


def owned(known: Any) -> dict[str, Any]:
    return {"owner": known.owner_id}


@pytest.mark.parametrize(
    ("make", "options"),
    [(bm25_retriever, {}), pytest.param(qdrant_pipeline, subjects.EMBEDDED, marks=NEEDS_QDRANT)],
)
def test_scope_keeps_owners_apart_whatever_the_request_says(make: Any, options: dict[str, Any]) -> None:
    """Clauses 4.2 and 4.3, also under concurrent calls, and where requests may filter by the same meta."""
    provider = over(make(), scope=owned, filter_keys=["owner"], **options)

    async def both() -> list[set[Any]]:
        request = RetrievalRequest(query="release policy leave owner bob", top_k=8)
        calls = [provider.retrieve(request, subjects.context(owner)) for owner in ("alice", "bob") * 4]
        return [{result.metadata["owner"] for result in results} for results in await asyncio.gather(*calls)]

    assert asyncio.run(both()) == [{"alice"}, {"bob"}] * 4
    assert ask(provider, filters={"owner": "bob"}) == []


def test_a_blank_owner_and_an_empty_scope_are_refused() -> None:
    """Clause 4.4: neither may mean everybody's documents."""
    retriever = AsyncHandbookRetriever()
    request = RetrievalRequest(query="release")
    nobody = RetrievalContext.model_construct(owner_id=" ", signal=CancelSignal())
    with pytest.raises(errors.KnowledgeOwnerRequiredError):
        asyncio.run(over(retriever, scope=owned).retrieve(request, nobody))
    with pytest.raises(errors.KnowledgeFailedError):
        ask(over(retriever, scope=lambda _: {}))
    assert retriever.asked == []


def test_a_named_base_is_answered_and_another_refused() -> None:
    """Clause 3.4; without a name, no base can be asked for."""
    provider = over(AsyncHandbookRetriever(), knowledge_base="handbook")
    assert ask(provider, knowledge_base_ids=("other", "handbook")) == ask(provider)
    for refusing in (provider, over(AsyncHandbookRetriever())):
        with pytest.raises(errors.KnowledgeBaseUnknownError):
            ask(refusing, knowledge_base_ids=("other",))


# Identity and life


def test_the_description_is_equal_each_time_whatever_is_done_to_it() -> None:
    """Clauses 1.2 and 1.7."""
    provider = subjects.bm25()
    provider.describe().capabilities["filters"] = False
    capabilities = {"filters": True, "scores": True, "citations": True}
    assert provider.describe() == ProviderDescription(
        protocol_version=1, key="handbook", label="Handbook", capabilities=capabilities
    )


@pytest.mark.parametrize(("key", "label"), [("Not A Key", "L"), ("k\n", "L"), ("k", " ")])
def test_a_bad_key_or_label_is_refused_when_it_is_made(key: str, label: str) -> None:
    """Clauses 1.4 and 1.5: not at the first turn."""
    with pytest.raises(ValidationError):
        over(SyncHandbookRetriever(), key=key, label=label)


def test_after_closing_it_raises_and_the_target_stays_open() -> None:
    """Clause 2.2: twice is fine, and what the caller passed in is the caller's."""
    pipeline = pipeline_of(AsyncHandbookRetriever())
    provider = over(pipeline, **subjects.IN_PIPELINE)
    assert provider.health().status == "ready"
    provider.close()
    provider.close()
    with pytest.raises(errors.KnowledgeFailedError, match="closed"):
        ask(provider)
    assert provider.health().status == "unavailable"
    assert pipeline.run({"retriever": {"query": "release"}})["retriever"]["documents"]


def test_its_repr_shows_nothing_of_the_target() -> None:
    """Clause 6.4."""
    assert SECRET not in repr(over(AsyncHandbookRetriever(api_key=SECRET)))


# Telemetry


PROGRAM = """
{first}
from pathlib import Path
from knowledge_adapters.haystack_provider import HaystackProvider
from knowledge_fakes.vendors.haystack_retriever import SyncHandbookRetriever, pipeline_of
import asyncio, posthog
from knowledge_provider import RetrievalContext, RetrievalRequest
posthog.capture = lambda *_, **__: print("posted")
where = dict(query_to="retriever.query", documents_from="retriever.documents")
provider = HaystackProvider(pipeline_of(SyncHandbookRetriever()), key="k", label="L", **where)
found = asyncio.run(provider.retrieve(RetrievalRequest(query="release"), RetrievalContext(owner_id="o")))
print(len(found), (Path.home() / ".haystack").exists())
"""


@pytest.mark.parametrize(
    ("first", "wanted", "printed"),
    [
        ("import knowledge_adapters.haystack_provider", None, "5 False"),
        ("import haystack", None, "5 True"),
        ("import haystack", "False", "5 False"),
        ("import knowledge_adapters.haystack_provider", "True", "posted\n5 True"),
    ],
    ids=["the adapter first", "haystack first", "switched off", "asked for"],
)
def test_telemetry_is_off_unless_it_is_asked_for(
    first: str, wanted: str | None, printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is posted; the file that Haystack's import writes is prevented where the adapter comes first."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("HAYSTACK_TELEMETRY_ENABLED", raising=False)
    if wanted is not None:
        monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", wanted)
    program = PROGRAM.format(first=first)
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout.strip() == printed


# The file and the page


def test_the_file_is_short_and_imports_of_ours_the_contract_alone() -> None:
    """So that it can be copied alone, and read before."""
    source = ADAPTER.read_text(encoding="utf-8")
    nodes = list(ast.walk(ast.parse(source)))
    imported = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    imported |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    assert {name.partition(".")[0] for name in imported} - set(sys.stdlib_module_names) == {
        "haystack",
        "knowledge_provider",
    }
    assert len(source.splitlines()) <= 150


def test_a_copy_of_it_works_alone(tmp_path: Path) -> None:
    """Under any name, beside nothing else of ours but the contract; and importing it does not import Haystack."""
    shutil.copy(ADAPTER, tmp_path / "my_search.py")
    program = """
import asyncio, sys
sys.modules["knowledge_adapters"] = sys.modules["knowledge_fakes"] = sys.modules["knowledge_conformance"] = None
from my_search import HaystackProvider
print("haystack" in sys.modules)
from knowledge_provider import RetrievalContext, RetrievalRequest
from haystack import Document, component
@component
class Mine:
    @component.output_types(documents=list[Document])
    def run(self, query: str):
        return {"documents": [Document(content="found " + query)]}
provider = HaystackProvider(Mine(), key="k", label="L")
print(asyncio.run(provider.retrieve(RetrievalRequest(query="q"), RetrievalContext(owner_id="o")))[0].content)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ended.stdout == "False\nfound q\n"


EXAMPLES = re.findall(r"^```python\n(.*?)^```$", DOCS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_of_the_page_runs_alone(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    """And prints what its last comment says."""
    exec(compile(example, str(DOCS), "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out.splitlines()
    assert printed
    assert printed == re.findall(r"^# prints: (.*)$", example, re.MULTILINE)
