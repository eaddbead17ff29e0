"""The class door: ``class TestMine(ProviderConformance)`` in a user's own test file. Knows pytest and ``Run``."""

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from knowledge_conformance.api import resolve
from knowledge_conformance.catalogue import BY_ID, CHECKS
from knowledge_conformance.results import BROKEN, CheckOutcome
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import TargetError
from knowledge_conformance.terminal import failure_lines, note_lines, verdict_lines


class ProviderConformance:
    """One test for each check, and one for the verdict. Set ``provider``; ``settings`` where the defaults do not fit.

    ``provider`` is ``"module:obj"``, or a function or class that makes a provider (a function as ``staticmethod``).
    One that cannot be imported by its name runs without a child process, and so without protection.
    """

    provider: ClassVar[Any] = None
    settings: ClassVar[Settings] = Settings()

    @pytest.fixture(scope="class")
    @classmethod
    def conformance_run(cls, request: pytest.FixtureRequest) -> Iterator[Run]:
        """The run that all tests of the class share."""
        owner = request.cls
        if owner.provider is None:
            pytest.fail(f"{owner.__name__}.provider is not set: 'module:obj', or what makes a provider", pytrace=False)
        try:
            run = Run(resolve(owner.provider), owner.settings)
            run.runner.open()
        except TargetError as error:
            pytest.fail(str(error), pytrace=False)
        yield run
        before = dict(run.results)
        run.close()
        for result in run.results.values():
            if result != before[result.id]:
                pytest.fail("\n".join(failure_lines(result, run.name, run.settings)), pytrace=False)

    @pytest.mark.parametrize("check_id", [check.id for check in CHECKS])
    def test_check(self, conformance_run: Run, check_id: str) -> None:
        """The provider keeps the rule of this check."""
        if BY_ID[check_id].closes:
            # Whatever shuffles the tests: nothing can be asked of a closed provider.
            conformance_run.complete()
        result = conformance_run.result(BY_ID[check_id])
        text = "\n".join(failure_lines(result, conformance_run.name, conformance_run.settings))
        if result.outcome in BROKEN:
            pytest.fail(text, pytrace=False)
        if result.outcome not in (CheckOutcome.PASSED, CheckOutcome.ADVISORY):
            pytest.skip(f"{result.outcome}: {result.saw}")

    def test_verdict(self, conformance_run: Run) -> None:
        """All checks together make the provider conformant; those that were not run yet are run now."""
        conformance_run.complete()
        report = conformance_run.report()
        if not report.conformant:
            lines = [*note_lines(report, conformance_run.settings), *verdict_lines(report)]
            pytest.fail("\n".join(lines), pytrace=False)
