"""Clause 4.2 by requests in which a model says that it is somebody else. Knows such requests; makes no context."""

from functools import partial
from typing import Final

from knowledge_conformance.check import Check, Facet, Inconclusive, Level, Phase, calls_where, check
from knowledge_conformance.checks.owners import require_served, secrets_of
from knowledge_conformance.checks.requests import is_decided
from knowledge_conformance.drawing import look_at_requests
from knowledge_conformance.exchange import Exchange
from knowledge_conformance.impersonating import (
    OWNER_KEYS,
    all_keys,
    cast_of,
    each_key,
    generated,
    impersonations,
    names_nobody,
)
from knowledge_conformance.ownership import Owner, Secret, crossed, owners_of, pair_of, reached
from knowledge_conformance.subject import Subject
from knowledge_provider import RetrievalRequest

_OWNERS: Final = 2
_IMPERSONATIONS_MAX: Final = 26
_GENERATED_MAX: Final = 12
_GENERATED_THOROUGH: Final = 100
_SHRINK_CALLS: Final = 12


# Clause 4.2
@check(
    "KP-402",
    clause="4.2",
    level=Level.MUST,
    facet=Facet.OWNERS,
    needs=("KP-404",),
    calls=calls_where("owners", 2 * _OWNERS + _IMPERSONATIONS_MAX + len(OWNER_KEYS)),
    surveyed=True,
    phase=Phase.BOUNDARIES,
)
async def a_request_names_no_owner(subject: Subject) -> None:
    """Nothing in a request reaches another owner's content: no look-alike key, query or base id.

    The model writes the request, and whoever writes a document that it reads can make it write another. The same
    owner with the same query gets nothing of the other's without the key, and the other gets it in the same run. A
    call that fails reaches nothing, and counts for nothing. Where all names for an owner at once are refused, and in a
    thorough run, each is tried alone: one of them may be known.
    """
    owners = owners_of(subject.settings)
    asker, victim = pair_of(owners)
    secret = (await secrets_of(subject, (asker, victim)))[asker.name]
    cast = cast_of(asker, victim, subject.settings)
    said = impersonations(cast)
    answered = [request for request in said if await _is_answered(subject, request, asker, secret)]
    if subject.settings.thorough or all_keys(cast) not in answered:
        for request in each_key(cast):
            if request not in said:
                await _is_answered(subject, request, asker, secret)
    _refuse_unseen(subject)
    await require_served(subject, asker, victim)


async def _is_answered(subject: Subject, request: RetrievalRequest, asker: Owner, secret: Secret) -> bool:
    """Whether a request is answered, and not refused; raises ``Violation`` where it reaches what is another's."""
    exchange = await subject.attempt(request, subject.context(owner_id=asker.name))
    _refuse_reach(exchange, secret)
    subject.observe(exchange.error is None)
    return exchange.error is None


def _refuse_unseen(subject: Subject) -> None:
    if not subject.observations:
        raise Inconclusive(
            "every request that names another owner failed, so what an answer would hold was not seen",
            hint="answer what is a valid request (clause 3.2), and take no notice of the owner that it names",
        )


def _refuse_reach(exchange: Exchange, secret: Secret) -> None:
    found = None if exchange.error is not None else reached(exchange, secret)
    if found is not None:
        raise crossed(
            exchange,
            found,
            wanted="nothing of another owner's, whatever the request says: without that, none came",
            hint="take the owner from context.owner_id only; refuse filters and bases that you do not know; "
            "pass values to the back end as data, never as a part of its query",
        )


# Clause 4.2
@check(
    "KP-403",
    clause="4.2",
    level=Level.MUST,
    facet=Facet.OWNERS,
    needs=("KP-402",),
    calls=calls_where(
        "owners",
        2 * _OWNERS + _GENERATED_MAX + _SHRINK_CALLS,
        thorough=2 * _OWNERS + _GENERATED_THOROUGH + _SHRINK_CALLS,
    ),
    surveyed=True,
    replays=True,
)
async def no_generated_request_names_an_owner(subject: Subject) -> None:
    """Generated requests reach no other owner's content either: look-alike keys at any depth, names anywhere.

    KP-402 asks what was reported from the field, and this what nobody has thought of. A failing request is made as
    small as possible before it is shown, unless it is a known failure.
    """
    owners = owners_of(subject.settings)
    asker, victim = pair_of(owners)
    secret = (await secrets_of(subject, (asker, victim)))[asker.name]
    cast = cast_of(asker, victim, subject.settings)

    async def ask(request: RetrievalRequest) -> None:
        exchange = await subject.attempt(request, subject.context(owner_id=asker.name))
        _refuse_reach(exchange, secret)
        subject.observe(is_decided(exchange) and not names_nobody(request, cast))

    # Here, not at the top: Hypothesis takes longer to load than everything else.
    from knowledge_conformance.generate import each_drawn

    settings = subject.settings
    strategy = generated(cast)
    examples = min(settings.examples, _GENERATED_THOROUGH if settings.thorough else _GENERATED_MAX)
    draw = partial(each_drawn, strategy, examples=examples, seed=settings.seed)
    await look_at_requests("KP-403", settings, draw, ask)
    _refuse_unseen(subject)
    await require_served(subject, asker, victim)


CHECKS: Final[tuple[Check, ...]] = (a_request_names_no_owner, no_generated_request_names_an_owner)
