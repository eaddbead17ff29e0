"""The function doors: from a script, from a test, from inside a running loop."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
import target_kinds
from doors import SOUND

import knowledge_conformance
from knowledge_conformance import Report, Settings, assert_conforms, run
from knowledge_conformance.api import NotConformantError, resolve, run_sync
from knowledge_conformance.in_process import InProcess
from knowledge_conformance.results import CheckOutcome
from knowledge_conformance.running import Run
from knowledge_conformance.supervisor import Supervisor
from knowledge_conformance.target import Target, TargetError
from knowledge_fakes.handbook import HandbookProvider, provider

QUICK = Settings(examples=2)


class Mute(HandbookProvider):
    """Says nothing of itself."""

    def describe(self) -> Any:
        return None


def test_a_name_is_run_in_a_child_process() -> None:
    """And the report comes back."""
    report = assert_conforms(SOUND, QUICK)
    assert isinstance(report, Report)
    assert (report.conformant, report.target) == (True, SOUND)


def test_a_function_that_has_a_name_is_run_in_a_child_process_too() -> None:
    """With its protection."""
    assert resolve(provider) == SOUND
    assert isinstance(Run(resolve(provider), QUICK).runner, Supervisor)
    assert isinstance(Run(resolve(provider), QUICK, in_process=True).runner, InProcess)


def _here() -> list[Any]:
    @contextmanager
    def manager() -> Iterator[HandbookProvider]:
        yield HandbookProvider()

    @asynccontextmanager
    async def async_manager() -> AsyncIterator[HandbookProvider]:
        yield HandbookProvider()

    async def factory() -> HandbookProvider:
        return HandbookProvider()

    class Local(HandbookProvider):
        """Exists in this process only."""

    return [lambda: HandbookProvider(), factory, Local, HandbookProvider(), manager, async_manager, manager()]


@pytest.mark.parametrize("at", range(7))
def test_an_object_that_only_this_process_has_runs_here(at: int) -> None:
    """Lambdas, local functions and classes, finished providers, and context managers of each kind."""
    target = _here()[at]
    assert isinstance(resolve(target), Target)
    report = assert_conforms(target, QUICK)
    assert report.conformant
    assert ":" in report.target


def test_an_instance_is_never_looked_up_by_name() -> None:
    """A provider that lives in a module has no name of its own."""
    target = resolve(target_kinds.instance)
    assert isinstance(target, Target)
    assert (target.name, target.instance) == ("target_kinds:Recorded", True)


def test_a_provider_that_does_not_conform_is_an_assertion_error_that_says_it_all() -> None:
    """With the verdict, each failure in full, and the report for whoever wants more."""
    with pytest.raises(NotConformantError) as caught:
        assert_conforms(Mute(), QUICK)
    assert isinstance(caught.value, AssertionError)
    text = str(caught.value)
    assert text.startswith("not conformant: core")
    assert "KP-102 failed: describe() is synchronous" in text
    assert "wanted  a mapping or a ProviderDescription" in text
    assert "saw     None" in text
    assert caught.value.report.verdict == "not conformant"


def test_too_little_seen_is_an_assertion_error_too() -> None:
    """Nothing was found to be wrong, and nothing was found."""

    class Null(HandbookProvider):
        async def retrieve(self, request: Any, context: Any) -> Any:
            return []

    with pytest.raises(NotConformantError, match=r"^inconclusive: ") as caught:
        assert_conforms(Null, QUICK)
    assert caught.value.report.counts[CheckOutcome.FAILED] == 0


def test_run_can_be_awaited_inside_a_running_loop() -> None:
    """The loop goes on meanwhile, and the provider runs elsewhere."""
    threads: list[threading.Thread] = []

    def factory() -> HandbookProvider:
        threads.append(threading.current_thread())
        return HandbookProvider()

    async def main() -> tuple[Report, int]:
        ticks = 0
        running = asyncio.ensure_future(run(factory, QUICK))
        while not running.done():
            ticks += 1
            await asyncio.sleep(0.005)
        return await running, ticks

    report, ticks = asyncio.run(main())
    assert report.conformant
    assert ticks > 5
    assert threading.main_thread() not in threads


UNUSABLE: list[tuple[Any, str]] = [
    ("nowhere:provider", "there is no module 'nowhere'"),
    ("no colon", "is not a target"),
    ("", "is not a target"),
    (3, "it is a builtins.int"),
    (None, "it is a builtins.NoneType"),
    (b"a:b", "it is a builtins.bytes"),
    ([], "it is a builtins.list"),
    (lambda: None, "it gave a builtins.NoneType"),
    (lambda: 1 / 0, "it raised ZeroDivisionError"),
    (lambda argument: argument, "it raised TypeError"),
]


@pytest.mark.parametrize(("target", "fragment"), UNUSABLE)
def test_a_target_that_cannot_be_used_is_a_target_error(target: Any, fragment: str) -> None:
    """From each of the functions."""
    with pytest.raises(TargetError) as caught:
        assert_conforms(target)
    assert fragment in str(caught.value)
    with pytest.raises(TargetError):
        asyncio.run(run(target))


@pytest.mark.parametrize("settings", [3, {"timeout": 3}, "x"])
def test_settings_of_another_type_are_refused_by_name(settings: Any) -> None:
    """Before anything is started."""
    with pytest.raises(TypeError, match="wanted Settings"):
        run_sync(SOUND, settings)


def test_an_interrupted_run_leaves_nothing() -> None:
    """Whatever ends it."""

    class StopError(BaseException):
        pass

    def factory() -> HandbookProvider:
        return HandbookProvider()

    before = set(threading.enumerate())
    made = Run(resolve(factory), QUICK)
    made.runner.open()
    original, asked = made.runner.run, []

    def run_then_stop(check: Any, remaining: int) -> Any:
        asked.append(check.id)
        if len(asked) > 2:
            raise StopError
        return original(check, remaining)

    made.runner.run = run_then_stop  # type: ignore[method-assign] # as a plugin's time-out would
    with pytest.raises(StopError):
        made.all()
    assert not {thread for thread in set(threading.enumerate()) - before if thread.name == "knowledge-conformance"}


def test_the_public_names_are_found_and_no_others() -> None:
    """The package loads each of them when it is first used."""
    for name in knowledge_conformance.__all__:
        assert getattr(knowledge_conformance, name).__module__.startswith("knowledge_conformance.")
    with pytest.raises(AttributeError, match="module 'knowledge_conformance' has no attribute 'nothing'"):
        _ = knowledge_conformance.nothing
