"""Clause 8.8, rule N13: what a provider answers beside its results. Knows marks in an answer, no rule of a result."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from knowledge_conformance.channels import text_of
from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.host_subject import QUERY, HostSubject, answered
from knowledge_conformance.parts import parts_of, show_path
from knowledge_conformance.plain import copied, is_exactly
from knowledge_fakes.scripted import ScriptedProvider
from knowledge_provider import Outcome
from knowledge_provider.text import is_a

_NAME: Final = "hr-private-86421357"
_COUNT: Final = 86_421_357
_MARKS: Final = (_NAME, str(_COUNT), f"{_COUNT:,}")
_RESULTS: Final[tuple[dict[str, Any], ...]] = ({"results": [{"id": "a", "content": "text"}]}, {"results": []}, {})


def _beside() -> dict[str, Any]:
    return {
        "failures": [{"source": _NAME, "dropped": _COUNT}],
        "total": _COUNT,
        "hidden": [_NAME],
        "message": f"{_COUNT} results of {_NAME} are not for you",
        "nextPage": {"offset": _COUNT, "of": _NAME},
        _NAME: True,
    }


# Clause 8.8, rule N13
@check("KP-867", clause="8.8", level=Level.MUST, needs=("KP-814", "KP-819"))
async def what_stands_beside_the_results_is_left_behind(subject: HostSubject) -> None:
    """Of a provider's answer the results and the reports of its sources come out, and nothing else that it says.

    Back ends add a total, pages, failures, or what they withheld. No rule bounds or reads it, it goes into a model's
    context as it came, and a count or a name of what someone may not see tells them that it is there. Fields that the
    host adds of its own are not looked at.
    """
    for results in _RESULTS:
        async with subject.host(ScriptedProvider([lambda *_, held=results: {**_beside(), **held}])) as host:
            async for call, ending in host.attempt_each_way({"query": QUERY}):
                answered(ending, call)
                _refuse_marks(ending.value, call)
                subject.observe()


def _refuse_marks(outcome: object, call: str) -> None:
    for place, text in _texts(outcome):
        if any(mark in text for mark in _MARKS):
            raise Violation(
                wanted="nothing of what the provider answered beside results and sources",
                saw=f"a name or a count of what it withheld, in outcome{place.removeprefix('answer')}",
                hint="make the outcome of normalize_response(answer, …) alone, and log the rest if you need it",
                where=call,
            )


def _texts(outcome: object) -> Iterator[tuple[str, str]]:
    for path, part in parts_of(_fields(outcome)):
        if is_exactly(part, int, float):
            yield show_path(path), f"{part:.0f}"
        elif is_a(part, str):
            yield show_path(path), copied(part) or ""
        elif not is_exactly(part, dict, list, tuple):
            yield show_path(path), text_of(repr, part)


def _fields(outcome: object) -> object:
    # The model's own, and what a host's subclass of it allows besides.
    held: Mapping[str, Any] = {**vars(outcome), **(outcome.__pydantic_extra__ or {})} if is_a(outcome, Outcome) else {}
    return dict(held) or outcome


CHECKS: Final[tuple[Check, ...]] = (what_stands_beside_the_results_is_left_behind,)
"""That of what stands beside the results."""
