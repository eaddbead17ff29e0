"""``MakerFault``: one mistake as a class of access rules or renderers, with what catches it; knows none."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from knowledge_fakes.faults._fault import summary_of

_Made = TypeVar("_Made", bound=type[Any])


@dataclass(frozen=True, slots=True)
class MakerFault:
    """A mistake that an author makes, and what a run of the kit says about it.

    ``make`` is called as a factory of its kind is. ``trips`` are the checks of that kind that do not hold then, the one
    that names the mistake best first. ``fragment`` is a piece of what that check wanted or saw, or of where it saw it.
    """

    name: str
    summary: str
    make: Callable[..., Any] = field(repr=False)
    trips: tuple[str, ...]
    fragment: str


def declaring(catalogue: dict[str, MakerFault]) -> Callable[..., Callable[[_Made], _Made]]:
    """A decorator ``fault(*trips, fragment=…)`` that puts classes into ``catalogue``.

    A class's name in snake case is the fault's, and its docstring the summary. The decorator raises ``TypeError`` for
    one without a one-line docstring or without a check.
    """

    def fault(*trips: str, fragment: str) -> Callable[[_Made], _Made]:
        def declare(made: _Made) -> _Made:
            name = re.sub(r"(?<!^)(?=[A-Z])", "_", made.__name__).lower()
            catalogue[name] = MakerFault(name, summary_of(made, trips), made, trips, fragment)
            return made

        return declare

    return fault
