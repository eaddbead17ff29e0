"""Reports for tests of how they are shown: a sound one, a broken one, one full of what a hostile provider may say."""

from collections.abc import Mapping
from typing import Any, Final

from knowledge_conformance.catalogue import CHECKS
from knowledge_conformance.check import Facet
from knowledge_conformance.kinds import PROVIDER
from knowledge_conformance.proof import Ending, Proof, Trial
from knowledge_conformance.report import Report, make_report
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.settings import Settings

TARGET: Final = "acme.search:provider"

HOSTILE: Final = (
    "</style><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</code></details></summary><!-- x",
    "| a cell | another `code` \\| ``` ```",
    "@octocat and #1, GH-1, http://evil.example www.evil.example a@evil.example :tada:",
    "[link](javascript:alert(1)) ![](http://evil.example/x.png) <http://evil.example> **bold**",
    "\u202eesrever\u202c \u200b\u2066 \x1b[31m \x00 \ufeff",
    "x" * 600,
    "deadbeefdeadbeefdeadbeefdeadbeefdeadbeef",
    "- item", "1. item", "# heading", "&lt;b&gt; &amp;amp;", "{{ template }} ${{ secrets.TOKEN }}",
)  # fmt: skip
PROOF: Final = Proof(
    target=TARGET,
    trials=(
        Trial(fault="one_too_many", check="KP-304", ending=Ending.CAUGHT),
        Trial(fault="other_owner", check="KP-401", ending=Ending.HIDDEN, reason="the settings name no owners"),
        Trial(fault="duplicate_ids", check="KP-506", ending=Ending.MISSED, reason="KP-506 passed with it"),
    ),
)


def result(check_id: str, outcome: CheckOutcome, **evidence: Any) -> CheckResult:
    """A result with evidence in every field, unless told otherwise."""
    texts = {
        "wanted": "w",
        "saw": f"saw: {check_id}",
        "hint": "h",
        "where": "describe()",
        "transcript": ("describe()",),
    }
    given = texts if outcome is not CheckOutcome.PASSED else {"observations": 3, "calls": 2}
    return CheckResult(id=check_id, outcome=outcome, **{**given, **evidence})


def sample(
    outcomes: Mapping[str, CheckOutcome] = {}, *, target: str = TARGET, proof: Proof | None = None, **evidence: Any
) -> Report:
    """A report of every check: as ``outcomes`` say, inapplicable outside the facet core, passed otherwise."""
    named = {
        check.id: CheckOutcome.PASSED if check.facet is Facet.CORE else CheckOutcome.INAPPLICABLE for check in CHECKS
    }
    results = [
        result(name, outcome, **(evidence if name in outcomes else {}))
        for name, outcome in {**named, **outcomes}.items()
    ]
    return make_report(target, results, Settings(), PROVIDER, proof)


def hostile_report() -> Report:
    """Every text of a failure is one that a hostile provider, or a file that anybody wrote, may hold."""
    failing = [check.id for check in CHECKS[: len(HOSTILE)]]
    report = sample(dict.fromkeys(failing, CheckOutcome.FAILED), target=HOSTILE[0], proof=PROOF)
    fields = ("title", "clause", "wanted", "saw", "hint", "where", "known", "replay")
    bad = {
        name: {**dict.fromkeys(fields, text), "transcript": (text, text)}
        for name, text in zip(failing, HOSTILE, strict=True)
    }
    checks = tuple(check.model_copy(update=bad.get(check.id, {})) for check in report.checks)
    trials = (Trial(fault=HOSTILE[1], check="KP-304", ending=Ending.MISSED, reason=HOSTILE[4]),)
    proof = Proof(target="x:y", trials=trials)
    return report.model_copy(update={"checks": checks, "kit": HOSTILE[4], "not_established": HOSTILE, "proof": proof})
