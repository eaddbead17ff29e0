"""Mistakes with knowledge bases, and in what a provider gets; knows clauses 8.3 to 8.5, no way of catching them."""

from typing import Any

from knowledge_fakes.host_faults._asking import unchecked
from knowledge_fakes.host_faults._host_fault import host_fault
from knowledge_fakes.plain_host import PlainHost
from knowledge_provider import RetrievalContext, errors, limits
from knowledge_provider.text import short_text

# Clauses 8.3 and 8.4: the knowledge bases.


@host_fault("KP-806", fragment="'  engineering docs")
class BaseIdsAsSent(PlainHost):
    """The ids go on as they were sent: with white space, twice, blank, any number of them."""

    def read_base_ids(self, knowledge_base_ids: Any) -> tuple[str, ...]:
        return tuple(knowledge_base_ids or ())

    def request(self, query: str, limit: int, bases: tuple[str, ...], filters: Any) -> Any:
        return unchecked(super().request(query, limit, (), filters), knowledge_base_ids=bases)


@host_fault("KP-831", fragment="a search of ['t', 'r', 'a', 'v'")
class LettersOfABaseId(PlainHost):
    """A text in place of a list is iterated like one, and each of its letters is an id."""

    def read_base_ids(self, knowledge_base_ids: Any) -> tuple[str, ...]:
        return super().read_base_ids(
            list(knowledge_base_ids) if isinstance(knowledge_base_ids, str) else knowledge_base_ids
        )


@host_fault("KP-806", fragment="bbbbbbbb")
class LongBaseIdsCut(PlainHost):
    """An id that is too long is cut to 120 characters, and may then be another base's."""

    def read_base_ids(self, knowledge_base_ids: Any) -> tuple[str, ...]:
        if not isinstance(knowledge_base_ids, list | tuple):
            return super().read_base_ids(knowledge_base_ids)
        return super().read_base_ids([short_text(id_, limits.BASE_ID_MAX) for id_ in knowledge_base_ids])


@host_fault("KP-806", fragment="['engineering docs', 'travel']")
class BaseIdsInOrder(PlainHost):
    """Duplicates are removed with a set and sorted, so which eight are left depends on their letters."""

    def read_base_ids(self, knowledge_base_ids: Any) -> tuple[str, ...]:
        if not isinstance(knowledge_base_ids, list | tuple):
            return super().read_base_ids(knowledge_base_ids)
        return super().read_base_ids(sorted({str(id_) for id_ in knowledge_base_ids}))


@host_fault("KP-831", fragment="a search of []")
class UnreadableBasesWiden(PlainHost):
    """Ids of which none can be read count as none asked for, and everything is searched."""

    async def search(self, query: Any, *, context: RetrievalContext, knowledge_base_ids: Any = (), **asked: Any) -> Any:
        ids = self.read_base_ids(knowledge_base_ids)
        return await super().search(query, context=context, knowledge_base_ids=ids, **asked)


@host_fault("KP-807", fragment="'no-such-base'")
class UndisclosedBasesAllowed(PlainHost):
    """Which bases may be searched is told to the model and not kept to, so a guessed id opens a base."""

    def allowed_bases(self, ids: tuple[str, ...]) -> tuple[str, ...]:
        return ids


@host_fault("KP-807", fragment="an outcome after")
class UnknownBasesWiden(PlainHost):
    """Ids that are not disclosed are taken out, and with none left everything is searched."""

    async def search(self, query: Any, *, context: RetrievalContext, knowledge_base_ids: Any = (), **asked: Any) -> Any:
        if not self.allowed_bases(self.read_base_ids(knowledge_base_ids)) and self.bases is not None:
            knowledge_base_ids = ()
        return await super().search(query, context=context, knowledge_base_ids=knowledge_base_ids, **asked)


@host_fault("KP-807", fragment="an exception after 0 calls")
class UnknownBasesAreErrors(PlainHost):
    """A base that is not disclosed is an error that names it, instead of nothing found."""

    def allowed_bases(self, ids: tuple[str, ...]) -> tuple[str, ...]:
        allowed = super().allowed_bases(ids)
        if ids and not allowed:
            raise errors.KnowledgeBaseUnknownError(f"no such base: {ids[0]}")
        return allowed


@host_fault("KP-807", fragment="'engineering-2'")
class BasesByPrefix(PlainHost):
    """A base is allowed when its id begins like one that is disclosed."""

    def allowed_bases(self, ids: tuple[str, ...]) -> tuple[str, ...]:
        return ids if self.bases is None else tuple(id_ for id_ in ids if id_.startswith(self.bases))


# Clause 8.5.


@host_fault("KP-808", fragment="2 arguments by position")
class OwnerInTheFilters(PlainHost):
    """The owner is put among the filters, where the model's own arguments may stand too."""

    async def answer(self, request: Any, context: RetrievalContext) -> Any:
        filters = {**request.filters, "owner_id": context.owner_id}
        return await super().answer(request.model_copy(update={"filters": filters}), context)


@host_fault("KP-832", fragment="'turn_id': ''")
class ContextWithoutItsIds(PlainHost):
    """A context is made for the provider with the owner alone, and its logs lose the session, turn and trace."""

    async def answer(self, request: Any, context: RetrievalContext) -> Any:
        return await super().answer(request, RetrievalContext(owner_id=context.owner_id, signal=context.signal))


@host_fault("KP-832", fragment="'owner_id': 'service'")
class ServiceOwner(PlainHost):
    """Every call is made as the application's own account, which may see everything."""

    async def answer(self, request: Any, context: RetrievalContext) -> Any:
        return await super().answer(request, context.model_copy(update={"owner_id": "service"}))


@host_fault("KP-808", fragment="2 arguments by position")
class FiltersDropped(PlainHost):
    """Filters that the application gives are not passed on, and more is found than was asked for."""

    def request(self, query: str, limit: int, bases: tuple[str, ...], filters: Any) -> Any:
        del filters
        return super().request(query, limit, bases, {})


@host_fault("KP-808", "KP-803", "KP-805", "KP-806", fragment="the request {}")
class RequestAsADictionary(PlainHost):
    """The request is sent as the dictionary of its fields, and providers that read attributes fail."""

    async def answer(self, request: Any, context: RetrievalContext) -> Any:
        return await super().answer(request.model_dump(), context)


@host_fault("KP-808", fragment="2 arguments by position")
class FieldsBesideTheFour(PlainHost):
    """The request has a fifth field with what the application knows of the user."""

    def request(self, query: str, limit: int, bases: tuple[str, ...], filters: Any) -> Any:
        made = super().request(query, limit, bases, filters)
        vars(made)["user"] = {"id": "u-1"}
        return made
