"""An event loop of its own: what stops it is a finding, and stops nobody else."""

import asyncio
from typing import Any

import pytest

from knowledge_conformance import calls
from knowledge_conformance.check import Hang, Violation
from knowledge_conformance.checks import composite_loops
from knowledge_conformance.checks.composite_loops import in_own_loop, own_loop
from knowledge_fakes.scripted import Flag


def in_loop(play: Any) -> None:
    asyncio.run(in_own_loop(play, where="there"))


def test_a_stopped_loop_is_a_finding_and_stops_nobody_else() -> None:
    """A ``SystemExit`` out of a task ends the loop that it runs on, which is not the check's."""

    async def leave() -> None:
        raise SystemExit(3)

    async def play() -> None:
        await asyncio.create_task(leave())

    with pytest.raises(Violation, match="SystemExit: 3 out of a task") as found:
        in_loop(play)
    assert found.value.where == "there"


def test_a_finding_comes_out_of_its_loop() -> None:
    """It is raised as it is, and what goes well says nothing."""

    async def find() -> None:
        raise Violation(wanted="a", saw="b", hint="c")

    async def hold() -> None:
        await asyncio.sleep(0)

    with pytest.raises(Violation, match="wanted a; saw b"):
        in_loop(find)
    in_loop(hold)


def test_a_loop_that_hangs_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check goes on without it."""
    monkeypatch.setattr(composite_loops, "LOOP_SECONDS", 0.05)
    monkeypatch.setattr(calls, "GRACE_SECONDS", 0.05)
    release = Flag()

    async def play() -> None:
        await release.wait()

    with pytest.raises(Hang, match="saw none"):
        in_loop(play)
    release.set()


def test_a_keyboard_interrupt_comes_out_of_its_loop() -> None:
    """As an ending: the check decides what it means."""

    async def interrupt() -> None:
        raise KeyboardInterrupt

    assert isinstance(asyncio.run(own_loop(interrupt)).error, KeyboardInterrupt)


def test_nothing_is_left_on_a_loop_that_was_stopped_twice() -> None:
    """Tasks that meet what another one raised end, too, and run their last lines."""
    ended: list[str] = []

    async def interrupt() -> None:
        raise KeyboardInterrupt

    async def meet(task: "asyncio.Task[None]") -> None:
        try:
            await task
        finally:
            ended.append("met")

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("waited")

    async def play() -> None:
        raised = asyncio.create_task(interrupt())
        await asyncio.gather(meet(raised), meet(raised), wait())

    asyncio.run(own_loop(play))
    assert sorted(ended) == ["met", "met", "waited"]
