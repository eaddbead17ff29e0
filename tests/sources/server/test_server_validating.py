"""What sources say of references that are to be bound, over HTTP: a status, the place, and nothing stored."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from source_api import BOUND, DOCUMENTS, app_over, as_described, ask, detail

from knowledge_fakes.sources import SECRET_URL, HandbookSource, ScriptedSource, reference
from knowledge_provider import (
    KnowledgeReferenceUnknownError,
    KnowledgeUnauthorizedError,
    RetrievalContext,
)
from knowledge_provider.sources import MemoryStorage, SourceRegistry, SQLiteStorage, TaskBindings

ALICE = RetrievalContext(owner_id="alice")
KEPT = reference("handbook", "people")
PEOPLE = {"provider": "handbook", "id": "people"}
UNKNOWN = {"provider": "handbook", "id": "no-such"}
WIKI = {"provider": "wiki", "id": "kb-1"}


class Validating(ScriptedSource):
    """Answers ``validate_refs`` and ``list_documents`` with what its script says."""

    async def validate_refs(self, refs: Any, level: str) -> Any:
        return await super().retrieve("", refs, ALICE)

    async def list_documents(self, refs: Any, context: Any, limit: int, offset: int) -> Any:
        return await super().retrieve("", refs, context)


@pytest.fixture
def bindings() -> TaskBindings:
    """One that is bound already, which must not be lost."""
    held = TaskBindings(MemoryStorage())
    held.add("t1", KEPT)
    return held


def add(bindings: TaskBindings, *refs: Any, answer: Any = None, timeout: float = 5.0) -> httpx.Response:
    """The answer to adding these, where the source ``wiki`` says this of its own."""
    registry = SourceRegistry(HandbookSource(), Validating("wiki", [answer]))
    app = app_over(bindings, registry=registry, timeout=timeout)
    return as_described(ask(app, "POST", BOUND, json={"refs": list(refs)}), "POST", BOUND)


def test_what_stands_is_bound(bindings: TaskBindings) -> None:
    """Beside what no source here can speak for, which is a warning as before."""
    answer = add(bindings, WIKI, {"provider": "gone", "id": "g-1"}, answer=lambda _, refs, __: list(refs))
    assert answer.status_code == 200
    assert [item["provider"] for item in answer.json()["items"]] == ["handbook", "wiki", "gone"]
    assert [each["reason"] for each in answer.json()["warnings"]] == ["not_registered"]


def test_what_its_source_does_not_know_is_422(bindings: TaskBindings) -> None:
    """By its place in the request; the others of the request are not bound either."""
    answer = add(bindings, PEOPLE, {**UNKNOWN, "name": "zq-name"}, WIKI, answer=lambda _, refs, __: list(refs))
    status, place, message = detail(answer)
    assert (status, place) == (422, ["body", "refs", 1])
    assert message.startswith("ref: wanted one that its source lets stand, and handbook refuses it")
    assert answer.json()["detail"][0]["type"] == "knowledge_reference_unknown"
    assert "zq-name" not in answer.text
    assert bindings.list("t1").refs == (KEPT,)


@pytest.mark.parametrize("answer", [[], KnowledgeReferenceUnknownError(SECRET_URL)])
def test_each_that_is_refused_is_named(bindings: TaskBindings, answer: Any) -> None:
    """Left out or raised: a client can show all of them at once."""
    refused = add(bindings, WIKI, PEOPLE, {**WIKI, "id": "kb-2"}, UNKNOWN, answer=answer)
    assert refused.status_code == 422
    assert [each["loc"][-1] for each in refused.json()["detail"]] == [0, 2, 3]
    assert SECRET_URL not in refused.text
    assert bindings.list("t1").refs == (KEPT,)


@pytest.mark.parametrize(
    ("answer", "words", "retry"),
    [
        (ConnectionError(SECRET_URL), "wiki could not say", "1"),
        (SystemExit(3), "wiki could not say", "1"),
        (asyncio.CancelledError(), "wiki could not say", "1"),
        (KnowledgeUnauthorizedError(SECRET_URL), "wiki could not say", None),
        ("yes", "wiki could not say", None),
        (lambda *_: asyncio.Event().wait(), "wiki gave no answer in time", "1"),
    ],
)
def test_a_source_that_cannot_say_is_503(
    bindings: TaskBindings, answer: Any, words: str, retry: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    """Bounded, in our words; with what stands beside it nothing is bound, and nothing is lost."""
    failed = add(bindings, PEOPLE, WIKI, answer=answer, timeout=0.05 if "in time" in words else 5.0)
    status, place, message = detail(failed)
    assert (status, place, failed.headers.get("retry-after")) == (503, ["body", "refs", 1], retry)
    assert words in message
    assert failed.json()["detail"][0]["type"] == "knowledge_unavailable"
    assert SECRET_URL not in failed.text + caplog.text
    assert bindings.list("t1").refs == (KEPT,)


def test_what_the_client_can_mend_is_said_first(bindings: TaskBindings) -> None:
    """A refusal stays one, whenever it is tried again."""
    answer = add(bindings, WIKI, UNKNOWN, answer=OSError("down"))
    assert detail(answer)[:2] == (422, ["body", "refs", 1])
    assert "retry-after" not in answer.headers


def test_what_is_stored_is_what_was_sent(tmp_path: Path) -> None:
    """In the bytes on the disk: a source that writes into what it is asked about has no part in it (clause 10.2)."""

    def complete(_: str, refs: Any, __: Any) -> Any:
        for ref in refs:
            object.__setattr__(ref, "name", "zq-private")
        return list(refs)

    path = tmp_path / "bindings.db"
    answer = add(TaskBindings(SQLiteStorage(path)), WIKI, answer=complete)
    assert answer.json()["items"] == [
        {"provider": "wiki", "mode": "explicit", "id": "kb-1", "target_type": "knowledge_base"}
    ]
    assert b"zq-private" not in path.read_bytes()


def test_what_is_removed_or_read_asks_no_source(bindings: TaskBindings) -> None:
    """One that is down costs nobody the list, and can be taken away."""
    source = Validating("wiki", [OSError("down")])
    bindings.add("t1", WIKI)
    app = app_over(bindings, registry=SourceRegistry(source))
    assert ask(app, "GET", BOUND).json()["total"] == 2
    assert ask(app, "POST", f"{BOUND}/remove", json={"ref": WIKI}).json()["total"] == 1
    assert source.calls == []


def test_it_is_refused_before_any_source_is_asked(bindings: TaskBindings) -> None:
    """Who may not, and what cannot be read."""
    source = Validating("wiki", [[]])
    app = app_over(bindings, registry=SourceRegistry(source), authorize=lambda request, task: None)
    assert ask(app, "POST", BOUND, json={"refs": [WIKI]}).status_code == 401
    app = app_over(bindings, registry=SourceRegistry(source))
    assert ask(app, "POST", BOUND, json={"refs": [WIKI, {"provider": "wiki"}]}).status_code == 422
    assert source.calls == []


def test_the_time_of_a_source_is_the_apps(bindings: TaskBindings) -> None:
    """Also for documents, where it is a status; a time that is none is refused when the app is made."""
    registry = SourceRegistry(Validating("wiki", [lambda *_: asyncio.Event().wait()]))
    pages = ask(app_over(bindings, registry=registry, timeout=0.05), "POST", DOCUMENTS, json={"refs": [WIKI]}).json()
    assert [(page["status"], page["reason"]) for page in pages["pages"]] == [("failed", "timeout")]
    with pytest.raises(ValueError, match="timeout"):
        app_over(bindings, timeout=0)
