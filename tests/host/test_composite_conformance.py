"""A composite keeps the contract of a provider itself: every check of the kit on composites over sound children."""

import pytest

from knowledge_conformance.report import Report
from knowledge_conformance.results import CheckOutcome
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import load
from knowledge_conformance.verdict import Verdict

QUERIES = ("release policy", "lost laptop", "expense receipts", "sick leave")
HOLDS = {CheckOutcome.PASSED, CheckOutcome.INAPPLICABLE}


def report_on(name: str) -> Report:
    return Run(load(f"knowledge_fakes.composites:{name}"), Settings(queries=QUERIES)).all()


def not_held(report: Report) -> dict[str, str]:
    """What the kit saw in every check that neither passed nor was inapplicable."""
    return {check.id: str(check.saw) for check in report.checks if check.outcome not in HOLDS}


@pytest.mark.parametrize("name", ["healthy", "concatenated", "one_failing"])
def test_a_composite_keeps_the_contract(name: str) -> None:
    """Every check passes or does not apply, without a piece of advice, also beside a child that fails."""
    report = report_on(name)
    assert not not_held(report)
    assert report.verdict is Verdict.CONFORMANT


def test_a_child_that_is_always_down_shows_only_where_nothing_is_found() -> None:
    """Clause 9.4 before clauses 3.2 and 3.7: a request without a hit cannot be answered; all else holds."""
    found = {name: saw for name, saw in not_held(report_on("one_down")).items() if saw != "KP-307 has to hold first"}
    assert found.keys() == {"KP-302", "KP-303", "KP-305", "KP-307"}
    assert all("KnowledgeSourcesIncompleteError" in saw for saw in found.values())
