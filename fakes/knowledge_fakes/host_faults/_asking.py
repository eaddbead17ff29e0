"""Mistakes with the query, the owner and the number of results; knows clause 8.3, no way of catching them."""

from typing import Any

from knowledge_fakes.host_faults._host_fault import host_fault
from knowledge_fakes.plain_host import PlainHost
from knowledge_provider import RetrievalContext, RetrievalRequest, errors, limits, normalize_response
from knowledge_provider.text import short_text


def unchecked(request: RetrievalRequest, **changed: Any) -> RetrievalRequest:
    """The request with other fields, and without the model's checks."""
    return RetrievalRequest.model_construct(**{**dict(request), **changed})


# Clause 8.3: the query and the owner.


@host_fault("KP-803", fragment="release \\t\\n policy")
class QueryOnlyStripped(PlainHost):
    """The query is stripped and goes on as it is: invisible characters, line breaks, any length."""

    def read_query(self, query: Any) -> str:
        super().read_query(query)
        return str(query).strip()

    def request(self, query: str, limit: int, bases: tuple[str, ...], filters: Any) -> Any:
        return unchecked(super().request(query, limit, bases, filters), query=query)


@host_fault("KP-803", fragment="drop table documents")
class QueryInLowerCase(PlainHost):
    """The query is folded to lower case for the cache's sake, and names of products are not found any more."""

    def read_query(self, query: Any) -> str:
        return super().read_query(query).lower()


@host_fault("KP-803", fragment="KnowledgeQueryRequiredError: too long")
class LongQueryRefused(PlainHost):
    """A query of more than 500 characters is refused instead of cut, so what a user has pasted ends the turn."""

    def read_query(self, query: Any) -> str:
        if isinstance(query, str) and len(query) > limits.QUERY_MAX:
            raise errors.KnowledgeQueryRequiredError("too long")
        return super().read_query(query)


@host_fault("KP-830", fragment="an outcome after 0 calls")
class BlankQueryIsEmptyAnswer(PlainHost):
    """A blank query finds nothing, and the caller is not told that nothing was asked."""

    async def search(self, query: Any, *, context: RetrievalContext, **asked: Any) -> Any:
        if self.described and not short_text(query, limits.QUERY_MAX):
            return normalize_response([], query="")
        return await super().search(query, context=context, **asked)


@host_fault("KP-830", fragment="an outcome after 1 calls")
class InvisibleQuerySearched(PlainHost):
    """Blank is what strip() leaves empty, so zero-width spaces are searched for."""

    def read_query(self, query: Any) -> str:
        return super().read_query(query) if not str(query or "").strip() else str(query).strip()

    def request(self, query: str, limit: int, bases: tuple[str, ...], filters: Any) -> Any:
        made = super().request(short_text(query, limits.QUERY_MAX) or "-", limit, bases, filters)
        return made if short_text(query, limits.QUERY_MAX) else unchecked(made, query=query)


@host_fault("KP-830", fragment="ValidationError")
class BlankQueryIsAnyError(PlainHost):
    """A blank query ends in whatever the request's model raises, without a code."""

    def read_query(self, query: Any) -> str:
        try:
            return super().read_query(query)
        except errors.KnowledgeQueryRequiredError:
            return RetrievalRequest(query="").query


@host_fault("KP-804", fragment="an outcome after 1 calls")
class BlankOwnerIsAnonymous(PlainHost):
    """Who is not signed in searches as "anonymous", and all of them share what that owner may see."""

    def require_owner(self, context: RetrievalContext) -> None:
        vars(context)["owner_id"] = context.owner_id.strip() or "anonymous"
        super().require_owner(context)


@host_fault("KP-804", fragment="an outcome after 1 calls")
class OwnerOfWhiteSpace(PlainHost):
    """An owner counts as missing when it is empty, so a space, or what nobody sees, is an owner."""

    def require_owner(self, context: RetrievalContext) -> None:
        if not context.owner_id:
            super().require_owner(context)


@host_fault("KP-804", fragment="an outcome after 0 calls")
class MissingOwnerIsEmptyAnswer(PlainHost):
    """Without an owner nothing is found, which looks like an empty knowledge base."""

    async def search(self, query: Any, *, context: RetrievalContext, **asked: Any) -> Any:
        try:
            return await super().search(query, context=context, **asked)
        except errors.KnowledgeOwnerRequiredError:
            return normalize_response([], query=query)


# Clause 8.3: how many results.


@host_fault("KP-805", fragment="top_k 1 for 0")
class TopKAsSent(PlainHost):
    """How many results the model asks for goes on as it was sent."""

    def read_top_k(self, top_k: Any) -> int:
        self.sent = top_k
        return super().read_top_k(top_k)

    def request(self, query: str, limit: int, bases: tuple[str, ...], filters: Any) -> Any:
        return unchecked(super().request(query, limit, bases, filters), top_k=self.sent)


@host_fault("KP-805", fragment="invalid literal for int()")
class TopKByInt(PlainHost):
    """The number is read with int(), which raises on a word, on a list and on infinity."""

    def read_top_k(self, top_k: Any) -> int:
        return super().read_top_k(None if top_k is None else int(top_k))


@host_fault("KP-805", fragment="for True")
class TrueIsOneResult(PlainHost):
    """A boolean is an int, so true asks for one result."""

    def read_top_k(self, top_k: Any) -> int:
        return super().read_top_k(int(top_k) if isinstance(top_k, bool) else top_k)


@host_fault("KP-805", fragment="top_k must be at most 8")
class TooManyRefused(PlainHost):
    """A number beyond 8 is refused, and the model that has asked for ten results gets none."""

    def read_top_k(self, top_k: Any) -> int:
        if isinstance(top_k, int) and top_k > limits.TOP_K_MAX:
            raise ValueError("top_k must be at most 8")
        return super().read_top_k(top_k)


@host_fault("KP-805", fragment="for '3'")
class TextIsNoNumber(PlainHost):
    """A number that comes as a text counts as missing, though models often send it so."""

    def read_top_k(self, top_k: Any) -> int:
        return super().read_top_k(None if isinstance(top_k, str) else top_k)


@host_fault("KP-805", fragment="top_k 1 for 0")
class ZeroIsTheDefault(PlainHost):
    """What is falsy counts as missing, so none at all becomes five."""

    def read_top_k(self, top_k: Any) -> int:
        return super().read_top_k(top_k or limits.TOP_K_DEFAULT)
