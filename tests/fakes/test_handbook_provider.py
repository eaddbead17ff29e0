"""The embedded provider around the handbook: description, cancellation, and how it ends."""

import asyncio
import io
import os
from typing import Any

import pytest

from knowledge_fakes import handbook
from knowledge_fakes.handbook import HandbookProvider, SyncHandbookProvider, load_handbook
from knowledge_provider import CancelSignal, ProviderDescription, RetrievalContext, RetrievalRequest, RetrievalResult
from knowledge_provider.errors import KnowledgeUnavailableError

CONTEXT = RetrievalContext(owner_id="alice")


def found(query: str) -> list[dict[str, Any]]:
    return load_handbook().search(RetrievalRequest(query=query))


@pytest.mark.parametrize("factory", [handbook.provider, handbook.sync_provider])
def test_the_description(factory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clauses 1.2 to 1.8: valid, equal whatever is done to an earlier one, and without opening a file."""
    provider = factory()
    first = provider.describe()
    first["capabilities"]["filters"] = "spoilt"
    first.clear()
    for opener in (io, os):
        monkeypatch.setattr(opener, "open", None)
    described = ProviderDescription.model_validate(provider.describe())
    assert described.key.startswith("handbook")
    assert described.capabilities == {"filters": True, "scores": True, "citations": True}


def test_the_asynchronous_and_the_synchronous_one_agree() -> None:
    """Both answer as the handbook does, in a mapping that the caller may change."""
    request = RetrievalRequest(query="release policy")
    answer = asyncio.run(HandbookProvider().retrieve(request, CONTEXT))
    assert answer == SyncHandbookProvider().retrieve(request, CONTEXT) == {"results": found("release policy")}
    results = [RetrievalResult.model_validate(result) for result in answer["results"]]
    assert results[0].source is not None
    assert results[0].source.mime_type == "text/markdown"
    answer["results"][0]["source"].clear()
    answer["results"][0]["metadata"].clear()
    assert found("release policy")[0]["source"]["id"] == "release-handbook"


def test_cancelled_beforehand_nothing_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clause 7.3: an already cancelled signal ends the call before any work."""
    signal = CancelSignal()
    signal.cancel("user spoke")
    context = RetrievalContext(owner_id="alice", signal=signal)
    monkeypatch.setattr(handbook, "search", None)
    with pytest.raises(asyncio.CancelledError, match="user spoke"):
        SyncHandbookProvider().retrieve(RetrievalRequest(query="release"), context)
    with pytest.raises(asyncio.CancelledError):
        HandbookProvider().retrieve(RetrievalRequest(query="release"), context).send(None)


@pytest.mark.parametrize("told_by", ["signal", "task"])
def test_cancelled_while_it_waits_it_ends(told_by: str) -> None:
    """Clauses 7.1, 7.2: a cancellation at its one await comes out, and the provider works afterwards."""

    async def scene() -> dict[str, Any]:
        provider = HandbookProvider()
        signal = CancelSignal()
        request = RetrievalRequest(query="release")
        context = RetrievalContext(owner_id="alice", signal=signal)
        task = asyncio.create_task(provider.retrieve(request, context))
        await asyncio.sleep(0)
        assert not task.done()
        if told_by == "task":
            task.cancel()
        else:
            signal.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await provider.retrieve(request, CONTEXT)

    assert asyncio.run(scene())["results"]


def test_after_close_it_refuses() -> None:
    """Clauses 2.1, 2.2: closing twice is fine; then it is unavailable, and never answers as if nothing was found."""

    async def scene() -> None:
        provider = HandbookProvider()
        assert await provider.health(CancelSignal()) == {"status": "ready"}
        await provider.close()
        await provider.close()
        assert (await provider.health(CancelSignal()))["status"] == "unavailable"
        with pytest.raises(KnowledgeUnavailableError):
            await provider.retrieve(RetrievalRequest(query="zzqx"), CONTEXT)

    asyncio.run(scene())


def test_after_close_the_synchronous_one_refuses() -> None:
    """As the asynchronous one."""
    provider = SyncHandbookProvider()
    assert provider.health() == {"status": "ready"}
    provider.close()
    provider.close()
    assert provider.health()["status"] == "unavailable"
    with pytest.raises(KnowledgeUnavailableError):
        provider.retrieve(RetrievalRequest(query="zzqx"), CONTEXT)
