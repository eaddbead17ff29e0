"""Clause 4.2 by requests in which a model says that it is somebody else. Knows such requests; makes no context."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Final

from knowledge_conformance.calls import Raised, in_thread
from knowledge_conformance.check import Check, Facet, Level, Violation, check
from knowledge_conformance.checks.owners import secrets_of
from knowledge_conformance.drawn import EnoughError, plain_input
from knowledge_conformance.exchange import Exchange
from knowledge_conformance.impersonating import cast_of, generated, impersonations
from knowledge_conformance.known import is_known
from knowledge_conformance.ownership import Secret, crossed, owners_of, pair_of, reached, where_owners
from knowledge_conformance.subject import Subject
from knowledge_conformance.watched import OutOfCallsError
from knowledge_provider import RetrievalRequest

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_OWNERS: Final = 2
_IMPERSONATIONS_MAX: Final = 19
_GENERATED_MAX: Final = 12
_SHRINK_CALLS: Final = 12


# Clause 4.2
@check(
    "KP-402",
    clause="4.2",
    level=Level.MUST,
    facet=Facet.OWNERS,
    needs=("KP-404",),
    calls=where_owners(_OWNERS + _IMPERSONATIONS_MAX),
    surveyed=True,
)
async def a_request_names_no_owner(subject: Subject) -> None:
    """Nothing in a request reaches another owner's content: no look-alike key, query or base id.

    The model writes the request, and whoever writes a document that it reads can make it write another. The same
    owner with the same query gets nothing of the other's without the key, and the other gets it in the same run.
    """
    owners = owners_of(subject.settings)
    asker, victim = pair_of(owners)
    secret = (await secrets_of(subject, (asker, victim)))[asker.name]
    for request in impersonations(cast_of(asker, victim, subject.settings)):
        _refuse_reach(await subject.attempt(request, subject.context(owner_id=asker.name)), secret)
        subject.observe()


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
    calls=where_owners(_OWNERS + _GENERATED_MAX + _SHRINK_CALLS),
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

    async def ask(request: RetrievalRequest) -> None:
        _refuse_reach(await subject.attempt(request, subject.context(owner_id=asker.name)), secret)
        subject.observe()

    await _each(subject, generated(cast_of(asker, victim, subject.settings)), ask)


async def _each(
    subject: Subject,
    strategy: "SearchStrategy[RetrievalRequest]",
    ask: Callable[[RetrievalRequest], Coroutine[None, None, None]],
) -> None:
    """Ask what the strategy draws, from Hypothesis's thread; raises the violation of the smallest failing request."""
    # Here, not at the top: Hypothesis takes longer to load than everything else.
    from knowledge_conformance.generate import each_drawn

    loop = asyncio.get_running_loop()
    found: list[Violation] = []

    def examine(request: RetrievalRequest) -> None:
        try:
            asyncio.run_coroutine_threadsafe(ask(request), loop).result()
        except OutOfCallsError:
            raise EnoughError from None
        except Violation as violation:
            violation.input = plain_input("request", request.model_dump(mode="json", exclude_defaults=True))
            found.append(violation)
            if is_known("KP-403", subject.settings, violation.wanted, violation.saw):
                raise EnoughError from None
            raise

    settings = subject.settings
    given = (settings.replay or {}).get("request")
    run = partial(each_drawn, strategy, examine, examples=min(settings.examples, _GENERATED_MAX), seed=settings.seed)
    ended = await in_thread(run if given is None else partial(examine, RetrievalRequest.model_validate(given)))
    if found:
        raise found[-1]
    if isinstance(ended, Raised):
        raise OutOfCallsError if isinstance(ended.error, EnoughError) else ended.error


CHECKS: Final[tuple[Check, ...]] = (a_request_names_no_owner, no_generated_request_names_an_owner)
