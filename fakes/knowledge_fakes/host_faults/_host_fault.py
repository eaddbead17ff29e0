"""``HostFault``: one mistake of a host's as a class, with what catches it as data; knows no particular mistake."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Final, TypeVar

from knowledge_fakes.faults._fault import summary_of
from knowledge_fakes.plain_host import PlainHost

_FAULT: Final = "fault"
_Host = TypeVar("_Host", bound=type[PlainHost])


@dataclass(frozen=True, slots=True)
class HostFault:
    """A mistake that an author of a host makes, and what a run of the kit says about it.

    ``make(provider, *, timeout=10.0, knowledge_bases=None)`` gives a host that is a ``PlainHost`` but for the mistake.
    ``trips`` are the checks of hosts that do not hold for it, the one that names the mistake best first. ``fragment``
    is a piece of what that check wanted or saw.
    """

    name: str
    summary: str
    make: Callable[..., Any] = field(repr=False)
    trips: tuple[str, ...]
    fragment: str


def host_fault(*trips: str, fragment: str) -> Callable[[_Host], _Host]:
    """Declare a host as a fault: its name in snake case is the fault's, and its docstring the summary.

    Raises ``TypeError`` for one without a one-line docstring or without a check.
    """

    def declare(host: _Host) -> _Host:
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", host.__name__).lower()
        setattr(host, _FAULT, HostFault(name, summary_of(host, trips), host, trips, fragment))
        return host

    return declare


def declared_in(module: ModuleType) -> Iterator[HostFault]:
    """The faults of a module, in its order."""
    for held in vars(module).values():
        if isinstance(held, type) and _FAULT in vars(held):
            yield vars(held)[_FAULT]
