"""A source as a check sees it: bounded, counted and announced calls, and the references of the settings."""

import asyncio
from types import MappingProxyType
from typing import Any

import pytest
from source_runs import subject_of

from knowledge_conformance.check import Hang, Inapplicable, Inconclusive
from knowledge_conformance.settings import OwnerExpectation, Settings
from knowledge_conformance.source_subject import show_refs
from knowledge_conformance.subject import ProviderRaisedError
from knowledge_conformance.watched import OutOfCallsError
from knowledge_fakes.sources import HandbookSource, PagingSource, ScriptedSource, reference

FOUND = [{"id": "1", "content": "one"}]
ONE = Settings(references=({"id": "a", "name": "A"},), timeout=0.05)
A = (reference("wiki", "a"),)


def test_references_are_the_settings_own_and_of_this_source() -> None:
    """Whatever else the settings say of one; the name is read once, as a registry does."""
    source = ScriptedSource("wiki")
    subject = subject_of(source, ONE)
    assert [(ref.provider, ref.id, ref.name) for ref in subject.references()] == [("wiki", "a", "A")]
    source.name = "other"
    assert subject.reference(id="b").provider == "wiki"
    with pytest.raises(Inconclusive, match="no reference"):
        subject_of(source, Settings()).references()


def test_a_call_is_announced_counted_and_written_down() -> None:
    """With what came of it."""
    announced: list[tuple[str, float]] = []
    subject = subject_of(ScriptedSource("wiki", [FOUND]), ONE, announce=lambda *told: announced.append(told))
    exchange = asyncio.run(subject.attempt("policy", A))
    assert announced == [("retrieve('policy', ['a'], context)", 0.05)]
    assert (str(exchange), exchange.count, exchange.ids) == (
        "retrieve('policy', ['a'], context) -> 1 result",
        1,
        ("a",),
    )
    assert (subject.calls, list(subject.transcript), subject.shown) == (1, [str(exchange)], str(exchange))


def test_what_it_raises_is_kept_or_raised() -> None:
    """A check says which it wants; the text names the call."""
    subject = subject_of(ScriptedSource("wiki", [ValueError("no")]), ONE)
    assert type(asyncio.run(subject.attempt("policy", A)).error) is ValueError
    with pytest.raises(ProviderRaisedError, match="ValueError: no") as caught:
        asyncio.run(subject.retrieve("policy", A))
    assert caught.value.where == "retrieve('policy', ['a'], context)"


@pytest.mark.parametrize("name", ["retrieve", "list_documents", "validate_refs"])
def test_a_call_that_does_not_end_is_a_hang(name: str) -> None:
    """Each of them, with what was asked."""

    class Hanging(ScriptedSource):
        async def list_documents(self, *_: Any) -> Any:
            await asyncio.Event().wait()

        async def validate_refs(self, *_: Any) -> Any:
            await asyncio.Event().wait()

        async def retrieve(self, *_: Any) -> Any:
            await asyncio.Event().wait()

    subject = subject_of(Hanging("wiki"), ONE)
    calls: dict[str, Any] = {
        "retrieve": lambda: subject.attempt("policy", A),
        "list_documents": lambda: subject.list(A, 1, 0),
        "validate_refs": lambda: subject.validate(A),
    }
    with pytest.raises(Hang) as caught:
        asyncio.run(calls[name]())
    assert str(caught.value.where).startswith(f"{name}(")


def test_the_budget_holds() -> None:
    """No call is made beyond it."""
    source = ScriptedSource("wiki", [FOUND])
    subject = subject_of(source, ONE, allowed=1)
    asyncio.run(subject.attempt("policy", A))
    with pytest.raises(OutOfCallsError):
        asyncio.run(subject.attempt("policy", A))
    assert len(source.calls) == 1


def test_listing_is_disabled_where_it_is_missing_or_not_claimed() -> None:
    """Not failed (clause 10.7)."""
    assert subject_of(PagingSource("wiki"), ONE).can_list
    silent = PagingSource("wiki")
    silent.capabilities = MappingProxyType({"list_documents": False})
    for source in (ScriptedSource("wiki"), silent):
        subject = subject_of(source, ONE)
        assert not subject.can_list
        with pytest.raises(Inapplicable, match="list_documents"):
            subject.listing()


def test_an_optional_method_that_is_missing_is_inapplicable() -> None:
    """None counts as missing."""
    with pytest.raises(Inapplicable, match="no validate_refs"):
        subject_of(ScriptedSource("wiki"), ONE).optional("validate_refs")
    assert callable(subject_of(HandbookSource(), ONE).optional("validate_refs"))


def test_a_property_that_raises_is_the_sources_finding() -> None:
    """And says which."""

    class Broken(ScriptedSource):
        @property
        def mood(self) -> str:
            raise RuntimeError("no mood")

    with pytest.raises(ProviderRaisedError) as caught:
        subject_of(Broken("wiki"), ONE).member("mood")
    assert caught.value.where == "source.mood"


def test_it_asks_as_the_first_owner_of_the_settings() -> None:
    """Or as one of the kit's own; a check may change any field, also to what no model allows."""

    async def owners() -> tuple[str, str, str]:
        named = ONE.model_copy(update={"owners": {"mara": OwnerExpectation(query="q")}})
        subjects = [subject_of(ScriptedSource("wiki"), each) for each in (ONE, named)]
        own, named_one = (subject.context().owner_id for subject in subjects)
        return own, named_one, subjects[0].context(owner_id="").owner_id

    assert asyncio.run(owners()) == ("conformance-owner", "mara", "")


def test_a_started_call_can_be_cancelled() -> None:
    """A task, or None where it was answered without one."""

    class Plain(ScriptedSource):
        def retrieve(self, *_: Any) -> Any:
            return FOUND

    async def started(source: Any) -> bool:
        subject = subject_of(source, ONE)
        task = await subject.start("policy", A, subject.context())
        await asyncio.sleep(0)
        if task is not None:
            task.cancel()
            await asyncio.wait({task})
        return task is not None and task.cancelled()

    assert asyncio.run(started(ScriptedSource("wiki", [lambda *_: asyncio.Event().wait()])))
    assert not asyncio.run(started(Plain("wiki")))


def test_references_read_by_what_they_name() -> None:
    """The first few of many."""
    document = reference("wiki", "a", target_type="document", document_id="d-1")
    everything = reference("wiki").model_copy(update={"mode": "all_accessible", "id": None})
    assert show_refs((document, everything)) == "['a'/'d-1', 'all_accessible']"
    assert show_refs(A * 9).endswith("'a', …]")
