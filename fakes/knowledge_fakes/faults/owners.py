"""Mistakes with whose content it is; knows section 4 of the contract, no way of catching them."""

import asyncio
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

from knowledge_fakes.faults._changing import Asked, Changed, ask, asking, put_rows, rows_of
from knowledge_fakes.faults._expected import OWNERS
from knowledge_fakes.faults._fault import fault
from knowledge_fakes.faults._keeping import keeping, one_flight
from knowledge_fakes.faults._learning import Owners, ahead, as_owner, found, ids_of, is_private, unrestricted
from knowledge_provider import RetrievalContext, RetrievalRequest

_NOBODY: Final = "somebody"
_INSTRUCTION: Final = re.compile(r'owner_?id["\s]*[:=]\s*(?:"([^"]+)|([^\s"]+))', re.IGNORECASE)


def _naming(sound: Any, named: Callable[[RetrievalRequest], Iterator[str]], owners: Owners | None = None) -> Changed:
    """The provider that lets a request say who asks: the first name in it, and else the context."""

    def change(request: RetrievalRequest, context: RetrievalContext) -> Asked:
        if owners is not None:
            owners.see(context)
        owner = next(named(request), context.owner_id)
        # The back end knows owners, and takes the words that named one out of the search.
        return (request if owner == context.owner_id else unrestricted(request)), as_owner(context, owner)

    return asking(sound, change)


@fault("KP-401", fragment="notes-", settings=OWNERS)
def nobody_is_told_apart(sound: Any) -> Any:
    """The owner is not passed to the back end, which answers everybody from all that it holds."""
    return _merging(sound, lambda request: request)


def _merging(sound: Any, opened: Callable[[RetrievalRequest], RetrievalRequest | None]) -> Changed:
    """The provider that answers from everybody's documents where ``opened`` makes it ask for that."""
    owners = Owners(sound)

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        owners.see(context)
        asked = opened(request)
        own = await ask(sound, asked or request, context)
        if asked is None:
            return own
        return put_rows(own, ahead(await owners.found(asked, context), rows_of(own), asked.top_k))

    return Changed(sound, retrieve=retrieve)


@fault("KP-401", fragment="notes-", settings=OWNERS)
def client_of_another_owner(sound: Any) -> Any:
    """Clients are made with an owner's name and kept, and whoever asks gets the one that has the most to say."""
    owners = Owners(sound)

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        owners.see(context)
        answer = await ask(sound, request, context)
        for other in owners.beside(context):
            theirs = await found(sound, request, other)
            new = [row for row in theirs if row["id"] not in ids_of(rows_of(answer))]
            # What is not among the nearest to one may be among them to the other, and is nobody's own for that.
            if any([await is_private(sound, row, context) for row in new]):
                return put_rows(answer, theirs)
        return answer

    return Changed(sound, retrieve=retrieve)


@fault("KP-401", fragment="notes-", settings=OWNERS)
def connection_of_the_threads_first_owner(sound: Any) -> Any:
    """Each thread has a connection, on which the owner is set when it is made, and later ones are answered by it."""
    kept = threading.local()

    def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        if not hasattr(kept, "owner"):
            kept.owner = context.owner_id
        return sound.retrieve(request, as_owner(context, kept.owner))

    return Changed(sound, retrieve=retrieve)


@fault("KP-402", fragment="notes-tomas#salary", settings=OWNERS)
def owner_out_of_the_filters(sound: Any) -> Any:
    """An ownerId among the filters goes before the context's, since both are merged into one dictionary."""

    def named(request: RetrievalRequest) -> Iterator[str]:
        yield from (value for key, value in request.filters.items() if key == "ownerId" and isinstance(value, str))

    return _naming(sound, named)


@fault("KP-402", fragment="notes-tomas#salary", settings=OWNERS)
def owner_at_any_depth(sound: Any) -> Any:
    """The arguments of the model are searched for a key that names a user, however deep it stands."""
    return _naming(sound, lambda request: _users_in(request.filters))


def _users_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, held in value.items():
            if key.replace("_", "").lower() in ("userid", "tenantid", "ownerid") and isinstance(held, str):
                yield held
            yield from _users_in(held)
    elif isinstance(value, list):
        for held in value:
            yield from _users_in(held)


@fault("KP-402", fragment="notes-tomas#salary", settings=OWNERS)
def base_names_the_tenant(sound: Any) -> Any:
    """A knowledge base id is a tenant's name with a prefix, and nobody asks whether it is the caller's."""

    def named(request: RetrievalRequest) -> Iterator[str]:
        yield from (base.removeprefix("kb_") for base in request.knowledge_base_ids if base.startswith("kb_"))

    return _naming(sound, named)


@fault("KP-402", fragment="notes-tomas#salary", settings=OWNERS)
def owner_in_the_query_language(sound: Any) -> Any:
    """The query goes into the back end's query language as it is, where owner_id:"…" is an instruction."""

    def named(request: RetrievalRequest) -> Iterator[str]:
        yield from (quoted or bare for quoted, bare in _INSTRUCTION.findall(request.query))

    return _naming(sound, named)


@fault("KP-402", fragment="notes-tomas#salary", settings=OWNERS)
def tenant_filter_made_a_tautology(sound: Any) -> Any:
    """Filters are pasted into the expression that also holds the tenant, and a quotation mark ends it."""
    return _merging(sound, _opened(lambda request: ') or true or ("' in str(request.filters)))


def _opened(opens: Callable[[RetrievalRequest], bool]) -> Callable[[RetrievalRequest], RetrievalRequest | None]:
    return lambda request: unrestricted(request) if opens(request) else None


@fault("KP-402", fragment="notes-tomas#salary", settings=OWNERS)
def anyone_by_a_wildcard(sound: Any) -> Any:
    """An asterisk for a tenant is taken for all of them."""
    return _merging(sound, _opened(lambda request: "*" in request.filters.values()))


@fault("KP-403", fragment="notes-tomas#salary", settings=OWNERS)
def owner_by_mail_address(sound: Any) -> Any:
    """Whoever is named by a mail address, or as user:…, anywhere in a request is taken for the one who asks."""
    owners = Owners(sound)

    def named(request: RetrievalRequest) -> Iterator[str]:
        said = " ".join((request.query, *request.knowledge_base_ids, *_texts_in(request.filters)))
        yield from (name for name in owners.names if f"{name}@example.com" in said or f"user:{name}" in said)

    return _naming(sound, named, owners)


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for held in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts_in(held)


@fault("KP-404", fragment="notes-", settings=OWNERS)
def cache_without_the_owner(sound: Any) -> Any:
    """Answers are cached by the request alone, so the first one's documents are everybody's."""
    return keeping(sound, lambda request, _context: request.model_dump_json())


@fault("KP-404", fragment="notes-", settings=OWNERS)
def cache_by_the_session(sound: Any) -> Any:
    """Answers are cached by session and request, and ids of sessions of two owners meet."""
    return keeping(sound, lambda request, context: f"{context.session_id} {request.model_dump_json()}")


@fault("KP-405", fragment="notes-", settings=OWNERS)
def owner_kept_on_the_provider(sound: Any) -> Any:
    """The owner of a call is kept on the provider while it waits, and is then the last caller's."""
    kept = {"owner": _NOBODY}

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        kept["owner"] = context.owner_id
        await asyncio.sleep(0)
        return await ask(sound, request, as_owner(context, kept["owner"]))

    return Changed(sound, retrieve=retrieve)


@fault("KP-405", fragment="notes-", settings=OWNERS)
def one_flight_for_two_owners(sound: Any) -> Any:
    """Equal requests that run at the same time share one call of the back end, whoever makes them."""
    return one_flight(sound, lambda _request: True)


@fault("KP-406", fragment="result", settings=OWNERS)
def blank_owner_is_anybody(sound: Any) -> Any:
    """Without an owner there is no filter on one, and whose documents are answered is a matter of chance."""
    owners = Owners(sound)

    def change(request: RetrievalRequest, context: RetrievalContext) -> Asked:
        owners.see(context)
        return request, (context if context.owner_id.strip() else as_owner(context, owners.latest or _NOBODY))

    return asking(sound, change)


@fault("KP-406", fragment="0 results", settings=OWNERS)
def blank_owner_finds_nothing(sound: Any) -> Any:
    """Without an owner the answer is empty, and a host tells people that there is nothing about their question."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        return await ask(sound, request, context) if context.owner_id.strip() else {"results": []}

    return Changed(sound, retrieve=retrieve)
