"""The kinds of things that can be checked: their names, their checks and how a check gets to see one. Runs nothing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal, get_args

from knowledge_conformance import catalogue
from knowledge_conformance.access_subject import AccessSubject
from knowledge_conformance.check import Check, Facet
from knowledge_conformance.composite_subject import CompositeSubject
from knowledge_conformance.host_subject import HostSubject
from knowledge_conformance.merging_subject import MergingSubject
from knowledge_conformance.renderer_subject import RendererSubject
from knowledge_conformance.source_subject import SourceSubject
from knowledge_conformance.source_survey import SourceSurvey
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

    ``subject`` makes what its checks look at; None where that is a provider. ``called`` is how the target is called
    where it is a factory, and ``arguments`` are those of such a call, to try whether it takes them: what it makes is
    driven with fakes. Otherwise the target is ``one``, or makes it; then its calls cost a back end something, and a run
    has a budget of them, and a ``survey`` of ordinary answers. ``noun`` is what people call it, where its name is
    another.
    """

    name: KindName
    checks: tuple[Check, ...]
    not_tested: Mapping[str, str]
    facets: tuple[Facet, ...]
    subject: Callable[..., Any] | None = None
    called: str = ""
    arguments: tuple[tuple[object, ...], Mapping[str, object]] = ((None,), _TIMED)
    one: str = A_PROVIDER
    survey: Callable[[], Any] = Survey
    noun: str = ""

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
SOURCE: Final = Kind(
    "source",
    catalogue.SOURCE_CHECKS,
    catalogue.SOURCE_NOT_TESTED,
    (Facet.CORE, Facet.OWNERS),
    SourceSubject,
    one=A_SOURCE,
    survey=SourceSurvey,
)
MERGING: Final = Kind(
    "merging",
    catalogue.MERGING_CHECKS,
    catalogue.MERGING_NOT_TESTED,
    (Facet.CORE,),
    MergingSubject,
    "factory(built_in, sources, *, timeout=…)",
    ((None, None), _TIMED),
    noun="merging host",
)
ACCESS: Final = Kind(
    "access",
    catalogue.ACCESS_CHECKS,
    catalogue.ACCESS_NOT_TESTED,
    (Facet.CORE,),
    AccessSubject,
    "factory(provider, scope, *, identity)",
    ((None, None), {"identity": None}),
    noun="access rule",
)
RENDERER: Final = Kind(
    "renderer",
    catalogue.RENDERER_CHECKS,
    catalogue.RENDERER_NOT_TESTED,
    (Facet.CORE,),
    RendererSubject,
    "factory()",
    ((), {}),
)

KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {kind.name: kind for kind in (PROVIDER, HOST, COMPOSITE, SOURCE, MERGING, ACCESS, RENDERER)}
)
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
