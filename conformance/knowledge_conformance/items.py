"""What pytest collects: one collector for each target, one item for each check. Knows pytest and a finished result."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import pytest

from knowledge_conformance.check import Check
from knowledge_conformance.results import FAILING, CheckOutcome, CheckResult
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.terminal import failure_lines


class Aim(NamedTuple):
    """A target that the command line names, with its kind."""

    kind: str
    target: str


class TargetCollector(pytest.Collector):
    """One target; its items are its ``checks``. ``run_of`` gives the run that an item belongs to."""

    aim: Aim
    checks: Sequence[Check]
    run_of: Callable[[Aim, Check], Run]

    def collect(self) -> Iterable["CheckItem"]:
        """The checks that are selected, in their order."""
        for check in self.checks:
            item = CheckItem.from_parent(self, name=check.id, nodeid=f"{self.nodeid}::{check.id}")
            item.check, item.aim, item.run_of = check, self.aim, self.run_of
            item.user_properties.extend(
                [("clause", check.clause), ("level", str(check.level)), ("facet", str(check.facet))]
            )
            yield item


class CheckItem(pytest.Item):
    """One check on one target."""

    check: Check
    aim: Aim
    run_of: Callable[[Aim, Check], Run]
    result: CheckResult | None = None

    def runtest(self) -> None:
        """Run the check; an outcome that is no pass fails or skips the item."""
        run = self.run_of(self.aim, self.check)
        result = run.result(self.check)
        self.result = result
        said = {name: getattr(result, name) for name in ("outcome", "hint", "fingerprint", "known")}
        self.user_properties.extend((name, str(value)) for name, value in said.items() if value is not None)
        required = self.check.facet in run.settings.required
        if result.outcome is CheckOutcome.KNOWN:
            pytest.xfail(f"known failure: {result.known}")
            # Only reached with --runxfail, which is to show such failures in full.
            raise CheckFailed(result, self.aim.target, run.settings)
        if result.outcome in FAILING or (result.outcome is CheckOutcome.INCONCLUSIVE and required):
            raise CheckFailed(result, self.aim.target, run.settings)
        if result.outcome not in (CheckOutcome.PASSED, CheckOutcome.ADVISORY):
            pytest.skip(f"{result.outcome}: {result.saw}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The result in words; a traceback of the kit's would help nobody."""
        if isinstance(excinfo.value, CheckFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[str, None, str]:
        """Where the item stands, for -v and JUnit."""
        return self.aim.kind, None, f"{self.check.id} {self.check.title}"


class CheckFailed(Exception):  # noqa: N818 - a verdict on the provider, not an error of the program
    """A check that did not pass."""

    def __init__(self, result: CheckResult, target: str, settings: Settings) -> None:
        super().__init__("\n".join(failure_lines(result, target, settings)))
