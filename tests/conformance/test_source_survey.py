"""The survey of a source: a few ordinary questions, asked once for all checks of a process."""

import asyncio
from typing import Any

import pytest
from source_runs import subject_of

from knowledge_conformance.check import Inconclusive
from knowledge_conformance.settings import Settings
from knowledge_conformance.source_survey import SOURCE_SURVEY_CALLS, SourceSurvey
from knowledge_conformance.subject import ProviderRaisedError
from knowledge_conformance.survey import PROBES
from knowledge_conformance.watched import OutOfCallsError
from knowledge_fakes.sources import ScriptedSource

FOUND = [{"id": "1", "content": "one", "source_id": "a"}]
TWO = Settings(references=({"id": "a"}, {"id": "b"}), queries=("first", "second"))


def surveyed(source: Any, settings: Settings = TWO, **given: Any) -> list[tuple[str, tuple[str, ...]]]:
    """What was asked, by query and references."""
    exchanges = asyncio.run(subject_of(source, settings, **given).survey())
    return [(exchange.request.query, exchange.ids) for exchange in exchanges]


def test_every_promised_query_is_asked_and_each_reference_alone() -> None:
    """All references at once, and then each for the first query that was answered."""
    source = ScriptedSource("wiki", [[], FOUND])
    assert surveyed(source) == [("first", ("a", "b")), ("second", ("a", "b")), ("second", ("a",)), ("second", ("b",))]


def test_without_queries_common_words_are_asked_until_two_are_answered() -> None:
    """A corpus that nobody described is found."""
    settings = Settings(references=({"id": "a"},))
    assert surveyed(ScriptedSource("wiki", [[], FOUND]), settings) == [(probe, ("a",)) for probe in PROBES[:3]]
    assert len(surveyed(ScriptedSource("wiki"), settings)) == len(PROBES) <= SOURCE_SURVEY_CALLS


def test_it_is_made_once() -> None:
    """The next check gets the same exchanges without a call, and writes down none that it did not look at."""
    survey, source = SourceSurvey(), ScriptedSource("wiki", [FOUND])
    first, second = subject_of(source, TWO, surveyor=survey), subject_of(source, TWO, surveyor=survey)
    assert not survey.made
    assert asyncio.run(first.survey()) is asyncio.run(second.survey())
    assert survey.made
    assert (first.calls, second.calls, len(first.transcript)) == (4, 0, 0)


def test_a_source_that_raises_is_not_surveyed() -> None:
    """What the settings refer to has to be answered."""
    with pytest.raises(ProviderRaisedError, match="ConnectionError: down"):
        surveyed(ScriptedSource("wiki", [ConnectionError("down")]))


def test_without_references_nothing_is_asked() -> None:
    """And it is said what to do."""
    source = ScriptedSource("wiki", [FOUND])
    with pytest.raises(Inconclusive, match="no reference") as caught:
        surveyed(source, Settings())
    assert "--source-reference" in caught.value.hint
    assert not source.calls


def test_what_the_budget_leaves_is_looked_at() -> None:
    """Where something was answered; otherwise the budget is the reason."""
    assert surveyed(ScriptedSource("wiki", [FOUND]), allowed=1) == [("first", ("a", "b"))]
    with pytest.raises(OutOfCallsError):
        surveyed(ScriptedSource("wiki"), allowed=1)
