"""How a host is declared as a fault; knows no particular one.

``make(provider, *, timeout=10.0, knowledge_bases=None)`` of one gives a host that is a ``PlainHost`` but for the
mistake.
"""

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Final, TypeVar

from knowledge_fakes.making import MakerFault, fault_of
from knowledge_fakes.plain_host import PlainHost

_FAULT: Final = "fault"
_Host = TypeVar("_Host", bound=type[PlainHost])


def host_fault(*trips: str, fragment: str) -> Callable[[_Host], _Host]:
    """Declare a host as a fault; raises as ``fault_of`` does."""

    def declare(host: _Host) -> _Host:
        setattr(host, _FAULT, fault_of(host, trips, fragment))
        return host

    return declare


def declared_in(module: ModuleType) -> Iterator[MakerFault]:
    """The faults of a module, in its order."""
    for held in vars(module).values():
        if isinstance(held, type) and _FAULT in vars(held):
            yield vars(held)[_FAULT]
