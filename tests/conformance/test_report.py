"""The report: the run as data, the same bytes for the same provider, and nothing of the machine in it."""

import json
from importlib.metadata import PackageNotFoundError
from typing import Any

import pytest

from knowledge_conformance import report as report_module
from knowledge_conformance.catalogue import BY_ID, CHECKS
from knowledge_conformance.check import Facet
from knowledge_conformance.report import Report, kit_version, make_report, report_schema
from knowledge_conformance.results import BROKEN, CheckOutcome, CheckResult
from knowledge_conformance.settings import Settings
from knowledge_conformance.verdict import FacetState, Verdict


def results(outcome: CheckOutcome = CheckOutcome.PASSED) -> list[CheckResult]:
    return [CheckResult(id=check.id, outcome=outcome, observations=1, saw="é '\ud7ff'") for check in CHECKS]


def reported(given: list[CheckResult], **settings: Any) -> Report:
    return make_report("acme.search:provider", given, Settings(**settings))


def test_a_report_has_the_published_shape() -> None:
    """Names and order are promises to whoever reads them."""
    document = json.loads(reported(results()).to_json())
    assert list(document) == [
        "kit",
        "protocol",
        "requirements",
        "kind",
        "target",
        "profile",
        "verdict",
        "facets",
        "counts",
        "checks",
        "not_established",
        "proof",
    ]
    assert (document["protocol"], document["requirements"], document["target"]) == (1, "1.0", "acme.search:provider")
    assert document["verdict"] == "conformant"
    assert list(document["checks"][0]) == [
        "id",
        "level",
        "clause",
        "facet",
        "title",
        "outcome",
        "observations",
        "calls",
        "wanted",
        "saw",
        "hint",
        "where",
        "input",
        "transcript",
        "fingerprint",
        "replay",
        "known",
    ]
    assert list(document["facets"]) == [str(facet) for facet in Facet]
    assert list(document["counts"]) == [str(outcome) for outcome in CheckOutcome]


def test_a_report_is_the_same_after_json() -> None:
    """Whoever stores it gets it back."""
    made = reported(results(CheckOutcome.ADVISORY))
    assert Report.model_validate_json(made.to_json()) == made


def test_the_order_in_which_results_came_does_not_show() -> None:
    """Workers finish as they like."""
    assert reported(results()[::-1]).to_json() == reported(results()).to_json()


def test_every_check_is_counted_once() -> None:
    """By its outcome."""
    given = [*results()[:-2], *results(CheckOutcome.FAILED)[-2:]]
    made = reported(given)
    assert (made.counts[CheckOutcome.PASSED], made.counts[CheckOutcome.FAILED]) == (len(CHECKS) - 2, 2)
    assert sum(made.counts.values()) == len(made.checks) == len(CHECKS)


@pytest.mark.parametrize("outcome", CheckOutcome)
def test_only_conformant_succeeds(outcome: CheckOutcome) -> None:
    """Everything else ends with 1."""
    made = reported(results(outcome))
    assert made.conformant is (outcome is CheckOutcome.PASSED)
    assert made.exit_code == (0 if made.conformant else 1)
    assert made.sentence.startswith(str(made.verdict))
    assert (made.verdict is Verdict.NOT_CONFORMANT) is (outcome in BROKEN)


def test_a_report_of_nothing_says_so() -> None:
    """And is no success."""
    made = reported([])
    assert (made.verdict, made.exit_code, made.checks) == (Verdict.PARTIAL, 1, ())
    assert made.facets[Facet.CORE] is FacetState.NOT_EXERCISED


def test_a_required_facet_that_is_missing_is_named() -> None:
    """The reader sees what the verdict waits for."""
    inapplicable = {"outcome": CheckOutcome.INAPPLICABLE}
    others = [each for each in results() if BY_ID[each.id].facet is not Facet.OWNERS]
    owners = [each.model_copy(update=inapplicable) for each in results() if each not in others]
    made = reported([*others, *owners], require=("owners",))
    assert made.verdict is Verdict.INCONCLUSIVE
    assert "owners: not exercised, though it is required" in made.not_established


def test_a_report_validates_against_its_own_schema_by_name() -> None:
    """The documentation publishes it."""
    schema = report_schema()
    assert set(schema["required"]) == set(schema["properties"]) == set(json.loads(reported(results()).to_json()))
    named = {"CheckOutcome", "CheckReport", "Ending", "Facet", "FacetState", "JsonValue", "Level", "Proof", "Trial"}
    assert set(schema["$defs"]) == {*named, "Profile", "Verdict"}


def test_the_kits_version_is_that_of_its_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or unknown, where only its files are there."""
    assert kit_version()[0].isdigit()

    def missing(_name: str) -> str:
        raise PackageNotFoundError

    monkeypatch.setattr(report_module, "version", missing)
    assert kit_version() == "unknown"
