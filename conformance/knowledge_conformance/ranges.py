"""What a filter on an ordered field means, by what comes for values beyond all documents'. Pure; asks no provider.

``{"revision": 7}`` may select what is equal, at least or at most 7: which of them is the provider's own language. Below
everything a lower bound selects all and an upper one nothing, above everything it is the other way about, and equality
selects nothing at either end. What selects something at both ends restricts nothing.
"""

import re
from typing import Any, Final, NamedTuple

from knowledge_conformance.plain import copied, is_exactly

_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d(?!\d)")
# Years that every library of dates can hold, as a number of nanoseconds, too.
_FIRST_DAY: Final = "1700-01-01"
_LAST_DAY: Final = "2200-12-31"
# From there on: small enough for 32 bits where the value is a count, and beyond the present where it is a time.
_FAR: Final = 987_654_321
_TIMES: Final = 10


class Ends(NamedTuple):
    """Whether a filter may select something ``below`` all values of its field, and ``above`` them."""

    below: bool = False
    above: bool = False

    def joined(self, other: "Ends") -> "Ends":
        """What either of two trials of the same field leaves open."""
        return Ends(self.below or other.below, self.above or other.above)

    def refutes(self, held: object, wanted: object) -> bool:
        """Whether a value that a result shows cannot be what the filter ``wanted`` selects."""
        if _kind(held) is not _kind(wanted) or _kind(held) is None or _is_equal(held, wanted):
            return False
        larger = _order(held) > _order(wanted)
        return not (self.below if larger else self.above)


def beyond(value: object) -> tuple[Any, Any] | None:
    """A value below and one above all that a document may have of a number or an ISO date; None of anything else."""
    text = copied(value)
    if text is not None and _DATE.match(text):
        return f"{_FIRST_DAY}{text[len(_FIRST_DAY) :]}", f"{_LAST_DAY}{text[len(_LAST_DAY) :]}"
    if not is_exactly(value, int, float):
        return None
    number: Any = value
    far = abs(number) * _TIMES + _FAR
    return -far, far


def _kind(value: object) -> type | None:
    if beyond(value) is None:
        return None
    return float if is_exactly(value, int, float) else str


def _is_equal(held: object, wanted: object) -> bool:
    # A date holds each of its moments.
    one, two = copied(held), copied(wanted)
    return two.casefold() in one.casefold() if one is not None and two is not None else held == wanted


def _order(value: Any) -> Any:
    return copied(value) or value
