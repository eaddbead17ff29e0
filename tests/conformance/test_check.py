"""What a check declares, and what its declaration refuses."""

import asyncio
import dataclasses
from typing import Any

import pytest

from knowledge_conformance.check import (
    REQUIREMENTS,
    Check,
    Facet,
    Inconclusive,
    Level,
    Violation,
    answer_check,
    check,
)
from knowledge_conformance.exchange import Exchange
from knowledge_conformance.settings import Settings
from knowledge_provider import RetrievalRequest


async def holds(subject: Any) -> None:
    """The title stands on one line.

    The rationale stands
    on more.

    With a second paragraph.
    """
    subject.observe()


def declared(**changes: Any) -> Check:
    return dataclasses.replace(check("KP-900", clause="9.9", level=Level.MUST)(holds), **changes)


def test_title_and_rationale_come_from_the_docstring() -> None:
    """What an author reads stands where the rule is kept."""
    assert declared().title == "The title stands on one line."
    assert declared().rationale == "The rationale stands\non more.\n\nWith a second paragraph."


def _bare(subject: Any) -> None: ...


def _title_only(subject: Any) -> None:
    """Only a title."""


@pytest.mark.parametrize("function", [_bare, _title_only])
@pytest.mark.parametrize("declare", [check, answer_check])
def test_a_check_without_a_rationale_cannot_be_declared(declare: Any, function: Any) -> None:
    """A rule that nobody can be told the reason of is none."""
    with pytest.raises(TypeError, match="needs a docstring: one line of title, then why the rule matters"):
        declare("KP-900", clause="9.9", level=Level.MUST)(function)


def test_the_defaults_are_the_strict_ones() -> None:
    """A core check that makes no calls, needs one observation, and belongs to the frozen requirements."""
    made = declared()
    assert (made.facet, made.needs, made.calls, made.minimum) == (Facet.CORE, (), 0, 1)
    assert (made.surveyed, made.closes, made.since, made.judge) == (False, False, REQUIREMENTS, None)


@pytest.mark.parametrize(
    ("level", "since", "binding"),
    [
        (Level.MUST, "1.0", True),
        (Level.MUST, "0.9", True),
        (Level.MUST, "1.1", False),
        (Level.MUST, "2.0", False),
        (Level.SHOULD, "1.0", False),
        (Level.MAY, "1.0", False),
    ],
)
def test_only_a_must_of_the_frozen_requirements_binds(level: Level, since: str, binding: bool) -> None:
    """A MUST that was added later is advice until the next revision."""
    assert declared(level=level, since=since).binding is binding


def test_the_calls_of_a_check_may_depend_on_the_settings() -> None:
    """Generated requests are as many as were asked for."""
    assert declared(calls=3).calls_allowed(Settings()) == 3
    assert declared(calls=lambda settings: settings.examples * 2).calls_allowed(Settings(examples=7)) == 14


def test_a_judgement_of_one_answer_is_a_check_over_all_of_the_survey() -> None:
    """Each answer is looked at and counted, and the one that breaks the rule is the one that is shown."""
    seen: list[str] = []

    class Subject:
        async def survey(self) -> list[Exchange]:
            context: Any = None
            return [Exchange(RetrievalRequest(query=query), context, []) for query in ("one", "two")]

        def look_at(self, exchange: Exchange) -> None:
            seen.append(exchange.request.query)

        def observe(self, count: int) -> None:
            seen.append(str(count))

    def judge(exchange: Exchange) -> int:
        """Answers are short.

        Long ones are not read.
        """
        if exchange.request.query == "two":
            raise Violation(wanted="one", saw="two", hint="less")
        return 5

    made = answer_check("KP-900", clause="9.9", level=Level.SHOULD, needs=("KP-501",))(judge)
    subject: Any = Subject()

    async def run() -> None:
        await made.run(subject)

    with pytest.raises(Violation):
        asyncio.run(run())
    assert seen == ["one", "5", "two"]
    assert (made.needs, made.minimum, made.surveyed, made.judge) == (("KP-501",), 1, True, judge)


def test_findings_carry_their_texts() -> None:
    """What was wanted, what came, and what to do."""
    found = Violation(wanted="a list", saw="None", hint="return a list", where="retrieve(...)")
    assert (found.wanted, found.saw, found.hint, found.where) == ("a list", "None", "return a list", "retrieve(...)")
    assert str(found) == "wanted a list; saw None"
    assert Inconclusive("nothing came", hint="ask more").hint == "ask more"
