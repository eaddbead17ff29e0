"""The kinds of things that can be checked: their names, their checks and how a check gets to see one. Runs nothing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal, get_args

from knowledge_conformance.catalogue import catalogue_of, kind_name_of
from knowledge_conformance.check import Check, Facet
from knowledge_conformance.survey import Survey
from knowledge_conformance.target import A_PROVIDER, A_SOURCE

KindName = Literal["provider", "host", "composite", "source", "merging", "access", "renderer"]
"""What a target is: a provider or a retrieval source, or what makes one of the others.

Those that are made are mostly made over providers and sources that the kit hands to what makes them.
"""

_TIMED: Final[Mapping[str, object]] = MappingProxyType({"timeout": 1.0})


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """One kind of target. ``name`` is the option's and the node ids'.

    ``called`` is how the target is called where it is a factory, and ``arguments`` are those of such a call, to try
    whether it takes them: what it makes is driven with fakes. Otherwise the target is ``one``, or makes it; then its
    calls cost a back end something, and a run has a budget of them, and a survey of ordinary answers. ``noun`` is what
    people call it, where its name is another. What is loaded for a kind alone is loaded when it is asked for.
    """

    name: KindName
    facets: tuple[Facet, ...]
    called: str = ""
    arguments: tuple[tuple[object, ...], Mapping[str, object]] = ((None,), _TIMED)
    one: str = A_PROVIDER
    noun: str = ""

    @property
    def checks(self) -> tuple[Check, ...]:
        """Every check of the kind, prerequisites first."""
        checks: tuple[Check, ...] = catalogue_of(self.name).CHECKS
        return checks

    @property
    def not_tested(self) -> Mapping[str, str]:
        """Clauses about the kind that no check stands for, with the reason."""
        reasons: Mapping[str, str] = catalogue_of(self.name).NOT_TESTED
        return reasons

    @property
    def subject(self) -> Callable[..., Any] | None:
        """What makes what the checks look at; None where that is a provider."""
        subject: Callable[..., Any] | None = getattr(catalogue_of(self.name), "SUBJECT", None)
        return subject

    def survey(self) -> Any:
        """A new survey of ordinary answers, of those whose calls cost a back end something."""
        return getattr(catalogue_of(self.name), "SURVEY", Survey)()

    @property
    def wanted(self) -> str:
        """What a target has to be, in words."""
        return f"what makes {self.what}, called as {self.called}" if self.called else self.one

    @property
    def words(self) -> str:
        """What people call such a target."""
        return self.noun or self.name

    @property
    def what(self) -> str:
        """The same with its article."""
        return f"{'an' if self.words[0] in 'aeiou' else 'a'} {self.words}"

    @property
    def driven(self) -> bool:
        """Whether the target is a factory, and what it makes is driven with fakes, whose calls cost nothing."""
        return bool(self.called)


PROVIDER: Final = Kind("provider", tuple(Facet))
HOST: Final = Kind("host", (Facet.CORE,), "factory(provider, *, timeout=…)")
COMPOSITE: Final = Kind("composite", (Facet.CORE,), "factory(children, *, timeout=…)")
SOURCE: Final = Kind("source", (Facet.CORE, Facet.OWNERS), one=A_SOURCE)
MERGING: Final = Kind(
    "merging",
    (Facet.CORE,),
    "factory(built_in, sources, *, timeout=…)",
    ((None, None), _TIMED),
    noun="merging host",
)
ACCESS: Final = Kind(
    "access",
    (Facet.CORE,),
    "factory(provider, scope, *, identity)",
    ((None, None), {"identity": None}),
    noun="access rule",
)
RENDERER: Final = Kind("renderer", (Facet.CORE,), "factory()", ((), {}))

KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {kind.name: kind for kind in (PROVIDER, HOST, COMPOSITE, SOURCE, MERGING, ACCESS, RENDERER)}
)
"""The kinds by their names."""


def kind_of(check: Check) -> Kind:
    """The kind that a check is about."""
    return KINDS[kind_name_of(check.id)]


def kind_named(name: str) -> Kind:
    """The kind of that name; raises ``ValueError`` where there is none."""
    if name not in KINDS:
        raise ValueError(f"wanted a kind of target, one of {', '.join(get_args(KindName))}; got {name!r}")
    return KINDS[name]
