"""Mistakes that authors of providers make, each as a wrapper with what catches it; knows the contract, no kit.

From this one catalogue come the kit's proof that its checks catch something, the faulty providers of
``knowledge_fakes.faulty`` for authors of hosts, and the bad examples of the documentation.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from knowledge_fakes.faults import (
    answers,
    back_end,
    bodies,
    cancelling,
    echoing,
    filtering,
    identity,
    leaving,
    lifecycle,
    links,
    lookalikes,
    naming,
    narrowed,
    outages,
    owners,
    plainness,
    process,
    repeating,
    requests,
    restricting,
    secrets,
    timing,
)
from knowledge_fakes.faults._fault import EMBEDDED, Fault
from knowledge_fakes.faults._misreading import BadReply, Misread

__all__ = ["EMBEDDED", "FAULTS", "BadReply", "Fault", "Misread"]

_MODULES: Final = (
    identity,
    lifecycle,
    requests,
    restricting,
    filtering,
    repeating,
    owners,
    lookalikes,
    echoing,
    naming,
    narrowed,
    answers,
    plainness,
    links,
    secrets,
    timing,
    cancelling,
    leaving,
    back_end,
    bodies,
    outages,
    process,
)

FAULTS: Final[Mapping[str, Fault]] = MappingProxyType(
    {name: held for module in _MODULES for name, held in vars(module).items() if isinstance(held, Fault)}
)
"""Every fault by its name, in the order of the contract's sections; the lethal ones last."""
