"""What their sources say of references before these are bound: each of its own, bounded, and nothing of a failure."""

import asyncio
import logging
from typing import Any

import pytest

from knowledge_fakes.sources import SECRET_URL, HandbookSource, ScriptedSource, mixed_registry, reference
from knowledge_provider import (
    CancelSignal,
    KnowledgeBaseUnknownError,
    KnowledgeOwnerRequiredError,
    KnowledgeReferenceInvalidError,
    KnowledgeReferenceUnknownError,
    KnowledgeUnauthorizedError,
    RetrievalContext,
)
from knowledge_provider.sources import ReferenceVerdict, SourceRegistry, validate_references

ALICE = RetrievalContext(owner_id="alice", session_id="s", turn_id="t")


class Validating(ScriptedSource):
    """Answers what ``validate_refs`` is asked with what its script says; its records are nobody's."""

    async def validate_refs(self, refs: Any, level: str) -> Any:
        assert level == "task"
        return await super().retrieve("", refs, ALICE)


def validated(*refs: Any, registry: SourceRegistry, **options: Any) -> tuple[ReferenceVerdict, ...]:
    """What is said of these references, asked as alice."""
    return asyncio.run(validate_references(refs, **{"context": ALICE, "registry": registry, **options}))


def said(*answers: Any, refs: Any = None, **options: Any) -> list[tuple[str, str | None]]:
    """Statuses and reasons of two references to a source that answers so."""
    registry = SourceRegistry(Validating("wiki", answers))
    found = validated(*(refs or (reference("wiki"), reference("wiki", "kb-2"))), registry=registry, **options)
    return [(each.status, each.reason) for each in found]


def test_each_reference_has_its_verdict_in_order() -> None:
    """Of several sources, one of which has nothing to say of references and one of which is not there."""
    refs = (
        reference("plain"),
        reference("handbook", "engineering", name="Engineering"),
        reference("gone"),
        reference("handbook", "no-such"),
        reference("plain", "kb-2"),
    )
    found = validated(*refs, registry=mixed_registry())
    assert tuple(each.ref for each in found) == refs
    assert [(each.status, each.reason) for each in found] == [
        ("stands", None),
        ("stands", None),
        ("ignored", "not_registered"),
        ("refused", None),
        ("stands", None),
    ]


def test_one_that_is_sent_twice_has_two_verdicts() -> None:
    """Under each of its names."""
    refs = ({"provider": "handbook", "id": "people", "name": name} for name in ("One", "Two"))
    found = validated(*refs, registry=mixed_registry())
    assert [(each.ref.name, each.status) for each in found] == [("One", "stands"), ("Two", "stands")]
    assert validated(registry=mixed_registry()) == ()


@pytest.mark.parametrize(
    "error", [KnowledgeReferenceInvalidError, KnowledgeReferenceUnknownError, KnowledgeBaseUnknownError]
)
def test_a_refusal_may_be_raised(error: type[Exception]) -> None:
    """It is of all that the source was asked about."""
    assert said(error) == [("refused", None), ("refused", None)]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (ConnectionError(SECRET_URL), "error"),
        (SystemExit(3), "error"),
        (asyncio.CancelledError(), "error"),
        (KnowledgeUnauthorizedError(SECRET_URL), "unauthorized"),
        (True, "invalid_response"),
        (None, "invalid_response"),
        ({"refs": []}, "invalid_response"),
        (lambda *_: asyncio.Event().wait(), "timeout"),
    ],
)
def test_a_source_that_cannot_say_is_a_reason(answer: Any, reason: str, caplog: pytest.LogCaptureFixture) -> None:
    """Not an exception, and not a refusal; the log has a name, a slug and a count (clause 10.8)."""
    assert said(answer, timeout=0.05 if reason == "timeout" else 5.0) == [("failed", reason)] * 2
    assert f"knowledge source wiki: could not validate, {reason}, 2 references" in caplog.text
    assert SECRET_URL not in caplog.text


def test_one_that_fails_costs_no_other() -> None:
    """They are asked at the same time."""
    registry = SourceRegistry(HandbookSource(), Validating("down", [OSError]), Validating("wiki", [[]]))
    refs = [reference("down"), reference("handbook", "people"), reference("wiki")]
    assert [each.status for each in validated(*refs, registry=registry)] == ["failed", "stands", "refused"]


def test_sources_wait_for_each_other() -> None:
    """Each is asked before any has answered."""

    async def scene() -> list[str]:
        meeting = asyncio.Barrier(2)

        async def meet(_: str, refs: Any, __: Any) -> Any:
            await meeting.wait()
            return refs

        registry = SourceRegistry(Validating("a", [meet]), Validating("b", [meet]))
        found = await validate_references([reference("a"), reference("b")], context=ALICE, registry=registry)
        return [each.status for each in found]

    assert asyncio.run(scene()) == ["stands", "stands"]


def test_what_was_sent_stays() -> None:
    """A source that completes references in place, or makes some up, has no part in what is bound."""

    def complete(_: str, refs: Any, __: Any) -> Any:
        for ref in refs:
            object.__setattr__(ref, "scope", "token=k-4711-4712")
        return [*refs, reference("wiki", "kb-of-another")]

    registry = SourceRegistry(Validating("wiki", [complete]))
    sent = reference("wiki", "kb-1", name="Wiki")
    (verdict,) = validated(sent, registry=registry)
    assert (verdict.status, verdict.ref, verdict.ref.scope) == ("stands", reference("wiki", "kb-1", name="Wiki"), None)
    assert sent.scope is None


def test_what_cannot_be_asked_is_refused() -> None:
    """Before any source is."""
    source = Validating("wiki", [[]])
    registry = SourceRegistry(source)
    with pytest.raises(KnowledgeReferenceInvalidError, match=r"^id: "):
        validated(reference("wiki"), {"provider": "wiki"}, registry=registry)
    with pytest.raises(KnowledgeOwnerRequiredError):
        validated(reference("wiki"), registry=registry, context=ALICE.model_copy(update={"owner_id": " "}))
    with pytest.raises(ValueError, match="timeout"):
        validated(reference("wiki"), registry=registry, timeout=0)
    cancelled = CancelSignal()
    cancelled.cancel("gone on")
    with pytest.raises(asyncio.CancelledError):
        validated(reference("wiki"), registry=registry, context=ALICE.model_copy(update={"signal": cancelled}))
    assert source.calls == []


def test_the_callers_cancellation_reaches_the_source() -> None:
    """And comes out (clause 9.6)."""

    async def scene() -> list[str]:
        asked, ended = asyncio.Event(), []

        async def waits(*_: Any) -> Any:
            asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("cancelled")

        registry = SourceRegistry(Validating("wiki", [waits]))
        task = asyncio.ensure_future(validate_references([reference("wiki")], context=ALICE, registry=registry))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return ended

    assert asyncio.run(scene()) == ["cancelled"]


def test_nothing_is_logged_of_what_stands(caplog: pytest.LogCaptureFixture) -> None:
    """Nor of what is refused: that is for the one who asked."""
    with caplog.at_level(logging.DEBUG, "knowledge_provider"):
        validated(reference("handbook", "people"), reference("handbook", "x"), registry=mixed_registry())
    assert caplog.text == ""
