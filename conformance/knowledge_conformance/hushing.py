"""Keeps declared secrets out of what pytest itself shows of a run with ``--in-process``; knows pytest and no provider.

There the provider writes into pytest's own process, and pytest repeats what it captured: output, logs and warnings.
In a child process nobody reads them.
"""

import warnings
from collections.abc import Generator

import pytest

from knowledge_conformance.items import CheckItem
from knowledge_conformance.render import without_declared


class Hush:
    """The plugin object; what is not the kit's own item is left as it is."""

    # Clause 6.4 binds the kit as well.

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Mask what was captured during a check, for the terminal and for JUnit."""
        report = yield
        if isinstance(item, CheckItem):
            report.sections = [(name, without_declared(text)) for name, text in report.sections]
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage) -> None:
        """Mask a warning before it is kept for the summary."""
        try:
            text = str(warning_message.message)
        except Exception:  # the provider's own class
            text = ""
        shown = without_declared(text)
        if shown != text or not text:
            warning_message.message = shown
