"""Mistakes with owners whose ids only look alike; knows clause 4.3 of the contract, no way of catching them."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from unicodedata import normalize

from knowledge_fakes.faults._changing import Asked, Changed, asking
from knowledge_fakes.faults._expected import OWNERS
from knowledge_fakes.faults._fault import Lacks, fault
from knowledge_fakes.faults._keeping import keeping
from knowledge_fakes.faults._learning import Owners, as_owner
from knowledge_provider import RetrievalContext, RetrievalRequest

# Cyrillic and Greek letters, and the Latin ones that they are drawn as.
_ALIKE: Final = ("асеіорхуΑΕΟΡ", "aceiopxyAEOP")
_LATIN: Final = str.maketrans(*_ALIKE)
_FOREIGN: Final = str.maketrans(*reversed(_ALIKE))
_INVISIBLE: Final = re.compile("[\u200b-\u200f\u2060\ufeff]")


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
    return keeping(
        sound, lambda request, context: f"{_INVISIBLE.sub('', context.owner_id)} {request.model_dump_json()}"
    )
