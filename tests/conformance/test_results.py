"""A check's result is a value that survives its way out of a process."""

import pytest
from pydantic import ValidationError

from knowledge_conformance.results import BROKEN, CheckOutcome, CheckResult


def test_a_result_cannot_be_changed() -> None:
    """Nobody turns a failure into a pass after the fact."""
    result = CheckResult(id="KP-101", outcome=CheckOutcome.FAILED)
    with pytest.raises(ValidationError):
        result.outcome = CheckOutcome.PASSED  # type: ignore[misc] # that is the point


@pytest.mark.parametrize("outcome", CheckOutcome)
def test_a_result_is_the_same_after_json(outcome: CheckOutcome) -> None:
    """With all of its evidence, and with none."""
    full = CheckResult(
        id="KP-101", outcome=outcome, observations=3, calls=2, wanted="ü", saw="'\ud7ff'", hint="", where="x"
    )
    for result in (full, CheckResult(id="KP-101", outcome=outcome)):
        sent = result.model_dump(mode="json", exclude_defaults=True)
        assert CheckResult.model_validate(sent) == result


def test_only_failures_break_a_provider() -> None:
    """Neither advice nor a gap in what was seen does, and neither is a pass."""
    assert {"failed", "errored", "kit-error"} == BROKEN
    assert CheckOutcome.PASSED not in BROKEN
