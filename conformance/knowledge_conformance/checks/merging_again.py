"""Clause 10.5, as clauses 9.2 and 9.3: what one call keeps of the call before. Knows sources that change, no reason."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.composite_children import passage, text
from knowledge_conformance.checks.merging_sources import SourceOf, asked_by, built_in, finding, refs_to
from knowledge_conformance.merging_subject import Merged, MergingSubject
from knowledge_conformance.plain import copied
from knowledge_conformance.render import show
from knowledge_fakes.scripted import ScriptedProvider
from knowledge_provider.errors import KnowledgeUnauthorizedError

_OWN: Final = "own"
_STEADY: Final = "steady"
_CALLS: Final = 4
_HINT: Final = "make records and summary of what the sources gave in this call; keep nothing for the next one"
_FAILING: Final[Mapping[str, type[BaseException]]] = {"down": ConnectionError, "refusing": KnowledgeUnauthorizedError}


class _Changing(NamedTuple):
    """A source that works in every other call, and the status that each call is to give it."""

    source: SourceOf
    statuses: tuple[str, ...]

    @property
    def asked(self) -> int:
        return len(self.source.provider.calls)


# Clause 10.5
@check("KP-1089", clause="10.5", level=Level.MUST)
async def each_call_says_what_came_of_it(subject: MergingSubject) -> None:
    """What a source gives or raises in one call is said of that call alone, and takes no other source's records away.

    A source that works again is a hit, and its records are there; one that fails after it has worked is failed. What
    the call before said hides an outage from an operator, or sends them after one that is over. The same is true of
    the host's own search. A source that is left in peace for a while, because it failed, is not looked at.
    """
    changing = [_changing(name, works_first) for name in _FAILING for works_first in (True, False)]
    sources = [*(each.source for each in changing), finding(_STEADY, _STEADY)]
    merging = await subject.over(sources, built_in(_OWN))
    for _ in range(_CALLS):
        before = [each.asked for each in changing]
        merged = await merging.answer(refs_to(sources))
        _require_record(merged, _OWN)
        _require(merged, _STEADY, "hit")
        for each, asked in zip(changing, before, strict=True):
            if each.asked > asked:
                _require(merged, each.source.name, each.statuses[asked])
                subject.observe()
    await _own_search(subject)


async def _own_search(subject: MergingSubject) -> None:
    own = ScriptedProvider([ConnectionError, _finds(_OWN)], key=_OWN)
    sources = [finding(_STEADY, _STEADY)]
    merging = await subject.over(sources, asked_by(own))
    # What a host makes of this one is KP-1058's to say.
    await merging.ask(refs_to(sources))
    merged = await merging.answer(refs_to(sources))
    _require_record(merged, _OWN)
    _require(merged, _STEADY, "hit")
    subject.observe()


def _changing(name: str, works_first: bool) -> _Changing:
    named = f"{name}-{'later' if works_first else 'first'}"
    turns: list[tuple[object, str]] = [(_finds(named), "hit"), (_FAILING[name], "failed")]
    in_order = turns[:: 1 if works_first else -1] * (_CALLS // 2)
    provider = ScriptedProvider([answer for answer, _ in in_order], key=named)
    return _Changing(SourceOf(named, provider), tuple(status for _, status in in_order))


def _finds(name: str) -> Callable[..., list[dict[str, Any]]]:
    return lambda *_: [passage(name)]


def _require(merged: Merged, name: str, status: str) -> None:
    said = [copied(entry.get("status")) for entry in merged.summary if copied(entry.get("key")) == name]
    if said != [status]:
        raise Violation(
            wanted=f"the status {status!r} of {name}, which it has in this call",
            saw=show(said[0] if len(said) == 1 else said),
            hint=_HINT,
            where=merged.shown,
        )
    if status == "hit":
        _require_record(merged, name)


def _require_record(merged: Merged, name: str) -> None:
    if text(name) not in merged.contents():
        raise Violation(
            wanted=f"the record {name}, which is found in this call",
            saw=f"{merged.came} without it",
            hint=_HINT,
            where=merged.shown,
        )


CHECKS: Final[tuple[Check, ...]] = (each_call_says_what_came_of_it,)
"""That of several calls."""
