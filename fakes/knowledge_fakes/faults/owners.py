"""Mistakes with whose content it is; knows section 4 of the contract, no way of catching them."""

import asyncio
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final
from unicodedata import normalize
from urllib.parse import quote

from knowledge_fakes.faults._changing import Asked, Changed, ask, asking, described, put_rows, put_source, rows_of
from knowledge_fakes.faults._expected import OWNERS
from knowledge_fakes.faults._fault import Lacks, fault
from knowledge_fakes.faults._learning import Owners, ahead, as_owner, found, ids_of, is_private, unrestricted
from knowledge_provider import KnowledgeFiltersUnsupportedError, RetrievalContext, RetrievalRequest

_NOBODY: Final = "somebody"
# Cyrillic and Greek letters, and the Latin ones that they are drawn as.
_ALIKE: Final = ("асеіорхуΑΕΟΡ", "aceiopxyAEOP")
_LATIN: Final = str.maketrans(*_ALIKE)
_FOREIGN: Final = str.maketrans(*reversed(_ALIKE))
_INSTRUCTION: Final = re.compile(r'owner_?id["\s]*[:=]\s*(?:"([^"]+)|([^\s"]+))', re.IGNORECASE)
_INVISIBLE: Final = re.compile("[\u200b-\u200f\u2060\ufeff]")


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
    return _caching(sound, lambda request, _context: request.model_dump_json())


@fault("KP-404", fragment="notes-", settings=OWNERS)
def cache_by_the_session(sound: Any) -> Any:
    """Answers are cached by session and request, and ids of sessions of two owners meet."""
    return _caching(sound, lambda request, context: f"{context.session_id} {request.model_dump_json()}")


def _caching(sound: Any, key: Callable[[RetrievalRequest, RetrievalContext], str]) -> Changed:
    held: dict[str, Any] = {}

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        name = key(request, context)
        if name not in held or not context.owner_id.strip():
            held[name] = await ask(sound, request, context)
        return put_rows(held[name], rows_of(held[name]))

    return Changed(sound, retrieve=retrieve)


def _read_as(sound: Any, read: Callable[[str], str]) -> Changed:
    """The provider to which two owners are one when their ids read the same: the first who asked."""
    owners = Owners(sound)

    def change(request: RetrievalRequest, context: RetrievalContext) -> Asked:
        owners.see(context)
        one = next((name for name in owners.names if read(name) == read(context.owner_id)), context.owner_id)
        return request, as_owner(context, one)

    return asking(sound, change)


def _without(change: Callable[[str], str], what: str) -> Lacks:
    """What is missing where an owner's id has nothing in it that ``change`` changes."""

    def lacks(settings: Mapping[str, Any]) -> str | None:
        plain = next((name for name in settings["owners"] if change(name) == name), None)
        return plain and f"an owner's id in the settings has no {what}, so no other id reads the same"

    return lacks


@fault("KP-408", fragment="a space at the end", settings=OWNERS)
def owner_stripped(sound: Any) -> Any:
    """White space around the id of an owner is taken off, and two accounts of the directory are one."""
    return _read_as(sound, str.strip)


@fault("KP-408", fragment="the other case", settings=OWNERS, lacks=_without(str.swapcase, "letter of two cases"))
def owner_in_any_case(sound: Any) -> Any:
    """The database compares ids without their case, as it does by default, and Mara reads what mara wrote."""
    return _read_as(sound, str.casefold)


@fault(
    "KP-408", fragment="a full-width character", settings=OWNERS,
    lacks=_without(lambda name: re.sub("[!-~]", "", name), "character of ASCII"),
)  # fmt: skip
def owner_normalised(sound: Any) -> Any:
    """Ids are brought into a compatibility form, since one client sends them in another."""
    return _read_as(sound, lambda owner: normalize("NFKC", owner))


@fault(
    "KP-408", fragment="letters of another alphabet", settings=OWNERS,
    lacks=_without(lambda name: name.translate(_FOREIGN), "letter that another alphabet has, too"),
)  # fmt: skip
def owner_in_ascii(sound: Any) -> Any:
    """Ids are written in ASCII for the back end, by a table of letters that look alike."""
    return _read_as(sound, lambda owner: owner.translate(_LATIN))


@fault("KP-408", fragment="an invisible character", settings=OWNERS)
def cache_by_the_visible_owner(sound: Any) -> Any:
    """Answers are cached by what can be seen of the owner's id, and an invisible character opens another's."""
    return _caching(
        sound, lambda request, context: f"{_INVISIBLE.sub('', context.owner_id)} {request.model_dump_json()}"
    )


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
    running: dict[str, asyncio.Task[Any]] = {}

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        name = f"{id(asyncio.get_running_loop())} {request.model_dump_json()}"
        if name not in running or not context.owner_id.strip():
            running[name] = asyncio.ensure_future(ask(sound, request, context))
            running[name].add_done_callback(lambda _task: running.pop(name, None))
        answer = await asyncio.shield(running[name])
        return put_rows(answer, rows_of(answer))

    return Changed(sound, retrieve=retrieve)


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


def _echoing(sound: Any, put: Callable[[dict[str, Any], RetrievalContext], dict[str, Any]]) -> Changed:
    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        answer = await ask(sound, request, context)
        return put_rows(answer, [put(row, context) for row in rows_of(answer)])

    return Changed(sound, retrieve=retrieve)


@fault("KP-407", fragment="session_id")
def session_in_the_metadata(sound: Any) -> Any:
    """The id of the session stands in each result's metadata, for debugging."""
    return _echoing(sound, lambda row, context: {**row, "metadata": {"session": context.session_id}})


@fault("KP-407", fragment="trace_id")
def trace_in_the_ids(sound: Any) -> Any:
    """The id of each result begins with the trace's, so that logs can be joined."""
    return _echoing(sound, lambda row, context: {**row, "id": f"{context.trace_id}/{row['id']}"})


@fault("KP-407", fragment="trace_id, in Base64")
def trace_in_an_encoded_link(sound: Any) -> Any:
    """Each link goes over a counter of clicks, which gets the trace in a parameter, in Base64."""

    def put(row: dict[str, Any], context: RetrievalContext) -> dict[str, Any]:
        where = b64encode(f"from {context.trace_id}".encode()).decode()
        return put_source(row, uri=f"https://clicks.example.com/to?t={quote(where)}")

    return _echoing(sound, put)


@fault("KP-407", fragment="the message of the exception")
def session_in_the_error(sound: Any) -> Any:
    """An error names the session that it happened in, and a host shows it to whoever looks."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        try:
            if request.filters and not described(sound)["capabilities"]["filters"]:
                raise KnowledgeFiltersUnsupportedError
            return await ask(sound, request, context)
        except Exception as error:
            error.args = (f"{error} (session {context.session_id})",)
            raise

    return Changed(sound, retrieve=retrieve)


@fault("KP-407", fragment="health")
def last_turn_in_the_health(sound: Any) -> Any:
    """The health says which turn was served last, to everybody who asks."""
    last = {"turn": "none"}

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        last["turn"] = context.turn_id
        return await ask(sound, request, context)

    return Changed(
        sound, retrieve=retrieve, health=lambda: {"status": "ready", "message": f"last turn: {last['turn']}"}
    )


@fault("KP-407", fragment="description")
def last_session_in_the_description(sound: Any) -> Any:
    """The label says for whom the provider worked last."""
    last = {"session": "nobody"}

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        last["session"] = context.session_id
        return await ask(sound, request, context)

    def describe() -> dict[str, Any]:
        return {**described(sound), "label": f"Handbook, last asked in {last['session']}"}

    return Changed(sound, retrieve=retrieve, describe=describe)
