"""Mistakes with what a provider can be asked; knows section 3 of the contract, no way of catching them."""

import json
import unicodedata
from typing import Any, Final, cast

from knowledge_fakes.faults._changing import Asked, Row, answering, asking, doing, put_rows, rows_of
from knowledge_fakes.faults._fault import fault
from knowledge_provider import RetrievalContext, RetrievalRequest, limits

_NO_HIT: Final = {"no_hit_query": "zzqx nonsense 9731"}
_STEM: Final = 4
_FEW_MAX: Final = 2
_FEW: Final = "no query finds more than two, so that there are no many: queries with one that does"
_MANY: Final = {"examples": 250, "max_calls": 1000}
"""Enough generated requests for the mistake to be met by any version of what generates them."""


@fault("KP-301", fragment="NotImplementedError")
def retrieve_is_not_written(sound: Any) -> Any:
    """retrieve() is there and raises NotImplementedError."""

    def act(_request: RetrievalRequest) -> None:
        raise NotImplementedError

    return doing(sound, act)


@fault("KP-301", fragment="TypeError")
def expects_a_dictionary(sound: Any) -> Any:
    """retrieve() reads request["query"], and a request is an object with attributes."""

    def act(request: Any) -> None:
        request["query"]

    return doing(sound, act)


@fault("KP-302", fragment="PermissionError")
def firewalled_texts(sound: Any) -> Any:
    """A firewall before the back end refuses texts that look like an attack, and its refusal is raised."""

    def act(request: RetrievalRequest) -> None:
        if "../" in request.query or "jndi:" in request.query:
            raise PermissionError("403 Forbidden")

    return doing(sound, act)


@fault("KP-302", "KP-303", fragment="unterminated string", settings=_MANY)
def unescaped_quote(sound: Any) -> Any:
    """The query goes unescaped into the back end's query language, which refuses a double quote."""

    def act(request: RetrievalRequest) -> None:
        if '"' in request.query:
            raise ValueError("syntax error: unterminated string")

    return doing(sound, act)


@fault("KP-302", "KP-303", fragment="JSONDecodeError", settings=_MANY)
def query_in_a_template(sound: Any) -> Any:
    """The request's body is made by pasting the query into JSON text."""
    return doing(sound, lambda request: json.loads(f'{{"q": "{request.query}"}}'))


@fault("KP-302", "KP-303", fragment="UnicodeEncodeError", settings=_MANY)
def western_text_only(sound: Any) -> Any:
    """The query is encoded as cp1252 on its way, so most of the world's scripts raise."""
    return doing(sound, lambda request: request.query.encode("cp1252"))


@fault("KP-302", "KP-303", fragment="Incorrect string value", settings=_MANY)
def basic_plane_only(sound: Any) -> Any:
    """The query is logged to a table whose text is three bytes wide, so an emoji raises."""

    def act(request: RetrievalRequest) -> None:
        if any(character > "\uffff" for character in request.query):
            raise ValueError("Incorrect string value for column 'query'")

    return doing(sound, act)


@fault("KP-303", fragment="bytes are allowed", settings=_MANY)
def limit_in_bytes(sound: Any) -> Any:
    """The back end's limit of 500 is in bytes, so a question of 500 characters raises in most scripts."""

    def act(request: RetrievalRequest) -> None:
        if len(request.query.encode()) > limits.QUERY_MAX:
            raise ValueError(f"at most {limits.QUERY_MAX} bytes are allowed")

    return doing(sound, act)


@fault("KP-303", fragment="page size")
def round_page_sizes(sound: Any) -> Any:
    """The back end knows some page sizes only, and top_k goes to it as it is."""

    def act(request: RetrievalRequest) -> None:
        if request.top_k not in (1, 2, 5, 8, 10):
            raise ValueError("page size must be one of 1, 2, 5, 8, 10")

    return doing(sound, act)


@fault("KP-303", fragment="no such name", settings=_MANY)
def looks_characters_up(sound: Any) -> Any:
    """Each character of the query is looked up by its name, and those without one raise."""
    return doing(sound, lambda request: [unicodedata.name(character) for character in request.query])


@fault("KP-304", fragment="top_k = 5")
def one_too_many(sound: Any) -> Any:
    """One result more than was asked for, to see whether there is another page, and nobody takes it away again."""

    def change(request: RetrievalRequest, context: RetrievalContext) -> Asked:
        return request.model_copy(update={"top_k": min(request.top_k + 1, limits.TOP_K_MAX)}), context

    return asking(sound, change)


@fault("KP-304", fragment="top_k = 5")
def merged_without_a_cut(sound: Any) -> Any:
    """Two stores are asked for top_k each, and the whole of both is the answer."""

    def merge(answer: Any, _request: RetrievalRequest) -> Any:
        rows = rows_of(answer)
        return put_rows(answer, [{**row, "id": f"{store}:{row['id']}"} for row in rows for store in "ab"])

    return answering(sound, merge)


@fault("KP-304", fragment="top_k = 1", lacks=lambda _settings: _FEW)
def runner_up_comes_along(sound: Any) -> Any:
    """Where one of many is asked for, the second best comes, too, for a reader to have a choice."""

    def cut(answer: Any, request: RetrievalRequest) -> Any:
        rows = rows_of(answer)
        return put_rows(answer, rows[: 2 if request.top_k == 1 and len(rows) > _FEW_MAX else request.top_k])

    def change(request: RetrievalRequest, context: RetrievalContext) -> Asked:
        return request.model_copy(update={"top_k": limits.TOP_K_MAX}), context

    return answering(asking(sound, change), cut)


@fault("KP-305", fragment="1 result")
def apology_as_a_result(sound: Any) -> Any:
    """Where nothing matches, the answer is a result that says so, and a host cites it as knowledge."""
    return answering(sound, _apologise)


@fault("KP-306", fragment="1 result", settings=_NO_HIT)
def apology_in_spite_of_a_promise(sound: Any) -> Any:
    """A result that says that nothing was found, to a query of which the settings promise that nothing is."""
    return answering(sound, _apologise)


@fault("KP-305", "KP-113", "KP-706", fragment="after a query that finds something")
def last_answer_sticks(sound: Any) -> Any:
    """Where nothing matches, what was found last is still in the attribute that retrieve answers from."""
    last: list[Any] = []

    def change(answer: Any, request: RetrievalRequest) -> Any:
        last[:] = rows_of(answer) or last
        return put_rows(answer, last[: request.top_k])

    return answering(sound, change)


def _apologise(answer: Any, _request: RetrievalRequest) -> Any:
    apology = {"id": "no-results", "content": "Sorry, I could not find anything about that.", "score": 0.0}
    return answer if rows_of(answer) else put_rows(answer, [apology])


@fault("KP-302", "KP-303", "KP-305", "KP-307", fragment="LookupError")
def nothing_found_is_an_error(sound: Any) -> Any:
    """Where nothing matches, retrieve raises, and a host tells the user that the search is broken."""

    def change(answer: Any, request: RetrievalRequest) -> Any:
        # Whoever answers with what is nearest has something for each query, and nothing of it in what it answers.
        if not any(_has_some_of(request.query, row) for row in rows_of(answer)):
            raise LookupError("no documents found")
        return answer

    return answering(sound, change)


def _has_some_of(query: str, row: Row) -> bool:
    held = str(row).casefold()
    # Where words are not set apart, two characters are one.
    return any(word[: _STEM if word.isascii() else 2] in held for word in query.casefold().split())


@fault("KP-307", fragment="KeyError")
def unknown_base_is_a_key_error(sound: Any) -> Any:
    """A knowledge base is looked up in a dictionary, and one that is not there raises KeyError."""
    collections: dict[str, object] = {}
    return doing(sound, lambda request: [collections[base] for base in request.knowledge_base_ids])


@fault("KP-307", fragment="AttributeError")
def nested_filters_raise(sound: Any) -> Any:
    """Filters are taken for texts, so a list or a nested one raises in the middle of their translation."""
    return doing(sound, lambda request: [cast("str", value).casefold() for value in request.filters.values()])


@fault("KP-308", "KP-113", fragment="another request")
def filters_taken_out(sound: Any) -> Any:
    """The first filter, which the back end can do, is popped from the request, so the next provider asks without it."""
    return doing(sound, lambda request: [request.filters.pop(name) for name in [*request.filters][:1]])


@fault("KP-308", fragment="another request")
def top_k_raised_in_place(sound: Any) -> Any:
    """The request itself is made to ask for more, to have a choice; whoever gets it next asks for more, too."""

    def change(answer: Any, request: RetrievalRequest) -> Any:
        rows = rows_of(answer)[: request.top_k]
        object.__setattr__(request, "top_k", limits.TOP_K_MAX)
        return put_rows(answer, rows)

    return answering(sound, change)


@fault("KP-308", fragment="another context")
def owner_written_into_the_context(sound: Any) -> Any:
    """The owner is replaced in the host's context by the back end's name for them, for every later call of the turn."""

    def change(request: RetrievalRequest, context: RetrievalContext) -> Asked:
        object.__setattr__(context, "owner_id", f"user:{context.owner_id}")
        return request, context

    return asking(sound, change)
