"""The small host: each duty of clause 8 once, seen from outside. The kit's matrix runs every check over it as well."""

import ast
import asyncio
import inspect
import math
from collections.abc import Coroutine
from types import ModuleType
from typing import Any

import pytest

from knowledge_fakes import _plain_calls, _plain_reading, plain_host
from knowledge_fakes.handbook import HandbookProvider, SyncHandbookProvider
from knowledge_fakes.plain_host import PlainHost, factory
from knowledge_fakes.scripted import (
    MALFORMED,
    UNFIT,
    BlockingProvider,
    DeafProvider,
    HeldProvider,
    ScriptedProvider,
    SyncScriptedProvider,
    returning,
)
from knowledge_provider import (
    NOTICE,
    CancelSignal,
    KnowledgeOwnerRequiredError,
    KnowledgeProviderInvalidError,
    KnowledgeQueryRequiredError,
    KnowledgeUnconfiguredError,
    RetrievalContext,
    normalize_response,
)

KINDS = [ScriptedProvider, SyncScriptedProvider]
HELD = [HeldProvider, DeafProvider, BlockingProvider]
SOON = 0.05


def context(**fields: Any) -> RetrievalContext:
    return RetrievalContext.model_construct(
        **{
            "owner_id": "owner",
            "session_id": "session",
            "turn_id": "turn",
            "trace_id": "trace",
            "signal": CancelSignal(),
            **fields,
        }
    )


def searched(host: PlainHost, query: Any = "policy", given: RetrievalContext | None = None, **asked: Any) -> Any:
    return asyncio.run(host.search(query, context=given or context(), **asked))


def raised(coroutine: Coroutine[Any, Any, Any]) -> BaseException:
    """What comes out, whatever it is."""

    async def run() -> BaseException:
        try:
            await coroutine
        except BaseException as error:
            return error
        raise AssertionError("nothing was raised")

    return asyncio.run(run())


def asked(provider: Any) -> Any:
    return provider.calls[-1].request


@pytest.mark.parametrize("provider", [HandbookProvider(), SyncHandbookProvider()])
def test_a_real_provider_is_searched(provider: Any) -> None:
    """And cited, with the notice."""
    outcome = searched(factory(provider), "release policy")
    assert outcome.status == "ok"
    assert outcome.citations[0].id == outcome.results[0].citation_id == "source_1"
    assert outcome.notice == NOTICE


# Clauses 8.1 and 8.2.


@pytest.mark.parametrize("name", UNFIT)
def test_what_is_no_provider_is_refused(name: str) -> None:
    """When the host is made, and by the contract's code."""
    with pytest.raises(KnowledgeProviderInvalidError):
        factory(UNFIT[name]())


def test_without_a_provider_there_is_nothing() -> None:
    """Nothing to call, nothing to offer, and no empty answers."""
    host = factory(None)
    assert not host.configured
    assert (host.describe(), host.capabilities(), host.tool_definition()) == ({"configured": False}, [], None)
    assert asyncio.run(host.health()) == {"status": "unconfigured"}
    assert isinstance(raised(host.search("x", context=context())), KnowledgeUnconfiguredError)
    assert isinstance(raised(host.call_tool({"query": "x"}, context())), KnowledgeUnconfiguredError)
    asyncio.run(host.close())


def test_it_says_what_it_has() -> None:
    """With a label on one line."""
    host = factory(ScriptedProvider(label="A\nwiki", capabilities={"filters": True, "x": False}), knowledge_bases=["a"])
    assert host.describe() == {
        "configured": True,
        "protocol_version": 1,
        "key": "scripted",
        "label": "A wiki",
        "capabilities": {"filters": True, "x": False},
        "knowledge_bases": ["a"],
    }
    assert host.capabilities() == ["knowledge", "filters"]


# Clauses 8.3 to 8.5.


@pytest.mark.parametrize("query", ["", " \n", "\u200b\ufeff", None, 7.5j])
def test_a_blank_query_is_refused(query: Any) -> None:
    """Before the provider is asked."""
    provider = ScriptedProvider()
    assert isinstance(raised(factory(provider).search(query, context=context())), KnowledgeQueryRequiredError)
    assert not provider.calls


def test_a_blank_owner_is_refused() -> None:
    """What nobody sees is no owner."""
    found = raised(factory(ScriptedProvider()).search("x", context=context(owner_id="\u200b")))
    assert isinstance(found, KnowledgeOwnerRequiredError)


@pytest.mark.parametrize(
    ("sent", "wanted"),
    [
        *((3, 3), (0, 1), (9, 8), (10**400, 8), (2.9, 2), ("3", 3), (" 7\n", 7), ("1e99", 8), ("1e999", 5), ("٣", 5)),
        *((True, 5), (None, 5), ("many", 5), (math.nan, 5), (math.inf, 5), ([], 5), ({}, 5), (b"3", 5)),
    ],
)
def test_top_k_is_read_and_clamped(sent: Any, wanted: int) -> None:
    """Whatever a model sends."""
    provider = ScriptedProvider()
    searched(factory(provider), top_k=sent)
    assert asked(provider).top_k == wanted


@pytest.mark.parametrize(
    ("sent", "wanted"),
    [
        (None, ()),
        ([], ()),
        ("", ()),
        ([" a\n", "a", "b"], ("a", "b")),
        (("a", None, 7, "c" * 121), ("a",)),
        ([str(place) for place in range(10)], tuple("01234567")),
    ],
)
def test_base_ids_are_read(sent: Any, wanted: tuple[str, ...]) -> None:
    """By rule N5, each once, at most eight."""
    provider = ScriptedProvider()
    searched(factory(provider), knowledge_base_ids=sent)
    assert asked(provider).knowledge_base_ids == wanted


@pytest.mark.parametrize("sent", ["travel", {"a": 1}, [None], [" "], 7])
def test_unreadable_bases_find_nothing(sent: Any) -> None:
    """They were meant to restrict the search."""
    provider = ScriptedProvider()
    assert searched(factory(provider), knowledge_base_ids=sent).status == "not_found"
    assert not provider.calls


def test_only_disclosed_bases_are_searched() -> None:
    """With none of them left nothing is found, and nobody asked."""
    provider = ScriptedProvider()
    host = factory(provider, knowledge_bases=["a", "b"])
    searched(host, knowledge_base_ids=["b", "c"])
    assert asked(provider).knowledge_base_ids == ("b",)
    assert searched(host, knowledge_base_ids=["c"]).notice == NOTICE
    assert searched(factory(provider, knowledge_bases=[]), knowledge_base_ids=["a"]).status == "not_found"
    assert len(provider.calls) == 1


def test_the_provider_gets_the_request_and_the_callers_context() -> None:
    """With a signal of the call's own."""
    provider, given = ScriptedProvider(), context()
    searched(factory(provider), " release\tpolicy", given, filters={"a": [1]})
    request, came = provider.calls[0]
    assert request.model_dump() == {
        "query": "release policy",
        "top_k": 5,
        "knowledge_base_ids": (),
        "filters": {"a": [1]},
    }
    assert came.model_dump() == given.model_dump()
    assert came.signal is not given.signal


# Clauses 8.8 to 8.10.


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MALFORMED)
def test_any_answer_has_the_outcome_of_the_rules(kind: Any, name: str) -> None:
    """From a coroutine and from a thread."""
    host = factory(kind([returning(MALFORMED[name]())]))
    assert searched(host, "q", top_k=8) == normalize_response(MALFORMED[name](), query="q", limit=8)


def page(name: str) -> dict[str, Any]:
    return {"id": name, "content": name, "source": {"uri": f"https://example.com/{name}"}}


def test_citations_hold_for_the_turn() -> None:
    """And for no other owner, session or turn; a turn without an id has its own each time."""
    host = factory(ScriptedProvider([[page("a"), page("b")], [page("b")]]))
    searched(host)

    def number(**fields: Any) -> str:
        return str(searched(host, given=context(**fields)).citations[0].id)

    assert number() == "source_2"
    assert [number(**{name: "other"}) for name in ("owner_id", "session_id", "turn_id")] == ["source_1"] * 3
    blank = factory(ScriptedProvider([[page("a")], [page("b")]]))
    assert [searched(blank, given=context(turn_id="")).citations[0].id for _ in range(2)] == ["source_1"] * 2


def test_the_turn_that_was_used_least_recently_is_forgotten() -> None:
    """So many are kept as the host was made for."""
    host = factory(ScriptedProvider([[page("a")]]), turns=2)
    for turn in ("1", "2", "1", "3"):
        searched(host, given=context(turn_id=turn))
    assert [turn for _, _, turn in host.ledgers] == ["1", "3"]


# Clause 8.13.


def test_the_tool_takes_three_arguments() -> None:
    """Bases where some are disclosed, and nothing else at all."""
    provider = ScriptedProvider()
    host = factory(provider, knowledge_bases=["a", "b"])
    tool = host.tool_definition()
    assert tool is not None
    assert tool["parameters"]["properties"]["knowledge_base_ids"]["items"]["enum"] == ["a", "b"]
    plain = factory(provider).tool_definition()
    assert plain is not None
    assert list(plain["parameters"]["properties"]) == ["query", "top_k"]
    sent = {"query": "q", "top_k": "2", "knowledge_base_ids": ["b"], "filters": {"x": 1}, "owner_id": "eve", "topK": 7}
    asyncio.run(host.call_tool(sent, context()))
    request, came = provider.calls[0]
    assert (request.top_k, request.knowledge_base_ids, request.filters, came.owner_id) == (2, ("b",), {}, "owner")


@pytest.mark.parametrize("arguments", [None, [], "q", {}, {7: "q"}, {"query": ["q"]}])
def test_arguments_without_a_query_are_refused(arguments: Any) -> None:
    """Whatever they are."""
    found = raised(factory(ScriptedProvider()).call_tool(arguments, context()))
    assert isinstance(found, KnowledgeQueryRequiredError)


@pytest.mark.parametrize("module", [plain_host, _plain_calls, _plain_reading])
def test_it_shares_no_code_with_the_reference_host(module: ModuleType) -> None:
    """Or the checks would take the habits of one for the contract."""
    imports = [node for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.ImportFrom)]
    shared = {node.module for node in imports if str(node.module).startswith("knowledge_provider")}
    assert shared <= {"knowledge_provider", "knowledge_provider.errors", "knowledge_provider.text"}
    assert "KnowledgeHost" not in {name.name for node in imports for name in node.names}
