"""Reports about back ends: what a host can read of one."""

from typing import Any

import pytest

from knowledge_conformance.check import Violation
from knowledge_conformance.checks.shapes import _readable_reports
from knowledge_conformance.exchange import Exchange
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest, SourceReport

REQUEST = RetrievalRequest(query="release policy")
CONTEXT = RetrievalContext(owner_id="o", session_id="s", turn_id="t", trace_id="x", signal=CancelSignal())
REPORT: dict[str, Any] = {"key": "wiki", "status": "failed", "reason": "timeout", "count": 0}
UNCHECKED: Any = SourceReport.model_construct


def judge(sources: object) -> int:
    return _readable_reports(Exchange(REQUEST, CONTEXT, {"results": [], "sources": sources}))


@pytest.mark.parametrize(
    "report",
    [
        REPORT,
        {"key": "wiki", "status": "hit"},
        {**REPORT, "reason": None, "count": None},
        SourceReport(key="wiki", status="hit", count=3),
    ],
)
def test_a_readable_report_is_one(report: object) -> None:
    """Reason and count may be missing, and the contract's model is as good as a mapping."""
    assert judge([report]) == judge((report,)) == 1


@pytest.mark.parametrize(
    ("report", "wanted"),
    [
        ({**REPORT, "key": 3}, "key"),
        ({**REPORT, "key": " "}, "key"),
        ({**REPORT, "status": "error"}, "status"),
        ({**REPORT, "status": None}, "status"),
        ({**REPORT, "reason": 503}, "reason"),
        ({**REPORT, "reason": ""}, "reason"),
        ({**REPORT, "count": "many"}, "count"),
        ({**REPORT, "count": True}, "count"),
        ({**REPORT, "count": -1}, "count"),
        ({**REPORT, "count": 1.5}, "count"),
        (UNCHECKED(key="wiki", status="hit", count="x"), "count"),
        ("failed", "key"),
    ],
)
def test_each_field_of_a_report_is_read(report: object, wanted: str) -> None:
    """The finding names the field that a host cannot read."""
    with pytest.raises(Violation) as caught:
        judge([{**REPORT}, report])
    assert wanted in caught.value.wanted
    assert str(caught.value.where).startswith("sources[1] of ")


def test_reports_that_are_no_list_are_unreadable() -> None:
    """A mapping by key, for one."""
    with pytest.raises(Violation, match="a key that names"):
        judge({"wiki": REPORT})


def test_no_reports_are_no_finding() -> None:
    """Most providers have one back end."""
    assert judge(None) == 0
    assert _readable_reports(Exchange(REQUEST, CONTEXT, [])) == 0
