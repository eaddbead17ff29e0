"""What is left after close(), and on a second loop, by the kind of target."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.kinds import COMPOSITE
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import Target, load
from knowledge_fakes.faulty import bound_to_its_first_loop, first_loop_is_forgotten, socket_stays_open
from knowledge_fakes.handbook import HandbookProvider, SyncHandbookProvider
from knowledge_fakes.plain_composite import PlainComposite

CLOSING = ("KP-204", "KP-205", "KP-206", "KP-209", "KP-210", "KP-207", "KP-208", "KP-211")


def results(target: Target | str) -> dict[str, CheckResult]:
    """What all checks that close a provider say, in their order."""
    run = Run(target, Settings())
    try:
        # An ordinary answer first: nothing can be asked of one that lives for the whole run once it is closed.
        run.result(BY_ID["KP-301"])
        return {check_id: run.result(BY_ID[check_id]) for check_id in CLOSING}
    finally:
        run.close()


@pytest.fixture
def instances(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module with providers that live for the whole run."""
    text = (
        "from knowledge_fakes import faulty, handbook\n"
        "sound = handbook.HandbookProvider()\n"
        "bound = faulty.bound_to_its_first_loop()\n"
        "forgotten = faulty.first_loop_is_forgotten()\n"
    )
    (tmp_path / "living.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.parametrize(("name", "broken"), [("sound", []), ("bound", ["KP-208"]), ("forgotten", ["KP-211"])])
def test_a_provider_of_the_whole_run_is_tried_on_a_second_loop(name: str, broken: list[str], instances: None) -> None:
    """In a process of its own, since it is closed by then in the first; and that changes nothing for the others."""
    outcomes = {check_id: found.outcome for check_id, found in results(f"living:{name}").items()}
    held = {CheckOutcome.PASSED, CheckOutcome.INAPPLICABLE}
    assert [check_id for check_id, outcome in outcomes.items() if outcome not in held] == broken
    assert (outcomes["KP-208"] is CheckOutcome.PASSED) is (name != "bound")


def test_an_object_of_this_process_has_one_life() -> None:
    """It cannot be made again, so what a second loop needs is said."""
    found = results(Target("m:living", HandbookProvider(), instance=True))
    assert {found[check_id].outcome for check_id in CLOSING[:6]} == {CheckOutcome.PASSED}
    for check_id in CLOSING[6:]:
        assert found[check_id].outcome is CheckOutcome.INAPPLICABLE
        assert "one object for the whole run" in (found[check_id].saw or "")


def test_what_a_context_manager_opened_is_its_own_to_close() -> None:
    """A server that a fixture starts beside the provider is there until the fixture is left."""
    import contextlib
    import socket

    class Beside:
        def __enter__(self) -> HandbookProvider:
            self._open = contextlib.ExitStack()
            self._open.enter_context(socket.create_server(("127.0.0.1", 0)))
            return HandbookProvider()

        def __exit__(self, *_error: object) -> None:
            self._open.close()

    found = results(Target("m:beside", Beside, instance=False))
    assert found["KP-209"].outcome is CheckOutcome.PASSED
    assert "context manager" in (found["KP-208"].saw or "")


def test_what_is_left_reads_the_same_in_each_run() -> None:
    """No port, no number and no count of what happens to be there."""
    first, second = (results(load(f"knowledge_fakes.faulty:{name}")) for name in ["socket_stays_open"] * 2)
    assert first == second
    assert first["KP-209"].saw == "a TCP socket that listens"


@pytest.mark.parametrize("make", [socket_stays_open, bound_to_its_first_loop, first_loop_is_forgotten])
def test_one_mistake_is_said_once(make: Any) -> None:
    """What is blocked by it says so, and the rest holds."""
    found = results(Target("m:one", make, instance=False))
    assert sum(each.outcome in (CheckOutcome.FAILED, CheckOutcome.ADVISORY) for each in found.values()) == 1


def second_loop(make: Any) -> CheckResult:
    """What KP-208 says of a provider."""
    run = Run(Target("m:second", make, instance=False), Settings())
    try:
        return run.result(BY_ID["KP-208"])
    finally:
        run.close()


class Gated(HandbookProvider):
    """Two searches at once; ``turns_away`` says whether the third waits or is refused."""

    turns_away = False

    def __init__(self) -> None:
        super().__init__()
        self._gate = asyncio.Semaphore(2)

    async def retrieve(self, request: Any, context: Any) -> Any:
        context.signal.raise_if_cancelled()
        if self.turns_away and self._gate.locked():
            raise ConnectionError("too many searches at once")
        async with self._gate:
            return await super().retrieve(request, context)


def test_what_calls_wait_for_together_is_tried_on_both_loops() -> None:
    """Python binds a semaphore where the first call had to wait, and one call alone never does."""
    found = second_loop(Gated)
    line = Gated.retrieve.__code__.co_firstlineno + 4
    assert found.outcome is CheckOutcome.ADVISORY
    assert (found.wanted or "").startswith("an answer to each of several calls at once on a second event loop")
    assert f"is bound to a different event loop in {__name__}.retrieve, line {line}" in (found.saw or "")


def test_calls_that_are_turned_away_together_say_nothing_of_loops() -> None:
    """They are on the first loop, too, which is KP-706's matter; alone they are answered on both."""

    class TurnsAway(Gated):
        turns_away = True

    found = second_loop(TurnsAway)
    assert (found.outcome, found.calls) == (CheckOutcome.PASSED, 10)


def test_calls_together_that_do_not_end_are_said_once() -> None:
    """None of them is left behind, and a host that stays on one loop is not held up."""

    class Waits(HandbookProvider):
        loop: asyncio.AbstractEventLoop | None = None
        inside = 0

        async def retrieve(self, request: Any, context: Any) -> Any:
            context.signal.raise_if_cancelled()
            self.loop = self.loop or asyncio.get_running_loop()
            self.inside += 1
            try:
                found = await super().retrieve(request, context)
                if self.loop is not asyncio.get_running_loop() and self.inside > 1:
                    await asyncio.Event().wait()
                return found
            finally:
                self.inside -= 1

    run = Run(Target("m:waits", Waits, instance=False), Settings(timeout=0.2))
    found = run.result(BY_ID["KP-208"])
    run.close()
    assert found.outcome is CheckOutcome.ADVISORY
    assert (found.saw or "").startswith(f"no answer: it waits in {__name__}.retrieve, line ")


@pytest.mark.parametrize(("make", "calls"), [(HandbookProvider, 18), (SyncHandbookProvider, 2)])
def test_what_works_in_a_thread_is_asked_alone(make: Any, calls: int) -> None:
    """It waits on no loop, so calls at once would show nothing."""
    found = second_loop(make)
    assert (found.outcome, found.calls) == (CheckOutcome.PASSED, calls)


@pytest.mark.parametrize("turns_away", [False, True])
def test_calls_of_a_composite_that_wait_for_each_other_are_tried_on_both_loops(*, turns_away: bool) -> None:
    """As those of a provider; what is turned away on the first loop, too, says nothing of loops."""

    class Gated(PlainComposite):
        def __init__(self, children: Any, *, timeout: float) -> None:
            super().__init__(children, timeout=timeout)
            self._gate = asyncio.Semaphore(2)

        async def retrieve(self, request: Any, context: Any) -> Any:
            if turns_away and self._gate.locked():
                raise ConnectionError("too many searches at once")
            async with self._gate:
                return await super().retrieve(request, context)

    run = Run(Target("m:gated", Gated, instance=True), Settings(), kind=COMPOSITE)
    found = run.result(BY_ID["KP-931"])
    run.close()
    assert found.outcome is (CheckOutcome.PASSED if turns_away else CheckOutcome.ADVISORY), found
    assert turns_away or "is bound to a different event loop" in str(found.saw)
