"""``MergingFault``: one mistake as a class of merging hosts, with what catches it as data; knows no particular one."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

from knowledge_fakes.faults._fault import summary_of
from knowledge_fakes.plain_merging import PlainMerging

_Made = TypeVar("_Made", bound=type[PlainMerging])

DECLARED: Final[dict[str, "MergingFault"]] = {}
"""Every fault that has been declared by its name, in the order of their declaration."""


@dataclass(frozen=True, slots=True)
class MergingFault:
    """A mistake that an author of a merging host makes, and what a run of the kit says about it.

    ``make(built_in, sources, *, timeout=5.0)`` gives a merging function with it. ``trips`` are the checks of merging
    hosts that do not hold then, the one that names the mistake best first. ``fragment`` is a piece of what that check
    wanted or saw, or of where it saw it.
    """

    name: str
    summary: str
    make: Callable[..., Any] = field(repr=False)
    trips: tuple[str, ...]
    fragment: str


def fault(*trips: str, fragment: str) -> Callable[[_Made], _Made]:
    """Declare a merging host as a fault: its name in snake case is the fault's, and its docstring the summary.

    Raises ``TypeError`` for one without a one-line docstring or without a check.
    """

    def declare(made: _Made) -> _Made:
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", made.__name__).lower()
        DECLARED[name] = MergingFault(name, summary_of(made, trips), partial(_merge, made), trips, fragment)
        return made

    return declare


def _merge(made: type[PlainMerging], built_in: Any, sources: Any, *, timeout: float = 5.0) -> Any:
    return made(built_in, sources, timeout=timeout).merge
