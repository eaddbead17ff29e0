"""Two values that differ, shown so that the difference is seen; knows how the kit shows values, and no check.

A long text is cut and what looks like a key is masked, so two that differ may read the same. What differs is shown as
well then, in pieces too short to be a key.
"""

from itertools import zip_longest
from typing import Final, NamedTuple

from knowledge_conformance.plain import plain
from knowledge_conformance.render import show

_PIECE: Final = 12


class Difference(NamedTuple):
    """The first place in which two texts differ, and a few characters from there on of each, as they are shown."""

    at: int
    one: str
    other: str


def difference(one: str, other: str) -> Difference:
    """Where two texts differ first; for equal ones, their end."""
    pairs = enumerate(zip_longest(one, other))
    at = next((at for at, (own, came) in pairs if own != came), len(one))
    return Difference(at, show(one[at : at + _PIECE]), show(other[at : at + _PIECE]))


def shown_apart(wanted: object, saw: object) -> tuple[str, str]:
    """Both on one line each; where these lines are the same, with what differs."""
    one, other = show(wanted), show(saw)
    if one != other:
        return one, other
    found = difference(*(each if type(each) is str else repr(plain(each)) for each in (wanted, saw)))
    return f"{one}, with {found.one} at character {found.at}", f"{other}, with {found.other} there"
