"""``LangChainProvider`` over pgvector on a PostgreSQL that these tests start; skipped where there is none."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import langchain_engines as engines
import langchain_subjects as subjects
import postgres_server
import pytest
from langchain_core.documents import Document
from langchain_subjects import Answering, ask, document, ids, over
from postgres_server import Server

from knowledge_adapters.langchain_provider import LangChainProvider
from knowledge_conformance.results import CheckOutcome
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_provider import RetrievalRequest, errors

NAN: Final = float("nan")
GONE: Final = ("knowledge_provider_failed", "knowledge_unavailable")

both = pytest.mark.parametrize("in_thread", [False, True])


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server with the handbook in it."""
    pytest.importorskip("langchain_postgres", reason="needs langchain-postgres")
    root = postgres_server.installed()
    if root is None:
        pytest.skip(postgres_server.MISSING)
    with postgres_server.running(root) as started:
        with engine_of(started) as engine:
            asyncio.run(engines.pgvector_table(engine, engines.TABLE, subjects.documents()))
        yield started


@contextmanager
def engine_of(server: Server) -> Iterator[Any]:
    from langchain_postgres import PGEngine

    engine = PGEngine.from_connection_string(server.url)
    try:
        yield engine
    finally:
        asyncio.run(engine.close())


@contextmanager
def store_of(server: Server, **options: Any) -> Iterator[Any]:
    with engine_of(server) as engine:
        yield asyncio.run(engines.pgvector_store(engine, **options))


@contextmanager
def table_of(server: Server, *held: Document) -> Iterator[Any]:
    """The store of a table with other documents, which is dropped afterwards if it is there."""
    with engine_of(server) as engine:
        asyncio.run(engines.pgvector_table(engine, "other", list(held)))
        try:
            yield asyncio.run(engines.pgvector_store(engine, "other"))
        finally:
            asyncio.run(engine.adrop_table("other"))


def test_the_adapter_is_conformant(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every check passes or does not concern the adapter; it takes no advice either."""
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent), *sys.path])
    monkeypatch.setenv(engines.PGVECTOR_URL, server.url)
    report = Run("langchain_engines:pgvector", Settings()).all()
    assert report.conformant, report.sentence
    assert {check.outcome for check in report.checks} == {CheckOutcome.PASSED, CheckOutcome.INAPPLICABLE}


@both
@pytest.mark.parametrize("query", ["release policy", "报销需要收据"])
def test_it_answers_as_the_store_in_memory_does(server: Server, query: str, in_thread: bool) -> None:
    """The same vectors: a distance of the cosine is what is missing to 1, so the scores are lower by 1."""
    wanted = ask(subjects.vector_store(), query, top_k=8)
    with store_of(server) as store:
        found = ask(over(store, score_kind="distance", in_thread=in_thread), query, top_k=8)
    assert [result.score for result in found] == pytest.approx([(result.score or 0) - 1 for result in wanted])
    # What shares no word with the query is as far as can be, and has no order.
    near = {result.id: result.content for result in found if (result.score or 0) > -0.999}
    assert near == {result.id: result.content for result in wanted if result.score}


def test_it_runs_on_the_event_loop(server: Server) -> None:
    """Its asynchronous methods are its own, so no thread of ours waits for them."""
    with store_of(server) as store:
        assert not over(store, score_kind="distance")._in_thread


@pytest.mark.parametrize(
    ("strategy", "kind"), [("COSINE_DISTANCE", "distance"), ("EUCLIDEAN", "distance"), ("INNER_PRODUCT", "similarity")]
)
def test_the_number_means_what_the_strategy_measures(server: Server, strategy: str, kind: Any) -> None:
    """Clause 5.4: an inner product is higher for what is nearer, whatever the enumeration's name says."""
    from langchain_postgres.v2.indexes import DistanceStrategy

    [wanted] = [each for each in subjects.documents() if each.id == "refunds"]
    with store_of(server, distance_strategy=DistanceStrategy[strategy]) as store:
        results = ask(over(store, score_kind=kind), wanted.page_content)
        other: Any = "distance" if kind == "similarity" else "similarity"
        turned = [result.score or 0 for result in ask(over(store, score_kind=other), wanted.page_content)]
    assert ids(results)[0] == "refunds"
    scores = [result.score or 0 for result in results]
    assert scores == sorted(scores, reverse=True)
    assert turned != sorted(turned, reverse=True)


def test_a_filter_of_scope_selects(server: Server) -> None:
    """Clause 4.2: by a column of the table or by what is in its JSON."""
    with store_of(server) as store:
        provider = over(store, score_kind="distance", scope=lambda _: {"filter": {"language": "zh"}})
        results = ask(provider, "release policy", top_k=8)
        assert len(results) == 3
        assert {result.metadata["language"] for result in results} == {"zh"}
        titled = over(store, score_kind="distance", scope=lambda _: {"filter": {"title": "rollback"}})
        assert ids(ask(titled, "release policy")) == ["rollback"]


@pytest.mark.parametrize("arguments", [{"filter": "language = 'zh'"}, {"filters": {"language": "zh"}}])
def test_arguments_that_pgvector_does_not_know_search_everything(server: Server, arguments: dict[str, Any]) -> None:
    """Clause 4.3: nothing can be seen of that from outside, so the documentation warns of it."""
    with store_of(server) as store:
        results = ask(over(store, score_kind="distance", scope=lambda _: arguments), "release policy", top_k=8)
        assert "en" in {result.metadata["language"] for result in results}


@both
@pytest.mark.parametrize("kind", ["distance", "relevance"])
def test_a_query_without_a_vector_finds_nothing(server: Server, kind: Any, in_thread: bool) -> None:
    """Clause 3.2: pgvector's cosine of a vector of zeros is NaN with every passage."""
    with store_of(server) as store:
        assert ask(over(store, score_kind=kind, in_thread=in_thread), "🙂") == []


def test_passages_without_a_vector_are_left_out_and_alone_are_a_failure(server: Server) -> None:
    """Clause 5.10: a query that has a vector shows that it is the passages that are broken."""
    with table_of(server, Document("🙂", id="zeros"), Document("a receipt", id="receipt")) as store:
        provider = over(store, score_kind="distance")
        assert ids(ask(provider, "receipt")) == ["receipt"]
        asyncio.run(store.adelete(["receipt"]))
        with pytest.raises(errors.KnowledgeInvalidResponseError):
            ask(provider, "receipt")


class NotANumber(subjects.BagOfWords):
    def embed_query(self, text: str) -> list[float]:
        return [NAN] * engines.WIDTH


def test_an_embedding_that_answers_nan_is_a_failure(server: Server) -> None:
    """Clause 5.10: PostgreSQL takes no such vector."""
    with store_of(server, model=NotANumber()) as store, pytest.raises(errors.KnowledgeFailedError):
        ask(over(store, score_kind="distance"))


@both
def test_a_server_that_stops_is_a_failure_without_its_address_and_one_that_returns_answers(
    server: Server, in_thread: bool
) -> None:
    """Clauses 6.4 and 7.6: with a connection that is lost, and with one that is never made."""
    with store_of(server) as store:
        provider = over(store, score_kind="distance", in_thread=in_thread)
        before = ask(provider)
        server.stop()
        try:
            for _ in range(2):
                with pytest.raises(errors.KnowledgeFailedError) as caught:
                    ask(provider)
                assert caught.value.code in GONE
                said = f"{caught.value} {caught.value!r} {caught.value.args}"
                assert not [word for word in (postgres_server.PASSWORD, str(server.place), "kit@") if word in said]
        finally:
            server.start()
        assert ask(provider) == before


def test_a_search_that_waits_for_a_lock_ends_at_the_deadline_and_leaves_the_next_alone(server: Server) -> None:
    """Clause 7.2: the connection is usable afterwards."""

    async def ask_while_it_is_locked(provider: LangChainProvider) -> None:
        from sqlalchemy import text
        from sqlalchemy.ext.asyncio import create_async_engine

        other = create_async_engine(server.url)
        try:
            async with other.begin() as connection:
                await connection.execute(text(f"LOCK TABLE {engines.TABLE}"))
                await provider.retrieve(RetrievalRequest(query="receipt"), subjects.context(seconds=0.2))
        finally:
            await other.dispose()

    with store_of(server) as store:
        provider = over(store, score_kind="distance")
        with pytest.raises(errors.KnowledgeTimeoutError):
            asyncio.run(ask_while_it_is_locked(provider))
        assert ids(ask(provider, "receipt", top_k=1)) == ["expenses"]


def test_closing_leaves_the_engine_open(server: Server) -> None:
    """It is the caller's, with its connections."""
    with store_of(server) as store:
        over(store, score_kind="distance").close()
        assert ask(over(store, score_kind="distance"))


def test_a_table_that_is_empty_small_or_gone(server: Server) -> None:
    """Clauses 3.3 and 5.10: nothing, all that there is, and a failure that does not name it."""
    with table_of(server, Document("a receipt", id="a"), Document("a release", id="b")) as store:
        provider = over(store, score_kind="distance")
        assert sorted(ids(ask(provider, "a receipt", top_k=8))) == ["a", "b"]
        asyncio.run(store.adelete(["a", "b"]))
        assert ask(provider) == []
        asyncio.run(store._engine.adrop_table("other"))
        with pytest.raises(errors.KnowledgeFailedError, match="raised ProgrammingError") as caught:
            ask(provider)
        assert "other" not in str(caught.value)


# The same without a server.


def answering(vector: list[float], *numbers: Any) -> Any:
    """A store that gives a document with each number, and embeds every query to ``vector``."""
    pairs = [(document(str(place)), number) for place, number in enumerate(numbers)]
    target: Any = Answering(pairs)
    target.embeddings = SimpleNamespace(embed_query=len, aembed_query=Answering(vector).ainvoke)
    return over(target, score_kind="distance")


def test_numbers_that_tell_nothing_are_an_empty_answer_where_the_query_has_no_vector() -> None:
    """Clauses 3.2 and 3.7: NaN as in pgvector, 0 as in Qdrant."""
    for numbers in ([NAN], [NAN, NAN], [0.0, -0.0], [0.0, NAN]):
        assert ask(answering([0.0, 0.0], *numbers)) == []
        assert ids(ask(answering([0.0, 0.0], *numbers, 0.5)))


def test_where_it_has_one_they_are_what_they_say() -> None:
    """Clause 5.10: NaN is no score, and 0 is one."""
    for vector in ([0.0, 1.0], [NAN], []):
        with pytest.raises(errors.KnowledgeInvalidResponseError):
            ask(answering(vector, NAN, NAN))
        assert ids(ask(answering(vector, 0.0))) == ["0"]


@pytest.mark.parametrize("number", [None, "nan", float("inf"), [NAN]])
def test_what_is_no_number_is_none_with_and_without_a_vector(number: object) -> None:
    """Clause 5.10: a store that is read wrongly does not look empty."""
    with pytest.raises(errors.KnowledgeInvalidResponseError):
        ask(answering([0.0], number))
