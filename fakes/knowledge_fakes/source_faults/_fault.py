"""``SourceFault``: one mistake as a class of sources, with what catches it as data; knows no particular one."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from knowledge_fakes.faults._fault import summary_of

_Made = TypeVar("_Made", bound=type[Any])

DECLARED: Final[dict[str, "SourceFault"]] = {}
"""Every fault that has been declared by its name, in the order of their declaration."""


@dataclass(frozen=True, slots=True)
class SourceFault:
    """A mistake that an author of a retrieval source makes, and what a run of the kit says about it.

    ``make()`` gives the handbook as a source with it. ``trips`` are the checks that do not hold then, the one that
    names the mistake best first. ``fragment`` is a piece of what that check wanted or saw, or of where it saw it.
    """

    name: str
    summary: str
    make: Callable[[], Any] = field(repr=False)
    trips: tuple[str, ...]
    fragment: str


def fault(*trips: str, fragment: str) -> Callable[[_Made], _Made]:
    """Declare a source as a fault: its name in snake case is the fault's, and its docstring the summary.

    Raises ``TypeError`` for one without a one-line docstring or without a check.
    """

    def declare(made: _Made) -> _Made:
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", made.__name__).lower()
        DECLARED[name] = SourceFault(name, summary_of(made, trips), made, trips, fragment)
        return made

    return declare
