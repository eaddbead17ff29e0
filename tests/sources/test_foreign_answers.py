"""Whatever any method of a source answers or raises, it costs that source alone, in each call that asks it."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from knowledge_fakes.scripted import MALFORMED, RAISING, SECRET
from knowledge_fakes.sources import PagingSource, reference
from knowledge_provider import Outcome, RetrievalContext
from knowledge_provider.sources import (
    DocumentListing,
    ExternalKnowledgeRef,
    MergedRecords,
    SourceRegistry,
    list_documents,
    list_merged,
    retrieve_merged,
)

ALICE = RetrievalContext(owner_id="alice")
FOUND = [{"id": "1", "content": "one"}]


def raising(make: Callable[[], BaseException]) -> Callable[[], object]:
    def answer() -> object:
        raise make()

    return answer


class _OddError(Exception):
    """Asked for its truth or length, it raises."""

    def __bool__(self) -> bool:
        raise RuntimeError("looked at")

    def __len__(self) -> int:
        raise RuntimeError("looked at")


class _EmptyError(Exception):
    """It is false, and has a code all the same."""

    code = "knowledge_unauthorized"

    def __len__(self) -> int:
        return 0


_LyingRef = type("_LyingRef", (ExternalKnowledgeRef,), {"model_dump": raising(lambda: SystemExit(3))})


def _unchecked(**fields: Any) -> ExternalKnowledgeRef:
    return ExternalKnowledgeRef.model_construct(**fields)


ANSWERS: dict[str, Callable[[], object]] = {
    **MALFORMED,
    **{f"raises {name}": raising(make) for name, make in RAISING.items()},
    "raises an odd one": raising(_OddError),
    "raises an empty one": raising(_EmptyError),
    "a reference without validation": lambda: [_unchecked(provider=[], id={}, target_type=7)],
    "a reference of its own": lambda: [_LyingRef(provider="hostile", id="kb-1")],
}


class _Source:
    """Sound, but for one method."""

    name = "hostile"
    capabilities: dict[str, bool] = {}  # noqa: RUF012 - it is read once

    def __init__(self, method: str, answer: Callable[[], object]) -> None:
        self._answers = {method: answer}

    async def retrieve(self, *_: object) -> object:
        return self._answers.get("retrieve", lambda: FOUND)()

    async def validate_refs(self, refs: object, _: str) -> object:
        return self._answers.get("validate_refs", lambda: refs)()

    async def list_documents(self, *_: object) -> object:
        return self._answers.get("list_documents", lambda: [{"document_id": "d"}])()


def asked(call: Callable[..., Any], source: object) -> Any:
    registry, refs = SourceRegistry(source, PagingSource("sound", [FOUND])), [reference("hostile"), reference("sound")]
    return asyncio.run(call(refs=refs, context=ALICE, registry=registry, timeout=5.0))


async def merged(**options: Any) -> MergedRecords:
    return await retrieve_merged("q", built_in=FOUND, **options)


@pytest.mark.parametrize("method", ["retrieve", "validate_refs"])
@pytest.mark.parametrize("name", ANSWERS)
def test_no_answer_costs_another_its_records(name: str, method: str, caplog: pytest.LogCaptureFixture) -> None:
    """Clauses 9.2 and 10.5: the host's own and the other source's are there, and each source has a status."""
    with caplog.at_level(logging.DEBUG, "knowledge_provider"):
        found = asked(merged, _Source(method, ANSWERS[name]))
    own, *others = found.records
    assert (own.content, others[-1].id) == ("one", "sound:1")
    assert [each.key for each in found.summary][:3] == ["knowledge_base", "hostile", "sound"]
    assert {record.source_type for record in others[:-1]} <= {"hostile"}
    assert found.summary[1].status in ("hit", "no_hit", "failed", "ignored")
    assert SECRET not in str(found.summary) + caplog.text


@pytest.mark.parametrize("call", [list_documents, list_merged])
@pytest.mark.parametrize("name", ANSWERS)
def test_no_answer_costs_another_its_page(name: str, call: Callable[..., Any]) -> None:
    """Clauses 9.2 and 10.7: what is in the page of the one can be bound, and the other's is whole."""
    found: DocumentListing = asked(call, _Source("list_documents", ANSWERS[name]))
    hostile, sound = found.pages
    assert (sound.provider, sound.status, len(sound.documents)) == ("sound", "listed", 5)
    assert hostile.status in ("listed", "failed")
    assert {(document.provider, document.id) for document in hostile.documents} <= {("hostile", "kb-1")}


@pytest.mark.parametrize("whole", [False, True], ids=["an answer", "an outcome"])
@pytest.mark.parametrize("name", ANSWERS)
def test_no_answer_of_the_host_costs_a_source_its_records(name: str, whole: bool) -> None:
    """Clause 9.2, for what is awaited for the host's own; also where it calls itself an outcome, and was never read."""

    async def own() -> object:
        made = ANSWERS[name]()
        return _outcome(results=made, citations=made, sources=made) if whole else made

    async def call(**options: Any) -> MergedRecords:
        return await retrieve_merged("q", built_in=own(), **options)

    found = asked(call, PagingSource("other", [FOUND]))
    assert [record.id for record in found.records[-1:]] == ["sound:1"]
    assert {record.source_type for record in found.records} <= {"knowledge_base", "other", "sound"}
    assert [result.id for result in found.outcome("q").results] == [record.id for record in found.records]
    assert "127.0.0.1" not in str(found)


def _outcome(**fields: Any) -> Outcome:
    return Outcome.model_construct(status="ok", query="q", **fields)


def test_an_error_is_read_by_its_code_and_not_by_its_truth() -> None:
    """Clause 9.3, for the method that is asked first, too."""
    found = asked(merged, _Source("validate_refs", raising(_EmptyError)))
    assert (found.summary[1].status, found.summary[1].reason) == ("failed", "unauthorized")


@pytest.mark.parametrize("answer", [[reference("hostile")], (reference("hostile", name="Other name"),) * 3])
def test_what_stands_is_read_by_its_target(answer: object) -> None:
    """Of the reference itself or one of the same target, in a list or a tuple; and each of them once."""
    found = asked(merged, _Source("validate_refs", lambda: answer))
    assert [record.id for record in found.records[1:]] == ["hostile:1", "sound:1"]
