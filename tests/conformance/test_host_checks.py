"""What the host checks do with a host that is made otherwise: they blame it for what is wrong with it, and no more."""

import asyncio
import inspect
import traceback
from collections.abc import Callable
from typing import Any

import pytest
from host_runs import BY_ID, HOLDS, result_of, results_of, subject_of, tripped

from knowledge_conformance.checks import host_citations, host_failing, host_threads
from knowledge_conformance.results import CheckOutcome
from knowledge_fakes import _plain_calls
from knowledge_fakes._plain_calls import Ending
from knowledge_fakes.host_faults import HOST_FAULTS
from knowledge_fakes.plain_host import PlainHost
from knowledge_fakes.scripted import ScriptedProvider, SyncScriptedProvider
from knowledge_provider import CitationLedger, RetrievalContext


def own_bases(provider: Any, *, timeout: float) -> PlainHost:
    """A host whose bases are written in its own settings."""
    return PlainHost(provider, timeout=timeout, knowledge_bases=["handbook", "wiki"])


def no_bases(provider: Any, *, timeout: float) -> PlainHost:
    """A host that knows of no bases."""
    return PlainHost(provider, timeout=timeout)


@pytest.mark.parametrize("check_id", ["KP-806", "KP-807", "KP-808", "KP-823", "KP-831"])
def test_a_host_with_bases_of_its_own_is_asked_for_those(check_id: str) -> None:
    """They are read from its tool."""
    assert result_of(BY_ID[check_id], own_bases).outcome is CheckOutcome.PASSED


def test_bases_that_are_let_through_are_found_there_too() -> None:
    """Whoever writes the host's own settings need not repeat them for the kit."""

    class Careless(PlainHost):
        def allowed_bases(self, ids: Any) -> Any:
            return ids

    result = result_of(
        BY_ID["KP-807"], lambda provider, *, timeout: Careless(provider, timeout=timeout, knowledge_bases=["a"])
    )
    assert result.outcome is CheckOutcome.FAILED
    assert "no-such-base" in str(result.saw)


@pytest.mark.parametrize("check_id", ["KP-807", "KP-848"])
def test_without_bases_their_checks_do_not_apply(check_id: str) -> None:
    """A host need not disclose any."""
    result = result_of(BY_ID[check_id], no_bases)
    assert result.outcome is CheckOutcome.INAPPLICABLE
    assert "knowledge_bases" in str(result.saw)


def test_a_bound_on_turns_that_is_not_reached_is_inconclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be there, further on: the host is not accused, and the hint says how to show it."""
    monkeypatch.setattr(host_citations, "_MANY_TURNS", 8)
    result = result_of(BY_ID["KP-842"], no_bases)
    assert result.outcome is CheckOutcome.INCONCLUSIVE
    assert "turns" in str(result.hint)


def test_a_bound_on_turns_is_found_without_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    """By asking for more turns than any user has open."""
    monkeypatch.setattr(host_citations, "_MANY_TURNS", 8)

    class Forgetful(PlainHost):
        def ledger(self, context: Any) -> CitationLedger:
            kept: dict[str, CitationLedger] = vars(self).setdefault("kept", {})
            if len(kept) > 4:
                kept.clear()
            return kept.setdefault(context.turn_id, CitationLedger())

    def forgetful(provider: Any, *, timeout: float) -> PlainHost:
        return Forgetful(provider, timeout=timeout)

    assert result_of(BY_ID["KP-842"], forgetful).outcome in HOLDS


def test_options_that_a_factory_only_hands_on_are_not_tried() -> None:
    """What is behind ``**options`` may refuse them, and the host keeps the contract without them."""

    def handing_on(provider: Any, **options: Any) -> PlainHost:
        return no_bases(provider, **options)

    assert result_of(BY_ID["KP-807"], handing_on).outcome is CheckOutcome.INAPPLICABLE


@pytest.mark.parametrize("check_id", ["KP-806", "KP-808", "KP-864"])
def test_a_host_without_a_tool_is_told_so_once(check_id: str) -> None:
    """By the checks of the tool, and not by those that only look there for bases."""

    class Toolless(PlainHost):
        tool_definition = property()  # as good as no such method

    assert result_of(BY_ID[check_id], Toolless).outcome is CheckOutcome.PASSED
    assert result_of(BY_ID["KP-823"], Toolless).outcome is CheckOutcome.FAILED


def test_a_host_of_asynchronous_providers_alone_is_checked_for_all_else() -> None:
    """It fails the one check that wants the other kinds; only what needs threads is blocked by that."""

    class OnlyAsync(PlainHost):
        async def call(self, method: Callable[..., Any], *arguments: object) -> Ending:
            if not inspect.iscoroutinefunction(method):
                return Ending(error=TypeError("only coroutines"))
            return await super().call(method, *arguments)

    results = results_of(OnlyAsync)
    assert tripped(results).keys() == {"KP-827"}
    blocked = {result.id for result in results.values() if result.outcome is CheckOutcome.BLOCKED}
    assert blocked == {check.id for check in host_threads.CHECKS}


@pytest.mark.parametrize("bound", [1, 100, 250])
def test_any_bound_of_threads_will_do(bound: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The contract wants one and names no number."""
    monkeypatch.setattr(_plain_calls, "_CALLS_MAX", bound)
    assert result_of(BY_ID["KP-834"], PlainHost).outcome is CheckOutcome.PASSED


def test_turns_by_session_and_id_alone_keep_the_contract() -> None:
    """Its words name no owner, so a host that takes them literally is advised and not failed."""

    class Literal(PlainHost):
        def ledger(self, context: RetrievalContext) -> CitationLedger:
            return super().ledger(context.model_copy(update={"owner_id": ""}))

    assert result_of(BY_ID["KP-818"], Literal).outcome is CheckOutcome.PASSED
    assert result_of(BY_ID["KP-865"], Literal).outcome is CheckOutcome.ADVISORY


@pytest.mark.parametrize("check_id", ["KP-807", "KP-812", "KP-828"])
def test_the_call_that_is_meant_is_shown(check_id: str) -> None:
    """Of two ways to ask, the one that went wrong."""

    class Lenient(PlainHost):
        async def search(self, query: Any, *, context: RetrievalContext, **asked: Any) -> Any:
            try:
                return await super().search(query, context=context, **asked)
            except BaseException:
                return self.outcome([], query, 5, context)

        def allowed_bases(self, ids: tuple[str, ...]) -> tuple[str, ...]:
            if ids and not super().allowed_bases(ids):
                raise LookupError(ids[0])
            return super().allowed_bases(ids)

        def outcome(self, *of: Any) -> Any:
            return {**super().outcome(*of).to_dict(), "status": "ok"}

    assert str(result_of(BY_ID[check_id], Lenient).where).startswith("host.search(")


def test_exceptions_are_small_enough_to_be_logged() -> None:
    """What a host logs of them counts as its output, of which a run keeps no more than a megabyte."""
    logged: list[str] = []

    class Logging(PlainHost):
        def failure(self, error: BaseException) -> BaseException:
            logged.extend(traceback.format_exception_only(error))
            return super().failure(error)

    names = [*host_failing.ordinary(), *host_failing.ENDINGS, *host_failing.TIMEOUTS]
    for kind in (ScriptedProvider, SyncScriptedProvider):
        asyncio.run(host_failing.endings(subject_of(Logging), kind, names))
    assert len(names) < len(logged)
    assert sum(map(len, logged)) < 200_000


def test_what_is_told_at_the_deadline_is_the_providers_own_signal() -> None:
    """An author who does what the hint says must not cancel the caller's."""
    hint = str(result_of(BY_ID["KP-833"], HOST_FAULTS["slow_calls_left_running"].make).hint)
    assert "the signal that the provider was given, not the caller's own" in hint


def test_searches_that_wait_for_each_other_keep_owners_apart() -> None:
    """A host may make one search at a time: no second one comes to the provider before the first has ended."""

    class OneAtATime(PlainHost):
        async def answer(self, request: Any, context: RetrievalContext) -> Any:
            async with vars(self).setdefault("turn", asyncio.Lock()):
                return await super().answer(request, context)

    assert result_of(BY_ID["KP-861"], OneAtATime).outcome is CheckOutcome.PASSED
