"""The worker: holds the provider under test and runs checks on it, one after another, in one thread.

Knows loops and the life of a provider. It does not know whether it stands in a child process or beside a debugger:
what it has to say goes through ``tell``.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from typing import Any, Final, TypeVar

from knowledge_conformance import calls, engine
from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.check import Check
from knowledge_conformance.render import show_error
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.settings import Settings
from knowledge_conformance.subject import Subject
from knowledge_conformance.survey import SURVEY_CALLS, Survey
from knowledge_conformance.target import Target, TargetError, load, open_provider

CLOSE_SECONDS: Final = 1.5
WIND_DOWN_SECONDS: Final = 0.5

Value = TypeVar("Value")
Tell = Callable[[Mapping[str, object]], None]


class Worker:
    """Runs checks on one target. Every method is called from the same thread.

    It tells ``{"call": …, "seconds": …}`` before each call of the provider, with how it reads and how long it may take,
    ``{"opened": …}`` or ``{"unusable": …}`` once, ``{"beat": True}`` when a check goes on to its next part,
    ``{"result": …}`` for each check and ``{"closed": True}`` at the end.
    """

    def __init__(self, target: str | Target, settings: Settings, tell: Tell) -> None:
        self._named = target
        self._settings = settings
        self._tell = tell
        self._survey = Survey()
        self._target: Target | None = None
        self._opened: Opened | None = None
        self._calls = 0

    def open(self) -> None:
        """Load the target and open a first provider, which the first check gets."""
        try:
            self._target = load(self._named) if isinstance(self._named, str) else self._named
            self._opened = Opened(self._target)
        except TargetError as error:
            self._tell({"unusable": str(error)})
        else:
            self._tell({"opened": {"instance": self._target.instance}})

    def run(self, check_id: str, remaining: int) -> None:
        """Run one check with at most ``remaining`` calls of the provider, closing it included."""
        self._calls = 0
        check = BY_ID[check_id]
        result = self._checked(check, remaining)
        self._tell({"result": result.model_dump(mode="json", exclude_defaults=True)})

    def close(self) -> None:
        """Close what is open."""
        self._close_provider(1)
        self._tell({"closed": True})

    def _checked(self, check: Check, remaining: int) -> CheckResult:
        allowed = self._allowed(check, remaining)
        if allowed < min(1, check.calls_allowed(self._settings)):
            return engine.left_out(check, observations=0, calls=0, limit=self._settings.max_calls)
        try:
            opened = self._provider()
        except TargetError as error:
            return _unopened(check, error)
        subject = self._subject(opened, allowed)
        result = self._completed(check, subject, opened)
        if not opened.instance:
            self._close_provider(remaining - self._calls)
        return result

    def _completed(self, check: Check, subject: Subject, opened: "Opened") -> CheckResult:
        try:
            return opened.run(engine.run_check(check, subject))
        except BaseException as error:  # a task of the provider's own can stop the loop
            return _stopped_loop(check, subject, error)

    def _subject(self, opened: "Opened", allowed: int) -> Subject:
        return Subject(opened.provider, self._settings, allowed=allowed, announce=self._announce, surveyor=self._survey)

    def _allowed(self, check: Check, remaining: int) -> int:
        wanted = check.calls_allowed(self._settings)
        if check.surveyed and not self._survey.made:
            wanted += SURVEY_CALLS
        return min(wanted, remaining - 1)

    def _announce(self, shown: str, seconds: float) -> None:
        self._calls += 1
        self._tell({"call": shown, "seconds": seconds})

    def _provider(self) -> "Opened":
        if self._opened is None:
            if self._target is None:
                raise TargetError("the target was not opened")
            self._opened = Opened(self._target)
        return self._opened

    def _close_provider(self, remaining: int) -> None:
        opened, self._opened = self._opened, None
        if opened is None:
            return
        self._tell({"beat": True})
        if opened.closable and remaining > 0:
            self._announce("close()", CLOSE_SECONDS)
            opened.close()
        self._tell({"beat": True})
        opened.wind_down()


class Opened:
    """One provider with the loop that it lives on; raises ``TargetError`` when it cannot be opened."""

    def __init__(self, target: Target) -> None:
        self.instance: bool = target.instance
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(lambda _loop, _context: None)
        self._stack = AsyncExitStack()
        asyncio.set_event_loop(self._loop)
        try:
            self.provider: Any = self.run(open_provider(target, self._stack))
        except BaseException as error:
            self.wind_down()
            if isinstance(error, TargetError):
                raise
            raise TargetError(f"cannot open {target.name}: it raised {show_error(error)}") from error

    @property
    def closable(self) -> bool:
        """Whether the provider has a ``close`` to call."""
        return callable(getattr(self.provider, "close", None))

    def run(self, work: Coroutine[Any, Any, Value]) -> Value:
        """Run on the provider's loop; ``SystemExit`` from one of the provider's own tasks comes out."""
        return self._loop.run_until_complete(work)

    def close(self) -> None:
        """Close the provider, within a bound; what it raises is a check's business."""
        with contextlib.suppress(BaseException):
            self.run(calls.call(self.provider.close, seconds=CLOSE_SECONDS))

    def wind_down(self) -> None:
        """Leave what was entered, cancel what is left and close the loop, each within a bound."""
        with contextlib.suppress(BaseException):
            self.run(calls.call(self._stack.aclose, seconds=CLOSE_SECONDS))
        with contextlib.suppress(BaseException):
            self.run(_cancel_rest())
        asyncio.set_event_loop(None)
        self._loop.close()


async def _cancel_rest() -> None:
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    if rest:
        await asyncio.wait(rest, timeout=WIND_DOWN_SECONDS)
    await asyncio.get_running_loop().shutdown_asyncgens()


def _unopened(check: Check, error: TargetError) -> CheckResult:
    return CheckResult(
        id=check.id,
        outcome=CheckOutcome.ERRORED,
        wanted="a fresh provider for this check",
        saw=str(error),
        hint="the target must be able to make more than one provider, one after another",
    )


def _stopped_loop(check: Check, subject: Subject, error: BaseException) -> CheckResult:
    return CheckResult(
        id=check.id,
        outcome=CheckOutcome.FAILED,
        observations=subject.observations,
        calls=subject.calls,
        wanted="an answer, or an ordinary exception out of retrieve",
        saw=f"{show_error(error)} out of a task that the provider started, which stops the host's event loop",
        hint="catch exceptions inside your own tasks and let retrieve raise them",
        where=subject.shown,
    )
