"""Mistakes that let a request name its owner in one place alone; knows clause 4.2, no way of catching them."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from knowledge_fakes.faults._changing import Asked, Changed, asking
from knowledge_fakes.faults._expected import BASES, OWNERS
from knowledge_fakes.faults._fault import fault
from knowledge_fakes.faults._learning import Owners, as_owner
from knowledge_provider import RetrievalContext, RetrievalRequest

_ADDRESSED: Final = re.compile(r"as ([^:].*?): (.*)", re.IGNORECASE | re.DOTALL)
_BOTH: Final = {**OWNERS, **BASES}


def _named(sound: Any, read: Callable[[RetrievalRequest], tuple[object, Mapping[str, Any]] | None]) -> Changed:
    """The provider that takes an owner out of a request, and searches for what is left of it in that name."""

    def change(request: RetrievalRequest, context: RetrievalContext) -> Asked:
        owner, rest = read(request) or (None, {})
        if not isinstance(owner, str):
            return request, context
        return request.model_copy(update=dict(rest)), as_owner(context, owner)

    return asking(sound, change)


def _named_by(sound: Any, field: str) -> Changed:
    """The provider that answers as the owner in one field of the filters, which is taken out of them."""

    def read(request: RetrievalRequest) -> tuple[object, Mapping[str, Any]]:
        rest = {name: value for name, value in request.filters.items() if name != field}
        return request.filters.get(field), {"filters": rest}

    return _named(sound, read)


@fault("KP-402", fragment="notes-tomas#salary", settings=OWNERS)
def on_behalf_of_in_the_filters(sound: Any) -> Any:
    """An assistant may search on behalf of its principal, who is taken out of the filters before they are looked at."""
    return _named_by(sound, "on_behalf_of")


@fault("KP-402", fragment="notes-tomas#salary", settings=OWNERS)
def account_among_known_filters(sound: Any) -> Any:
    """Filters that are not known are refused, and the account that one of them may name is not asked for its right."""
    return _named_by(sound, "account")


@fault("KP-402", fragment="notes-tomas#salary", settings=OWNERS)
def owner_in_a_must_clause(sound: Any) -> Any:
    """The filters go into the back end's own query as clauses that must hold, the owner's among them."""

    def read(request: RetrievalRequest) -> tuple[object, Mapping[str, Any]] | None:
        match request.filters:
            case {"must": [{"term": {"owner": owner}}]}:
                return owner, {"filters": {}}
        return None

    return _named(sound, read)


@fault("KP-402", fragment="notes-tomas#salary", settings=OWNERS)
def query_that_begins_with_a_name(sound: Any) -> Any:
    """Support staff could once put "as NAME:" before a query, and the model can, too."""

    def read(request: RetrievalRequest) -> tuple[object, Mapping[str, Any]] | None:
        said = _ADDRESSED.fullmatch(request.query)
        return said and (said[1], {"query": said[2]})

    return _named(sound, read)


def _no_base(settings: Mapping[str, Any]) -> str | None:
    return None if settings["bases"] else "the settings name no knowledge base, under which an owner could stand"


@fault("KP-402", fragment="notes-tomas#salary", settings=_BOTH, lacks=_no_base)
def base_with_an_owners_folder(sound: Any) -> Any:
    """In each base its owners have a folder, and one is opened by its path, whoever asks."""
    owners = Owners(sound)

    def change(request: RetrievalRequest, context: RetrievalContext) -> Asked:
        owners.see(context)
        bases = request.knowledge_base_ids
        owner = next((name for name in owners.names if len(bases) == 1 and bases[0].endswith(f"/{name}")), None)
        if owner is None:
            return request, context
        return request.model_copy(update={"knowledge_base_ids": ()}), as_owner(context, owner)

    return asking(sound, change)
