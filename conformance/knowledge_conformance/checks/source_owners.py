"""Clause 4.3 for sources: one owner's content reaches no other. Knows the owners of the settings; judges no quality."""

import asyncio
from typing import Final

from knowledge_conformance.check import Check, Facet, Level, calls_where, check
from knowledge_conformance.ownership import OWNERS_MAX, Owner, crossed, owners_of, reached, require_own, secret_of
from knowledge_conformance.render import show
from knowledge_conformance.source_subject import SourceExchange, SourceSubject

_COVERED: Final = ", and name under references what they are from: owners are asked for those alone"


# Clause 4.3
@check(
    "KP-1025",
    clause="4.3",
    level=Level.MUST,
    facet=Facet.OWNERS,
    needs=("KP-1004",),
    calls=calls_where("owners", OWNERS_MAX + 2 * OWNERS_MAX**2),
    minimum=2,
)
async def owners_are_kept_apart(subject: SourceSubject) -> None:
    """Each owner gets its own documents, and nothing that only another sees: at the same time, and in turn.

    Who may see a document of another system, the source alone can tell: what it answers is shown. The settings say what
    is whose, as for a provider; each owner asks every other's query, too.
    """
    owners, refs = owners_of(subject.settings), subject.references()

    async def ask(owner: Owner, query: str) -> SourceExchange:
        return await subject.retrieve(query, refs, subject.context(owner_id=owner.name))

    own = [await ask(owner, owner.query) for owner in owners]
    for owner, exchange in zip(owners, own, strict=True):
        require_own(owner, exchange, hint=_COVERED)
    # Each asks what every other asks: at once, so that they meet, and one by one, after who may see it has asked.
    pairs = [(owner, other.query) for other in owners for owner in owners]
    together = await asyncio.gather(*(ask(*pair) for pair in pairs))
    in_turn = [await ask(*pair) for pair in pairs]
    for owner in owners:
        secret = secret_of(owner, own)
        for exchange in (*own, *together, *in_turn):
            if exchange.context.owner_id == owner.name and (found := reached(exchange, secret)):
                raise crossed(
                    exchange,
                    found,
                    wanted=f"nothing that only another owner sees, for the owner {show(owner.name)}",
                    hint="ask the back end as context.owner_id each time, and remember nothing without it",
                )
        subject.observe()


CHECKS: Final[tuple[Check, ...]] = (owners_are_kept_apart,)
