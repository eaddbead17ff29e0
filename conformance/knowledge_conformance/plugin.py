"""The pytest door: one item per check, without a test file. Knows pytest; runs nothing but ``Run``.

Loaded only when something to check is named. Under pytest-xdist the workers run the checks, and the controller puts
their results, which travel on the reports, together.
"""

from collections.abc import Generator, Iterator
from datetime import date
from typing import Any, Final

import pytest

from knowledge_conformance.asked import asked
from knowledge_conformance.check import Check
from knowledge_conformance.following import FollowUpError, follow_up
from knowledge_conformance.items import Aim, CheckItem, TargetCollector
from knowledge_conformance.kinds import KINDS, PROVIDER
from knowledge_conformance.known import utc_day
from knowledge_conformance.nursery import Nursery
from knowledge_conformance.proof import Proof
from knowledge_conformance.report import Report, make_report
from knowledge_conformance.reporting import show, tell_junit, write
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.running import Run
from knowledge_conformance.selection import Selection
from knowledge_conformance.settings import Settings, source_of
from knowledge_conformance.spreading import Spread, process_count, scheduler
from knowledge_conformance.target import TargetError
from knowledge_conformance.terminal import ending_lines
from knowledge_conformance.ticking import Ticking

_LETTERS: Final = {
    CheckOutcome.ADVISORY: "a",
    CheckOutcome.INAPPLICABLE: "n",
    CheckOutcome.INCONCLUSIVE: "i",
    CheckOutcome.BLOCKED: "b",
    CheckOutcome.KNOWN: "x",
}


class Door:
    """The plugin object of a run with ``--provider``, or the option of another kind."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._asked = asked(config)
        self.aims: tuple[Aim, ...] = self._asked.aims
        self.settings: Settings = self._asked.settings
        self.runs: dict[Aim, Run] = {}
        self._results: dict[Aim, dict[str, CheckResult]] = {aim: {} for aim in self.aims}
        self._proofs: dict[Aim, Proof] = {}
        self._nursery: Nursery | None = None
        self._unwritten: str | None = None
        self._notes: list[str] = []
        self._endings: list[str] = []
        self._ticking = Ticking(config, self.runs)
        config.pluginmanager.register(self._ticking, "knowledge-conformance-ticking")
        self._source = source_of(config.invocation_params.dir)
        # Of the controller's, so that workers do not disagree at midnight.
        told = getattr(config, "workerinput", {}).get("knowledge_today")
        self._today = utc_day() if told is None else date.fromisoformat(told)
        replay = self._asked.replay
        self._selection = Selection(self.aims, self.settings, None if replay is None else replay.check)
        self._spread = Spread(config, self._selection.prefix)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of pytest-xdist what it must not find out for itself."""
        node.workerinput["knowledge_today"] = self._today.isoformat()
        node.workerinput["knowledge_shares"] = self._spread.wanted

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Hand out the checks so that the report is the same; only where nobody asked for another way (``--dist``)."""
        if not self._spread.wanted:
            return None
        self._spread.divide(self._selection.checks(), self.settings, process_count(config))
        return scheduler(config, log, self._spread.share_of)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what the end of a worker's run changed in its results; one that could not begin ends the run.

        The others would wait for it for ever.
        """
        told = getattr(node, "workeroutput", None) or {}
        if "knowledge_unopened" in told:
            raise pytest.UsageError(
                f"{told['knowledge_unopened']}; so said one of several processes, so leave -n out where one process at "
                "a time can have it open"
            )
        for kind, target, result in told.get("knowledge_changed", ()):
            self._results[Aim(kind, target)][result["id"]] = CheckResult.model_validate(result)

    # Collecting.

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionstart(self) -> Generator[None]:
        """Look at the arguments; try the targets while pytest-xdist starts its workers, which open their own."""
        self._selection.given = [argument for argument in self._config.args if argument.partition("::")[0] in KINDS]
        spread = self._config.pluginmanager.hasplugin("dsession")
        if spread:
            self._start()
            if process_count(self._config) == 1:
                # Before that one opens them: one process at a time may be all that can.
                self._end_trial()
        yield
        if spread and self.runs:
            self._end_trial()

    def _end_trial(self) -> None:
        self.pytest_collection_finish()
        self._release()
        self.runs.clear()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Take our own node ids out of the arguments, and begin to load the targets."""
        config = self._config
        paths = [argument for argument in config.args if argument not in self._selection.given]
        given = config.args_source is pytest.Config.ArgsSource.ARGS
        # Alone, our options run the kit alone: a project's own tests are another question.
        config.args[:] = paths if given else []
        if not config.option.collectonly and not config.pluginmanager.hasplugin("dsession"):
            self._start()

    def _start(self) -> None:
        workers = getattr(self._config, "workerinput", {}).get("workercount", 1)
        if self._spread.is_worker:
            self._spread.divide(self._selection.checks(), self.settings, workers)
        in_process = self._config.getoption("in_process")
        if self._asked.prove and not in_process and not hasattr(self._config, "workerinput"):
            # It loads while the checks run. Beside a provider in this process it would look like what that left behind.
            self._nursery = Nursery()
        for aim in self.aims:
            kind = KINDS[aim.kind]
            self.runs[aim] = Run(
                aim.target, self.settings, kind=kind, in_process=in_process, source=self._source, today=self._today,
                share=0 if self._spread.is_worker else workers,
            )  # fmt: skip
            self.runs[aim].runner.start()
        self._ticking.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Put our collectors beside the session's own."""
        report = yield
        if isinstance(collector, pytest.Session) and report.passed:
            report.result.extend(self._collectors(collector))
        return report

    def _collectors(self, session: pytest.Session) -> Iterator["TargetCollector"]:
        for aim, checks in self._selection.checks().items():
            collector = TargetCollector.from_parent(session, name=aim.target, nodeid=self._selection.prefix(aim))
            collector.aim, collector.checks, collector.run_of = aim, checks, self._run_of
            yield collector

    def _run_of(self, aim: Aim, check: Check) -> Run:
        self._spread.pay(self.runs[aim], aim, check)
        return self.runs[aim]

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Bring our items back into their order: a plugin that shuffles would close an instance too early."""
        ours = [item for item in items if isinstance(item, CheckItem)]
        checks = self._selection.checks()
        again = iter(sorted(ours, key=lambda item: (self.aims.index(item.aim), checks[item.aim].index(item.check))))
        items[:] = [next(again) if isinstance(item, CheckItem) else item for item in items]

    def pytest_collection_finish(self) -> None:
        """Open the targets: one that cannot be used is one line and exit code 4."""
        unknown = self._selection.refusal()
        if unknown is not None:
            self._release()
            raise pytest.UsageError(unknown)
        for run in self.runs.values():
            try:
                run.runner.open()
            except TargetError as error:
                self._release()
                if hasattr(self._config, "workeroutput"):
                    self._config.workeroutput["knowledge_unopened"] = str(error)
                raise pytest.UsageError(str(error)) from None

    # Running.

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Let the result travel on the report."""
        report = yield
        if isinstance(item, CheckItem) and call.when == "call" and item.result is not None:
            report.knowledge = {"aim": list(item.aim), "result": item.result.model_dump(mode="json")}  # type: ignore[attr-defined] # pytest keeps and sends plain attributes
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the result; under xdist this is where the controller gets it."""
        carried = getattr(report, "knowledge", None)
        if carried is not None:
            result = CheckResult.model_validate(carried["result"])
            self._results[Aim(*carried["aim"])][result.id] = result

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Name the outcomes that pytest has no word for."""
        carried = getattr(report, "knowledge", None)
        if carried is None:
            return None
        outcome = CheckOutcome(carried["result"]["outcome"])
        shown_in_full = outcome is CheckOutcome.KNOWN and report.failed  # as with --runxfail
        if outcome not in _LETTERS or shown_in_full:
            return None
        return outcome, _LETTERS[outcome], outcome.upper()

    # Ending.

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int | pytest.ExitCode) -> None:
        """Close the targets, write the report, and let the exit code follow the verdict."""
        self._close()
        unjudged = self._config.option.collectonly or exitstatus == pytest.ExitCode.USAGE_ERROR
        if unjudged or hasattr(self._config, "workerinput"):
            return
        reports = self.reports()
        folder = self._config.invocation_params.dir
        self._unwritten = write(folder, self._asked.paths, reports)
        self._follow_up(reports)
        try:
            self._prove()
        except KeyboardInterrupt:
            # pytest takes Ctrl-C for an end of the tests, not of what follows them.
            self._notes = [*self._notes, "the proof was interrupted, and says nothing"]
            exitstatus = session.exitstatus = pytest.ExitCode.INTERRUPTED
        if self._proofs:
            self._unwritten = write(folder, self._asked.paths, self.reports()) or self._unwritten
        self._ticking.end()
        tell_junit(self._config, reports)
        ended = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
        proven = all(proof.holds for proof in self._proofs.values())
        if exitstatus in ended and not (proven and all(report.good for report in reports)):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            # pytest's own last line counts what passed and what is inconclusive, and not why that is not enough.
            self._endings = list(ending_lines(self.reports()))
        if self._unwritten is not None:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def pytest_unconfigure(self) -> None:
        """Leave no child behind, however the run ended."""
        self._ticking.end()
        self._release()
        if self._nursery is not None:
            self._nursery.end()

    def reports(self) -> list[Report]:
        """The reports of all targets."""
        return [
            make_report(aim.target, results.values(), self.settings, KINDS[aim.kind], self._proofs.get(aim))
            for aim, results in self._results.items()
        ]

    def pytest_terminal_summary(self, terminalreporter: Any, exitstatus: int | pytest.ExitCode) -> None:
        """Print what was run, what needs attention and the verdict; with ``-v`` one line per check."""
        if self._config.option.collectonly or exitstatus == pytest.ExitCode.USAGE_ERROR:
            return
        for report in self.reports():
            show(terminalreporter, report, self.settings, verbose=self._config.get_verbosity() > 0)
        for line in self._notes:
            terminalreporter.line(line)
        for line in [*self._endings, *([] if self._unwritten is None else [self._unwritten])]:
            terminalreporter.line(line, red=True)

    def _prove(self) -> None:
        if not self._asked.prove:
            return
        # Here, not at the top: it loads every fault.
        from knowledge_conformance.proving import prove

        # Under pytest-xdist as many at once as there are processes: this is the controller, and they have ended.
        processes = self._config.getoption("numprocesses", None) or 1
        for aim, results in self._results.items():
            if KINDS[aim.kind] is PROVIDER:
                sound = {check_id: result.outcome for check_id, result in results.items()}
                self._proofs[aim] = prove(
                    aim.target, self.settings, sound, processes=processes, tell=self._ticking.tell_fault,
                    nursery=self._nursery,
                )  # fmt: skip
                self._nursery = None  # which has ended with it

    def _follow_up(self, reports: list[Report]) -> None:
        told, folder = self._asked, self._config.invocation_params.dir
        try:
            self._notes = follow_up(reports, self.settings, folder, told.replay, emit=told.emit, write=told.write)
        except FollowUpError as error:
            self._unwritten = str(error)

    def _close(self) -> None:
        changed: list[tuple[Any, ...]] = []
        for aim, run in self.runs.items():
            old = dict(self._results[aim])
            run.close()  # which may change what was reported before
            new = {name: run.results[name] for name in self._results[aim] if run.results[name] != old[name]}
            self._results[aim].update(new)
            changed += [(*aim, result.model_dump(mode="json")) for result in new.values()]
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput["knowledge_changed"] = changed

    def _release(self) -> None:
        for run in self.runs.values():
            run.runner.kill()
