"""What narrows a request by the settings and still lets an owner get its own; pure, asks no provider."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final, NamedTuple

from knowledge_conformance.exchange import Exchange, as_dict
from knowledge_conformance.ownership import Owner, ids_of
from knowledge_conformance.plain import is_exactly
from knowledge_conformance.settings import Settings
from knowledge_provider import RetrievalRequest, limits
from knowledge_provider.text import finite_number, has_surrogate


class Narrowing(NamedTuple):
    """The knowledge bases and the filters of a request; without either it is a plain one."""

    bases: tuple[str, ...] = ()
    filters: Mapping[str, Any] = {}

    def asking(self, query: str) -> RetrievalRequest:
        """The largest request for a query, cut to what a request may hold, with a copy of what narrows it."""
        return RetrievalRequest(
            query=query[: limits.QUERY_MAX],
            top_k=limits.TOP_K_MAX,
            knowledge_base_ids=self.bases,
            filters=deepcopy({**self.filters}),
        )


PLAIN: Final = Narrowing()


def ways_of(settings: Settings) -> int:
    """In how many ways the settings narrow a request: by bases, by filters."""
    return bool(settings.bases) + bool(settings.filters)


def narrowings_of(settings: Settings, owner: Owner, own: Exchange) -> tuple[Narrowing, ...]:
    """At most one for each of ``ways_of``, chosen so that what ``owner`` got in ``own`` is likely to come again."""
    by_bases = [Narrowing(bases=_bases(settings, owner))] if settings.bases else []
    by_filters = [Narrowing(filters=_filters(settings, owner, own))] if settings.filters else []
    return (*by_bases, *by_filters)


def _bases(settings: Settings, owner: Owner) -> tuple[str, ...]:
    """As many of the bases as a request may name, first those that hold what the owner alone sees."""
    named = sorted(settings.bases, key=lambda name: owner.sees.isdisjoint(settings.bases[name]))
    return tuple(named[: limits.BASES_MAX])


def _filters(settings: Settings, owner: Owner, own: Exchange) -> Mapping[str, Any]:
    """A filter on a field that the settings filter by, with the value that the owner's result shows; or the first."""
    fields = {name for each in settings.filters for name in each.filter}
    for name, (_, entry) in zip(ids_of(own), own.entries, strict=True):
        shown = (as_dict(entry.get("metadata")) or {}) if name in owner.sees else {}
        for field, value in shown.items():
            if field in fields and _can_be_asked(value):
                return {field: value}
    return settings.filters[0].filter


def _can_be_asked(value: object) -> bool:
    # What a result shows is foreign: a request refuses half a character, and a number that JSON cannot hold.
    if is_exactly(value, str):
        return not has_surrogate(str(value))
    return is_exactly(value, bool) or finite_number(value) is not None
