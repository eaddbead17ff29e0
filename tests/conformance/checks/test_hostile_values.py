"""Values that lie about their type or raise when they are touched are findings, wherever in a provider they stand."""

import asyncio
import unittest.mock
from collections.abc import Callable, Iterator, Sequence
from types import MappingProxyType
from typing import Any

import pytest

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.check import Check
from knowledge_conformance.checks import describing, identity, lifecycle, links, passages, plainness, shapes, sources
from knowledge_conformance.checks import survival as surviving
from knowledge_conformance.engine import run_check
from knowledge_conformance.exchange import Exchange
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.subject import Subject
from knowledge_conformance.target import Target
from knowledge_provider import CancelSignal, Health, RetrievalContext, RetrievalRequest, RetrievalResult, Source

CHECKS = (
    *identity.CHECKS,
    *describing.CHECKS,
    *lifecycle.CHECKS,
    *shapes.CHECKS,
    *passages.CHECKS,
    *sources.CHECKS,
    *plainness.CHECKS,
    *surviving.CHECKS,
    *links.CHECKS,
)
REQUEST = RetrievalRequest(query="release policy")
CONTEXT = RetrievalContext(owner_id="o", session_id="s", turn_id="t", trace_id="x", signal=CancelSignal())
HOLDS = {CheckOutcome.PASSED, CheckOutcome.INAPPLICABLE}
FOUND = {CheckOutcome.FAILED, CheckOutcome.ADVISORY, CheckOutcome.ERRORED}


class LookedAtError(Exception):
    """What a hostile value raises."""


def _refuse(*_arguments: Any, **_named: Any) -> Any:
    raise LookedAtError


# Not those that make, hash or destroy it, nor those by which Python finds its type and attributes.
_KEPT = {"__new__", "__init__", "__hash__", "__class__", "__getattribute__", "__init_subclass__", "__subclasshook__"}
_KEPT |= {"__setattr__", "__delattr__", "__dict__", "__weakref__", "__doc__", "__module__", "__slots__"}


def hostile(base: type) -> type:
    """A subclass of ``base`` whose methods all raise, but for what makes and hashes it."""
    touched = {*dir(base), "__bool__", "__len__", "__iter__", "__contains__", "__getattr__", "__call__"} - _KEPT
    return type(f"Hostile_{base.__name__}", (base,), {"__hash__": object.__hash__, **dict.fromkeys(touched, _refuse)})


class _Meta(type):
    __eq__ = __ne__ = __instancecheck__ = __subclasscheck__ = _refuse

    def __hash__(cls) -> int:
        return 1


class OfAHostileClass(metaclass=_Meta):
    """Even its class raises when it is compared."""


class Faceless:
    """Raises when it is asked for its class, its signature or anything else."""

    def __getattribute__(self, name: str) -> Any:
        raise LookedAtError


class Unsigned:
    """Can be called, and raises when it is asked how."""

    def __call__(self, *_arguments: Any) -> Any:
        return {"status": "ready"}

    @property
    def __signature__(self) -> Any:
        raise LookedAtError


def _text(value: str) -> Any:
    return hostile(str)(value)


# Not checked, so that their fields may be missing or anything.
_RESULT: Any = RetrievalResult
_SOURCE: Any = Source
_HEALTH: Any = Health

ZOO: dict[str, Callable[[], Any]] = {
    "mock of dict": lambda: unittest.mock.Mock(spec=dict),
    "mock of list": lambda: unittest.mock.Mock(spec=list),
    "mock of str": lambda: unittest.mock.Mock(spec=str),
    "mock of float": lambda: unittest.mock.Mock(spec=float),
    "mock of Source": lambda: unittest.mock.Mock(spec=Source),
    "mock of Health": lambda: unittest.mock.Mock(spec=Health),
    "magic mock": unittest.mock.MagicMock,
    "object": lambda: hostile(object)(),
    "of a hostile class": OfAHostileClass,
    "faceless": Faceless,
    "str": lambda: _text("ready"),
    "str with a link": lambda: _text("https://user:password@example.com/"),
    "float": lambda: hostile(float)(0.5),
    "int": lambda: hostile(int)(1),
    "dict": lambda: hostile(dict)({"id": "a", "content": "b", "status": "ready"}),
    "list": lambda: hostile(list)([1]),
    "tuple": lambda: hostile(tuple)((1,)),
    "hostile key": lambda: {_text("status"): "ready", _text("uri"): "x"},
    "view": lambda: MappingProxyType({"id": "a", "content": "b"}),
    "unfinished result": lambda: _RESULT.model_construct(),
    "unfinished source": lambda: _SOURCE.model_construct(uri=_text("https://example.com/")),
    "unfinished health": lambda: _HEALTH.model_construct(status=_text("ready")),
    "huge int": lambda: 10**5000,
    "unsigned": Unsigned,
}

SOUND: dict[str, Any] = {"id": "a", "content": "text", "score": 0.9}


def _in_row(**fields: Any) -> list[Any]:
    return [{**SOUND, **fields}, {**SOUND, "id": "b"}]


ANSWERS: dict[str, Callable[[Any], Any]] = {
    "answer": lambda value: value,
    "results": lambda value: {"results": value},
    "item": lambda value: [SOUND, value],
    "id": lambda value: _in_row(id=value),
    "content": lambda value: _in_row(content=value),
    "score": lambda value: _in_row(score=value),
    "source": lambda value: _in_row(source=value),
    "source.id": lambda value: _in_row(source={"id": value}),
    "source.uri": lambda value: _in_row(source={"uri": value}),
    "source.url": lambda value: _in_row(source={"url": value}),
    "source model": lambda value: _in_row(source=_SOURCE.model_construct(uri=value)),
    "model": lambda value: [_RESULT.model_construct(id="a", content="text", score=value)],
    "metadata": lambda value: _in_row(metadata=value),
    "metadata value": lambda value: _in_row(metadata={"a": value}),
    "beside": lambda value: _in_row(link=[value]),
    "reports": lambda value: {"results": [SOUND], "sources": value},
    "report": lambda value: {"results": [SOUND], "sources": [value]},
    "report's status": lambda value: {"results": [SOUND], "sources": [{"key": "a", "status": value}]},
    "report's count": lambda value: {"results": [SOUND], "sources": [{"key": "a", "status": "hit", "count": value}]},
}
DESCRIPTION: dict[str, Any] = {"protocolVersion": 1, "key": "zoo", "label": "Zoo"}
DESCRIPTIONS: dict[str, Callable[[Any], Any]] = {
    "description": lambda value: value,
    "version": lambda value: {**DESCRIPTION, "protocolVersion": value},
    "key": lambda value: {**DESCRIPTION, "key": value},
    "label": lambda value: {**DESCRIPTION, "label": value},
    "capabilities": lambda value: {**DESCRIPTION, "capabilities": value},
    "capability": lambda value: {**DESCRIPTION, "capabilities": {"scores": value}},
    "capability's name": lambda value: {**DESCRIPTION, "capabilities": {_text("scores"): value}},
    "read-only": lambda value: MappingProxyType({**DESCRIPTION, "label": value}),
}
HEALTHS: dict[str, Callable[[Any], Any]] = {
    "health": lambda value: lambda: value,
    "status": lambda value: lambda: {"status": value},
    "message": lambda value: lambda: {"status": "ready", "message": value},
    "model": lambda value: lambda: _HEALTH.model_construct(status=value),
}


class Answered:
    """A survey with one answer."""

    def __init__(self, answer: object) -> None:
        self._answer = answer

    async def __call__(self, subject: Subject) -> Sequence[Exchange]:
        return (Exchange(REQUEST, CONTEXT, self._answer),)

    def unasked(self, count: int) -> list[RetrievalRequest]:
        raise AssertionError(count)


class Zoo:
    """A provider whose parts are given; its answers come by the survey."""

    def __init__(self, describe: Any = lambda: dict(DESCRIPTION), health: Any = None, retrieve: Any = None) -> None:
        self.describe = describe
        self.health = health
        self.retrieve: Any = (lambda request, context: []) if retrieve is None else retrieve


def results(provider: Any, answer: object = ()) -> dict[str, CheckResult]:
    """What each check says of it, those aside that need another one to hold."""

    async def each() -> dict[str, CheckResult]:
        found: dict[str, CheckResult] = {}
        for check in _in_order():
            if all(found[need].outcome in HOLDS for need in check.needs if need in found):
                subject = Subject(
                    provider, Settings(), allowed=9, announce=lambda _shown, _seconds: None, surveyor=Answered(answer)
                )
                found[check.id] = await run_check(check, subject)
        return found

    return asyncio.run(each())


def _in_order() -> Iterator[Check]:
    ours = {check.id for check in CHECKS}
    return (check for check in BY_ID.values() if check.id in ours)


def assert_no_kit_error(found: dict[str, CheckResult]) -> None:
    assert len(found) > 5
    broken = {name: result.saw for name, result in found.items() if result.outcome is CheckOutcome.KIT_ERROR}
    assert not broken


@pytest.mark.parametrize("make", ZOO.values(), ids=ZOO)
@pytest.mark.parametrize("place", ANSWERS.values(), ids=ANSWERS)
def test_no_value_in_an_answer_breaks_a_check(place: Callable[[Any], Any], make: Callable[[], Any]) -> None:
    """Every check comes to an outcome of its own."""
    assert_no_kit_error(results(Zoo(), place(make())))


@pytest.mark.parametrize("make", ZOO.values(), ids=ZOO)
@pytest.mark.parametrize("place", DESCRIPTIONS.values(), ids=DESCRIPTIONS)
def test_no_value_in_a_description_breaks_a_check(place: Callable[[Any], Any], make: Callable[[], Any]) -> None:
    """Every check comes to an outcome of its own."""
    assert_no_kit_error(results(Zoo(describe=lambda: place(make()))))


@pytest.mark.parametrize("make", ZOO.values(), ids=ZOO)
@pytest.mark.parametrize("place", HEALTHS.values(), ids=HEALTHS)
def test_no_value_in_a_health_breaks_a_check(place: Callable[[Any], Any], make: Callable[[], Any]) -> None:
    """Every check comes to an outcome of its own."""
    assert_no_kit_error(results(Zoo(health=place(make()))))


@pytest.mark.parametrize("member", ["describe", "retrieve", "health"])
def test_a_method_that_hides_its_signature_is_called_all_the_same(member: str) -> None:
    """Calling it tells."""
    found = results(Zoo(**{member: Unsigned()}))
    assert found["KP-101"].outcome is CheckOutcome.PASSED
    assert_no_kit_error(found)


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        ("KP-501", unittest.mock.Mock(spec=dict)),
        ("KP-510", _in_row(source={"uri": unittest.mock.Mock(spec=str)})),
        ("KP-507", _in_row(score=unittest.mock.Mock(spec=float))),
        ("KP-513", _in_row(metadata={"a": _text("prose")})),
        ("KP-513", _in_row(score=hostile(float)(0.5))),
        ("KP-513", _in_row(raw=OfAHostileClass())),
        ("KP-509", [{**SOUND, "score": hostile(float)(0.1)}, {**SOUND, "id": "b", "score": hostile(float)(0.2)}]),
        ("KP-601", _in_row(metadata={"a": _text("see https://user:password@example.com/")})),
        ("KP-518", {"results": [SOUND], "sources": [{"key": "a", "status": unittest.mock.Mock(spec=str)}]}),
    ],
)
def test_the_check_that_is_about_it_finds_it(check: str, answer: Any) -> None:
    """A lie is taken for what it is, and a subclass is read as the text or number that it holds."""
    assert results(Zoo(), answer)[check].outcome in FOUND


def _answering(answer: object) -> Zoo:
    return Zoo(retrieve=lambda request, context: answer)


@pytest.mark.parametrize(
    "provider",
    [
        _answering(unittest.mock.Mock(spec=dict)),
        _answering(_in_row(source={"uri": unittest.mock.Mock(spec=str)})),
        _answering(_in_row(metadata={"a": _text("prose")}, score=hostile(float)(0.5))),
        _answering(_in_row(raw=OfAHostileClass())),
        Zoo(health=lambda: {"status": hostile(str)("ready")}),
        Zoo(health=Unsigned()),
    ],
    ids=["mock of dict", "mock of str", "text and number", "hostile class", "status", "signature"],
)
def test_no_hostile_value_breaks_any_check_of_a_whole_run(provider: Zoo) -> None:
    """The checks of time and of generated requests look at the same values."""
    report = Run(Target("zoo", lambda: provider, instance=False), Settings(examples=10, queries=("policy",))).all()
    assert not [(check.id, check.saw) for check in report.checks if check.outcome is CheckOutcome.KIT_ERROR]
