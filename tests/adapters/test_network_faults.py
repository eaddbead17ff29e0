"""The kit's cut network under the adapters that speak HTTP: each failure comes out as one, and what comes is clean."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import http_subjects
import mcp_subjects
import pytest

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.checks import back_end, back_end_health, back_end_secrets
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_fakes.vendors.http_service import KnowledgeService
from knowledge_fakes.vendors.mcp_service import ToolService
from knowledge_fakes.vendors.serving import serving

CHECKS = (*back_end.CHECKS, *back_end_secrets.CHECKS, *back_end_health.CHECKS)
WELL = {CheckOutcome.PASSED, CheckOutcome.INAPPLICABLE}


@pytest.fixture(autouse=True)
def found_by_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider runs where it does for a user, in a child process."""
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent), *sys.path])


@contextmanager
def results(target: str) -> Iterator[dict[str, CheckResult]]:
    """What the checks of a failing back end say of a provider that passes the others."""
    run = Run(target, Settings(inject_network_faults=True))
    try:
        yield {check.id: run.result(BY_ID[check.id]) for check in CHECKS}
    finally:
        run.close()


def not_well(found: dict[str, CheckResult]) -> dict[str, CheckResult]:
    return {check_id: result for check_id, result in found.items() if result.outcome not in WELL}


@pytest.mark.parametrize(
    "target",
    [
        "http_subjects:contract",
        "http_subjects:nested",
        "openai_subjects:served",
        "openai_subjects:three_stores",
        "openai_subjects:in_turn",
    ],
)
def test_the_adapter_tells_every_failure(target: str) -> None:
    """Over a mock, over a connection, and over several stores that are asked at once."""
    with results(target) as found:
        assert not not_well(found)
        assert found["KP-521"].outcome is CheckOutcome.PASSED


def test_http_over_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's own connections are the ones that break."""
    with serving(KnowledgeService().app) as url:
        monkeypatch.setenv(http_subjects.SERVED_AT, f"{url}/search")
        with results("http_subjects:served") as found:
            assert not not_well(found)
            assert found["KP-519"].observations == 5


def test_mcp_over_http(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what its SDK logs of a message that it cannot read, in which a server may repeat a key."""
    monkeypatch.setenv(mcp_subjects.KEY, mcp_subjects.SECRET)
    with serving(ToolService("list", token=mcp_subjects.SECRET).app()) as url:
        monkeypatch.setenv(mcp_subjects.SERVED_AT, f"{url}/mcp")
        with results("mcp_subjects:served") as found:
            assert not not_well(found)
            assert found["KP-525"].observations


@pytest.mark.parametrize(
    "target",
    ["langchain_subjects:keyword_retriever", "llama_index_subjects:synchronous", "haystack_subjects:synchronous"],
)
def test_an_adapter_without_a_network_says_so(target: str) -> None:
    """What stands over a store in this process has nothing that could be cut."""
    with results(target) as found:
        assert {result.outcome for result in found.values()} == {CheckOutcome.INAPPLICABLE}
