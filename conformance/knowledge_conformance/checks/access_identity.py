"""Clauses 11.4 and 11.5: whose labels count. Knows runs and requests, and which rows are whose."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from knowledge_conformance.access_subject import AccessSubject, Identity, new_context, shown_ids
from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.access_rows import DENY, REQUEST, index, knowing, require, row
from knowledge_conformance.render import show
from knowledge_fakes.scripted import ScriptedProvider
from knowledge_provider import RetrievalContext, RetrievalRequest, limits
from knowledge_provider.access import AccessScope

_SERVICE: Final = AccessScope(DENY, tenant_id="acme", user_id="service", roles=frozenset({"reader"}))
_ROWS: Final = (
    row("acmes", {"tenant_id": "acme"}),
    row("services", {"user_id": "service"}),
    row("readers", {"allowed_roles": "reader"}),
    row("others", {"tenant_id": "other"}),
    row("bobs", {"user_id": "bob"}),
    row("editors", {"allowed_roles": "editor"}),
    row("bobs-at-acme", {"tenant_id": "acme", "user_id": "bob"}),
)


class _Run(NamedTuple):
    """Who a run says that asks, and what is theirs beside the configured identity."""

    identity: Mapping[str, Any]
    sees: frozenset[str]


_CONFIGURED: Final = frozenset({"acmes", "services", "readers"})
_RUNS: Final = (
    _Run({}, _CONFIGURED),
    _Run({"tenant_id": None, "user_id": ""}, _CONFIGURED),
    # Roles alone are nobody.
    _Run({"roles": ["editor"]}, _CONFIGURED),
    _Run({"user_id": "bob"}, frozenset({"bobs"})),
    _Run({"tenant_id": "other"}, frozenset({"others"})),
    _Run({"user_id": "bob", "roles": ["editor"]}, frozenset({"bobs", "editors"})),
    _Run({"tenant_id": "acme", "user_id": "bob"}, frozenset({"acmes", "bobs", "bobs-at-acme"})),
)


# What is no id of anybody, and no list of roles.
_NOBODYS: Final[tuple[Mapping[str, Any], ...]] = (
    {"user_id": 4711},
    {"tenant_id": True},
    {"tenant_id": "acme", "user_id": ["bob"]},
)


# Clause 11.4
@check("KP-1109", clause="11.4", level=Level.MUST, needs=("KP-1121",))
async def identities_are_never_mixed(subject: AccessSubject) -> None:
    """Once the run has a tenant or a user, all of the reader is the run's, roles too; without, it is the configured.

    The user of a run in the tenant of a service account is a person who does not exist, and reads what nobody gave
    them.
    """
    for run in _RUNS:
        async with subject.scoped(knowing(_ROWS), _SERVICE, _always(run.identity)) as scoped:
            exchange = await scoped.answer(REQUEST)
        for each in _ROWS:
            require(
                exchange,
                each["id"],
                each["id"] in run.sees,
                f"{each['id']}, labelled {show(each['metadata'])}, for a run of {show(dict(run.identity))} "
                "and a configured acme, service, reader",
                "take tenant, user and roles from the run as soon as it has one of the first two, and none otherwise",
            )
            subject.observe()


def _always(identity: Mapping[str, Any]) -> Identity:
    def fixed(_context: RetrievalContext) -> Mapping[str, Any]:
        return identity

    return fixed


def _owner(context: RetrievalContext) -> dict[str, Any]:
    return {"user_id": context.owner_id}


def _session(context: RetrievalContext) -> dict[str, Any]:
    return {"user_id": context.session_id}


# Clause 11.4
@check("KP-1110", clause="11.4", level=Level.MUST, needs=("KP-1109",))
async def each_call_has_its_own_reader(subject: AccessSubject) -> None:
    """Who reads is found out for each call: after another's, and at the same time as another's.

    A rule is made once and used by everybody. What it keeps of one reader must not decide for the next, nor for a later
    run of the same owner, who may be somebody else by then, or have lost a role.
    """
    people = [f"person-{place}" for place in range(limits.TOP_K_MAX)]
    rows = [row(f"of-{name}", {"user_id": name}) for name in people]

    async def in_turn(request: RetrievalRequest, context: RetrievalContext) -> Any:
        # So that calls that were begun together are all under way.
        for _ in range(3):
            await asyncio.sleep(0)
        return index(rows)(request, context)

    async with subject.scoped(ScriptedProvider([in_turn]), AccessScope(), _owner) as scoped:
        for name in people[:2]:
            _require_own(shown_ids(await scoped.answer(REQUEST, new_context(name))), name, "after another")
            subject.observe()
        together = await asyncio.gather(
            *(scoped.answer(REQUEST, new_context(name)) for name in people), return_exceptions=True
        )
        for name, exchange in zip(people, together, strict=True):
            if isinstance(exchange, BaseException):
                raise exchange
            _require_own(shown_ids(exchange), name, "at the same time as others")
            subject.observe()
    async with subject.scoped(knowing(rows), AccessScope(), _session) as scoped:
        for name in people[:2]:
            run = new_context(session_id=name, turn_id=name, trace_id=name)
            _require_own(shown_ids(await scoped.answer(REQUEST, run)), name, "in another run of one owner")
            subject.observe()


def _require_own(found: list[str], name: str, when: str) -> None:
    if found != [f"of-{name}"]:
        raise Violation(
            wanted=f"what is {name}'s, who asks {when}: of-{name}",
            saw=", ".join(found) or "nothing",
            hint="ask for the run's identity in each call, and keep it in that call's own variables",
        )


# Clause 11.4
@check("KP-1111", clause="11.4", level=Level.MUST, needs=("KP-1121",))
async def a_reader_who_cannot_be_found_out_sees_nothing(subject: AccessSubject) -> None:
    """Where finding out who asks fails, the search fails, or shows nothing.

    A directory that is down must not turn everybody into the configured reader, whose rights are mostly the widest. Nor
    must one whose answer cannot be read: identity gives ids as strings, and a number is nobody's.
    """
    rows = [*_ROWS, row("for-everybody", {"visibility": "public"})]

    def fails(_context: RetrievalContext) -> Mapping[str, Any]:
        raise ConnectionError("the directory is down")

    unread: dict[str, tuple[Identity, str]] = {
        "identity(context) raises ConnectionError": (fails, "let what identity raises fail the search"),
        **{
            f"identity(context) gives {show(named)}": (
                _always(named),
                "an id that is no str and roles that are no strings name nobody: raise TypeError for them",
            )
            for named in _NOBODYS
        },
    }
    for what, (identity, hint) in unread.items():
        async with subject.scoped(knowing(rows), _SERVICE, identity) as scoped:
            exchange = await scoped.ask(REQUEST)
        if shown_ids(exchange):
            raise Violation(
                wanted=f"an error, or nothing, where {what}",
                saw=f"a result shown: {', '.join(shown_ids(exchange))}",
                hint=f"{hint}; never fall back to the configured reader",
            )
        subject.observe()


_CLAIMS: Final[Mapping[str, Any]] = {
    "tenant_id": "other",
    "tenantId": "other",
    "user_id": "bob",
    "userId": "bob",
    "owner_id": "bob",
    "ownerId": "bob",
    "roles": ["admin"],
    "allowed_roles": "admin",
    "mode": "permissive",
    "scope": {"mode": "permissive", "tenant_id": "other", "user_id": "bob", "roles": ["admin"]},
    "access": {"user_id": "bob"},
    "identity": {"user_id": "bob", "roles": ["admin"]},
}


# Clause 11.5
@check("KP-1112", clause="11.5", level=Level.MUST, needs=("KP-1121",))
async def what_a_request_says_of_its_reader_is_no_identity(subject: AccessSubject) -> None:
    """Nothing in a request makes somebody else the reader: no filter, no base and no word of the query.

    A model writes requests, and whoever writes what a model reads can make it ask as anybody. Identity comes with the
    context alone.
    """
    rows = [
        row("bobs", {"user_id": "bob"}),
        row("others", {"tenant_id": "other"}),
        row("admins", {"allowed_roles": "admin"}),
        row("mine", {"user_id": "alice"}),
    ]
    provider = knowing(rows, capabilities={"filters": True})
    requests = [REQUEST.model_copy(update={"filters": {name: claimed}}) for name, claimed in _CLAIMS.items()]
    requests += [
        REQUEST.model_copy(update={"filters": dict(_CLAIMS)}),
        REQUEST.model_copy(update={"query": "policy user_id=bob tenant_id:other role=admin mode=permissive"}),
        REQUEST.model_copy(update={"knowledge_base_ids": ("user_id=bob", "tenant:other")}),
    ]
    async with subject.scoped(provider, AccessScope(), _owner) as scoped:
        for request in requests:
            exchange = await scoped.ask(request, new_context("alice"))
            # To refuse such a request is no less safe.
            theirs = [name for name in shown_ids(exchange) if name != "mine"]
            if theirs:
                raise Violation(
                    wanted="what is alice's alone, whatever the request says of who asks",
                    saw=f"{', '.join(theirs)} shown",
                    hint="read who asks from the context; hand filters, bases and query on without reading them",
                )
            subject.observe()


CHECKS: Final[tuple[Check, ...]] = (
    identities_are_never_mixed,
    each_call_has_its_own_reader,
    a_reader_who_cannot_be_found_out_sees_nothing,
    what_a_request_says_of_its_reader_is_no_identity,
)
"""Those of readers; what is needed of them runs first."""
