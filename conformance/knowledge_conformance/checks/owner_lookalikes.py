"""Clause 4.3: who is another owner, and only looks like one by the id. Knows owners and ids, no cache.

The clause does not say how ids are compared, and some systems mean one account by "Ann" and "ann": so it is advice.
"""

from typing import Final

from knowledge_conformance.check import Check, Facet, Inconclusive, Level, calls_where, check
from knowledge_conformance.checks.owners import own_answer, require_served
from knowledge_conformance.lookalikes import LOOKALIKES_MAX, lookalikes
from knowledge_conformance.narrowing import PLAIN
from knowledge_conformance.ownership import OWNERS_MAX, alone_of, crossed, owners_of, reached, secret_of
from knowledge_conformance.render import show
from knowledge_conformance.subject import Subject


# Clause 4.3
@check(
    "KP-408",
    clause="4.3",
    level=Level.SHOULD,
    facet=Facet.OWNERS,
    needs=("KP-404",),
    calls=calls_where("owners", OWNERS_MAX + LOOKALIKES_MAX + 2),
    surveyed=True,
)
async def lookalikes_are_other_owners(subject: Subject) -> None:
    """Who has an owner's id in another case or form, or with a character more, does not get what that owner sees.

    Ids that are stripped, folded or normalised on the way make two accounts one, and a collation of a database does so
    unasked. Asked with white space or an invisible character more, in another case, normal form and alphabet.
    """
    owners = owners_of(subject.settings)
    victim = next((owner for owner in owners if alone_of(owner, owners)), None)
    if victim is None:
        raise Inconclusive(
            "each id under sees is one that another owner may see, too",
            hint="name an id under sees of one owner that no other may get",
        )
    answers = [await own_answer(subject, owner) for owner in owners]
    secret = secret_of(victim._replace(foreign=alone_of(victim, owners)), answers)
    for how, name in lookalikes(victim.name).items():
        if name in subject.settings.owners:
            continue
        # Who refuses an owner that it does not know hands nothing over.
        exchange = await subject.attempt(PLAIN.asking(victim.query), subject.context(owner_id=name))
        found = None if exchange.error is not None else reached(exchange, secret)
        if found is not None:
            raise crossed(
                exchange,
                found,
                wanted=f"nothing of the owner {show(victim.name)} for who has that id with {how}",
                hint="compare owner ids as they come: do not strip, fold or normalise them, in the key of a cache "
                "neither, and take a binary collation where a database compares",
            )
        subject.observe()
    await require_served(subject, victim, victim)


CHECKS: Final[tuple[Check, ...]] = (lookalikes_are_other_owners,)
