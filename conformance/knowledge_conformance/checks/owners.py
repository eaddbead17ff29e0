"""Section 4 of the contract: one owner's content reaches no other. Knows owners; judges no answer's quality.

Each check sees in the same run that every owner gets its own: a provider that answers nobody keeps every secret.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import permutations
from math import factorial
from random import Random
from typing import Any, Final

from knowledge_conformance.check import Check, Facet, Inconclusive, Level, Phase, Violation, calls_where, check
from knowledge_conformance.exchange import Exchange
from knowledge_conformance.interleaving import interleaved
from knowledge_conformance.narrowing import PLAIN, Narrowing, narrowings_of, ways_of
from knowledge_conformance.ownership import (
    OWNERS_MAX,
    Owner,
    Secret,
    crossed,
    ids_of,
    owners_of,
    pair_of,
    reached,
    require_own,
    secret_of,
)
from knowledge_conformance.render import show
from knowledge_conformance.settings import Settings
from knowledge_conformance.subject import Subject
from knowledge_provider import RetrievalContext, RetrievalRequest, limits

_ROUNDS: Final = 3
_AT_ONCE: Final = 4
_NARROWED_PAIRS: Final = 2
_BLANK: Final = ("", " \t")
_ONE_PLACE: Final = "select by context.owner_id in the back end's own query, before anything else is looked at"


async def _answer(subject: Subject, owner: Owner, query: str, **ids: str) -> Exchange:
    return await subject.retrieve(PLAIN.asking(query), subject.context(owner_id=owner.name, **ids))


async def own_answer(subject: Subject, owner: Owner) -> Exchange:
    """The answer that an owner gets to its query; raises ``Inconclusive`` when something that it sees is missing."""
    exchange = await _answer(subject, owner, owner.query)
    require_own(owner, exchange)
    return exchange


async def secrets_of(subject: Subject, owners: Sequence[Owner]) -> dict[str, Secret]:
    """What each owner must not get, after each got its own."""
    answers = [await own_answer(subject, owner) for owner in owners]
    return {owner.name: secret_of(owner, answers) for owner in owners}


async def require_served(subject: Subject, asker: Owner, victim: Owner) -> None:
    """The control of what ``asker`` did not get: the same query alone, by both, after all that was tried.

    Raises ``Inconclusive`` when one of them is not answered any more, or ``victim`` does not get its own.
    """
    for owner in dict.fromkeys((asker, victim)):
        exchange = await subject.attempt(PLAIN.asking(victim.query), subject.context(owner_id=owner.name))
        if exchange.error is not None:
            raise Inconclusive(
                f"the owner {show(owner.name)}, who asks {show(victim.query)} and nothing else, got no answer at the "
                f"end: {exchange.came}",
                hint="what fails for everybody says nothing about owners; see what KP-302 and KP-706 say of failures",
            )
    require_own(victim, exchange)


# Clause 4.2
@check(
    "KP-401",
    clause="4.2",
    level=Level.MUST,
    facet=Facet.OWNERS,
    needs=("KP-301",),
    calls=calls_where("owners", 2 * OWNERS_MAX),
    minimum=2,
    surveyed=True,
)
async def owners_are_kept_apart(subject: Subject) -> None:
    """Each owner gets its own documents, and nothing that only another sees.

    The settings say what that is: ids under never, and those under sees that are not under sees of the one who asks.
    """
    owners = owners_of(subject.settings)
    own = [await _answer(subject, owner, owner.query) for owner in owners]
    # Never asked before, so that no cache answers; at what was asked before KP-404 looks.
    both = [await _answer(subject, owner, f"{other.query} {owner.query}") for owner, other in _around(owners)]
    secrets = {owner.name: secret_of(owner, own) for owner in owners}
    for exchange in (*own, *both):
        found = reached(exchange, secrets[exchange.context.owner_id])
        if found is not None:
            raise crossed(exchange, found, wanted="only what the owner who asks may see", hint=_ONE_PLACE)
        subject.observe()
    for owner, exchange in zip(owners, own, strict=True):
        require_own(owner, exchange)


def _around(owners: Sequence[Owner]) -> list[tuple[Owner, Owner]]:
    """Each with the next one, and the last with the first."""
    return list(zip(owners, (*owners[1:], owners[0]), strict=True))


def _with_narrowed(calls: Callable[[Settings], int], each: int) -> Callable[[Settings], int]:
    """``calls`` of a check that also makes ``each`` for each way in which the settings narrow a request."""
    return lambda settings: calls(settings) and calls(settings) + each * ways_of(settings)


# Clause 4.3
@check(
    "KP-404",
    clause="4.3",
    level=Level.MUST,
    facet=Facet.OWNERS,
    needs=("KP-401",),
    calls=_with_narrowed(calls_where("owners", 4 * OWNERS_MAX + 2), 2 * _NARROWED_PAIRS),
    surveyed=True,
)
async def no_cache_crosses_owners(subject: Subject) -> None:
    """What one owner was answered is not handed to another who asks the same afterwards.

    A cache, a session or a turn that is kept without its owner gives the first one's documents to the second. Asked
    with the same session and turn, with others, and then by the first one again; where the settings have knowledge
    bases or filters, with those, too.
    """
    owners = owners_of(subject.settings)
    firsts: dict[str, Exchange] = {}
    for holder, other in _around(owners):
        first = firsts[holder.name] = await own_answer(subject, holder)
        secret = secret_of(other, [first])
        for ids in (dict[str, str](), {"session_id": "another-session", "turn_id": "another-turn"}):
            exchange = await _answer(subject, other, holder.query, **ids)
            _refuse_cached(exchange, reached(exchange, secret))
        again = await _answer(subject, holder, holder.query)
        if holder.sees and not holder.sees & {*ids_of(again)}:
            await _require_repeatable(subject, holder)
            _refuse_cached(again, "the answer to another owner, without what this one got before")
        subject.observe()
    telling = [(holder, other) for holder, other in _around(owners) if holder.sees & other.foreign]
    for holder, other in telling[:_NARROWED_PAIRS]:
        for narrowing in narrowings_of(subject.settings, holder, firsts[holder.name]):
            await _refuse_narrowed(subject, narrowing, holder, secret_of(other, [firsts[holder.name]]), other)


async def _require_repeatable(subject: Subject, holder: Owner) -> None:
    """Raise ``Inconclusive`` where nobody else has to ask in between for an owner to lose its own."""
    request = RetrievalRequest(query=PLAIN.asking(holder.query).query, top_k=limits.TOP_K_MAX - 1)
    for _ in range(2):
        exchange = await subject.attempt(request, subject.context(owner_id=holder.name))
        if holder.sees.isdisjoint(ids_of(exchange)):
            raise Inconclusive(
                f"the owner {show(holder.name)}, who asks the same twice, does not get its own again: {exchange.came}",
                hint="what changes without another owner says nothing about owners; see what KP-314 says of it",
            )


async def _refuse_narrowed(subject: Subject, narrowing: Narrowing, holder: Owner, secret: Secret, other: Owner) -> None:
    """Ask as ``other`` what ``holder`` was answered within bases or filters.

    A cache may be reached by such requests alone. Where they do not find the holder's own, nothing can be handed over.
    """
    if holder.sees <= {*ids_of(await _ask_as(subject, holder, holder.query, narrowing))}:
        exchange = await _ask_as(subject, other, holder.query, narrowing)
        _refuse_cached(exchange, None if exchange.error is not None else reached(exchange, secret))


def _refuse_cached(exchange: Exchange, found: str | None) -> None:
    if found is not None:
        raise crossed(
            exchange,
            found,
            wanted="an answer of the owner's own, whoever asked the same before",
            hint="make owner_id a part of the key of every cache, and of every session",
        )


# Clause 4.3
@check(
    "KP-405",
    clause="4.3",
    level=Level.MUST,
    facet=Facet.OWNERS,
    needs=("KP-404",),
    calls=_with_narrowed(
        calls_where(
            "owners",
            OWNERS_MAX + _AT_ONCE * _ROUNDS + 2,
            thorough=OWNERS_MAX + _AT_ONCE * factorial(_AT_ONCE) + 2,
        ),
        _AT_ONCE,
    ),
    surveyed=True,
    phase=Phase.INTERLEAVINGS,
)
async def owners_do_not_meet(subject: Subject) -> None:
    """Two owners who ask at the same time get nothing of each other's, however their calls interleave.

    The owner that a call keeps on the provider, or on a thread, is the last caller's. The calls are started in
    several orders, and each await takes some turns of the event loop more, by a plan that is the same each time. A
    thorough run starts them in every order. Once more they are started with each of the knowledge bases and the filters
    that the settings have.
    """
    asker, victim = pair_of(owners_of(subject.settings))
    own = {owner.name: await own_answer(subject, owner) for owner in (asker, victim)}
    secrets = {owner.name: secret_of(owner, own.values()) for owner in (asker, victim)}
    calls = [(owner, query) for owner in (asker, victim) for query in (victim.query, asker.query)]
    met = False
    for number, order in enumerate(_orders(subject)):
        with interleaved(subject, subject.settings.seed + number):
            together = await asyncio.gather(*(_ask_as(subject, *calls[at]) for at in order))
        _refuse_meeting(together, secrets)
        met = met or _have_met(together, asker, victim)
    # Who has something there first: of a call that is shared the others get that one's answer.
    holders_first = sorted(calls, key=lambda call: call[0].query != call[1])
    for narrowing in narrowings_of(subject.settings, victim, own[victim.name]):
        with interleaved(subject, subject.settings.seed):
            together = await asyncio.gather(*(_ask_as(subject, *each, narrowing) for each in holders_first))
        _refuse_meeting(together, secrets)
    if not met:
        raise Inconclusive(
            "two owners who asked the same at once were never both answered, its holder with what it sees",
            hint="see what KP-706 says of it",
        )
    await require_served(subject, asker, victim)
    # Once: how many a provider turns away may be another number each time, and a report must not.
    subject.observe()


def _orders(subject: Subject) -> Iterable[Sequence[int]]:
    if subject.settings.thorough:
        return permutations(range(_AT_ONCE))
    drawn = Random(subject.settings.seed)  # noqa: S311 - an order, no secret
    return [range(_AT_ONCE), *(drawn.sample(range(_AT_ONCE), _AT_ONCE) for _ in range(_ROUNDS - 1))]


def _have_met(together: Sequence[Exchange], asker: Owner, victim: Owner) -> bool:
    """Whether both were answered to what finds the victim's, and the victim got it: else nothing could be mixed up."""
    answers = [
        each for each in together if each.error is None and each.request.query == PLAIN.asking(victim.query).query
    ]
    got = {each.context.owner_id: {*ids_of(each)} for each in answers}
    return asker.name in got and victim.sees <= got.get(victim.name, set())


async def _ask_as(subject: Subject, owner: Owner, query: str, narrowing: Narrowing = PLAIN) -> Exchange:
    return await subject.attempt(narrowing.asking(query), subject.context(owner_id=owner.name))


def _refuse_meeting(together: Iterable[Exchange], secrets: Mapping[str, Secret]) -> None:
    for exchange in together:
        found = None if exchange.error is not None else reached(exchange, secrets[exchange.context.owner_id])
        if found is not None:
            raise crossed(
                exchange,
                found,
                wanted="nothing of another owner's who asks at the same time",
                hint="pass the owner from call to call in local variables; share no call that runs between owners",
            )


# Clause 4.4
@check(
    "KP-406",
    clause="4.4",
    level=Level.MUST,
    facet=Facet.OWNERS,
    needs=("KP-401",),
    calls=calls_where("owners", 2 + len(_BLANK)),
    minimum=len(_BLANK),
    surveyed=True,
    phase=Phase.BOUNDARIES,
)
async def a_blank_owner_is_refused(subject: Subject) -> None:
    """A blank owner is refused with an exception, and not answered as if it were nobody's or everybody's.

    RetrievalContext refuses one, but a host may make a context past its validation, or hand over an object of its own;
    a filter on a blank owner then selects all documents, or those of everyone who has none.
    """
    owner = owners_of(subject.settings)[0]
    await own_answer(subject, owner)
    for blank in _BLANK:
        context = RetrievalContext.model_construct(**{**_fields(subject.context()), "owner_id": blank})
        exchange = await subject.attempt(PLAIN.asking(owner.query), context)
        if exchange.error is None:
            raise Violation(
                wanted=f"an exception for the owner {show(blank)}",
                saw=exchange.size,
                hint="raise KnowledgeOwnerRequiredError where is_blank(context.owner_id), both of knowledge_provider",
            )
        subject.observe()
    await require_served(subject, owner, owner)


def _fields(context: RetrievalContext) -> dict[str, Any]:
    return {name: getattr(context, name) for name in type(context).model_fields}


CHECKS: Final[tuple[Check, ...]] = (
    owners_are_kept_apart,
    no_cache_crosses_owners,
    owners_do_not_meet,
    a_blank_owner_is_refused,
)
