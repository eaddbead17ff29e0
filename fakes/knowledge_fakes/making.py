"""``MakerFault``: one mistake as a class of hosts, sources or another kind, with what catches it; knows none."""

import re
from collections.abc import Callable, Sequence
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


def fault_of(
    made: type[Any], trips: Sequence[str], fragment: str, make: Callable[..., Any] | None = None
) -> MakerFault:
    """A class as a fault: its name in snake case is the fault's, its docstring the summary, itself what makes one.

    Raises ``TypeError`` for one without a one-line docstring or without a check.
    """
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", made.__name__).lower()
    return MakerFault(name, summary_of(made, tuple(trips)), make or made, tuple(trips), fragment)


def declaring(
    catalogue: dict[str, MakerFault], making: Callable[[Any], Callable[..., Any] | None] = lambda _made: None
) -> Callable[..., Callable[[_Made], _Made]]:
    """A decorator ``fault(*trips, fragment=…)`` that puts classes into ``catalogue``; it raises as ``fault_of`` does.

    ``making`` gives what makes a target of a class where that is not the class itself.
    """

    def fault(*trips: str, fragment: str) -> Callable[[_Made], _Made]:
        def declare(made: _Made) -> _Made:
            declared = fault_of(made, trips, fragment, making(made))
            catalogue[declared.name] = declared
            return made

        return declare

    return fault
