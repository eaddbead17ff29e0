"""The worker: holds the provider under test and runs checks on it, one after another, in one thread.

Knows the order of a provider's life, or of what makes hosts and composites over providers; its loop is ``opened``'s. It
does not know whether it stands in a child process or beside a debugger: what it has to say goes through ``tell``.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Final

from knowledge_conformance import engine
from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.channels import Leak
from knowledge_conformance.check import Check, Facet
from knowledge_conformance.declared import read_declared
from knowledge_conformance.kinds import PROVIDER, Kind
from knowledge_conformance.opened import CLOSE_SECONDS, Opened
from knowledge_conformance.opening import overheard
from knowledge_conformance.render import never_show
from knowledge_conformance.results import BROKEN, CheckResult
from knowledge_conformance.settings import Settings
from knowledge_conformance.subject import Subject
from knowledge_conformance.tape_file import TapeError
from knowledge_conformance.taping import Player, Recorder, Taping, taped
from knowledge_conformance.target import Target, TargetError, load
from knowledge_conformance.watched import OutOfCallsError, Watched
from knowledge_provider import RetrievalRequest

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

    def _asked_first(self, subject: Watched, opened: Opened) -> bool:
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

    def _completed(self, check: Check, subject: Watched, opened: Opened) -> CheckResult:
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

    def _subject(self, opened: Opened, allowed: int) -> Watched:
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

    def _provider(self, check: Check) -> Opened:
        if self._opened is None:
            if self._target is None:
                raise TargetError("the target was not opened")
            self._opened = self._made(self._target, self._secrets if check.facet is Facet.SECRETS else ())
        return self._opened

    def _made(self, target: Target, secrets: tuple[str, ...]) -> Opened:
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
