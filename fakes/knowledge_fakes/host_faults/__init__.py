"""Mistakes that authors of hosts make, each as a host with what catches it; knows clause 8 of the contract, no kit.

From this one catalogue come the kit's proof that its checks of hosts catch something, the faulty hosts of
``knowledge_fakes.faulty_hosts``, and the bad examples of the documentation.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from knowledge_fakes.host_faults import (
    _asking,
    _beside,
    _citing,
    _composing,
    _ending,
    _failing,
    _linking,
    _mixing,
    _offering,
    _reading,
    _restricting,
    _threading,
    _waiting,
)
from knowledge_fakes.host_faults._host_fault import declared_in
from knowledge_fakes.making import MakerFault

__all__ = ["HOST_FAULTS"]

_MODULES: Final = (
    _composing,
    _asking,
    _restricting,
    _mixing,
    _waiting,
    _threading,
    _reading,
    _beside,
    _linking,
    _citing,
    _failing,
    _ending,
    _offering,
)

HOST_FAULTS: Final[Mapping[str, MakerFault]] = MappingProxyType(
    {fault.name: fault for module in _MODULES for fault in declared_in(module)}
)
"""Every fault by its name, in the order of the clause's lines."""
