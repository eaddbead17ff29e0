"""What the host checks do with a host that is made otherwise: its bases are its own, its factory takes nothing more."""

from typing import Any

import pytest
from host_runs import BY_ID, HOLDS, result_of

from knowledge_conformance.checks import host_citations
from knowledge_conformance.results import CheckOutcome
from knowledge_fakes.plain_host import PlainHost
from knowledge_provider import CitationLedger


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
