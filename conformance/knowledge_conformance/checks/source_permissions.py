"""Clauses 4.2 and 4.3 for sources, beyond a search of what the settings name: lists, everything, and who asks.

Knows the owners of the settings; judges no quality. What an owner sees is seen in the same run.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import permutations
from typing import Any, Final

from knowledge_conformance.check import Check, Facet, Inapplicable, Level, calls_where, check
from knowledge_conformance.checks.source_answers import REFUSALS
from knowledge_conformance.checks.source_listing import WHOLE_LIMIT, listed_to
from knowledge_conformance.impersonating import cast_of, impersonations
from knowledge_conformance.ownership import (
    OWNERS_MAX,
    Owner,
    Secret,
    crossed,
    owners_of,
    pair_of,
    reached,
    require_own,
    secret_of,
)
from knowledge_conformance.render import show
from knowledge_conformance.source_subject import References, SourceExchange, SourceSubject, show_ref
from knowledge_provider import error_code
from knowledge_provider.errors import KnowledgeReferenceInvalidError
from knowledge_provider.sources import ExternalKnowledgeRef, target_key

_PAIRS_MAX: Final = OWNERS_MAX * (OWNERS_MAX - 1)
_HALVINGS: Final = WHOLE_LIMIT.bit_length()
_UNKNOWN: Final = "conformance-kit-no-such-owner"
_DISGUISES: Final = 13
"""Calls in which a request says that it is somebody else, at most."""
_ONE_PLACE: Final = "ask the back end as context.owner_id, in every method, before anything else is looked at"


async def _ask(subject: SourceSubject, owner: Owner, query: str, refs: References) -> SourceExchange:
    return await subject.attempt(query, refs, subject.context(owner_id=owner.name))


async def _own(subject: SourceSubject, owners: Sequence[Owner]) -> list[SourceExchange]:
    """What each owner gets to its query; raises ``Inconclusive`` where something that it sees is missing."""
    refs, own = subject.references(), []
    for owner in owners:
        own.append(await subject.retrieve(owner.query, refs, subject.context(owner_id=owner.name)))
        require_own(owner, own[-1])
    return own


# Clause 4.3
@check(
    "KP-1040",
    clause="4.3",
    level=Level.MUST,
    facet=Facet.OWNERS,
    needs=("KP-1025", "KP-1044"),
    calls=calls_where("owners", 2 * OWNERS_MAX + _PAIRS_MAX + _HALVINGS + 3),
    minimum=2,
)
async def lists_are_the_owners_own(subject: SourceSubject) -> None:
    """No owner is shown a document in a list that only another sees.

    The name of a private note says a good part of what is in it. Those of the listed documents that another owner may
    see, too, are asked for what only that owner finds: what is found there was listed for somebody who may not see it.
    """
    subject.listing()
    owners, refs = owners_of(subject.settings), subject.references()
    own = await _own(subject, owners)
    shown = {owner.name: await listed_to(subject, refs, subject.context(owner_id=owner.name)) for owner in owners}
    for asker, holder in permutations(owners, 2):
        holders = {target_key(ref) for ref in shown[holder.name]}
        both = tuple(ref for ref in shown[asker.name] if target_key(ref) in holders)
        secret = secret_of(asker, own)
        if holder.sees & asker.foreign and both and (found := await _held(subject, holder, both, secret)):
            await _refuse_listed(subject, (asker, holder), both, secret, found)
        subject.observe()


async def _held(subject: SourceSubject, holder: Owner, refs: References, secret: Secret) -> str | None:
    """What ``holder`` finds in these documents that is in ``secret``, in words; None for nothing."""
    exchange = await _ask(subject, holder, holder.query, refs)
    return None if exchange.error is not None else reached(exchange, secret)


async def _refuse_listed(
    subject: SourceSubject, owners: tuple[Owner, Owner], refs: References, secret: Secret, found: str
) -> None:
    asker, holder = owners
    while len(refs) > 1:
        half = refs[: len(refs) // 2]
        refs = half if await _held(subject, holder, half, secret) else refs[len(half) :]
    # A document of which each sees other parts is listed for both.
    for query in dict.fromkeys((asker.query, holder.query)):
        if (await _ask(subject, asker, query, refs)).count:
            return
    exchange = await _ask(subject, asker, holder.query, refs)
    raise crossed(
        exchange,
        f"the document {show_ref(refs[0])}, in which {show(holder.name)} finds {found}",
        wanted=f"no document in the list of {show(asker.name)} that only another owner sees",
        hint="select by context.owner_id in list_documents as in retrieve",
    )


# Clause 4.3
@check(
    "KP-1041",
    clause="4.3",
    level=Level.MUST,
    facet=Facet.OWNERS,
    needs=("KP-1025",),
    calls=calls_where("owners", 1 + OWNERS_MAX + OWNERS_MAX**2),
    minimum=2,
)
async def everything_is_the_owners_own(subject: SourceSubject) -> None:
    """All that is accessible is what the context's owner may see, and nothing that only another sees.

    Mode all_accessible names no source, so a source that looks at the references for what is allowed finds nothing to
    hold on to. Each owner asks every other's query, too.
    """
    owners = owners_of(subject.settings)
    own = await _own(subject, owners)
    everything = (subject.reference(mode="all_accessible"),)
    if subject.member("validate_refs") is not None:
        ending = await subject.validate(everything)
        if ending.error is not None or not ending.value:
            raise Inapplicable("the source does not know the mode all_accessible")
    for asker in owners:
        for query in dict.fromkeys(owner.query for owner in owners):
            exchange = await _ask(subject, asker, query, everything)
            if exchange.error is not None and error_code(exchange.error) in REFUSALS:
                raise Inapplicable("the source refuses the mode all_accessible")
            _refuse_reach(exchange, secret_of(asker, own))
        subject.observe()


def _refuse_reach(exchange: SourceExchange, secret: Secret) -> None:
    found = None if exchange.error is not None else reached(exchange, secret)
    if found is not None:
        asker = show(exchange.context.owner_id)
        raise crossed(exchange, found, wanted=f"nothing that only another owner sees, for {asker}", hint=_ONE_PLACE)


# Clause 4.2
@check(
    "KP-1042",
    clause="4.2",
    level=Level.MUST,
    facet=Facet.OWNERS,
    needs=("KP-1025",),
    calls=calls_where("owners", 3 + _DISGUISES),
)
async def a_request_names_no_owner(subject: SourceSubject) -> None:
    """Nothing in a query or a reference reaches another owner's content: no scope, name, id or phrase.

    References are what a client sends, and queries what a model writes: both may name whom they like. Who asks is in
    the context alone. A call that fails reaches nothing.
    """
    owners = owners_of(subject.settings)
    asker, victim = pair_of(owners)
    own = await _own(subject, (asker, victim))
    secret = secret_of(asker, own)
    for query, refs in _disguises(subject, asker, victim):
        exchange = await _ask(subject, asker, query, refs)
        _refuse_reach(exchange, secret)
        subject.observe(exchange.error is None)
    # The control: what was looked for is still there to be found.
    context = subject.context(owner_id=victim.name)
    require_own(victim, await subject.retrieve(victim.query, subject.references(), context))


def _disguises(subject: SourceSubject, asker: Owner, victim: Owner) -> Iterator[tuple[str, References]]:
    refs, you, query = subject.references(), victim.name, victim.query
    said = [each.query for each in impersonations(cast_of(asker, victim, subject.settings)) if _is_text(each)]
    for text in dict.fromkeys((f"as:{you} {query}", f"{query} user={you}", *said)):
        yield text, refs
    for fields in ({"scope": you}, {"name": you, "target_name": you}, {"parent_id": you, "node_id": you}):
        yield from ((query, made) for made in _changed(refs, **fields))
    with suppress(KnowledgeReferenceInvalidError):
        yield query, (subject.reference(id=you, scope=you),)
        yield query, (subject.reference(mode="all_accessible", scope=you),)


def _is_text(request: Any) -> bool:
    return not request.filters and not request.knowledge_base_ids


def _changed(refs: References, **fields: str) -> list[References]:
    """The references with these fields, unless an owner's name is none that a reference may hold."""
    with suppress(KnowledgeReferenceInvalidError):
        made = (ExternalKnowledgeRef(**{**ref.model_dump(exclude_none=True), **fields}) for ref in refs)
        return [tuple(made)]
    return []


# Clause 4.3
@check(
    "KP-1043",
    clause="4.3",
    level=Level.MUST,
    facet=Facet.OWNERS,
    needs=("KP-1025",),
    calls=calls_where("owners", 2 * OWNERS_MAX),
)
async def nobody_known_sees_nothing_private(subject: SourceSubject) -> None:
    """An owner whom nobody knows gets nothing that the settings promise to one owner and keep from another.

    Where a look-up of rights finds nobody, the rights of the service are mostly what is left. It is told apart from no
    owner at all, which is refused.
    """
    owners = owners_of(subject.settings)
    own = await _own(subject, owners)
    private = frozenset[str]().union(*(one.sees & two.foreign for one, two in permutations(owners, 2)))
    nobody = Owner(_UNKNOWN, owners[0].query, frozenset(), private)
    for query in dict.fromkeys(owner.query for owner in owners):
        _refuse_reach(await _ask(subject, nobody, query, subject.references()), secret_of(nobody, own))
        subject.observe()


CHECKS: Final[tuple[Check, ...]] = (
    lists_are_the_owners_own,
    everything_is_the_owners_own,
    a_request_names_no_owner,
    nobody_known_sees_nothing_private,
)
