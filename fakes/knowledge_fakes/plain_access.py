"""``PlainAccess``: clause 11 in one small class, a method for each duty; knows the contract, not the reference's code.

It shares nothing with ``ScopedProvider`` but a scope's type and rule N5, so that checks of access rules do not take the
habits of one for the contract. A faulty rule is this one with a method replaced. ``factory`` is a target.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from knowledge_fakes._plain_calls import ending
from knowledge_provider import RetrievalContext, RetrievalRequest, RetrievalResult, errors, limits
from knowledge_provider.access import AccessMode, AccessScope
from knowledge_provider.text import short_text

_SHARE: Final = 0.7
_TRUE: Final = {True: True, "true": True, False: False, "false": False}
_NAMES: Final = ("tenant_id", "user_id", "allowed_users", "allowed_roles")

Row = Any
Labels = Mapping[str, Any]


class Reader(NamedTuple):
    """Who reads."""

    tenant: str
    user: str
    roles: frozenset[str]


class UnreadableError(Exception):
    """Labels that say nothing that could be relied on."""


class PlainAccess:
    """A conformant rule that has each duty of clause 11 in a method of its own, to be overridden one at a time."""

    def __init__(
        self,
        provider: Any,
        scope: AccessScope | None,
        *,
        identity: Callable[[RetrievalContext], Mapping[str, Any]],
    ) -> None:
        self.provider = provider
        self.configured: AccessScope = scope or AccessScope(self.default_mode())
        self.identity = identity
        self.left: set[object] = set()

    def default_mode(self) -> AccessMode:
        """Clause 11.1."""
        return AccessMode.DENY_IF_UNLABELED

    def describe(self) -> Any:
        """As the provider does."""
        return self.provider.describe()

    async def close(self) -> None:
        """Close the provider."""
        await ending(self.provider.close, left=self.left)

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        """One search, each duty in its place."""
        context.signal.raise_if_cancelled()
        reader = self.reader(context, request)
        rows, reports = self.read(await self.ask(request, context))
        kept = self.kept(rows, reader)
        if self.may_lack(kept, rows, request):
            kept, more_reports = await self.more(kept, request, context, reader)
            reports = [*reports, *more_reports]
        return self.answer(kept[: self.room(request)], reports)

    # Who reads.

    def reader(self, context: RetrievalContext, request: RetrievalRequest) -> Reader:  # noqa: ARG002 - for a mistake
        """Clauses 11.4 and 11.5."""
        return self.run_reader(self.identity(context)) or self.configured_reader()

    def run_reader(self, named: Mapping[str, Any]) -> Reader | None:
        """Clause 11.4: all of it the run's, once that has a tenant or a user."""
        tenant, user = (self.own_id(named.get(name)) for name in ("tenant_id", "user_id"))
        return Reader(tenant, user, frozenset(named.get("roles") or ())) if tenant or user else None

    def configured_reader(self) -> Reader:
        """Clause 11.4: where the run has neither."""
        scope = self.configured
        return Reader(scope.tenant_id or "", scope.user_id or "", scope.roles)

    def own_id(self, value: Any) -> str:
        """An id as text; raises ``TypeError`` for what is none."""
        if value is not None and type(value) is not str:
            raise TypeError("an id is text")
        return (value or "").strip()

    # What they may see.

    def kept(self, rows: Sequence[Row], reader: Reader) -> list[Row]:
        """The rows that the reader may see, in their order."""
        return [row for row in rows if self.may_see(self.labels(row), reader)]

    def labels(self, row: Row) -> Any:
        """Clause 11.3: all of the metadata as they came."""
        return row.get("metadata")

    def may_see(self, labels: Any, reader: Reader) -> bool:
        """Clauses 11.1 and 11.2; what cannot be read authorises nobody."""
        try:
            held, public = self.held(labels), self.public(labels)
            return self.matches(held, reader, public) and self.suffices(held, public, self.configured.mode)
        except UnreadableError:
            return False

    def held(self, labels: Any) -> dict[str, Any]:
        """Clause 11.2: the labels that are there, lists as sets."""
        texts = {name: self.text(self.entry(labels, name)) for name in _NAMES}
        lists = {name: self.listed(texts[name]) for name in _NAMES[2:]}
        return {name: value for name, value in {**texts, **lists}.items() if value}

    def entry(self, labels: Any, name: str) -> Any:
        """What stands under a label's name; two of one name say nothing that could be relied on."""
        if labels is None:
            return None
        if type(labels) is not dict:
            raise UnreadableError
        found = [value for key, value in labels.items() if value is not None and self.shown(key) == name]
        if len(found) > 1:
            raise UnreadableError
        return found[0] if found else None

    def shown(self, key: Any) -> Any:
        """Clause 11.3: the name that a host shows an entry under, by rule N11."""
        return short_text(key, limits.METADATA_KEY_MAX)

    def text(self, value: Any) -> str:
        """Clause 11.2: an empty label is no label."""
        if value is not None and type(value) is not str:
            raise UnreadableError
        return (value or "").strip()

    def listed(self, text: str) -> frozenset[str]:
        """Clause 11.2: the entries of a list with commas."""
        return frozenset(each.strip() for each in text.split(",") if each.strip())

    def public(self, labels: Any) -> bool | None:
        """Clause 11.2: whether it says that it is public, or that it is not; None where it says neither."""
        said = {
            self.said_by_visibility(self.entry(labels, "visibility")),
            self.said_by_public(self.entry(labels, "public")),
        }
        said.discard(None)
        if len(said) > 1:
            raise UnreadableError
        return said.pop() if said else None

    def said_by_visibility(self, value: Any) -> bool | None:
        """``visibility=public``."""
        word = self.text(value)
        return word.lower() == "public" if word else None

    def said_by_public(self, value: Any) -> bool | None:
        """``public=true``, as a boolean or its word."""
        word = value if type(value) is bool else self.text(value).lower()
        if word == "":
            return None
        if word not in _TRUE:
            raise UnreadableError
        return _TRUE[word]

    def matches(self, held: Labels, reader: Reader, public: bool | None) -> bool:  # noqa: ARG002 - for a mistake
        """Clause 11.2: each label that is there."""
        return (
            held.get("tenant_id", reader.tenant) == reader.tenant
            and held.get("user_id", reader.user) == reader.user
            and self.is_among(reader.user, held.get("allowed_users"))
            and self.has_role(reader.roles, held.get("allowed_roles"))
        )

    def is_among(self, user: str, users: frozenset[str] | None) -> bool:
        """Clause 11.2: ``allowed_users``."""
        return users is None or user in users

    def has_role(self, roles: frozenset[str], allowed: frozenset[str] | None) -> bool:
        """Clause 11.2: ``allowed_roles``."""
        return allowed is None or not roles.isdisjoint(allowed)

    def suffices(self, held: Labels, public: bool | None, mode: AccessMode) -> bool:
        """Clause 11.1: what the mode needs beyond labels that match."""
        needed = {
            AccessMode.PERMISSIVE: True,
            AccessMode.DENY_IF_UNLABELED: bool(held or public),
            AccessMode.PUBLIC_ONLY: bool(public),
            AccessMode.TENANT_REQUIRED: "tenant_id" in held,
            AccessMode.USER_REQUIRED: bool(held.keys() & {"user_id", "allowed_users"}),
        }
        return needed[mode] and not self.is_nobodys(held, public)

    def is_nobodys(self, held: Labels, public: bool | None) -> bool:
        """Clause 11.2: what says that it is not public, and not for whom it is."""
        return public is False and not held

    # Asking and answering.

    async def ask(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        """Clause 5.10: what the provider raises comes out."""
        found = await ending(self.provider.retrieve, request, context, left=self.left)
        if found.error is not None:
            raise found.error
        return found.value

    def read(self, answer: Any) -> tuple[list[Row], list[Any]]:
        """The rows and the reports of an answer; what is none is an error."""
        listed: Any = answer.get("results") if type(answer) is dict else answer
        if type(listed) not in (list, tuple):
            raise errors.KnowledgeInvalidResponseError("Wanted a list of results.")
        rows = [row for row in map(self.row, listed) if row is not None]
        if listed and not rows:
            raise errors.KnowledgeInvalidResponseError("Wanted a list of results.")
        reports = answer.get("sources") if type(answer) is dict else None
        return rows, list(reports or ())

    def row(self, item: Any) -> Row | None:
        """Clause 5.1: one result as a dict; None for what is none."""
        if type(item) is RetrievalResult:
            return item.model_dump(by_alias=True, exclude_none=True)
        return item if type(item) is dict else None

    def may_lack(self, kept: Sequence[Row], rows: Sequence[Row], request: RetrievalRequest) -> bool:
        """Clause 11.3: whether there may be more to show."""
        return len(kept) < request.top_k <= len(rows) and request.top_k < limits.TOP_K_MAX

    async def more(
        self, kept: list[Row], request: RetrievalRequest, context: RetrievalContext, reader: Reader
    ) -> tuple[list[Row], list[Any]]:
        """Clause 11.3: once more, for the most that a request can ask for, within the caller's time."""
        try:
            async with asyncio.timeout(self.seconds(context)):
                rows, reports = self.read(await self.ask(self.wider(request), context))
        except Exception:
            if not kept:
                raise
            return kept, []
        return self.kept(rows, reader), reports

    def wider(self, request: RetrievalRequest) -> RetrievalRequest:
        """The same request, for eight."""
        return request.model_copy(update={"top_k": limits.TOP_K_MAX})

    def seconds(self, context: RetrievalContext) -> float | None:
        """A part of what is left of the caller's time."""
        deadline = context.signal.deadline
        return None if deadline is None else _SHARE * max(0.0, deadline - time.monotonic())

    def room(self, request: RetrievalRequest) -> int:
        """Clause 3.3."""
        return request.top_k

    def answer(self, kept: list[Row], reports: list[Any]) -> Any:
        """Clause 11.2: what is shown, and nothing of the rest."""
        if not kept and any(report.get("status") == "failed" for report in reports):
            raise errors.KnowledgeSourcesIncompleteError("Not every source could be asked.")
        return {"results": kept}


def factory(
    provider: Any, scope: AccessScope | None, *, identity: Callable[[RetrievalContext], Mapping[str, Any]]
) -> PlainAccess:
    """A ``PlainAccess``, for ``access=knowledge_fakes.plain_access:factory``."""
    return PlainAccess(provider, scope, identity=identity)
