"""What a provider may do with the ids of a turn, and what is advised against; the faults show the rest."""

import asyncio
import logging
from typing import Any

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.engine import run_check
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.settings import Settings
from knowledge_conformance.subject import Subject
from knowledge_conformance.survey import SURVEY_CALLS, Survey
from knowledge_fakes.handbook import HandbookProvider
from knowledge_provider.errors import KnowledgeUnavailableError


def result(provider: Any) -> CheckResult:
    subject = Subject(
        provider, Settings(), allowed=100, announce=lambda _shown, _seconds: None, surveyor=Survey()
    )  # fmt: skip
    return asyncio.run(run_check(BY_ID["KP-407"], subject))


def test_a_provider_that_keeps_them_passes_within_its_calls() -> None:
    """Two answers, two calls that may fail, the description and the health."""
    found = result(HandbookProvider())
    assert found.outcome is CheckOutcome.PASSED
    assert found.calls <= BY_ID["KP-407"].calls_allowed(Settings()) + SURVEY_CALLS


def test_logs_and_the_trace_in_an_error_are_no_finding() -> None:
    """That is what a trace's id is for."""

    class Careful(HandbookProvider):
        async def retrieve(self, request: Any, context: Any) -> Any:
            logging.getLogger("careful").info("%s %s %s", context.session_id, context.turn_id, context.trace_id)
            if request.filters:
                raise KnowledgeUnavailableError(f"see the log of {context.trace_id}, turn {context.turn_id}")
            return await super().retrieve(request, context)

    assert result(Careful()).outcome is CheckOutcome.PASSED


def test_an_answer_to_a_call_that_might_have_failed_is_searched() -> None:
    """A provider that takes no notice of filters answers; so does one of a cancelled signal."""

    class Helpful(HandbookProvider):
        async def retrieve(self, request: Any, context: Any) -> Any:
            if request.filters:
                return {"results": [], "note": f"filters are left out for {context.session_id}"}
            return await super().retrieve(request, context)

    found = result(Helpful())
    assert found.outcome is CheckOutcome.ADVISORY
    assert found.saw == "the session_id"
    assert str(found.where).startswith("answer['note'] of retrieve(")


def test_a_description_or_health_that_fails_is_another_checks_finding() -> None:
    """What a health raises is looked at."""

    class Failing(HandbookProvider):
        def describe(self) -> Any:
            raise ValueError("no")

        async def health(self, signal: Any) -> Any:
            raise ValueError("no")

    class Telling(HandbookProvider):
        last = ""

        async def retrieve(self, request: Any, context: Any) -> Any:
            self.last = context.turn_id
            return await super().retrieve(request, context)

        async def health(self, signal: Any) -> Any:
            raise ValueError(self.last)

    assert result(Failing()).outcome is CheckOutcome.PASSED
    assert result(Telling()).where == "the message of the exception of health(), after these calls"
