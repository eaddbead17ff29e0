"""What a provider answers beside its results comes out of no host, and what a host adds itself is no finding."""

import asyncio
from typing import Any

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.engine import run_check
from knowledge_conformance.host_subject import HostSubject
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.settings import Settings
from knowledge_fakes.plain_host import PlainHost


def result(made: type[PlainHost]) -> CheckResult:
    return asyncio.run(run_check(BY_ID["KP-867"], HostSubject(made, Settings(), announce=lambda *_: None)))


def test_fields_of_the_hosts_own_are_none_of_the_providers() -> None:
    """How long it took, or how many results it shows."""

    class Adding(PlainHost):
        def outcome(self, *given: Any) -> Any:
            made = super().outcome(*given)
            return {**made.to_dict(), "seconds": 0.25, "shown": len(made.results), "total": None}

    assert result(Adding).outcome is CheckOutcome.PASSED


def test_the_name_of_a_field_is_seen_too() -> None:
    """It says as much as a value."""

    class Naming(PlainHost):
        def outcome(self, answer: Any, *given: Any) -> Any:
            names = [name for name in answer if name.startswith("hr-")] if isinstance(answer, dict) else []
            return {**super().outcome(answer, *given).to_dict(), **dict.fromkeys(names, 1)}

    found = result(Naming)
    assert (found.outcome, found.saw) == (
        CheckOutcome.FAILED,
        "a name or a count of what it withheld, in outcome['key']",
    )


def test_a_count_is_seen_as_people_write_it() -> None:
    """With commas, or as a float."""

    class Telling(PlainHost):
        def outcome(self, answer: Any, *given: Any) -> Any:
            made = super().outcome(answer, *given)
            total = answer.get("total") if isinstance(answer, dict) else None
            return made if total is None else {**made.to_dict(), "note": f"{total:,} more"}

    found = result(Telling)
    assert (found.outcome, str(found.saw).rpartition(" ")[2]) == (CheckOutcome.FAILED, "outcome['note']")
