"""What merges sources, as a check sees it: made by its factory, bounded, and read whatever it answers."""

import asyncio
from typing import Any

import pytest
from merging_runs import subject_of

from knowledge_conformance.calls import Raised
from knowledge_conformance.check import Hang, Violation
from knowledge_conformance.checks.merging_sources import built_in, finding, ref
from knowledge_conformance.merging_subject import Merged, new_context
from knowledge_fakes.merging import reference
from knowledge_provider.sources import MergedRecords


def answering(answer: Any) -> Any:
    """A factory of what answers so, or raises it."""

    def make(_built_in: Any, _sources: Any, *, timeout: float) -> Any:
        async def merge(query: str, *, context: Any, refs: Any) -> Any:
            if isinstance(answer, BaseException):
                raise answer
            return await answer(context) if callable(answer) else answer

        return merge

    return make


def merged(factory: Any, *, seconds: float | None = None) -> Merged:
    async def use() -> Merged:
        merging = await subject_of(factory).over([finding("wiki", "one")], built_in("own"))
        merging.seconds = merging.seconds if seconds is None else seconds
        return await merging.answer([ref("wiki")])

    return asyncio.run(use())


@pytest.mark.parametrize(
    "answer",
    [
        {"records": [{"content": "one"}], "summary": []},
        {"records": ({"content": "one"},), "summary": ()},
        MergedRecords(status="not_found").model_copy(update={"records": [{"content": "one"}]}),
    ],
    ids=["dicts", "tuples", "a model"],
)
def test_an_answer_is_read_in_either_form(answer: Any) -> None:
    """As the reference gives it, or as plain data."""
    read = merged(answering(answer))
    assert (read.contents(), read.summary, read.came) == (["one"], [], "1 record")


def test_the_reference_is_read() -> None:
    """Built-in records, then those of the source, and a status of each."""
    read = merged(reference)
    assert [record["source_type"] for record in read.records] == ["knowledge_base", "wiki"]
    assert [entry["key"] for entry in read.summary] == ["knowledge_base", "wiki"]


@pytest.mark.parametrize("answer", [None, [], {"records": []}, {"records": 3, "summary": []}, "text"])
def test_what_is_no_answer_is_said(answer: Any) -> None:
    """A list alone has no summary."""
    with pytest.raises(Violation, match="records and a summary"):
        merged(answering(answer))


def test_what_is_raised_is_said() -> None:
    """With its place."""
    with pytest.raises(Violation, match="raised LookupError: gone"):
        merged(answering(LookupError("gone")))


def test_items_that_cannot_be_read_are_left_out() -> None:
    """They are nobody's records."""
    read = Merged("", {"records": [3, None, {"content": "one"}, {"content": 7}], "summary": ["x"]})
    assert (len(read.records), read.contents(), read.summary, read.came) == (2, ["one"], [], "2 records")


async def _never(context: Any) -> Any:
    await asyncio.Event().wait()


def test_a_call_that_does_not_end_is_a_hang() -> None:
    """Within its own time."""
    with pytest.raises(Hang, match=r"an end within 0\.05 s"):
        merged(answering(_never), seconds=0.05)


async def _async_factory(built_in: Any, sources: Any, *, timeout: float) -> Any:  # noqa: ASYNC109 - the protocol's
    return reference(built_in, sources, timeout=timeout)


def test_a_factory_may_be_asynchronous() -> None:
    """What it makes is the same."""
    assert merged(_async_factory).came == "2 records"


@pytest.mark.parametrize(
    ("factory", "saw"),
    [
        (lambda _built_in, _sources, *, timeout: None, "None"),
        (lambda _built_in, _sources, *, timeout: 1 / 0, "raised ZeroDivisionError"),
    ],
)
def test_a_factory_that_makes_none_is_said(factory: Any, saw: str) -> None:
    """It gives an async function."""
    with pytest.raises(Violation, match="an async function") as caught:
        merged(factory)
    assert caught.value.saw.startswith(saw)


def test_a_started_call_can_be_cancelled() -> None:
    """And what it raises is a value."""

    async def use(answer: Any) -> tuple[bool, Any]:
        merging = await subject_of(answering(answer)).over([])
        task = await merging.start((), new_context())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        return task.cancelled(), None if task.cancelled() else task.result()

    assert asyncio.run(use(_never)) == (True, None)

    async def raised() -> Any:
        merging = await subject_of(answering(SystemExit(3))).over([])
        return await (await merging.start((), new_context()))

    assert type(asyncio.run(raised())) is Raised


def test_a_context_may_be_what_no_model_allows() -> None:
    """A blank owner, to see that it is refused."""
    assert new_context(owner_id="").owner_id == ""
    assert not new_context().signal.cancelled
