"""The pytest door: one item per check, without a test file. Knows pytest; runs nothing but ``Run``.

Loaded only when something to check is named. Under pytest-xdist the workers run the checks, and the controller puts
their results, which travel on the reports, together.
"""

from collections.abc import Generator, Iterator
from datetime import date
from typing import Any, Final

import pytest

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.following import FollowUpError, follow_up, replaying
from knowledge_conformance.items import Aim, CheckItem, TargetCollector
from knowledge_conformance.kinds import KINDS, PROVIDER
from knowledge_conformance.known import utc_day
from knowledge_conformance.proof import Proof
from knowledge_conformance.replay import TokenError, settings_of
from knowledge_conformance.report import Report, make_report
from knowledge_conformance.reporting import is_good, show, tell_junit, wanted_paths, write
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings, SettingsError, override, read_settings, source_of
from knowledge_conformance.target import TargetError, check_name
from knowledge_conformance.ticking import Ticking

_LETTERS: Final = {
    CheckOutcome.ADVISORY: "a",
    CheckOutcome.INAPPLICABLE: "n",
    CheckOutcome.INCONCLUSIVE: "i",
    CheckOutcome.BLOCKED: "b",
    CheckOutcome.KNOWN: "x",
}
_RANKS: Final = {check_id: rank for rank, check_id in enumerate(BY_ID)}


class Door:
    """The plugin object of a run with ``--provider``, ``--host`` or ``--composite``."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        try:
            named = [Aim(kind, check_name(name)) for kind in KINDS for name in config.getoption(kind)]
            self.aims: tuple[Aim, ...] = tuple(dict.fromkeys(named))
            given = config.getoption("replay")
            self._replay = None if given is None else replaying(given, {aim.kind for aim in self.aims})
            self.settings: Settings = self._settings()
        except (SettingsError, TargetError, TokenError) as error:
            raise pytest.UsageError(str(error)) from None
        self.runs: dict[Aim, Run] = {}
        self._results: dict[Aim, dict[str, CheckResult]] = {aim: {} for aim in self.aims}
        self._selected: list[str] = []
        self._proofs: dict[Aim, Proof] = {}
        self._unwritten: str | None = None
        self._notes: list[str] = []
        self._paths = wanted_paths(config)
        self._ticking = Ticking(config, self.runs)
        config.pluginmanager.register(self._ticking, "knowledge-conformance-ticking")
        self._source = source_of(config.invocation_params.dir)
        # Of the controller's, so that workers do not disagree at midnight.
        told = getattr(config, "workerinput", {}).get("knowledge_today")
        self._today = utc_day() if told is None else date.fromisoformat(told)

    def _settings(self) -> Settings:
        option = self._config.getoption
        settings = read_settings(self._config.invocation_params.dir)
        if self._replay is not None:
            settings = settings_of(self._replay, settings)
        return override(
            settings,
            queries=option("provider_query"),
            timeout=option("provider_timeout"),
            examples=option("provider_examples"),
            seed=option("provider_seed"),
            max_calls=option("max_calls"),
            # Beside those of the settings: a command line makes a verdict stricter, never weaker.
            require=[*settings.require, *option("require")] if option("require") else None,
            strict_should=option("strict_should"),
            inject_network_faults=option("inject_network_faults"),
        )

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of pytest-xdist what it must not find out for itself."""
        node.workerinput["knowledge_today"] = self._today.isoformat()

    # Collecting.

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Look at the arguments; where pytest-xdist will start workers, which open their own, try the targets first."""
        self._selected = [argument for argument in self._config.args if argument.partition("::")[0] in KINDS]
        if self._config.pluginmanager.hasplugin("dsession"):
            self._start()
            self.pytest_collection_finish()
            self._release()
            self.runs.clear()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Take our own node ids out of the arguments, and begin to load the targets."""
        config = self._config
        paths = [argument for argument in config.args if argument not in self._selected]
        given = config.args_source is pytest.Config.ArgsSource.ARGS
        # Alone, our options run the kit alone: a project's own tests are another question.
        config.args[:] = paths if given else []
        if not config.option.collectonly and not config.pluginmanager.hasplugin("dsession"):
            self._start()

    def _start(self) -> None:
        workers = getattr(self._config, "workerinput", {}).get("workercount", 1)
        in_process = self._config.getoption("in_process")
        for aim in self.aims:
            kind = KINDS[aim.kind]
            self.runs[aim] = Run(
                aim.target, self.settings, kind=kind, in_process=in_process, share=workers,
                source=self._source, today=self._today,
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
        for aim in self.aims:
            alone = sum(other.kind == aim.kind for other in self.aims) == 1
            prefix = aim.kind if alone else f"{aim.kind}::{aim.target}"
            collector = TargetCollector.from_parent(session, name=aim.target, nodeid=prefix)
            collector.aim, collector.wants, collector.run_of = aim, self.wants, self.runs.__getitem__
            yield collector

    def wants(self, nodeid: str, aim: Aim) -> bool:
        """Whether the command line selects a check; without a node id of ours it selects all."""
        check_id, kind = nodeid.rpartition("::")[2], aim.kind
        if self._replay is not None:
            return check_id == self._replay.check.id
        names = {nodeid, kind, f"{kind}::{check_id}", f"{kind}::{aim.target}", f"{kind}::{aim.target}::{check_id}"}
        return not self._selected or bool(names & set(self._selected))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Bring our items back into the catalogue's order: a plugin that shuffles would close an instance too early."""
        ours = [item for item in items if isinstance(item, CheckItem)]
        ordered = iter(sorted(ours, key=lambda item: (self.aims.index(item.aim), _RANKS[item.check.id])))
        items[:] = [next(ordered) if isinstance(item, CheckItem) else item for item in items]

    def pytest_collection_finish(self) -> None:
        """Open the targets: one that cannot be used is one line and exit code 4."""
        self._refuse_unknown()
        for run in self.runs.values():
            try:
                run.runner.open()
            except TargetError as error:
                self._release()
                raise pytest.UsageError(str(error)) from None

    def _refuse_unknown(self) -> None:
        for selected in self._selected:
            kind, *names = selected.split("::")
            known = {*(check.id for check in KINDS[kind].checks), *self._named(kind)}
            unknown = [name for name in names if name not in known]
            if unknown or not self._named(kind):
                self._release()
                raise pytest.UsageError(f"{selected}: {self._no_such(kind, *unknown)}")

    def _named(self, kind: str) -> list[str]:
        return [aim.target for aim in self.aims if aim.kind == kind]

    def _no_such(self, kind: str, name: str = "") -> str:
        named = self._named(kind)
        if not named:
            return f"there is no {kind} in this run; name one with --{kind}"
        if ":" in name:
            return f"there is no {kind} {name!r} in this run; --{kind} names {', '.join(named)}"
        return f"there is no check {name!r} of a {kind}; knowledge-kit checks lists them"

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
        self._unwritten = write(folder, self._paths, reports)
        self._follow_up(reports)
        self._prove()
        if self._proofs:
            self._unwritten = write(folder, self._paths, self.reports()) or self._unwritten
        self._ticking.end()
        tell_junit(self._config, reports)
        ended = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
        proven = all(proof.holds for proof in self._proofs.values())
        if exitstatus in ended and not (proven and all(is_good(report) for report in reports)):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if self._unwritten is not None:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def pytest_unconfigure(self) -> None:
        """Leave no child behind, however the run ended."""
        self._ticking.end()
        self._release()

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
        if self._unwritten is not None:
            terminalreporter.line(self._unwritten, red=True)

    def _prove(self) -> None:
        if not self._config.getoption("prove"):
            return
        # Here, not at the top: it loads every fault.
        from knowledge_conformance.proving import prove

        # Under pytest-xdist as many at once as there are processes: this is the controller, and they have ended.
        processes = self._config.getoption("numprocesses", None) or 1
        for aim, results in self._results.items():
            if KINDS[aim.kind] is PROVIDER:
                sound = {check_id: result.outcome for check_id, result in results.items()}
                self._proofs[aim] = prove(
                    aim.target, self.settings, sound, processes=processes, tell=self._ticking.tell_fault
                )

    def _follow_up(self, reports: list[Report]) -> None:
        option, folder = self._config.getoption, self._config.invocation_params.dir
        emit = option("emit_repro")
        try:
            self._notes = follow_up(
                reports, self.settings, folder, self._replay,
                emit=None if emit is None else folder / emit, write=option("write_known_failures"),
            )  # fmt: skip
        except FollowUpError as error:
            self._unwritten = str(error)

    def _close(self) -> None:
        for aim, run in self.runs.items():
            run.close()  # which may change what was reported before
            self._results[aim].update({name: run.results[name] for name in self._results[aim]})

    def _release(self) -> None:
        for run in self.runs.values():
            run.runner.kill()
