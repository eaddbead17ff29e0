"""A description that changes is seen, whatever it is made of; one that cannot be changed is left in peace."""

import asyncio
from collections import UserDict
from collections.abc import Callable, Sequence
from itertools import count
from types import MappingProxyType
from typing import Any

import pytest

from knowledge_conformance.checks.describing import description_is_stable
from knowledge_conformance.engine import run_check
from knowledge_conformance.exchange import Exchange
from knowledge_conformance.results import CheckOutcome
from knowledge_conformance.settings import Settings
from knowledge_conformance.subject import Subject
from knowledge_provider import ProviderDescription

SAID: dict[str, Any] = {"protocolVersion": 1, "key": "acme", "label": "Acme", "capabilities": {"scores": True}}


def said(**changes: Any) -> dict[str, Any]:
    return {**SAID, "capabilities": {"scores": True}, **changes}


class Provider:
    def __init__(self, describe: Callable[[], Any]) -> None:
        self.describe = describe


async def no_survey(_subject: Subject) -> Sequence[Exchange]:
    raise AssertionError


def outcome(describe: Callable[[], Any]) -> CheckOutcome:
    async def judge() -> CheckOutcome:
        surveyor: Any = no_survey
        subject = Subject(Provider(describe), Settings(), allowed=3, announce=lambda _s, _t: None, surveyor=surveyor)
        return (await run_check(description_is_stable, subject)).outcome

    return asyncio.run(judge())


KINDS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "dict": dict,
    "view": MappingProxyType,
    "user": UserDict,
    "model": ProviderDescription.model_validate,
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_fresh_description_is_stable(kind: Callable[[dict[str, Any]], Any]) -> None:
    """Whatever it is made of."""
    assert outcome(lambda: kind(said())) is CheckOutcome.PASSED


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_another_label_each_time_is_seen(kind: Callable[[dict[str, Any]], Any]) -> None:
    """The type alone is no picture of it."""
    number = count()
    assert outcome(lambda: kind(said(label=f"Acme {next(number)}"))) is CheckOutcome.FAILED


def test_another_capability_each_time_is_seen_behind_a_view() -> None:
    """Also further inside."""
    turns = count()
    answer = lambda: said(capabilities=MappingProxyType({"scores": next(turns) > 0}))  # noqa: E731 - short
    assert outcome(answer) is CheckOutcome.FAILED


SHARED: dict[str, Callable[[], Any]] = {
    "dict": said,
    "user dict": lambda: UserDict(said()),
    "frozen model with a dict in it": lambda: ProviderDescription.model_validate(said()),
    "frozen model with an empty dict in it": lambda: ProviderDescription.model_validate(said(capabilities={})),
    "view of a dict with a dict in it": lambda: MappingProxyType(said()),
    "list in a dict": lambda: MappingProxyType(said(tags=[])),
    "dict in a list": lambda: MappingProxyType(said(tags=({"a": 1},))),
}


@pytest.mark.parametrize("make", SHARED.values(), ids=SHARED)
def test_whatever_a_caller_can_change_is_changed(make: Callable[[], Any]) -> None:
    """A shared part of it, however deep inside, is what the next caller would see."""
    kept = make()
    assert outcome(lambda: kept) is CheckOutcome.FAILED


@pytest.mark.parametrize("make", SHARED.values(), ids=SHARED)
def test_what_was_changed_is_put_back(make: Callable[[], Any]) -> None:
    """What a module shares with all its providers is as it was for the checks that come later."""
    kept = make()
    outcome(lambda: kept)
    assert repr(kept) == repr(make())


@pytest.mark.parametrize(
    "kept", [MappingProxyType({**SAID, "capabilities": MappingProxyType({"scores": True}), "tags": ("a",)})]
)
def test_what_cannot_be_changed_may_be_shared(kept: Any) -> None:
    """A view of what nobody else holds is as good as a copy."""
    assert outcome(lambda: kept) is CheckOutcome.PASSED


def test_a_description_that_holds_itself_comes_to_an_end() -> None:
    """Neither the picture nor the scribbling goes round for ever."""
    knot = said()
    knot["capabilities"]["again"] = knot
    assert outcome(lambda: knot) is CheckOutcome.FAILED
    assert knot["capabilities"].pop("again") is knot
    assert knot == said()
