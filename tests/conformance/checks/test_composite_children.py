"""The children that checks hand to a composite: they wait for each other, are told to stop, and are found again."""

import asyncio

import pytest

from knowledge_conformance.check import Violation
from knowledge_conformance.checks import composite_children
from knowledge_conformance.checks.composite_children import (
    REQUEST,
    Meeting,
    Order,
    Working,
    all_set,
    in_order,
    names_in,
    passage,
    require_passages,
)
from knowledge_conformance.composite_subject import new_context
from knowledge_conformance.exchange import Exchange
from knowledge_fakes.scripted import Flag


def test_a_meeting_counts_who_came_together() -> None:
    """Both kinds of children wait until all have been asked."""
    meeting = Meeting(3)

    async def use() -> None:
        await asyncio.gather(meeting.wait(), meeting.wait(), asyncio.to_thread(meeting.wait_in_thread))

    asyncio.run(use())
    assert meeting.together == 3


def test_a_meeting_is_over_when_nobody_else_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is asked one after another comes too late, and waits no more."""
    monkeypatch.setattr(composite_children, "PATIENCE_SECONDS", 0.01)
    meeting = Meeting(2)

    async def use() -> None:
        await meeting.wait()
        await meeting.wait()

    asyncio.run(use())
    assert meeting.together == 1


@pytest.mark.parametrize("keys", [("a", "b"), ("b", "a")])
def test_children_answer_in_the_order_of_the_check(keys: tuple[str, str]) -> None:
    """Whichever is asked first."""
    order, answered = Order(keys), list[str]()
    children = [in_order(order, key, lambda *_, key=key: answered.append(key)) for key in ("a", "b")]

    async def use() -> None:
        await asyncio.gather(*(child.retrieve(REQUEST, new_context()) for child in children))

    asyncio.run(use())
    assert answered == [*keys]


def test_an_order_waits_briefly_for_who_never_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A composite that asks one after another is not held up for ever."""
    monkeypatch.setattr(composite_children, "BRIEF_SECONDS", 0.01)
    child = in_order(Order(("never", "a")), "a", lambda *_: "answered")
    assert asyncio.run(child.retrieve(REQUEST, new_context())) == "answered"


@pytest.mark.parametrize("deaf", [False, True])
def test_a_working_child_stops_when_it_is_told(deaf: bool) -> None:
    """By its signal, or, where it is deaf to that, by its release."""

    async def use() -> tuple[bool, bool]:
        context = new_context()
        with Working("a", deaf=deaf) as child:
            work = asyncio.ensure_future(asyncio.to_thread(child.retrieve, REQUEST, context))
            await child.started.wait()
            context.signal.cancel()
            stopped = await all_set([child.told, child.ended], 0.05 if deaf else 2)
        await work
        return stopped, child.ended.is_set()

    assert asyncio.run(use()) == (not deaf, True)


def test_flags_are_waited_for_within_a_bound() -> None:
    """True only where all of them are set."""
    flags = [Flag(), Flag()]
    flags[0].set()
    assert not asyncio.run(all_set(flags, 0.01))
    flags[1].set()
    assert asyncio.run(all_set(flags, 0.01))


def test_passages_are_found_by_their_contents() -> None:
    """Whatever ids a composite gives them."""
    rows = [{**passage(name), "id": f"x/{name}"} for name in ("b", "a")]
    exchange = Exchange(REQUEST, new_context(), [*rows, {"id": "c", "content": "another"}])
    assert names_in(exchange, ["a", "b"]) == ["b", "a", "'another'"]
    require_passages(exchange, ["a", "b"], hint="")
    with pytest.raises(Violation, match=r"the passage z .* saw 3 results without it"):
        require_passages(exchange, ["a", "z"], hint="")
