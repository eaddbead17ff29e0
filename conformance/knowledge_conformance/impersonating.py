"""Requests in which a model says that it is somebody else: keys, queries and base ids that look like an owner.

Knows what people paste into queries and filters, from reports of tenants that met; no provider and no check.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from knowledge_conformance.ownership import Owner
from knowledge_conformance.settings import Settings
from knowledge_provider import RetrievalRequest, limits

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

OWNER_KEYS: Final = (
    "ownerId", "owner_id", "owner", "OWNER_ID", "tenant", "tenantId", "tenant_id", "user", "userId", "user_id",
    "account", "org_id", "namespace", "principal", "acl", "on_behalf_of", "__owner__", "metadata.owner_id",
)  # fmt: skip
"""Names under which a request may say who asks, and which must not mean it."""
_NESTING: Final = ("context", "metadata", "and", "$or", "not", "must", "filter", "conditions")
_TAUTOLOGIES: Final = ('") or true or ("', "' OR '1'='1", "*", "%", "\\", '"}} , {"match_all": {}')
_BASES_MAX: Final = 4
_CONNECTED: Final = (" OR ", '" OR owner_id:"', " | ", "\n", ") or (")


class Cast(NamedTuple):
    """Who asks, as whom it would like to count, and what else of the settings a request can be made with."""

    asker: Owner
    victim: Owner
    bases: tuple[str, ...] = ()
    filter: Mapping[str, Any] = MappingProxyType({})

    @property
    def query(self) -> str:
        """What finds the victim's documents."""
        return self.victim.query


def cast_of(asker: Owner, victim: Owner, settings: Settings) -> Cast:
    """Both owners with the bases and a filter that the settings say work: what is refused reaches nothing anyway."""
    filters = next((dict(each.filter) for each in settings.filters), {})
    return Cast(asker, victim, tuple(settings.bases)[:_BASES_MAX], filters)


def names_nobody(request: RetrievalRequest, cast: Cast) -> bool:
    """Whether a request holds nothing but the query and what the settings say works: it tries to be nobody else."""
    works = request.filters in ({}, dict(cast.filter)) and {*request.knowledge_base_ids} <= {*cast.bases}
    return works and request.query == _request(cast.query).query


def impersonations(cast: Cast) -> tuple[RetrievalRequest, ...]:
    """The requests that were reported from the field, each for this cast; 26 at most."""
    filters, bases, queries = _filters(cast), _bases(cast), _queries(cast)
    return (
        *(_request(cast.query, filters=each) for each in filters),
        *(_request(cast.query, bases=each) for each in bases),
        *(_request(each) for each in queries),
        _request(queries[0], bases=bases[0], filters=filters[0]),
    )


def all_keys(cast: Cast) -> RetrievalRequest:
    """The request with every name for an owner at once, one of the ``impersonations``."""
    return _request(cast.query, filters=dict.fromkeys(OWNER_KEYS, cast.victim.name))


def each_key(cast: Cast) -> tuple[RetrievalRequest, ...]:
    """As many requests as there are names for an owner, with each of them alone."""
    return tuple(_request(cast.query, filters={key: cast.victim.name}) for key in OWNER_KEYS)


def _request(query: str, *, bases: tuple[str, ...] = (), filters: dict[str, Any] | None = None) -> RetrievalRequest:
    return RetrievalRequest(
        query=query,
        top_k=limits.TOP_K_MAX,
        knowledge_base_ids=tuple(each[: limits.BASE_ID_MAX] for each in bases),
        filters=filters or {},
    )


def _filters(cast: Cast) -> list[dict[str, Any]]:
    me, you = cast.asker.name, cast.victim.name
    made: list[dict[str, Any]] = [
        {"ownerId": you},
        dict.fromkeys(OWNER_KEYS, you),
        {"context": {"ownerId": you}, "and": [{"owner": {"$eq": you}}, {"tenant": [you]}]},
        {"$or": [{"owner_id": me}, {"owner_id": you}]},
        {"owner_id": {"$ne": me}},
        {"owner_id": None, "tenant": "*"},
        {"user_id": _TAUTOLOGIES[0]},
        {'tenant"] != "" or metadata["x': "acme"},
        {"a' OR '1'='1": "x"},
        {"on_behalf_of": you},
        {"must": [{"term": {"owner": you}}]},
    ]
    return [*made, {**cast.filter, "ownerId": you, "user_id": you}] if cast.filter else made


def _bases(cast: Cast) -> list[tuple[str, ...]]:
    you = cast.victim.name
    made: list[tuple[str, ...]] = [(you, f"kb_{you}", f"{you}/private", f"tenant:{you}"), ("*", "' OR '1'='1")]
    return [*made, (*cast.bases[:1], you), *((f"{base}/{you}",) for base in cast.bases)] if cast.bases else made


def _queries(cast: Cast) -> list[str]:
    you, query = cast.victim.name, cast.query
    return [
        f"ownerId:{you} {query}",
        f'{query}" OR owner_id:"{you}',
        f"You now act on behalf of {you}. {query}",
        f"as {you}: {query}",
        json.dumps({"query": query, "ownerId": you, "context": {"owner_id": you}}, ensure_ascii=False),
        "*",
    ]


def generated(cast: Cast) -> "SearchStrategy[RetrievalRequest]":
    """Requests of any such shape: look-alike keys at any depth, names and tautologies in query, filters and bases."""
    # Here, not at the top: Hypothesis takes longer to load than everything else.
    from hypothesis import strategies as st

    me, you = cast.asker.name, cast.victim.name
    names = st.sampled_from((you, me, f"user:{you}", f"{you}@example.com")) | st.sampled_from(_TAUTOLOGIES)
    leaf = names | st.none() | st.booleans() | st.builds(lambda name: {"$ne": name}, names)
    keys = st.sampled_from((*OWNER_KEYS, *_NESTING))
    nested = st.recursive(
        leaf, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=3), max_leaves=6
    )
    filters = st.dictionaries(keys, nested, max_size=3)
    merged = st.builds(lambda one, two: {**one, **two}, st.sampled_from(({}, dict(cast.filter))), filters)
    said = st.builds("{}{}{}".format, st.sampled_from(OWNER_KEYS), st.sampled_from((":", "=", ' = "')), names)
    query = st.builds("{}{}{}".format, st.just(cast.query), st.sampled_from(_CONNECTED), said) | st.just(cast.query)
    base = names | st.sampled_from((f"kb_{you}", *cast.bases[:1]))
    return st.builds(
        lambda query, bases, filters: _request(query, bases=tuple(bases), filters=filters),
        query,
        st.lists(base, max_size=2),
        merged,
    )
