"""Clause 10.1 for merging hosts: which of the bound references stand is for their source to say. Knows no answer."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.composite_children import passage
from knowledge_conformance.checks.merging_sources import BOUND, SourceOf, ref
from knowledge_conformance.merging_subject import Merged, MergingSubject
from knowledge_conformance.plain import copied
from knowledge_conformance.render import show
from knowledge_conformance.source_subject import References, show_refs
from knowledge_fakes.scripted import ScriptedProvider


class _Choosy(SourceOf):
    """A source of which those references stand that ``validate`` answers."""

    def __init__(self, validate: Callable[[References, str], Any]) -> None:
        super().__init__("choosy", ScriptedProvider([lambda *_: [passage("one", source_id=BOUND)]], key="choosy"))
        self._validate = validate

    def validate_refs(self, refs: References, binding_level: str, /) -> Any:
        """What stands, or what can be awaited for it."""
        return self._validate(refs, binding_level)


def _one(refs: References, level: str) -> References:
    return tuple(each for each in refs if each.id == BOUND and level == "task")


async def _one_later(refs: References, level: str) -> References:
    await asyncio.sleep(0)
    return _one(refs, level)


def _one_and_another(refs: References, level: str) -> References:
    return (*_one(refs, level), ref("choosy", "kb-of-another"))


def _raise(*_: object) -> Any:
    raise ConnectionError("down")


async def _raise_later(*_: object) -> Any:
    raise ConnectionError("down")


# Clause 10.1
@check("KP-1069", clause="10.1", level=Level.MUST)
async def only_what_stands_is_asked_for(subject: MergingSubject) -> None:
    """A source is asked for those bound references alone that its validate_refs says stand; without it, for all.

    A page that was deleted, or a right that was taken away, is known to the source. Where none stands it is not asked,
    nor where the method raises; it may be asynchronous. What it makes up is something that nobody has bound.
    """
    for one in (_one, _one_later, _one_and_another):
        choosy = _Choosy(one)
        merging = await subject.over([choosy])
        await merging.answer([ref("choosy"), ref("choosy", "kb-2")])
        _require_one(choosy)
        subject.observe()
    for none in (_one, _raise, _raise_later):
        choosy = _Choosy(none)
        merged = await (await subject.over([choosy])).answer([ref("choosy", "kb-3")])
        _require_none(choosy, merged)
        subject.observe()


def _require_one(choosy: _Choosy) -> None:
    for refs in choosy.asked:
        if [each.id for each in refs] != [BOUND]:
            raise Violation(
                wanted="the source to be asked for the one bound reference that stands, as it said",
                saw=show_refs(refs),
                hint="call validate_refs(refs, 'task') first, where there is one, and ask for those of refs that it "
                "answers: [ref for ref in refs if target_key(ref) in answered]",
            )
    if not choosy.asked:
        raise Violation(
            wanted="the source to be asked for the reference that stands",
            saw="no call of it",
            hint="leave out what does not stand, and ask for the rest; await validate_refs where it is asynchronous",
        )


def _require_none(choosy: _Choosy, merged: Merged) -> None:
    said = [copied(entry.get("status")) for entry in merged.summary if copied(entry.get("key")) == choosy.name]
    if choosy.asked or not set(said) <= {"failed", "ignored"}:
        raise Violation(
            wanted="a source of which no reference stands not to be asked, and its status to be failed or ignored",
            saw=f"that it was asked for {show_refs(choosy.asked[0])}" if choosy.asked else f"the status {show(said)}",
            hint="where validate_refs raises, or answers none of refs, say so in the summary and ask for nothing",
            where=merged.shown,
        )


CHECKS: Final[tuple[Check, ...]] = (only_what_stands_is_asked_for,)
