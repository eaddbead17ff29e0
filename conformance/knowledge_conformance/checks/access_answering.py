"""What comes out where a rule fails, withholds or is cancelled; knows errors and what is hidden, no label's meaning.

What is hidden has words of its own, which are looked for in everything that comes out.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from itertools import product
from typing import Any, Final

from knowledge_conformance.access_subject import ANSWER_SECONDS, AccessSubject, new_context
from knowledge_conformance.calls import Raised
from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.access_asking import BOBS, MINE, rows_of
from knowledge_conformance.checks.access_rows import (
    ALICE,
    REQUEST,
    index,
    row,
)
from knowledge_conformance.exchange import Exchange
from knowledge_conformance.render import show
from knowledge_conformance.telling import Told, differences, told_by
from knowledge_fakes.scripted import HeldProvider, ScriptedProvider, returning
from knowledge_provider import errors
from knowledge_provider.errors import error_code

_SLACK: Final = 1.0
# Often enough that what differs by chance, as a call's time does, has differed between two searches that are the same.
_RUNS: Final = 3
_VISIBLE: Final = (row("mine", dict(MINE)), row("public", {"visibility": "public"}))
_HIDDEN: Final = tuple(
    {
        **row(f"hiddenid{place}", {"user_id": "hiddenuser", "tenant_id": "hiddentenant", "note": "hiddennote"}),
        "content": "hiddencontent",
        "source": {"id": "hiddensource", "title": "hiddentitle", "locator": "hiddenplace"},
    }
    for place in range(3)
)


# Clause 5.10
@check("KP-1118", clause="5.10", level=Level.MUST, needs=("KP-1121",))
async def a_failure_is_no_empty_answer(subject: AccessSubject) -> None:
    """What the provider raises comes out as an error of its code, and an answer that cannot be read is one, too.

    An empty answer says that there is nothing for this reader. Nobody knows that when the back end is down.
    """
    for error in (
        errors.KnowledgeUnauthorizedError("no"),
        errors.KnowledgeRateLimitedError("later"),
        errors.KnowledgeFiltersUnsupportedError("none"),
        ConnectionError("down"),
    ):
        await _require_failure(subject, ScriptedProvider([error]), f"raises {type(error).__name__}", error)
    for answer in (None, "nothing", {"error": "down"}, [None, 3]):
        await _require_failure(subject, ScriptedProvider([returning(answer)]), f"answers {show(answer)}")
    # The second question fails, and nothing has been found by then.
    others = ScriptedProvider([index(rows_of([BOBS] * 8)), ConnectionError("down")])
    async with subject.scoped(others, ALICE) as scoped:
        exchange = await scoped.ask(REQUEST.model_copy(update={"top_k": 2}))
    if exchange.error is None and len(others.calls) > 1:
        raise _no_failure("fails when it is asked for more, with nothing found by then", exchange)
    failed = {"key": "wiki", "status": "failed", "reason": "timeout"}
    others = ScriptedProvider([index(rows_of([BOBS] * 8)), {"results": rows_of([BOBS]), "sources": [failed]}])
    async with subject.scoped(others, ALICE) as scoped:
        exchange = await scoped.ask(REQUEST.model_copy(update={"top_k": 2}))
    if exchange.error is None and len(others.calls) > 1:
        raise _no_failure("reports a source that failed when it is asked for more, with nothing to show", exchange)
    subject.observe()


async def _require_failure(
    subject: AccessSubject, provider: ScriptedProvider, does: str, error: BaseException | None = None
) -> None:
    async with subject.scoped(provider, ALICE) as scoped:
        exchange = await scoped.ask(REQUEST)
    if exchange.error is None:
        raise _no_failure(does, exchange)
    code = None if error is None else error_code(error)
    if code is not None and error_code(exchange.error) != code:
        raise Violation(
            wanted=f"an error with the code {code}, as the provider's",
            saw=exchange.came,
            hint="let the provider's own error through, since a host reads its code",
        )
    subject.observe()


def _no_failure(does: str, exchange: Exchange) -> Violation:
    return Violation(
        wanted=f"an error where the provider {does}",
        saw=exchange.came,
        hint="let what the provider raises through, and raise where its answer is no list of results",
    )


# Clause 11.2
@check("KP-1119", clause="11.2", level=Level.MUST, needs=("KP-1121",))
async def nothing_tells_of_what_is_hidden(subject: AccessSubject) -> None:
    """Nothing of a withheld result comes out: no text, no label, no count, neither in an answer nor in an error.

    How many contracts somebody else has is theirs to know, too. The same search is made over what the reader may see
    alone, and with more beside it that is withheld: what comes out must be the same but for what each call has of its
    own, as its time. Reports of sources count what was found for everybody.
    """
    for visible, failing in product((_VISIBLE, ()), (False, True)):
        pairs = [(_answer(visible, failing=failing), _answer(visible, *_HIDDEN, failing=failing)) for _ in range(_RUNS)]
        told = [[await _told(subject, answer) for answer in pair] for pair in pairs]
        alone, beside = ([each[at] for each in told] for at in range(2))
        raised = alone[0].raised or beside[0].raised
        instead = next(_named(beside), None) or next(differences(alone, beside), None)
        if instead is not None:
            raise Violation(
                wanted=f"the same with {len(_HIDDEN)} results that are withheld as without them",
                saw=f"{instead} in {'what was raised' if raised else 'the answer'}",
                hint="make the answer of what is shown alone; drop the reports of sources, or what they counted",
            )
        subject.observe()


def _answer(*rows: object, failing: bool) -> Callable[..., dict[str, Any]]:
    """What a provider over one source says, which reports as a composite does; where it is ``failing``, of another."""
    found = [row for each in rows for row in (each if isinstance(each, tuple) else (each,))]
    reports = [{"key": "contracts", "status": "hit" if found else "no_hit", "count": len(found)}]
    failed = [{"key": "wiki", "status": "failed", "reason": "timeout", "count": 0}] if failing else []
    return lambda *_: deepcopy({"results": found, "sources": [*reports, *failed]})


async def _told(subject: AccessSubject, answer: Callable[..., object]) -> Told:
    async with subject.scoped(ScriptedProvider([answer]), ALICE) as scoped:
        return told_by(await scoped.ask(REQUEST))


def _named(told: Iterable[Told]) -> Iterator[str]:
    return (show(text) for each in told for text in each.texts() if "hidden" in text)


# Clause 7.1
@check("KP-1120", clause="7.1", level=Level.MUST, needs=("KP-1121",))
async def cancelling_reaches_the_provider(subject: AccessSubject) -> None:
    """Cancelled while the provider works, a search ends as cancelled, and the provider's own call is cancelled.

    Otherwise the back end works on for somebody who has gone.
    """
    with HeldProvider() as held:
        async with subject.scoped(held, ALICE) as scoped:
            search = await scoped.start(REQUEST, new_context("alice"))
            await _happens(subject, held, search)
            search.cancel()
            await asyncio.wait({search}, timeout=_SLACK)
            ended = search.done() and (search.cancelled() or _raised_cancellation(search.result()))
            reached = held.cancelled.is_set() or held.told.is_set()
    if not (ended and reached):
        raise Violation(
            wanted="the search to end as cancelled, and the provider to be told",
            saw="the provider was not told" if ended else "it did not end as cancelled",
            hint="await the provider in the caller's own task, or cancel its task when yours is",
        )
    subject.observe()
    await _signalled(subject)


async def _signalled(subject: AccessSubject) -> None:
    """Cancel the caller's signal alone, as for a synchronous provider."""
    with HeldProvider() as held:
        async with subject.scoped(held, ALICE) as scoped:
            context = new_context("alice")
            search = await scoped.start(REQUEST, context)
            await _happens(subject, held, search)
            context.signal.cancel("the caller has gone")
            told = asyncio.ensure_future(held.told.wait())
            await asyncio.wait({told, search}, timeout=_SLACK)
            reached = held.told.is_set() or held.cancelled.is_set()
            for task in (told, search):
                task.cancel()
            await asyncio.wait({told, search}, timeout=_SLACK)
    if not reached:
        raise Violation(
            wanted="the provider's signal cancelled where the caller's signal is cancelled",
            saw="the provider was not told",
            hint="hand context.signal on, or cancel yours when it is cancelled: context.signal.add_callback(…)",
        )
    subject.observe()


async def _happens(subject: AccessSubject, held: HeldProvider, search: "asyncio.Task[Any]") -> None:
    started = asyncio.ensure_future(held.started.wait())
    await asyncio.wait({started, search}, timeout=ANSWER_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    started.cancel()
    if not held.started.is_set():
        raise Violation(
            wanted="the provider to be asked",
            saw="no call of it",
            hint="ask it, and filter what it answers",
            where=subject.shown,
        )


def _raised_cancellation(value: object) -> bool:
    return type(value) is Raised and isinstance(value.error, asyncio.CancelledError)


CHECKS: Final[tuple[Check, ...]] = (
    a_failure_is_no_empty_answer,
    nothing_tells_of_what_is_hidden,
    cancelling_reaches_the_provider,
)
"""Those of what comes out; what is needed of them runs first."""
