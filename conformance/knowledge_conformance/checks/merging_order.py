"""Clause 10.5: in what order records of several sources stand, and how many one may have. Knows no failure."""

from collections.abc import Sequence
from typing import Any, Final

from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.composite_children import Order, in_order, passage, text
from knowledge_conformance.checks.merging_records import record_of
from knowledge_conformance.checks.merging_sources import answering, built_in, finding, ref, refs_to, source_of
from knowledge_conformance.merging_subject import Merged, MergingSubject
from knowledge_conformance.render import show
from knowledge_provider import RetrievalContext

_OWN: Final = ("own-2", "own-1", "own-3")
_OWN_MANY: Final = (*_OWN, *(f"own-{number}" for number in range(8, 3, -1)))
"""As many as a search answers."""
# Neither by their contents nor by their scores would they stand in this order.
_FOUND: Final = {"wiki": ("w2", "w3", "w1"), "tickets": ("t1",), "archive": ("a2", "a1")}
_SCORES: Final = {"w2": 0.1, "w3": 0.9, "t1": 0.95, "a2": 0.2, "a1": 0.8, "w1": 0.5}
_FLOOD: Final = 1000
_ENOUGH: Final = 64


# Clause 10.5
@check("KP-1051", clause="10.5", level=Level.MUST)
async def built_in_comes_first(subject: MergingSubject) -> None:
    """Built-in records come first in their order, and then each source's, in its own order.

    All of them, and whole, however many a search answers. A source's records stand together, whoever answers first and
    whatever scores say: scores of different systems cannot be compared, and what a model reads must not hang on chance.
    """
    first: list[str] | None = None
    for arriving in (tuple(_FOUND), tuple(_FOUND)[::-1]):
        order = Order(arriving)
        sources = [source_of(in_order(order, name, _finding(name))) for name in _FOUND]
        merging = await subject.over(sources, _many)
        found = _names(await merging.answer(refs_to(sources)))
        _require_order(found)
        if first is not None and found != first:
            raise _disorder("the same order, whoever answers first", found)
        first = found
        subject.observe(len(found))


async def _many(query: str, context: RetrievalContext) -> list[dict[str, Any]]:
    del query, context
    return [{"id": name, "content": _whole(name)} for name in _OWN_MANY]


def _finding(name: str) -> Any:
    return lambda *_: [{"id": each, "content": _whole(each), "score": _SCORES[each]} for each in _FOUND[name]]


def _whole(name: str) -> str:
    """A content as long as a page of text."""
    return f"{text(name)}{' And it goes on.' * 180} The end."


def _names(merged: Merged) -> list[str]:
    known = {_whole(name): name for name in (*_OWN_MANY, *_SCORES)}
    return [known.get(content, show(content)) for content in merged.contents()]


def _require_order(found: Sequence[str]) -> None:
    if tuple(found[: len(_OWN_MANY)]) != _OWN_MANY:
        raise _disorder(f"the built-in records first, {', '.join(_OWN_MANY)}", found)
    rest = list(found[len(_OWN_MANY) :])
    for name, own in _FOUND.items():
        at = [rest.index(each) for each in own if each in rest]
        if len(at) < len(own) or at != sorted(at):
            raise _disorder(f"the records of {name} in its own order, {', '.join(own)}", found)
        if at != list(range(at[0], at[0] + len(at))):
            raise _disorder("one source's records after another's", found)


def _disorder(wanted: str, found: Sequence[str]) -> Violation:
    return Violation(
        wanted=wanted,
        saw=", ".join(found) or "no record",
        hint="[*built_in, *(record for source in sources for record in found[source])]",
    )


# Clause 10.5
@check("KP-1071", clause="10.5", level=Level.SHOULD)
async def no_source_takes_all_the_room(subject: MergingSubject) -> None:
    """A source that answers a thousand records gets a few of them in.

    A model's context has an end. What one source fills, the others and the built-in knowledge lose.
    """
    flood = answering("flood", lambda *_: [passage(f"f{number}") for number in range(_FLOOD)])
    merging = await subject.over([flood, finding("wiki", "one")], built_in("own"))
    merged = await merging.answer([ref("flood"), ref("wiki")])
    taken = sum(content != text("own") and content != text("one") for content in merged.contents())
    if taken > _ENOUGH:
        raise Violation(
            wanted=f"at most {_ENOUGH} records of one source",
            saw=f"{taken} of them",
            hint="take the first few of each source: top_k, or eight",
        )
    record_of(merged, "one")
    subject.observe()


CHECKS: Final[tuple[Check, ...]] = (built_in_comes_first, no_source_takes_all_the_room)
