"""A factory of access rules as a check sees it: every call bounded, counted and announced."""

import asyncio
from typing import Any

import pytest

from knowledge_conformance import access_subject, calls
from knowledge_conformance.access_subject import AccessSubject, new_context, shown_ids
from knowledge_conformance.check import Hang, Violation
from knowledge_conformance.exchange import Exchange
from knowledge_conformance.settings import Settings
from knowledge_fakes.plain_access import PlainAccess, factory
from knowledge_fakes.scripted import HeldProvider, ScriptedProvider
from knowledge_provider import RetrievalRequest
from knowledge_provider.access import AccessMode, AccessScope

REQUEST = RetrievalRequest(query="release policy")
SCOPE = AccessScope(AccessMode.PERMISSIVE, user_id="alice", roles=frozenset({"b", "a"}))
ROWS = [{"id": "a", "content": "one"}]


@pytest.fixture(autouse=True)
def little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """What hangs is given up at once."""
    for module, name in (
        (access_subject, "ANSWER_SECONDS"),
        (access_subject, "CLOSE_SECONDS"),
        (calls, "GRACE_SECONDS"),
    ):
        monkeypatch.setattr(module, name, 0.2)


def subject_of(make: Any, announced: list[str] | None = None) -> AccessSubject:
    seen = [] if announced is None else announced
    return AccessSubject(make, Settings(), announce=lambda shown, _: seen.append(shown))


def asked(make: Any, provider: Any, *, answered: bool = True) -> Exchange:
    async def use() -> Exchange:
        async with subject_of(make).scoped(provider, SCOPE) as scoped:
            return await (scoped.answer(REQUEST) if answered else scoped.ask(REQUEST))

    return asyncio.run(use())


def test_every_call_is_counted_and_announced() -> None:
    """The factory's shows the scope, and the provider is closed at the end."""
    announced: list[str] = []
    subject = subject_of(factory, announced)
    provider = ScriptedProvider([ROWS])

    async def use() -> list[str]:
        async with subject.scoped(provider, SCOPE) as scoped:
            return shown_ids(await scoped.answer(REQUEST))

    assert asyncio.run(use()) == ["a"]
    assert announced == [
        "factory(provider, AccessScope('permissive', user_id='alice', roles=['a', 'b']), identity=nobody)",
        "retrieve(RetrievalRequest(query='release policy', top_k=5), context)",
    ]
    assert (subject.calls, provider.closed) == (2, 1)


@pytest.mark.parametrize("made", [None, object(), ValueError("no such mode")])
def test_what_makes_no_provider_is_a_finding(made: Any) -> None:
    """Whether it gives something else, or raises."""

    def make(*_: Any, **__: Any) -> Any:
        if isinstance(made, Exception):
            raise made
        return made

    with pytest.raises(Violation, match="a provider that shows of another one"):
        asked(make, ScriptedProvider())


def test_an_answer_is_required_where_it_is_wanted() -> None:
    """``ask`` takes an error as it is; ``answer`` does not, and neither what is no answer."""
    down = ScriptedProvider([ConnectionError("down")])
    assert isinstance(asked(factory, down, answered=False).error, ConnectionError)
    with pytest.raises(Violation, match="an answer with the results that may be shown"):
        asked(factory, down)

    class Nothing(PlainAccess):
        async def retrieve(self, *_: Any) -> Any:
            return None

    with pytest.raises(Violation, match="saw None"):
        asked(Nothing, ScriptedProvider())


def test_what_hangs_is_named() -> None:
    """Within a bound, for a search and for the factory."""
    with HeldProvider() as held, pytest.raises(Hang, match="an end within"):
        asked(factory, held)

    async def never(*_: Any, **__: Any) -> Any:
        await asyncio.Event().wait()

    with pytest.raises(Hang, match="an end within"):
        asked(never, ScriptedProvider())


def test_a_request_that_is_changed_is_the_rules_own() -> None:
    """Each call gets a copy."""

    class Changing(PlainAccess):
        async def retrieve(self, request: Any, context: Any) -> Any:
            request.filters["user"] = "bob"
            return await super().retrieve(request, context)

    assert asked(Changing, ScriptedProvider([ROWS])).request.filters == {}
    assert REQUEST.filters == {}


def test_a_context_has_its_owner() -> None:
    """And a signal of its own."""
    one, other = new_context("alice"), new_context(turn_id="second")
    assert (one.owner_id, other.turn_id) == ("alice", "second")
    assert one.signal is not other.signal
