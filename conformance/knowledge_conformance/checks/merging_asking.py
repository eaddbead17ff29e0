"""Clauses 4.3, 9.2, 10.4 and 10.9: with what sources are asked, and for whom. Knows identities, no deadline."""

import asyncio
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.merging_sources import SourceOf, finding, ref, refs_to
from knowledge_conformance.merging_subject import QUERY, MergingSubject, new_context
from knowledge_conformance.render import show
from knowledge_conformance.source_subject import References, show_refs
from knowledge_fakes.scripted import ScriptedProvider
from knowledge_provider import CancelSignal, RetrievalContext, error_code
from knowledge_provider.sources import ExternalKnowledgeRef, target_key

_OWNER_CODE: Final = "knowledge_owner_required"
_MOMENT_SECONDS: Final = 0.05
_OWN: Final = "the host's own search"


# Clause 7.3
@check("KP-1065", clause="7.3", level=Level.SHOULD)
async def a_cancelled_call_asks_nobody(subject: MergingSubject) -> None:
    """With a signal that is cancelled already, no source is asked.

    The user has gone on before the call began. What the sources would do for it costs once for each of them.
    """
    signal = CancelSignal()
    signal.cancel("cancelled before the call")
    hint = "begin with context.signal.raise_if_cancelled()"
    await _refused(subject, new_context(signal=signal), None, "with a cancelled signal", hint)


# Clause 10.9
@check("KP-1066", clause="10.9", level=Level.MUST)
async def no_owner_is_refused(subject: MergingSubject) -> None:
    """Without an owner in the context, the call raises knowledge_owner_required, and no source is asked.

    Whose sources these are is not known then. What is asked as nobody is asked with the rights of the service.
    """
    for owner in ("", " \u200b"):
        hint = "raise KnowledgeOwnerRequiredError where is_blank(context.owner_id), both of knowledge_provider"
        await _refused(subject, new_context(owner_id=owner), _OWNER_CODE, f"for the owner {show(owner)}", hint)


async def _refused(subject: MergingSubject, context: RetrievalContext, code: str | None, when: str, hint: str) -> None:
    sources = [finding("wiki", "one"), finding("tickets", "two")]
    merging = await subject.over(sources)
    merged = await merging.ask(refs_to(sources), QUERY, context)
    asked = [source.name for source in sources if source.asked]
    if asked or merged.error is None or (code is not None and error_code(merged.error) != code):
        raise Violation(
            wanted=f"an exception{f' with the code {code}' if code else ''} {when}, and no source to be asked",
            saw=f"{merged.came}, after asking {' and '.join(asked)}" if asked else merged.came,
            hint=hint,
            where=merged.shown,
        )
    subject.observe()


class _Asked(NamedTuple):
    """What a source, or the host's own search, was asked: for whom, and which references by their keys."""

    query: str
    owner: str
    turn: tuple[str, ...]
    keys: frozenset[str]


def _asked(query: str, refs: References, context: RetrievalContext) -> _Asked:
    turn = (context.session_id, context.turn_id, context.trace_id)
    return _Asked(query, context.owner_id, turn, frozenset(map(target_key, refs)))


class _Telling(SourceOf):
    """A source that answers with what it was asked for and by whom, after a moment for others to come."""

    def __init__(self, name: str) -> None:
        super().__init__(name, ScriptedProvider(key=name))
        self.calls: list[_Asked] = []

    async def retrieve(self, query: Any, refs: References, context: RetrievalContext, /) -> list[dict[str, Any]]:
        """One record of each reference, with the owner in it."""
        self.calls.append(_asked(query, refs, context))
        await asyncio.sleep(_MOMENT_SECONDS)
        return [
            {"id": f"{each.id}", "content": _told(self.name, each, query, context.owner_id), "source_id": each.id}
            for each in refs
        ]


def _told(name: str, each: ExternalKnowledgeRef, query: str, owner: str) -> str:
    return f"{name} {each.id}: {query}, for {owner}"


# Clause 10.4
@check("KP-1067", clause="10.4", level=Level.MUST)
async def a_source_is_asked_for_its_own(subject: MergingSubject) -> None:
    """Each source is asked with the caller's query and owner, and with those references alone that are to it.

    Whole sources, folders, documents and all that is accessible: a part that is asked for as the whole shows what
    nobody bound. Two tasks ask at the same time, with other bindings and owners: neither's reach the other. What is
    bound to a task belongs to it. The host's own search gets the same query and context.
    """
    sources, own = [_Telling("wiki"), _Telling("tickets")], list[_Asked]()

    async def built_in(query: str, context: RetrievalContext) -> list[Any]:
        own.append(_asked(query, (), context))
        return []

    merging = await subject.over(sources, built_in)
    tasks = _tasks()
    await asyncio.gather(*(merging.ask(refs, query, _context(owner)) for query, refs, owner in tasks))
    asked = {source.name: source.calls for source in sources} | {_OWN: own}
    for name, calls in asked.items():
        wanted = [_asked(query, _of(name, refs), _context(owner)) for query, refs, owner in tasks]
        for call in calls:
            _require_own(name, call, wanted)
        if len(calls) < len(tasks):
            raise Violation(
                wanted=f"{name} to be asked by both tasks",
                saw=f"{len(calls)} calls of it",
                hint="ask each source that the task's references name, in whatever mode",
            )
        subject.observe(len(tasks))


def _context(owner: str) -> RetrievalContext:
    return new_context(owner_id=owner, **{f"{name}_id": f"{name}-of-{owner}" for name in ("session", "turn", "trace")})


def _tasks() -> list[tuple[str, References, str]]:
    folder = ref("wiki", "w2", target_type="folder", node_id="f1")
    document = ref("tickets", "t2", target_type="document", document_id="d1")
    return [
        (QUERY, (ref("wiki", "w1"), ref("tickets", "t1"), folder), "alice"),
        ("parental leave, " * 20 + "and who decides", (document, _everything("wiki")), "bob"),
    ]


def _everything(name: str) -> ExternalKnowledgeRef:
    return ExternalKnowledgeRef(provider=name, mode="all_accessible")


def _of(name: str, refs: References) -> References:
    return tuple(each for each in refs if each.provider == name)


def _require_own(name: str, call: _Asked, wanted: list[_Asked]) -> None:
    of_query = next((each for each in wanted if each.query == call.query), None)
    if of_query is None or call not in wanted:
        what, saw = next(_strange(call, of_query))
        raise Violation(
            wanted=f"{name} to get {what} of its caller, as they are, and nothing of another source",
            saw=show(saw),
            hint="group the references by their provider in local variables; hand the context on with an own signal",
        )


def _strange(call: _Asked, wanted: _Asked | None) -> Iterator[tuple[str, object]]:
    """What of a call is not its caller's, and what came, the worst first."""
    if wanted is None:
        yield "the query", call.query
        return
    if call.owner != wanted.owner:
        yield "the owner", call.owner
    if call.keys != wanted.keys:
        yield "the references", sorted(call.keys)
    yield "the ids of session, turn and trace", list(call.turn)


# Clause 4.3
@check("KP-1068", clause="4.3", level=Level.MUST)
async def nothing_is_shared_between_tasks(subject: MergingSubject) -> None:
    """The same question of another owner, or with other bindings, gets an answer of its own.

    What remembers answers by the question, or lets calls share one that is under way, shows one task
    what another may see.
    """
    tasks: list[tuple[References, str]] = [
        ((ref("wiki", "w1"),), "alice"),
        ((ref("wiki", "w1"),), "bob"),
        ((ref("wiki", "w2"),), "alice"),
    ]
    merging = await subject.over([_Telling("wiki")])
    one_by_one = [await merging.answer(refs, QUERY, new_context(owner_id=owner)) for refs, owner in tasks]
    # One that remembers nothing yet.
    merging = await subject.over([_Telling("wiki")])
    asked = (merging.answer(refs, QUERY, new_context(owner_id=owner)) for refs, owner in tasks)
    for (refs, owner), merged in zip([*tasks, *tasks], [*one_by_one, *await asyncio.gather(*asked)], strict=True):
        if merged.contents() != [_told("wiki", each, QUERY, owner) for each in refs]:
            raise Violation(
                wanted=f"the answer for {owner}, from {show_refs(refs)}",
                saw="a record of another task" if merged.contents() else merged.came,
                hint="remember and share no answer, or only by the owner, the query and the references",
                where=merged.shown,
            )
        subject.observe()


CHECKS: Final[tuple[Check, ...]] = (
    a_cancelled_call_asks_nobody,
    no_owner_is_refused,
    a_source_is_asked_for_its_own,
    nothing_is_shared_between_tasks,
)
