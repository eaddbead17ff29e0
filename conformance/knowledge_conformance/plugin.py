"""The pytest door: one item per check, without a test file. Knows pytest; runs nothing but ``Run``.

Loaded only when something to check is named. Under pytest-xdist the workers run the checks, and the controller puts
their results, which travel on the reports, together.
"""

from collections.abc import Generator, Iterator
from typing import Any, Final

import pytest

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.items import Aim, CheckItem, TargetCollector
from knowledge_conformance.kinds import KINDS
from knowledge_conformance.report import Report, make_report, write_reports
from knowledge_conformance.results import BROKEN, CheckOutcome, CheckResult
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings, SettingsError, override, read_settings
from knowledge_conformance.target import TargetError, check_name
from knowledge_conformance.terminal import check_line, note_lines, verdict_lines
from knowledge_conformance.verdict import Verdict

_LETTERS: Final = {
    CheckOutcome.ADVISORY: "a",
    CheckOutcome.INAPPLICABLE: "n",
    CheckOutcome.INCONCLUSIVE: "i",
    CheckOutcome.BLOCKED: "b",
}
_RANKS: Final = {check_id: rank for rank, check_id in enumerate(BY_ID)}


class Door:
    """The plugin object of a run with ``--provider``, ``--host`` or ``--composite``."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        try:
            named = [Aim(kind, check_name(name)) for kind in KINDS for name in config.getoption(kind)]
            self.aims: tuple[Aim, ...] = tuple(dict.fromkeys(named))
            self.settings: Settings = self._settings()
        except (SettingsError, TargetError) as error:
            raise pytest.UsageError(str(error)) from None
        self.runs: dict[Aim, Run] = {}
        self._results: dict[Aim, dict[str, CheckResult]] = {aim: {} for aim in self.aims}
        self._selected: list[str] = []
        self._unwritten: str | None = None

    def _settings(self) -> Settings:
        option = self._config.getoption
        settings = read_settings(self._config.invocation_params.dir)
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
        )

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
            self.runs[aim] = Run(aim.target, self.settings, kind=kind, in_process=in_process, share=workers)
            self.runs[aim].runner.start()

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
        if outcome not in _LETTERS:
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
        self._write(reports)
        ended = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
        if exitstatus in ended and not all(_is_good(report) for report in reports):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if self._unwritten is not None:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def pytest_unconfigure(self) -> None:
        """Leave no child behind, however the run ended."""
        self._release()

    def reports(self) -> list[Report]:
        """The reports of all targets."""
        return [
            make_report(aim.target, results.values(), self.settings, KINDS[aim.kind])
            for aim, results in self._results.items()
        ]

    def pytest_terminal_summary(self, terminalreporter: Any, exitstatus: int | pytest.ExitCode) -> None:
        """Print one line per check, the notes and the verdict."""
        if self._config.option.collectonly or exitstatus == pytest.ExitCode.USAGE_ERROR:
            return
        for report in self.reports():
            terminalreporter.section(f"knowledge {report.kind} {report.target}", sep="-")
            for check in report.checks:
                terminalreporter.line(check_line(check), **_markup(check.outcome))
            for line in note_lines(report, self.settings):
                terminalreporter.line(line)
            for line in verdict_lines(report):
                terminalreporter.line(line, bold=line.lstrip().startswith("verdict"))
        if self._unwritten is not None:
            terminalreporter.line(self._unwritten, red=True)

    def _write(self, reports: list[Report]) -> None:
        given = self._config.getoption("provider_report")
        if given is None:
            return
        try:
            write_reports(self._config.invocation_params.dir / given, reports)
        except OSError as error:
            self._unwritten = f"--provider-report: cannot write {given}: {error.strerror}"

    def _close(self) -> None:
        for aim, run in self.runs.items():
            run.close()  # which may change what was reported before
            self._results[aim].update({name: run.results[name] for name in self._results[aim]})

    def _release(self) -> None:
        for run in self.runs.values():
            run.runner.kill()


def _is_good(report: Report) -> bool:
    if report.verdict is Verdict.PARTIAL:
        # A selection says nothing of the provider, but whether what was selected passed is what its caller asks.
        # One that is blocked did not pass, although the check that it needs may not have been selected.
        open_ones = report.counts[CheckOutcome.INCONCLUSIVE] + report.counts[CheckOutcome.BLOCKED]
        return bool(report.counts[CheckOutcome.PASSED]) and not open_ones
    return report.conformant


def _markup(outcome: CheckOutcome) -> dict[str, bool]:
    if outcome in BROKEN:
        return {"red": True}
    return {"green": True} if outcome is CheckOutcome.PASSED else {"yellow": outcome is not CheckOutcome.INAPPLICABLE}
