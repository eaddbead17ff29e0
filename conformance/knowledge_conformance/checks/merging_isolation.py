"""Clause 10.5, as clause 9.2: what one source does costs its own records alone. Knows faulty sources, no status."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.composite_children import GIVEN_UP_SECONDS, Order, in_order, passage, text
from knowledge_conformance.checks.composite_loops import in_own_loop, own_loop
from knowledge_conformance.checks.merging_sources import (
    SourceOf,
    answering,
    asked_by,
    built_in,
    finding,
    ref,
    refs_to,
    source_of,
)
from knowledge_conformance.merging_subject import QUERY, Merged, MergingSubject, new_context
from knowledge_conformance.plain import copied
from knowledge_conformance.render import show
from knowledge_conformance.source_subject import References
from knowledge_fakes.scripted import MALFORMED, RAISING, HeldProvider, ScriptedProvider, returning
from knowledge_fakes.sources import HOSTILE_SOURCES
from knowledge_provider import RetrievalContext

_HINT: Final = (
    "await each source in a coroutine that catches BaseException and returns what it caught, until its own deadline; "
    "read each answer in a try of its own"
)
_OWN: Final = ("own-1", "own-2")
_GOOD: Final = ("one", "two")
_OWNER: Final = "alice"
_UNBOUND: Final = "kb-of-another"
# It says that it is a KeyboardInterrupt, and may be believed.
_INTERRUPTS: Final = frozenset({"lies_about_its_class"})
# Iterated, they never end, nor would the process.
_ENDLESS: Final = frozenset({"an_endless_generator", "a_list_that_never_ends", "a_list_that_grows", "a_range"})


# Clause 10.5
@check("KP-1056", clause="10.5", level=Level.MUST)
async def built_in_is_always_there(subject: MergingSubject) -> None:
    """Built-in records are there, in their order, although every source fails, hangs or answers nonsense.

    External sources are an addition. An outage of them all must not take away what the host knows itself.
    """
    with HeldProvider(key="hanging") as hanging:
        sources = [
            answering("raising", ConnectionError("down")),
            source_of(hanging),
            answering("nonsense", returning("<html>503</html>")),
        ]
        merging = await subject.over(sources, built_in(*_OWN), deadline=GIVEN_UP_SECONDS)
        _require(await merging.answer(refs_to(sources)), _OWN)
    subject.observe(len(sources))
    merging = await subject.over([], built_in(*_OWN))
    _require(await merging.answer([ref("gone"), ref("gone", "kb-2")]), _OWN)
    _require(await merging.answer([]), _OWN)
    subject.observe(2)


def _require(merged: Merged, names: Sequence[str], *, hint: str = _HINT) -> None:
    known = [content for content in merged.contents() if content in {text(name) for name in names}]
    if known != [text(name) for name in names]:
        raise Violation(
            wanted=f"the records {', '.join(names)} of what did nothing wrong, in their order",
            saw=f"{merged.came}, {len(known)} of them",
            hint=hint,
            where=merged.shown,
        )


class _Sibling(NamedTuple):
    """A bad source: what it is in words, and how to make it."""

    name: str
    make: Callable[[], Any]


# Clause 10.5
@check("KP-1057", clause="10.5", level=Level.MUST)
async def a_source_costs_itself_alone(subject: MergingSubject) -> None:
    """Whatever one source answers or raises, built-in records and another source's are what they are without.

    SystemExit, a CancelledError that nobody asked for, exceptions that raise when they are looked at; other types,
    subclasses whose methods end the process, data without a bottom; and the same of its validate_refs, which may also
    bind what nobody bound.
    """
    alone = await _beside(subject, None)
    for sibling in _siblings():
        await in_own_loop(partial(_same, subject, sibling, alone), where=f"beside a source that {sibling.name}")
        subject.observe()


def _siblings() -> Iterator[_Sibling]:
    for name, hostile in HOSTILE_SOURCES.items():
        yield _Sibling(name, hostile.make)
    for name in sorted(RAISING.keys() - _INTERRUPTS):
        yield _Sibling(f"raises {name}", partial(answering, "hostile", partial(_raise, name)))
        yield _Sibling(f"raises {name} in validate_refs", partial(_Validating, partial(_raise, name)))
    for name in MALFORMED:
        if name not in _ENDLESS:
            yield _Sibling(f"answers {name}", partial(_malformed, name))
            yield _Sibling(f"answers {name} to validate_refs", partial(_Validating, MALFORMED[name]))


class _Validating(SourceOf):
    """A source that finds something, and whose ``validate_refs`` answers, or raises, what it likes."""

    def __init__(self, answer: Callable[[], Any]) -> None:
        super().__init__("hostile", ScriptedProvider([lambda *_: [passage("hostile")]], key="hostile"))
        self._answer = answer

    def validate_refs(self, refs: References, binding_level: str, /) -> Any:
        """What it likes."""
        del refs, binding_level
        return self._answer()


def _raise(name: str, *_: object) -> None:
    error = RAISING[name]()
    raise error


def _malformed(name: str) -> Any:
    return answering("hostile", returning(MALFORMED[name]()))


async def _same(subject: MergingSubject, sibling: _Sibling, alone: Sequence[Any]) -> None:
    try:
        found = await _beside(subject, sibling.make())
    except Violation as error:
        error.where = f"{error.where or subject.shown}, beside a source that {sibling.name}"
        raise
    if found != alone:
        raise Violation(
            wanted="the built-in records and the other source's, as they are without it",
            saw="others" if len(found) == len(alone) else f"{len(found)} of {len(alone)}",
            hint=_HINT,
            where=f"beside a source that {sibling.name}",
        )


async def _beside(subject: MergingSubject, sibling: Any) -> list[tuple[str | None, ...]]:
    """What becomes of the good records, by their texts, beside this source or none."""
    sources = [finding("good", *_GOOD), *([] if sibling is None else [sibling])]
    merging = await subject.over(sources, built_in(*_OWN), deadline=GIVEN_UP_SECONDS)
    merged = await merging.answer([ref("good"), *([] if sibling is None else [ref("hostile")])])
    good = {text(name) for name in (*_OWN, *_GOOD)}
    fields = ("id", "content", "source_type", "source_id", "source_uri", "source_name")
    return [
        tuple(copied(record.get(field)) for field in fields)
        for record in merged.records
        if copied(record.get("content")) in good
    ]


# Clause 9.2
@check("KP-1075", clause="9.2", level=Level.MUST)
async def keyboard_interrupt_goes_through(subject: MergingSubject) -> None:
    """A KeyboardInterrupt goes through: it is the user's, who wants the process to end.

    Where it becomes one more failed source, Ctrl-C is ignored.
    """

    async def play() -> Merged:
        merging = await subject.over([answering("raising", KeyboardInterrupt), finding("good", "one")], built_in(*_OWN))
        return await merging.ask([ref("raising"), ref("good")])

    ending = await own_loop(play)
    # Out of the call, or past it, out of the loop.
    error = ending.error if ending.value is None else ending.value.error
    if type(error) is not KeyboardInterrupt:
        raise Violation(
            wanted="a KeyboardInterrupt that a source raises to go through",
            saw=ending.value.came if ending.value is not None else "something else",
            hint="catch KeyboardInterrupt before BaseException, and raise it again",
        )
    subject.observe()


# Clause 10.5
@check("KP-1058", clause="10.5", level=Level.SHOULD)
async def built_in_costs_itself_alone(subject: MergingSubject) -> None:
    """Where the host's own search fails or hangs, the sources' records are the answer.

    The user bound them because they are wanted. What the host could not find itself is no reason to hide them.
    """
    with HeldProvider(key="own") as hanging:
        for own in (_failing, asked_by(hanging)):
            merging = await subject.over([finding("good", *_GOOD)], own, deadline=GIVEN_UP_SECONDS)
            _require(await merging.answer([ref("good")]), _GOOD)
            subject.observe()


async def _failing(query: str, context: Any) -> Any:
    del query, context
    raise ConnectionError("the index is down")


# Clause 9.2
@check("KP-1059", clause="9.2", level=Level.SHOULD)
async def a_failed_source_is_asked_again(subject: MergingSubject) -> None:
    """A source that failed once is asked again by the next call.

    Back ends fail now and then. What remembers the first failure for ever is thinner from day to day.
    """
    recovering = ScriptedProvider([ConnectionError("down"), lambda *_: [passage("one")]], key="recovering")
    merging = await subject.over([source_of(recovering)])
    await merging.answer([ref("recovering")])
    merged = await merging.answer([ref("recovering")])
    if len(recovering.calls) < 2:
        raise Violation(
            wanted="the source that failed in the first call to be asked in the second",
            saw=f"{merged.came}, and it was not",
            hint="keep no failure from one call to the next, or only for a while, and after several",
        )
    subject.observe()


# Clause 9.2
@check("KP-1070", clause="9.2", level=Level.MUST, needs=("KP-1055",))
async def a_source_changes_nothing_for_others(subject: MergingSubject) -> None:
    """A source that writes into its context or references, or cancels its signal, does so for itself alone.

    Frozen models do not stop it: object.__setattr__ sets an owner or an id. Another source is then asked for another
    owner, or told that the user has gone, and what is bound is what a source has made of it.
    """
    got: list[tuple[str, bool]] = []
    order = Order(("meddling", "good"))

    def note(_query: Any, context: RetrievalContext) -> list[dict[str, Any]]:
        got.append((context.owner_id, context.signal.cancelled))
        return [passage("one")]

    sources = [_Meddling("meddling", in_order(order, "meddling", _meddle)), source_of(in_order(order, "good", note))]
    context, refs = new_context(owner_id=_OWNER), refs_to(sources)
    merging = await subject.over(sources)
    merged = await merging.ask(refs, QUERY, context)
    caller = (context.owner_id, context.signal.cancelled)
    if got != [(_OWNER, False)] or caller != (_OWNER, False) or merged.error is not None:
        raise Violation(
            wanted="the caller's context, and what another source gets, as they are",
            saw="that a source had changed the caller's"
            if caller != (_OWNER, False)
            else f"what it changed: {show(got)}",
            hint="give each source a copy of the context, with a signal of its own",
        )
    if text("unbound") in merged.contents() or refs != refs_to(sources):
        raise Violation(
            wanted="what is bound as it is, and a source's records from that alone",
            saw="what a source had made of the references that it was given",
            hint="give each source copies, ref.model_copy(), and look its records up in your own",
        )
    subject.observe()


class _Meddling(SourceOf):
    async def retrieve(self, query: Any, refs: References, context: RetrievalContext, /) -> Any:
        for each in refs:
            object.__setattr__(each, "id", _UNBOUND)
        return await super().retrieve(query, refs, context)


def _meddle(_query: Any, context: RetrievalContext) -> list[dict[str, Any]]:
    object.__setattr__(context, "owner_id", "another-owner")
    context.signal.cancel("the back end hung up")
    return [passage("unbound", source_id=_UNBOUND)]


CHECKS: Final[tuple[Check, ...]] = (
    built_in_is_always_there,
    a_source_costs_itself_alone,
    keyboard_interrupt_goes_through,
    built_in_costs_itself_alone,
    a_failed_source_is_asked_again,
    a_source_changes_nothing_for_others,
)
