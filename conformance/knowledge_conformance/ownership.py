"""Who of the settings sees what, and whether an answer holds what only another owner sees; asks no provider."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from knowledge_conformance.check import Inapplicable, Inconclusive, Violation
from knowledge_conformance.exchange import Exchange, text_of
from knowledge_conformance.parts import parts_of
from knowledge_conformance.plain import copied
from knowledge_conformance.render import show
from knowledge_conformance.settings import Settings
from knowledge_provider import limits
from knowledge_provider.text import short_text

OWNERS_MAX: Final = 3
"""How many of the owners that the settings name are asked as."""
# A short text stands in many documents.
_TELLING: Final = 20
_MORE: Final = "name two owners in [owners], each with a query and, under sees, ids that it alone sees"


class Owner(NamedTuple):
    """One owner of the settings: ``sees`` comes to its ``query``, and ``foreign`` never comes to it."""

    name: str
    query: str
    sees: frozenset[str]
    foreign: frozenset[str]


@dataclass(frozen=True, slots=True)
class Secret:
    """What one owner must not get: ``ids`` of results, and the ``contents`` that were seen under them."""

    ids: frozenset[str]
    contents: frozenset[str] = frozenset()


def owners_of(settings: Settings) -> tuple[Owner, ...]:
    """The first owners of the settings, of which at least two have something to keep from each other.

    What one owner's ``sees`` names and another's does not is that owner's alone. Raises ``Inapplicable`` where no
    owner is named, and ``Inconclusive`` where what is named tells no two apart.
    """
    if not settings.owners:
        raise Inapplicable(f"the settings name no owners: {_MORE}")
    named = list(settings.owners.items())[:OWNERS_MAX]
    sees = {name: frozenset(each.sees) for name, each in named}
    everything = frozenset().union(*sees.values())
    owners = tuple(
        Owner(name, each.query, sees[name], (everything - sees[name]) | frozenset(each.never)) for name, each in named
    )
    if not any(_keeps(two, one) for one in owners for two in owners):
        raise Inconclusive("the settings tell no two owners apart", hint=_MORE)
    return owners


def pair_of(owners: Sequence[Owner]) -> tuple[Owner, Owner]:
    """Two of them, so that the second has something to keep from the first."""
    return next((one, two) for one in owners for two in owners if _keeps(two, one))


def alone_of(owner: Owner, owners: Iterable[Owner]) -> frozenset[str]:
    """What ``owner`` sees and none of the others may."""
    return owner.sees.intersection(*(other.foreign for other in owners if other != owner))


def _keeps(holder: Owner, other: Owner) -> bool:
    return bool(holder.sees & other.foreign)


def ids_of(exchange: Exchange) -> list[str]:
    """The ids of an answer's results as a host reads them (rule N5), in their order."""
    return [_id(text_of(entry, "id")) for _, entry in exchange.entries]


def _id(value: object) -> str:
    return short_text(copied(value) or "", limits.RESULT_ID_MAX)


def secret_of(owner: Owner, answers: Iterable[Exchange]) -> Secret:
    """What ``owner`` must not get, with the contents as they were answered to whoever may see them."""
    entries = (entry for answer in answers for _, entry in answer.entries)
    held = (copied(text_of(entry, "content")) for entry in entries if _id(text_of(entry, "id")) in owner.foreign)
    return Secret(owner.foreign, frozenset(content for content in held if content and len(content) >= _TELLING))


def reached(exchange: Exchange, secret: Secret) -> str | None:
    """What an answer holds of a secret, on one line; or None."""
    found = [name for name in ids_of(exchange) if name in secret.ids]
    if found:
        return f"the result {show(found[0])}"
    texts = (copied(part) for _, part in parts_of(exchange.response))
    if any(content in text for text in texts if text for content in secret.contents):
        return "the content of a document under another id"
    return None


def require_own(owner: Owner, exchange: Exchange, *, hint: str = "") -> None:
    """Raise ``Inconclusive`` unless an owner got what it sees: without that, nothing follows from what another got."""
    missing = sorted(owner.sees.difference(ids_of(exchange)))
    if missing:
        raise Inconclusive(
            f"{show(missing[0])}, which the settings promise to the owner {show(owner.name)}, did not come",
            hint=f"name ids under sees that come among the first {limits.TOP_K_MAX} to that owner's query{hint}",
        )


def crossed(exchange: Exchange, found: str, *, wanted: str, hint: str) -> Violation:
    """The finding that an owner's content reached another."""
    return Violation(
        wanted=wanted,
        saw=f"{found}, which is another's, in an answer to the owner {show(exchange.context.owner_id)}",
        hint=hint,
        where=str(exchange),
    )
