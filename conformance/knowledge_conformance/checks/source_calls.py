"""Clauses 2.4, 3.6 and 7 for sources, call by call: again, on another loop, cut short, and beside others.

Knows tasks, loops and time; judges no record's words.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import cycle, islice
from typing import Any, Final

from knowledge_conformance.calls import Ending, cancelled_by_the_host
from knowledge_conformance.check import Check, Inapplicable, Inconclusive, Level, Phase, Violation, check
from knowledge_conformance.checks.holding import let_go
from knowledge_conformance.checks.loops import (
    ALONE,
    AT_ONCE,
    Came,
    all_answered,
    at_once,
    loop_calls,
    refuse_unanswered,
)
from knowledge_conformance.checks.source_timing import require_cancelled
from knowledge_conformance.exchange import text_of
from knowledge_conformance.interrupting import LEFT_SECONDS, NEVER_WAITS
from knowledge_conformance.leftovers import cleared, named_task
from knowledge_conformance.plain import Plain, plain
from knowledge_conformance.ranking import difference, ranked
from knowledge_conformance.source_subject import References, SourceExchange, SourceSubject, show_asked, show_refs
from knowledge_provider import limits

_AGAIN: Final = 3
_ATTEMPTS: Final = 3
_TURNS: Final = (1, 2, 4)
"""Turns of the event loop after which a call is cancelled."""
_PAGES: Final = 4


# Clause 3.6
@check("KP-1037", clause="3.6", level=Level.SHOULD, needs=("KP-1004",), calls=_AGAIN + 1, surveyed=True)
async def the_same_again(subject: SourceSubject) -> None:
    """The same question for the same references gives the same ids in the same order.

    Of equal score may swap what has one. "The second one" is another document otherwise, and an id that was cited
    yesterday is nobody's today.
    """
    found = await subject.found()
    # The first once more: an order that turns with each call is not always turned.
    for before in (found[0], *found[:_AGAIN]):
        after = await subject.retrieve(before.request.query, before.refs)
        changed = difference(ranked(before), ranked(after), cut=True)
        if changed is not None:
            raise Violation(
                wanted="the same ids in the same order, asked again",
                saw=changed,
                hint="sort by score and then by id; derive ids from the document, not from a counter or the time",
                where=str(after),
            )
        subject.observe()


async def _on_another(subject: SourceSubject) -> None:
    known = (await subject.found())[-1]
    refuse_unanswered(await at_once([subject.attempt(known.request.query, known.refs)]), *ALONE)
    # As in KP-208: what turned calls away on the first loop says nothing on this one.
    if subject.met:
        refuse_unanswered(await _several(subject), *AT_ONCE)
    subject.observe()


async def _several(subject: SourceSubject) -> list[Came]:
    known = islice(cycle(await subject.found()), subject.settings.concurrency)
    return await at_once(subject.attempt(each.request.query, each.refs) for each in known)


# Clause 2.4
@check(
    "KP-1038", clause="2.4", level=Level.SHOULD, needs=("KP-1004",), calls=loop_calls, surveyed=True, later=_on_another
)
async def works_on_a_second_loop(subject: SourceSubject) -> None:
    """A source works on a second event loop, after the first has ended.

    Tests, command lines and workers call asyncio.run again and again. A client that keeps to the first loop raises
    "attached to a different loop", or waits for ever, when a host starts over. On both loops a call is made alone and
    several at once, since a lock of asyncio keeps to the loop on which a call first had to wait for it.
    """
    known = (await subject.found())[0]
    # The control: the same source answers on its first loop.
    exchange = await subject.retrieve(known.request.query, known.refs)
    # What answers from a thread waits on no loop.
    if exchange.awaited:
        subject.met = all_answered(await _several(subject))


# Clause 7.4
@check(
    "KP-1049",
    clause="7.4",
    level=Level.MUST,
    needs=("KP-1004",),
    calls=1 + 2 * _ATTEMPTS,
    surveyed=True,
    phase=Phase.INTERLEAVINGS,
)
async def the_loop_keeps_running(subject: SourceSubject) -> None:
    """After a first call, neither retrieve nor list_documents holds the event loop for more than 250 ms at a time.

    The host's other work stands still for as long, and every other source's. The usual cause is a synchronous client
    inside an async def; a plain method is called in a thread.
    """
    query, refs = (await subject.found())[0].request.query, subject.references()
    await subject.attempt(query, refs)
    fresh = [partial(_answered, subject, f"{query} {at}", refs) for at in range(_ATTEMPTS)]
    answered = [await let_go(subject, fresh)]
    if subject.can_list:
        answered.append(await let_go(subject, [partial(_listed, subject, refs)] * _ATTEMPTS))
    if not any(answered):
        raise Inconclusive("no call was answered, and one that raises at once holds nothing", hint="see KP-1013")


async def _answered(subject: SourceSubject, query: str, refs: References) -> bool:
    return (await subject.attempt(query, refs)).error is None


async def _listed(subject: SourceSubject, refs: References) -> bool:
    return (await subject.list(refs, 100, 0)).error is None


# Clause 7.2
@check(
    "KP-1032",
    clause="7.2",
    level=Level.MUST,
    needs=("KP-1021",),
    calls=2 + 2 * len(_TURNS),
    surveyed=True,
    phase=Phase.INTERLEAVINGS,
)
async def nothing_is_left_of_a_cancelled_call(subject: SourceSubject) -> None:
    """A cancelled call leaves no task behind 100 ms after it has ended, and the source still works.

    It is cancelled after one turn of the event loop, after two, and after four. A task that nobody waits for holds a
    connection and spends money. What a source starts once and keeps does not count.
    """
    known = (await subject.found())[0]
    query, refs = known.request.query, subject.references()
    # What a source starts at its first call, and keeps, is there after this.
    await subject.attempt(query, refs)
    for turns in _TURNS:
        # Once more, before it is said: a worker that is started late is kept, and comes once.
        left = await _cut(subject, f"{query} {turns}", refs, turns) and await _cut(
            subject, f"{query} {turns} again", refs, turns
        )
        if left:
            raise Violation(
                wanted=f"no task to be left {LEFT_SECONDS * 1000:g} ms after a cancelled call has ended",
                saw=left[0],
                hint="cancel what a call started when the call is: asyncio.TaskGroup does; asyncio.shield does not",
                where=show_asked(query, refs),
            )
    if not subject.observations:
        raise Inapplicable(NEVER_WAITS)
    exchange = await subject.attempt(query, known.refs)
    if exchange.error is not None or not exchange.count:
        raise Violation(
            wanted="the records that the same question had before other calls were cancelled",
            saw=exchange.came,
            hint="release in finally or async with, and drop a connection whose answer was not read",
            where=str(exchange),
        )


async def _cut(subject: SourceSubject, query: str, refs: References, turns: int) -> list[str]:
    """The tasks, in words, that a call left which was cancelled after so many turns."""
    context = subject.context()
    before = asyncio.all_tasks()
    task = await subject.start(query, refs, context)
    for _ in range(turns):
        await asyncio.sleep(0)
    if task is None or task.done():
        return []
    await cancelled_by_the_host(task, context.signal)
    subject.observe()

    def left() -> list[str]:
        return [named_task(each) for each in asyncio.all_tasks() - before - {asyncio.current_task(), task}]

    return await cleared(left, LEFT_SECONDS)


# Clause 7.1
@check("KP-1036", clause="7.1", level=Level.MUST, needs=("KP-1017",), calls=1, phase=Phase.INTERLEAVINGS)
async def a_cancelled_list_ends(subject: SourceSubject) -> None:
    """Cancelled while it waits, an async list_documents ends within a second and the cancellation comes out.

    Who closes the dialogue in which documents are chosen has gone on. A call that never waits cannot be cancelled, and
    one in a thread is the host's to leave.
    """
    subject.listing()
    refs, context = subject.references(), subject.context()
    shown = f"list_documents({show_refs(refs)}, context, limit=1, offset=0)"
    task = await subject.start_list(refs, 1, 0, context)
    await require_cancelled(task, context.signal, "list_documents", shown)
    subject.observe()


# Clause 7.5
@check(
    "KP-1034",
    clause="7.5",
    level=Level.MUST,
    needs=("KP-1023",),
    calls=4 * limits.CONCURRENCY_DEFAULT,
    surveyed=True,
    phase=Phase.INTERLEAVINGS,
)
async def what_was_validated_stays_with_its_call(subject: SourceSubject) -> None:
    """Two tasks whose references are validated, and then asked for, get each its own answer.

    A host validates before it asks. A source that keeps what it was asked last answers for the task that came last.
    """
    subject.optional("validate_refs")
    different: dict[Plain, SourceExchange] = {}
    for exchange in await subject.found():
        different.setdefault(_references(exchange.refs), exchange)
    asked = list(different.values())[: limits.CONCURRENCY_DEFAULT]
    alone = []
    for each in asked:
        await subject.validate(each.refs)
        alone.append(_ids(await subject.retrieve(each.request.query, each.refs)))
    if len(set(alone)) < 2:
        raise Inapplicable("there are no two calls with different references and different answers")
    for each in asked:
        await subject.validate(each.refs)
    for at, each in enumerate(asked):
        found = await subject.attempt(each.request.query, each.refs)
        if found.error is None and _ids(found) != alone[at] and _ids(found) in alone:
            raise Violation(
                wanted="the answer to these references, as it is where nobody else is validated meanwhile",
                saw="the answer to others, which were validated after them",
                hint="keep nothing of validate_refs on the source: retrieve gets the references that stand",
                where=str(found),
            )
        subject.observe()


def _references(refs: References) -> Plain:
    return plain([show_refs((ref,)) for ref in refs])


def _ids(exchange: SourceExchange) -> Plain:
    return plain([text_of(entry, "id") for _, entry in exchange.entries])


# Clause 7.5
@check(
    "KP-1033",
    clause="7.5",
    level=Level.MUST,
    needs=("KP-1018",),
    calls=1 + 2 * _PAGES,
    phase=Phase.INTERLEAVINGS,
)
async def pages_are_not_mixed_up(subject: SourceSubject) -> None:
    """Pages that are asked for at the same time never get each other's documents.

    What a call of list_documents keeps on the source belongs to the last caller: one user is shown the part of a list,
    or the list, that another one asked for.
    """
    subject.listing()
    refs = subject.references()
    pages: list[Callable[[], Awaitable[Ending]]] = [
        partial(subject.list, refs, 1, offset, subject.context()) for offset in range(_PAGES)
    ]
    alone = [_page(await page()) for page in pages]
    if len(set(alone)) < 2:
        raise Inapplicable("there are no two pages that differ")
    for at, found in enumerate(await asyncio.gather(*(page() for page in pages))):
        if found.error is None and _page(found) != alone[at] and _page(found) in alone:
            raise Violation(
                wanted=f"the document in place {at + 1}, as it is asked for alone",
                saw="the page of another call that was made at the same time",
                hint="keep what belongs to a call in local variables, or in a contextvars.ContextVar",
                where=f"list_documents({show_refs(refs)}, context, limit=1, offset={at})",
            )
        subject.observe()


def _page(ending: Ending) -> Any:
    return plain(ending.value)


CHECKS: Final[tuple[Check, ...]] = (
    the_same_again,
    works_on_a_second_loop,
    the_loop_keeps_running,
    nothing_is_left_of_a_cancelled_call,
    a_cancelled_list_ends,
    what_was_validated_stays_with_its_call,
    pages_are_not_mixed_up,
)
