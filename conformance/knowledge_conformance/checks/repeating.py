"""Clause 3.6: the same request gives the same ids in the same order. Knows orders; judges no answer's content."""

from collections.abc import Sequence
from typing import Final

from knowledge_conformance.calls import Raised, in_thread
from knowledge_conformance.check import Blocked, Check, Inapplicable, Level, Violation, check
from knowledge_conformance.confusable import PAIRS_MAX, Confusable, confusable
from knowledge_conformance.elsewhere import ElsewhereError, Question, ask_elsewhere
from knowledge_conformance.exchange import Exchange, show_request
from knowledge_conformance.ranking import Ranked, difference, ranked
from knowledge_conformance.render import show
from knowledge_conformance.subject import Subject
from knowledge_conformance.taping import Taping

_REQUESTS: Final = 3
_SAME: Final = "the same ids in the same order; results of equal score may swap"


async def _asked_before(subject: Subject) -> list[Exchange]:
    """A few answers of the survey, of different queries where it has some, those with most results first.

    An order of one shows nothing, and one query cannot be taken for another.
    """
    found = sorted(await subject.found(), key=lambda exchange: -exchange.count)
    of_each = {exchange.request.query: exchange for exchange in reversed(found)}
    firsts = [exchange for exchange in found if of_each[exchange.request.query] is exchange]
    return [*firsts, *(exchange for exchange in found if exchange not in firsts)][:_REQUESTS]


_FEWER: Final = (
    "answer each call by itself: leave nothing out because an earlier one got it, as a default argument or a set that "
    "is kept between calls does"
)
_OTHER: Final = "sort by score and then by id; derive ids from the document, not from a counter or the time"


def _differs(before: Exchange, after: Ranked) -> str | None:
    return difference(ranked(before), after, cut=before.count >= before.request.top_k)


# Clause 3.6
@check("KP-314", clause="3.6", level=Level.SHOULD, needs=("KP-503",), calls=2 * _REQUESTS, surveyed=True)
async def the_same_again(subject: Subject) -> None:
    """The same request gives the same ids in the same order when it is asked again.

    An answer that changes by itself cannot be tested, cached or cited: "the second one" is another document now.
    """
    for before in await _asked_before(subject):
        # Twice: where each check has a provider of its own, the first time is the first that this one is asked.
        for _ in range(2):
            _refuse_change(before, await subject.attempt(before.request.model_copy(deep=True)))
        subject.observe()


def _refuse_change(before: Exchange, after: Exchange) -> None:
    if after.error is not None:
        raise Violation(
            wanted=_SAME,
            saw=after.came,
            hint="what was answered once is answered again",
            where=show_request(before.request),
        )
    changed = _differs(before, ranked(after))
    if changed is not None:
        raise Violation(wanted=_SAME, saw=changed, hint=_FEWER if after.count < before.count else _OTHER)


async def _confused(subject: Subject, asked: Sequence[Exchange]) -> list[tuple[Confusable, Exchange]]:
    """What the second of each two is answered after the first, as far as that holds still."""
    found: list[tuple[Confusable, Exchange]] = []
    for pair in confusable([*dict.fromkeys(before.request.query for before in asked)]):
        first, second, again = [
            await subject.attempt(request.model_copy(deep=True)) for request in (*pair, pair.second)
        ]
        failed = any(each.error is not None for each in (first, second, again))
        if not failed and _differs(second, ranked(again)) is None:
            found.append((pair, second))
    return found


# Clause 3.6
@check(
    "KP-315",
    clause="3.6",
    level=Level.SHOULD,
    needs=("KP-503",),
    calls=2 * _REQUESTS + 2 + 4 * PAIRS_MAX,
    surveyed=True,
)
async def the_same_in_another_process(subject: Subject) -> None:
    """The same request gives the same ids in the same order in another process.

    After a restart, or from another worker of the same service, an id that was cited must still be that document's.
    Strings hash otherwise in the other process, so what stands in a set, or is named by hash(), shows. The last query
    is asked first there: so does an answer that is kept for one query and given to another. Here one query is asked
    with a small top_k before the largest, and one before another that begins alike; there the second of each two alone.
    """
    if subject.target is None:
        raise Inapplicable("the target has no name by which another process finds it (module:obj), so none was asked")
    asked = await _asked_before(subject)
    for before in asked:
        # Only what holds still here can be compared with what comes there.
        after = await subject.attempt(before.request.model_copy(deep=True))
        if after.error is not None or _differs(before, ranked(after)):
            raise Blocked("KP-314 has to hold first")
    confused = await _confused(subject, asked)
    queries = [*dict.fromkeys(before.request.query for before in asked)]
    last_first = sorted(asked, key=lambda before: -queries.index(before.request.query))
    # Those first that have to be alone, and the plain ones of a provider that was asked nothing else.
    there = await _there(subject, subject.target, [*(second for _, second in confused), *last_first], len(confused))
    alone, plain = there[: len(confused)], there[len(confused) :]
    changed = [
        (ranked(before), after) for before, after in zip(last_first, plain, strict=True) if _differs(before, after)
    ]
    if changed:
        # Which ids, and for which of the requests: with another hash each time, a report could not say the same twice.
        moved = all({name for name, _ in one} == {name for name, _ in two} for one, two in changed)
        raise Violation(
            wanted=f"{_SAME}, in another process, too",
            saw="the same ids in another order" if moved else "other ids",
            hint="sort before you number; derive ids from what a document says or is called, never from hash(); keep "
            "an answer under all that it was asked with",
            where=f"{len(asked)} requests, one of them {show_request(asked[0].request)}",
        )
    _refuse_confused(confused, alone)
    subject.observe(len(there))


def _refuse_confused(confused: Sequence[tuple[Confusable, Exchange]], alone: Sequence[Ranked]) -> None:
    for (pair, second), after in zip(confused, alone, strict=True):
        changed = _differs(second, after)
        if changed is not None:
            raise Violation(
                wanted=f"{_SAME}, whatever was asked before",
                saw=f"{changed} where nothing like it was asked before",
                hint="keep an answer under the whole query, top_k and all else that was asked; cut nothing of the key",
                where=f"{show_request(pair.second)}, after {show_request(pair.first)}",
            )


async def _there(subject: Subject, target: str, asked: list[Exchange], afresh: int) -> list[Ranked]:
    requests = [before.request.model_copy(deep=True) for before in asked]
    settings = subject.settings
    question = Question(target, subject.owner, requests, settings.timeout, Taping.of(settings), afresh)
    # The providers that are made there are closed there, too.
    for _ in range(2):
        subject.count("close() in another process", question.most)
    for request in requests:
        subject.count(f"{show_request(request)} in another process", question.most)
    answers = await in_thread(lambda: ask_elsewhere(question))
    if isinstance(answers, Raised):
        if isinstance(answers.error, ElsewhereError | OSError):
            # What can be open only once is no fault of this clause.
            raise Inapplicable(f"another process could not ask the target: {show(str(answers.error))}")
        raise answers.error
    return list(answers)


CHECKS: Final[tuple[Check, ...]] = (the_same_again, the_same_in_another_process)
