"""The worker: holds the provider under test and runs checks on it, one after another, in one thread.

Knows loops and the life of a provider, or of what makes hosts and composites over providers. It does not know whether
it stands in a child process or beside a debugger: what it has to say goes through ``tell``.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from importlib.util import find_spec
from typing import Any, Final, TypeVar

from knowledge_conformance import calls, engine
from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.channels import Leak
from knowledge_conformance.check import Check, Facet
from knowledge_conformance.declared import read_declared
from knowledge_conformance.event_loops import cancel_rest, new_loop
from knowledge_conformance.kinds import PROVIDER, Kind
from knowledge_conformance.leftovers import Standing
from knowledge_conformance.manner import Step
from knowledge_conformance.opening import overheard
from knowledge_conformance.render import never_show, show_error
from knowledge_conformance.results import BROKEN, CheckResult
from knowledge_conformance.settings import Settings
from knowledge_conformance.subject import Life, Subject
from knowledge_conformance.tape_file import TapeError
from knowledge_conformance.taping import Player, Recorder, Taping, taped
from knowledge_conformance.target import Opening, Target, TargetError, factory_of, load, open_provider
from knowledge_conformance.watched import OutOfCallsError, Watched
from knowledge_provider import RetrievalRequest

CLOSE_SECONDS: Final = 1.5
WIND_DOWN_SECONDS: Final = 0.5

Value = TypeVar("Value")
Tell = Callable[[Mapping[str, object]], None]


class Worker:
    """Runs checks on one target. Every method is called from the same thread.

    It tells ``{"call": …, "seconds": …}`` before each call of the provider, with how it reads and how long it may take,
    ``{"opened": …}`` or ``{"unusable": …}`` once, ``{"beat": True}`` when a check goes on to its next part,
    ``{"unopened": …}`` or ``{"result": …}`` for each check, ``{"ready": True}`` when its provider is closed, too, and
    ``{"closed": True}`` at the end.
    """

    def __init__(self, target: str | Target, settings: Settings, tell: Tell, kind: Kind = PROVIDER) -> None:
        # Clause 6.4 binds the kit as well. Now, while there is no provider that could take them away.
        never_show(read_declared(settings.secrets, _key_of_the_faults() if settings.trial else {}).values())
        self._named = target
        self._kind = kind
        self._settings = settings
        self._tell = tell
        self._secrets = () if kind.driven else settings.secrets
        self._imported: list[Leak] = []
        self._survey = kind.survey()
        self._target: Target | None = None
        self._opened: Opened | None = None
        self._closes = True
        self._remaining = 0
        self._network = contextlib.ExitStack()
        self._tape: Player | Recorder | None = None

    def open(self) -> None:
        """Load the target and open a first provider, which the first check gets."""
        try:
            _refuse_without_hypothesis()
            if self._kind is PROVIDER:
                self._tape = self._network.enter_context(taped(Taping.of(self._settings)))
            with overheard(self._secrets, "importing its module", self._imported):
                self._target = load(self._named, self._kind.wanted) if isinstance(self._named, str) else self._named
            self._opened = self._made(self._target, self._secrets)
        except (TargetError, TapeError) as error:
            self._network.close()
            self._tell({"unusable": str(error)})
        else:
            self._tell({"opened": {"instance": self._target.instance, "entered": self._opened.life.entered}})

    def run(self, check_id: str, remaining: int, *, close: bool = True) -> None:
        """Run one check with at most ``remaining`` calls of the provider, closing it included.

        ``close`` is whether a provider that was made for this check is closed after it, or kept as it is.
        """
        self._remaining = remaining
        try:
            result = self._checked(BY_ID[check_id], remaining)
        except TargetError as error:
            self._tell({"unopened": str(error)})
            return
        # Before it is closed: a provider that takes the process away then must not take a finished result along.
        self._tell({"result": result.model_dump(mode="json", exclude_defaults=True)})
        if self._opened is not None and not self._opened.instance:
            self._release(close=close)
        self._tell({"ready": True})

    def close(self, remaining: int) -> None:
        """Close what is open, with at most ``remaining`` calls of the provider."""
        self._remaining = remaining
        with contextlib.suppress(BaseException):
            self._ask_rest()
        self._release()
        self.unhook()
        self._tell({"closed": True})

    def abandon(self) -> None:
        """Let go of what is open, without calling it."""
        self._release(close=False)
        self.unhook()

    def unhook(self) -> None:
        """Give the network of this process back; also from another thread, where this one does not come back."""
        self._network.close()

    def _checked(self, check: Check, remaining: int) -> CheckResult:
        allowed = self._allowed(check, remaining)
        if allowed < min(1, check.calls_allowed(self._settings)):
            return engine.left_out(check, observations=0, calls=0, limit=self._settings.max_calls)
        opened = self._provider(check)
        subject = self._subject(opened, allowed)
        if check.fresh and check.surveyed and not opened.instance and self._asked_first(subject, opened):
            opened = self._provider(check)
            subject = self._subject(opened, self._allowed(check, self._remaining))
        result = self._taped(self._completed(check, subject, opened))
        opened.life.spent = opened.life.spent or (opened.instance and check.closes)
        if result.outcome in BROKEN and isinstance(subject, Subject):
            return result.model_copy(update={"manner": subject.manner(opened.steps)})
        return result

    def _asked_first(self, subject: Watched, opened: "Opened") -> bool:
        """Make the survey with a provider of its own, which is closed; whether that was done.

        As in a whole run, where a check before has made it: alone, too, the check's own calls are its provider's first.
        """
        if self._survey.made or not isinstance(subject, Subject):
            return False
        with contextlib.suppress(BaseException):  # the check asks again, and says what came
            opened.run(self._survey(subject))
            self._release()
        made: bool = self._survey.made
        return made

    def _ask_rest(self) -> None:
        # Where a call is cancelled is another place each time: what is never answered now may have to be in a run that
        # has the recording alone. Last, so that no cache has an answer before a check wants it from the network.
        if not isinstance(self._tape, Recorder) or self._target is None or self._remaining <= 1:
            return
        opened = self._opened = self._opened or self._made(self._target, ())
        subject = self._subject(opened, self._remaining - 1)
        if isinstance(subject, Subject):
            opened.run(_asked(subject, self._survey.rest()))

    def _taped(self, result: CheckResult) -> CheckResult:
        if self._tape is None:
            return result
        self._tape.keep()
        return self._tape.noted(result)

    def _completed(self, check: Check, subject: Watched, opened: "Opened") -> CheckResult:
        try:
            if check.later is None:
                return opened.run(engine.run_check(check, subject))
            found = opened.run(engine.run_part(check, subject, check.run))
            if found is not None:
                return found
            opened.renew()
            return opened.run(engine.run_later(check, subject))
        except BaseException as error:  # a task of the provider's own can stop the loop
            return engine.stopped_loop(check, subject, error)

    def _subject(self, opened: "Opened", allowed: int) -> Watched:
        if self._kind.subject is not None:
            budget = {} if self._kind.driven else {"allowed": allowed, "surveyor": self._survey}
            subject: Watched = self._kind.subject(opened.provider, self._settings, announce=self._announce, **budget)
            return subject
        return Subject(
            opened.provider,
            self._settings,
            allowed=allowed,
            announce=self._announce,
            surveyor=self._survey,
            target=self._named if isinstance(self._named, str) else None,
            life=opened.life,
        )

    def _allowed(self, check: Check, remaining: int) -> int:
        wanted = remaining if self._kind.driven else check.calls_allowed(self._settings)
        if check.surveyed and not self._survey.made:
            wanted += self._survey.calls
        return min(wanted, remaining - 1)

    def _announce(self, shown: str, seconds: float) -> None:
        # Whoever asks, also a check's own thread that outlived it: the run's budget holds.
        if self._remaining <= 0:
            raise OutOfCallsError
        self._remaining -= 1
        self._tell({"call": shown, "seconds": seconds})

    def _provider(self, check: Check) -> "Opened":
        if self._opened is None:
            if self._target is None:
                raise TargetError("the target was not opened")
            self._opened = self._made(self._target, self._secrets if check.facet is Facet.SECRETS else ())
        return self._opened

    def _made(self, target: Target, secrets: tuple[str, ...]) -> "Opened":
        opened = Opened(target, self._kind, secrets)
        opened.life.overheard[:0] = self._imported
        return opened

    def _release(self, *, close: bool = True) -> None:
        opened, self._opened = self._opened, None
        if opened is None:
            return
        closing = opened.closing
        if not close or (closing is not None and not (self._closes and self._remaining > 0)):
            _kept.append(opened)
            opened.abandon()
            return
        try:
            if closing is not None:
                self._announce(closing, CLOSE_SECONDS)
                # One that does not end would cost this time after each check; what it means is a check's business.
                self._closes = opened.close()
            self._tell({"beat": True})
        finally:
            opened.wind_down()


class Opened:
    """One provider with the loop that it lives on; raises ``TargetError`` when it cannot be opened.

    Where the target is a factory, as for hosts and composites, ``provider`` is the factory: a check makes and closes
    its own. Meanwhile it is listened to for the values of the variables in ``secrets``.
    """

    def __init__(self, target: Target, kind: Kind = PROVIDER, secrets: tuple[str, ...] = ()) -> None:
        self.instance: bool = target.instance
        self._kind = kind
        self._target = target
        self._loop, executor = new_loop(target.name)
        self._leave = asyncio.Event()
        opening: asyncio.Future[Opening] = self._loop.create_future()
        self._secrets = secrets
        self._life = self._loop.create_task(self._live(target, opening))
        # Before the target's own code runs, and after the kit's part of the loop is there.
        self.life: Life = Life(Standing.now(self._loop), executor)
        self.provider: Any = None
        self.steps: tuple[Step, ...] = ()
        try:
            opened = self.run(_value_of(opening))
            self.provider, self.steps, self.life.entered = opened.provider, opened.steps, opened.entered
            if self.life.entered:
                # What the context manager opened is its own to close.
                self.life.stood = Standing.now(self._loop)
        except BaseException as error:
            self.wind_down()
            if isinstance(error, TargetError):
                raise
            raise TargetError(f"cannot open {target.name}: it raised {show_error(error)}") from error

    @property
    def closing(self) -> str | None:
        """How the call reads that closes the provider, or None when there is none."""
        if self.life.entered:
            return "leaving the context manager"
        if self._kind.subject is not None:
            return None
        with contextlib.suppress(BaseException):
            return "close()" if callable(getattr(self.provider, "close", None)) else None
        return None

    def run(self, work: Coroutine[Any, Any, Value]) -> Value:
        """Run on the provider's loop; ``SystemExit`` from one of the provider's own tasks comes out."""
        task = self._loop.create_task(work)
        try:
            return self._loop.run_until_complete(task)
        except BaseException:
            task.cancel()  # else it would go on when the loop runs again
            raise

    def close(self) -> bool:
        """Close the provider, or leave its context manager; whether that came to an end within a bound."""
        close = self._left if self.life.entered else self.provider.close
        with contextlib.suppress(BaseException):
            return not self.run(calls.call(close, seconds=CLOSE_SECONDS)).hung
        return False

    def renew(self) -> None:
        """End the loop as a host does, and go on with another; raises ``TargetError`` when there is none."""
        self.wind_down()
        before = Standing.now(self._loop)
        self._loop, self.life.executor = new_loop(self._target.name)
        # The loop has sockets of its own.
        self.life.stood = self.life.stood.joined(before, Standing.now(self._loop))

    def wind_down(self) -> None:
        """Cancel what is left and close the loop, within a bound."""
        with contextlib.suppress(BaseException):
            if not self.life.entered:
                # Not cancelled as the rest is: the traceback of that would keep the provider alive.
                self.run(calls.call(self._left, seconds=WIND_DOWN_SECONDS))
        with contextlib.suppress(BaseException):
            self.run(cancel_rest(WIND_DOWN_SECONDS))
        self.abandon()

    def abandon(self) -> None:
        """Close the loop, whatever waits on it."""
        with contextlib.suppress(BaseException):
            asyncio.set_event_loop(None)
            self._loop.close()

    async def _live(self, target: Target, opening: "asyncio.Future[Opening]") -> None:
        # One task for both ends: a context manager over a task group can only be left where it was entered.
        async with AsyncExitStack() as stack:
            try:
                with overheard(self._secrets, "making the provider", self.life.overheard):
                    made = await self._made(target, stack)
                opening.set_result(made)
            except TargetError as error:
                opening.set_exception(error)
            else:
                await self._leave.wait()

    async def _made(self, target: Target, stack: AsyncExitStack) -> Opening:
        if self._kind.driven:
            return Opening(factory_of(target, self._kind.wanted, self._kind.arguments))
        return await open_provider(target, stack)

    async def _left(self) -> None:
        self._leave.set()
        await self._life


def _key_of_the_faults() -> Mapping[str, str]:
    # A fault lets out a key of its own, never the user's.
    from knowledge_fakes.faults.secrets import VALUE, VARIABLE  # a run without a fault has no use for them

    return {VARIABLE: VALUE}


def _refuse_without_hypothesis() -> None:
    # At once: a run that can generate nothing would tell its user of a mistake of the kit.
    if find_spec("hypothesis") is None:
        raise TargetError(
            "wanted Hypothesis, which generates the requests, and it is not installed beside the kit: "
            "install knowledge-provider-kit with its extra, as in knowledge-provider-kit[conformance]"
        )


_kept: Final[list[Opened]] = []
"""Providers that may not be closed: only to forget one would run its ``__del__``, or leave its context manager."""


async def _asked(subject: Subject, requests: Sequence[RetrievalRequest]) -> None:
    for request in requests:
        await subject.attempt(request)


async def _value_of(future: "asyncio.Future[Value]") -> Value:
    return await future
