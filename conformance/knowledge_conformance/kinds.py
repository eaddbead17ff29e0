"""The kinds of things that can be checked: their names, their checks and how a check gets to see one. Runs nothing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal, get_args

from knowledge_conformance import catalogue
from knowledge_conformance.check import Check, Facet
from knowledge_conformance.composite_subject import CompositeSubject
from knowledge_conformance.host_subject import HostSubject
from knowledge_conformance.target import A_PROVIDER

KindName = Literal["provider", "host", "composite"]
"""What a target is: a provider, or what makes a host or a composite over providers that the kit hands it."""


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """One kind of target. ``name`` is the option's and the node ids'.

    ``subject`` makes what its checks look at from a factory; None where the target is a provider, or makes one. Then
    its calls cost a back end something, and a run has a budget of them; a host or composite is driven with fakes.
    ``called`` is how such a factory is called.
    """

    name: KindName
    checks: tuple[Check, ...]
    not_tested: Mapping[str, str]
    facets: tuple[Facet, ...]
    subject: Callable[..., Any] | None = None
    called: str = ""

    @property
    def wanted(self) -> str:
        """What a target has to be, in words."""
        return f"what makes a {self.name}, called as {self.called}" if self.called else A_PROVIDER


PROVIDER: Final = Kind("provider", catalogue.CHECKS, catalogue.NOT_TESTED, tuple(Facet))
HOST: Final = Kind(
    "host",
    catalogue.HOST_CHECKS,
    catalogue.HOST_NOT_TESTED,
    (Facet.CORE,),
    HostSubject,
    "factory(provider, *, timeout=…)",
)
COMPOSITE: Final = Kind(
    "composite",
    catalogue.COMPOSITE_CHECKS,
    catalogue.COMPOSITE_NOT_TESTED,
    (Facet.CORE,),
    CompositeSubject,
    "factory(children, *, timeout=…)",
)

KINDS: Final[Mapping[str, Kind]] = MappingProxyType({kind.name: kind for kind in (PROVIDER, HOST, COMPOSITE)})
"""The kinds by their names."""

_BY_CHECK: Final = {check.id: kind for kind in KINDS.values() for check in kind.checks}


def kind_of(check: Check) -> Kind:
    """The kind that a check is about."""
    return _BY_CHECK[check.id]


def kind_named(name: str) -> Kind:
    """The kind of that name; raises ``ValueError`` where there is none."""
    if name not in KINDS:
        raise ValueError(f"wanted a kind of target, one of {', '.join(get_args(KindName))}; got {name!r}")
    return KINDS[name]
