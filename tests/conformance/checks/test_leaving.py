"""What is left after close(), and on a second loop, by the kind of target."""

from pathlib import Path
from typing import Any

import pytest

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import Target, load
from knowledge_fakes.faulty import bound_to_its_first_loop, first_loop_is_forgotten, socket_stays_open
from knowledge_fakes.handbook import HandbookProvider

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
