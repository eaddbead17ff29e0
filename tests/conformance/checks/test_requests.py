"""What the provider is given to keep: filters and bases of the settings, with each list in both orders."""

import asyncio
from typing import Any

import pytest

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.engine import run_check
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.settings import Settings
from knowledge_conformance.subject import Subject
from knowledge_conformance.survey import Survey
from knowledge_fakes.faults import FAULTS
from knowledge_fakes.handbook import HandbookProvider
from knowledge_provider import RetrievalContext, RetrievalRequest

LISTED: dict[str, Any] = {"department": {"$in": ["engineering", "people"]}, "binding": True}


def settings_with(*filters: dict[str, Any], **more: Any) -> Settings:
    return Settings.model_validate({"filters": [{"query": "release", "filter": each} for each in filters], **more})


def result(provider: Any, settings: Settings) -> CheckResult:
    check = BY_ID["KP-308"]
    subject = Subject(
        provider,
        settings,
        allowed=check.calls_allowed(settings),
        announce=lambda _shown, _seconds: None,
        surveyor=Survey(),
    )
    return asyncio.run(run_check(check, subject))


class Writing(HandbookProvider):
    """Writes down what it is asked, and does something to it."""

    def __init__(self, act: Any = id) -> None:
        super().__init__()
        self.asked: list[RetrievalRequest] = []
        self._act = act

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        """Refuses what the handbook refuses."""
        self.asked.append(request.model_copy(deep=True))
        self._act(request)
        return await super().retrieve(request, context)


def test_filters_and_bases_of_the_settings_are_given() -> None:
    """Each list as it is and turned; a filter without one once."""
    provider = Writing()
    settings = settings_with({"language": "en"}, LISTED, bases={"a": ["x"], "b": ["y"]})
    found = result(provider, settings)
    assert (found.outcome, found.observations) == (CheckOutcome.PASSED, 6)
    turned = {**LISTED, "department": {"$in": ["people", "engineering"]}}
    assert [request.filters for request in provider.asked[2:]] == [{"language": "en"}, LISTED, turned, {}]
    assert provider.asked[-1].knowledge_base_ids == ("b", "a")


def test_without_settings_two_are_given() -> None:
    """And no more is paid for."""
    assert result(Writing(), Settings()).observations == 2 == BY_ID["KP-308"].calls_allowed(Settings())


def sort(request: RetrievalRequest) -> None:
    held: Any = request.filters.get("department")
    if isinstance(held, dict):
        held["$in"].sort()


@pytest.mark.parametrize("values", [["engineering", "people"], ["people", "engineering"]])
def test_a_list_that_is_sorted_in_place_is_seen(values: list[str]) -> None:
    """However the settings have it; and they are not changed themselves."""
    settings = settings_with({"department": {"$in": [*values]}})
    found = result(Writing(sort), settings)
    assert (found.outcome, found.saw) == (CheckOutcome.FAILED, "another request")
    assert settings.filters[0].filter == {"department": {"$in": values}}


def test_what_only_understood_filters_meet_is_seen() -> None:
    """The filters that the kit makes up are refused before."""
    provider = FAULTS["language_put_into_the_filters"].wrap(HandbookProvider())
    assert result(provider, Settings()).outcome is CheckOutcome.PASSED
    assert result(provider, settings_with({"department": "people"})).outcome is CheckOutcome.FAILED
