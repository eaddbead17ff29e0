"""Private notes in the handbook: whose they are, and that nobody else sees anything of them."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from knowledge_fakes.handbook import HandbookProvider, SyncHandbookProvider, load_handbook
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest, error_code
from knowledge_provider.errors import KnowledgeOwnerRequiredError

QUERIES = ["dentist appointment", "salary letter", "release policy", "pager alerts", "new role talk", "notes of mara"]
PROVIDERS = [HandbookProvider, SyncHandbookProvider]


def found(provider: Any, owner: str, query: str, **fields: Any) -> list[dict[str, Any]]:
    answer = provider.retrieve(RetrievalRequest(query=query, top_k=8, **fields), RetrievalContext(owner_id=owner))
    answer = asyncio.run(answer) if asyncio.iscoroutine(answer) else answer
    results: list[dict[str, Any]] = answer["results"]
    return results


def ids(results: list[dict[str, Any]]) -> list[str]:
    return [result["id"] for result in results]


@pytest.mark.parametrize("make", PROVIDERS)
def test_an_owner_finds_their_notes_and_the_handbook(make: Callable[[], Any]) -> None:
    """Beside each other, with bases and filters as for any document."""
    assert ids(found(make(), "mara", "dentist appointment"))[0] == "notes-mara#dentist"
    assert ids(found(make(), "tomas", "salary letter"))[0] == "notes-tomas#salary"
    assert "release-handbook#approvals" in ids(found(make(), "mara", "release policy"))
    assert ids(found(make(), "tomas", "salary letter", knowledge_base_ids=("people",))) != ["notes-tomas#salary"]
    assert ids(found(make(), "mara", "dentist", filters={"department": "people"})) == ["notes-mara#dentist"]


@pytest.mark.parametrize("query", QUERIES)
def test_for_everyone_else_they_are_not_there(query: str) -> None:
    """Neither as results nor in the scores of others, which are the same as without any notes."""
    without = load_handbook().search(RetrievalRequest(query=query, top_k=8))
    assert found(HandbookProvider(), "alice", query) == without
    assert not [name for name in ids(found(HandbookProvider(), "tomas", query)) if name.startswith("notes-mara")]
    assert not [name for name in ids(found(HandbookProvider(), "mara", query)) if name.startswith("notes-tomas")]
    assert all(passage.owner is None for passage in load_handbook().passages.values())


@pytest.mark.parametrize("owner", ["MARA", "mara ", "mara\x00", "tomas,mara", "*"])
def test_only_the_very_name_is_the_owner(owner: str) -> None:
    """What is nearly it is somebody else."""
    assert not [name for name in ids(found(HandbookProvider(), owner, "dentist appointment")) if "notes" in name]


def test_a_narrowed_handbook_has_no_notes() -> None:
    """They are of no use there, and cannot be asked for by name."""
    assert ids(found(HandbookProvider(["holidays"]), "mara", "dentist appointment")) == []
    with pytest.raises(ValueError, match="notes-mara"):
        HandbookProvider(["notes-mara"])


@pytest.mark.parametrize("make", PROVIDERS)
@pytest.mark.parametrize("owner", ["", "  ", "\u200b"])
def test_a_blank_owner_is_refused(make: Callable[[], Any], owner: str) -> None:
    """Clause 4.4: in a context that was made past its own validation."""
    blank = RetrievalContext.model_construct(owner_id=owner, signal=CancelSignal())

    async def ask() -> Any:
        answer = make().retrieve(RetrievalRequest(query="release"), blank)
        return await answer if asyncio.iscoroutine(answer) else answer

    with pytest.raises(KnowledgeOwnerRequiredError, match="the owner who asks") as refused:
        asyncio.run(ask())
    assert error_code(refused.value) == "knowledge_owner_required"
