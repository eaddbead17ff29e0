"""Mistakes with who reads; knows clauses 11.4 and 11.5, no way of catching them."""

from collections.abc import Mapping
from typing import Any

from knowledge_fakes.access_faults._declared import fault
from knowledge_fakes.plain_access import PlainAccess, Reader
from knowledge_provider import RetrievalContext, RetrievalRequest

# Clause 11.4


@fault("KP-1109", fragment="acmes, labelled")
class FilledUpFromTheConfiguration(PlainAccess):
    """What the run does not say is taken from the configuration: bob becomes a user of the service's tenant."""

    def run_reader(self, named: Mapping[str, Any]) -> Reader | None:
        run, own = super().run_reader(named), self.configured_reader()
        return run and Reader(run.tenant or own.tenant, run.user or own.user, run.roles)


@fault("KP-1109", fragment="readers, labelled")
class RolesOfBoth(PlainAccess):
    """A run's user keeps the roles of the service account."""

    def run_reader(self, named: Mapping[str, Any]) -> Reader | None:
        run = super().run_reader(named)
        return run and run._replace(roles=run.roles | self.configured.roles)


@fault("KP-1109", fragment="readers, labelled {'allowed_roles': 'reader'}, for a run of {'roles'")
class RolesAloneAreSomebody(PlainAccess):
    """A run that knows roles alone keeps them, beside the configured user."""

    def run_reader(self, named: Mapping[str, Any]) -> Reader | None:
        own = self.configured_reader()
        roles = frozenset(named.get("roles") or ())
        return super().run_reader(named) or (own._replace(roles=roles) if roles else None)


@fault("KP-1109", "KP-1102", fragment="for a run of {'user_id': 'bob'}")
class TheConfiguredReaderAlways(PlainAccess):
    """The run's identity is never asked for."""

    def run_reader(self, named: Mapping[str, Any]) -> Reader | None:
        super().run_reader(named)
        return None


@fault("KP-1110", fragment="who asks after another")
class TheFirstReaderStays(PlainAccess):
    """Who reads is found out once, when the first call comes, and kept."""

    def reader(self, context: RetrievalContext, request: RetrievalRequest) -> Reader:
        self.kept_reader = getattr(self, "kept_reader", None) or super().reader(context, request)
        return self.kept_reader


@fault("KP-1110", fragment="who asks in another run of one owner")
class ReadersKeptByOwner(PlainAccess):
    """Who reads is found out once for each owner, and what a later run says of them is not heard."""

    def reader(self, context: RetrievalContext, request: RetrievalRequest) -> Reader:
        kept: dict[str, Reader] = self.__dict__.setdefault("kept_readers", {})
        if context.owner_id not in kept:
            kept[context.owner_id] = super().reader(context, request)
        return kept[context.owner_id]


@fault("KP-1110", fragment="who asks at the same time as others")
class ReaderInAnAttribute(PlainAccess):
    """Each call puts its reader where the call that came before it still looks."""

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        self.current = super().reader(context, request)
        return await super().retrieve(request, context)

    def kept(self, rows: Any, reader: Reader) -> list[Any]:  # noqa: ARG002 - the mistake
        return super().kept(rows, self.current)


@fault("KP-1111", fragment="acmes, services, readers")
class ConfiguredWhereTheRunCannotBeRead(PlainAccess):
    """A directory that is down makes a service account of everybody."""

    def reader(self, context: RetrievalContext, request: RetrievalRequest) -> Reader:
        try:
            return super().reader(context, request)
        except Exception:
            return self.configured_reader()


@fault("KP-1111", fragment="where identity(context) gives {'user_id': 4711} a result shown")
class NumbersAreNobody(PlainAccess):
    """An id of another type counts as none, and the configured reader steps in."""

    def own_id(self, value: Any) -> str:
        return super().own_id(value if type(value) is str else None)


# Clause 11.5


@fault("KP-1112", fragment="bobs shown")
class UserFromTheFilters(PlainAccess):
    """A user_id among the filters is who reads: somebody needed that for a test."""

    def reader(self, context: RetrievalContext, request: RetrievalRequest) -> Reader:
        reader = super().reader(context, request)
        return reader._replace(user=str(request.filters.get("user_id", reader.user)))


@fault("KP-1112", fragment="admins shown")
class RolesFromTheFilters(PlainAccess):
    """Roles are taken from the filters, where a model may write them."""

    def reader(self, context: RetrievalContext, request: RetrievalRequest) -> Reader:
        reader = super().reader(context, request)
        claimed = request.filters.get("roles")
        return reader._replace(roles=frozenset(map(str, claimed)) if isinstance(claimed, list) else reader.roles)
