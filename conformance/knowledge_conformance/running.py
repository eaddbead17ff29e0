"""One run of the checks on one target: order, prerequisites and the budget of calls. Knows no process and no pytest."""

import datetime
import re
from collections.abc import Iterable
from typing import Final, Protocol

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.check import Check
from knowledge_conformance.declared import declared
from knowledge_conformance.engine import left_out
from knowledge_conformance.faults import ProcessFault, closing_result, fault_result
from knowledge_conformance.in_process import InProcess
from knowledge_conformance.kinds import PROVIDER, Kind
from knowledge_conformance.known import judged, utc_day
from knowledge_conformance.profiles import ordered, selected
from knowledge_conformance.render import show
from knowledge_conformance.replay import with_token
from knowledge_conformance.report import Report, make_report
from knowledge_conformance.results import BROKEN, CheckOutcome, CheckResult
from knowledge_conformance.settings import Settings, refuse_unknown_failures
from knowledge_conformance.supervisor import Supervisor
from knowledge_conformance.target import Target, TargetError

_UNBUDGETED: Final = 10**9
"""Calls that cost nobody anything."""


class Runner(Protocol):
    """What runs one check on the target: a supervised child process, or a thread beside a debugger."""

    calls: int

    def start(self) -> None:
        """Begin to load the target."""
        ...

    def open(self) -> None:
        """Wait until a provider is open; raises ``TargetError`` when that fails."""
        ...

    def run(self, check: Check, remaining: int) -> CheckResult:
        """The check's result; raises ``TargetError`` when no provider can be opened for it."""
        ...

    def close(self, remaining: int) -> ProcessFault | None:
        """Close the provider, with at most ``remaining`` calls, and release everything; how it was lost, if it was."""
        ...

    def kill(self) -> None:
        """Release everything at once."""
        ...


class Run:
    """The results of one target, each check run once, its prerequisites first.

    ``share`` divides the budget of calls where several processes run the same checks on the same target; where it is 0,
    there are only the calls that ``grant`` gives. ``source`` names the file that the settings came from, and ``today``
    is the UTC day by which known failures expire.
    """

    def __init__(
        self,
        target: str | Target,
        settings: Settings,
        *,
        kind: Kind = PROVIDER,
        in_process: bool = False,
        share: int = 1,
        source: str = "the settings",
        today: datetime.date | None = None,
    ) -> None:
        if not isinstance(settings, Settings):
            raise TypeError(f"wanted Settings of knowledge_conformance for {show(target)}, and {show(settings)} came")
        self.name: str = target if isinstance(target, str) else target.name
        self.settings = settings
        self.kind = kind
        self.results: dict[str, CheckResult] = {}
        # The check that runs now, and how many calls there were before it; for whoever shows that, in another thread.
        self.now: tuple[Check, int] | None = None
        # As they came: whether a failure is known says nothing to the checks that need it.
        self._found: dict[str, CheckResult] = {}
        self._source = source
        self._today = today or utc_day()
        self._secrets = tuple(declared(settings.secrets).values())
        refuse_unknown_failures(settings, source)
        self._first_unopened: str | None = None
        given = settings.max_calls // share if share else 0
        self._max_calls = _UNBUDGETED if kind.driven else given
        self.runner: Runner
        if isinstance(target, str) and not in_process:
            self.runner = Supervisor(target, settings, kind)
        else:
            self.runner = InProcess(target, settings, kind, patient=in_process)

    def result(self, check: Check) -> CheckResult:
        """The check's result, run now unless it was already."""
        if check.id not in self.results:
            self._take(check, self._result(check))
        return self.results[check.id]

    def grant(self, calls: int) -> None:
        """Allow so many calls of the provider more."""
        self._max_calls += calls

    def all(self) -> Report:
        """Run every check that was not yet; the report. Closes the target, whatever happens."""
        try:
            self.complete()
        finally:
            self.close()
        return self.report()

    def only(self, check: Check) -> Report:
        """Run one check, and what it needs; the report of that one. Closes the target, whatever happens."""
        try:
            self.result(check)
        finally:
            self.close()
        return make_report(self.name, [self.results[check.id]], self.settings, self.kind)

    def complete(self) -> None:
        """Run every check of the target's kind, and of the profile, that was not yet."""
        for check in ordered(selected(self.kind, self.settings), self.kind, self.settings):
            self.result(check)

    def close(self) -> None:
        """Close the target; where that takes the process away, the checks about closing do not hold."""
        fault = self.runner.close(self._remaining)
        for check in self.kind.checks:
            if fault is not None and check.closes and check.id in self.results:
                lost = fault_result(check, fault, calls=0, last_call="the end of the run")
                self._take(check, closing_result(check, self._found[check.id], lost))

    def report(self) -> Report:
        """The report of what was run so far."""
        return make_report(self.name, self.results.values(), self.settings, self.kind)

    def _take(self, check: Check, found: CheckResult) -> None:
        self._found[check.id] = found
        result = judged(found, self.settings, self._today, self._source)
        self.results[check.id] = with_token(check, result, self.settings, self._secrets)

    def _needed(self, check_id: str) -> CheckResult:
        self.result(BY_ID[check_id])
        return self._found[check_id]

    def _result(self, check: Check) -> CheckResult:
        if check.facet in self.settings.absent:
            return CheckResult(id=check.id, outcome=CheckOutcome.INAPPLICABLE, saw="declared absent in the settings")
        cause = _broken(map(self._needed, check.needs))
        if cause is not None:
            known = cause in self.results and self.results[cause].outcome is CheckOutcome.KNOWN
            return _blocked(check, cause, known=known)
        if self._remaining <= 0:
            return left_out(check, observations=0, calls=0, limit=self.settings.max_calls)
        self.now = (check, self.runner.calls)
        try:
            return self.runner.run(check, self._remaining)
        except TargetError as error:
            return self._unopened(check, error)
        finally:
            self.now = None

    def _unopened(self, check: Check, error: TargetError) -> CheckResult:
        # One root cause, one red line: the first check says what happened.
        if self._first_unopened is not None:
            return _blocked(check, self._first_unopened)
        self._first_unopened = check.id
        return CheckResult(
            id=check.id,
            outcome=CheckOutcome.ERRORED,
            wanted="a provider for this check, after those before it",
            saw=str(error),
            hint="what the target makes must open again and again, in the same process and in a new one",
        )

    @property
    def _remaining(self) -> int:
        return self._max_calls - self.runner.calls


def _blocked(check: Check, cause: str, *, known: bool = False) -> CheckResult:
    which = f"{cause}, a known failure," if known else cause
    return CheckResult(id=check.id, outcome=CheckOutcome.BLOCKED, saw=f"{which} has to hold first")


def _broken(results: Iterable[CheckResult]) -> str | None:
    """The root cause among prerequisites: the check that failed, not one that it blocked."""
    for result in results:
        if result.outcome in BROKEN:
            return result.id
        if result.outcome is CheckOutcome.BLOCKED and result.saw is not None:
            return re.split("[ ,]", result.saw)[0]
    return None
