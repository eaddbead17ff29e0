"""The line that names what runs now, in pytest: where it stands, and when it is there. Knows pytest's terminal."""

import sys
from collections.abc import Mapping
from typing import Any

import pytest

from knowledge_conformance.running import Run
from knowledge_conformance.ticker import Ticker, is_terminal, progress, writer


class Ticking:
    """Shows what the runs of a pytest do, below the line that pytest itself writes on; without a terminal nothing.

    Under pytest-xdist the runs are elsewhere: there it names the check that was begun last.
    """

    def __init__(self, config: pytest.Config, runs: Mapping[Any, Run]) -> None:
        self._config = config
        self._runs = runs
        self._begun: dict[str, str] = {}
        self._fault: str | None = None
        self._ticker: Ticker | None = None

    def start(self) -> None:
        """Begin, where a person looks; beginning twice is beginning once."""
        if self._ticker is None and self._is_watched():
            terminal = self._config.get_terminal_writer()
            self._ticker = Ticker(writer(sys.stdout), now=self._now, used=lambda: terminal.width_of_current_line)
            self._ticker.start()

    def end(self) -> None:
        """Take the line away."""
        ticker, self._ticker = self._ticker, None
        if ticker is not None:
            ticker.end()

    def tell_fault(self, name: str) -> None:
        """A fault is about to be tried."""
        self._fault = f"--prove: {name}"

    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        """An item has begun, here or in another process."""
        self._begun = {**self._begun, nodeid: location[2]}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Make room for what pytest is about to write."""
        if report.when == "call":
            self._begun = {nodeid: title for nodeid, title in self._begun.items() if nodeid != report.nodeid}
        if self._ticker is not None:
            self._ticker.clear()

    def _is_watched(self) -> bool:
        # A worker of pytest-xdist has no terminal of its own; --in-process is for debuggers, which have a prompt there.
        elsewhere = hasattr(self._config, "workerinput") or self._config.getoption("in_process")
        return not elsewhere and is_terminal(sys.stdout)

    def _now(self) -> str | None:
        running = (progress(run) for run in tuple(self._runs.values()))
        here = next((text for text in running if text is not None), None)
        elsewhere = None if self._runs else next(reversed(self._begun.values()), None)
        return here or self._fault or elsewhere
