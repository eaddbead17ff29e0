"""Clause 9.2: what the good child found is byte for byte the same, whatever stands beside it. Knows faulty siblings.

Pictures of results are compared, not objects: a composite may hand on whatever a bad child gave it.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.composite_children import finding
from knowledge_conformance.checks.composite_loops import in_own_loop
from knowledge_conformance.composite_subject import CompositeSubject, Refusal, reports
from knowledge_conformance.exchange import Exchange, text_of
from knowledge_conformance.plain import Plain, copied, plain
from knowledge_fakes.handbook import HandbookProvider, load_handbook
from knowledge_fakes.scripted import MALFORMED, ScriptedProvider, SyncScriptedProvider, returning
from knowledge_provider import RetrievalRequest

if TYPE_CHECKING:
    from knowledge_fakes.faults import Fault

_AT_ONCE: Final = 8
# More than where one is asked: some siblings never answer, and others work beside them meanwhile.
_AT_ONCE_SECONDS: Final = 1.0
_GOOD_DOCUMENTS: Final = ("release-handbook",)
_OTHER_DOCUMENTS: Final = ("holidays", "onboarding")

# What both find, and what the sibling finds nothing about, in a text that many a fault cannot bear.
_ASKED: Final = (
    RetrievalRequest(query="approval rules and holidays", top_k=8),
    RetrievalRequest(
        query=f'approval rules: "holidays" ../ \u0378 {"🚢" * 130}', top_k=7, knowledge_base_ids=("engineering",)
    ),
)

# Iterated, they never end, nor would the process: of them one stands in the sweep, with an end.
_ENDLESS: Final = frozenset({"an_endless_generator", "a_list_that_never_ends", "a_list_that_grows", "a_range"})
_TAKEN_MAX: Final = 1000

_HINT: Final = (
    "read each child's answer for itself: with normalize_response, in a try of its own, from a task of its own"
)


class _Sibling(NamedTuple):
    """A bad child: what it is in words, how to make it, and whether it may be refused at composition."""

    name: str
    make: Callable[[], Any]
    refusable: bool = False


# Clause 9.2
@check("KP-903", clause="9.2", level=Level.MUST)
async def faulty_siblings_cost_nothing(subject: CompositeSubject) -> None:
    """With any faulty child beside it, a good child's results are byte for byte what they are without.

    The kit's own catalogue of faulty providers is the sibling, one after another; those which break clauses 1.1 to 1.6
    may be refused at composition instead (knowledge_provider_invalid). Only faults that take or hold the whole process
    are left out: against them no composite can do anything within the process that it shares.
    """
    # Here, not at the top: a provider's run needs no fault.
    from knowledge_fakes.faults import FAULTS

    await _sweep(subject, [_of_fault(fault) for fault in FAULTS.values() if not fault.lethal])


def _of_fault(fault: "Fault") -> _Sibling:
    def make() -> Any:
        sound = HandbookProvider(_OTHER_DOCUMENTS)
        return _Endless() if fault.name == "endless_answer" else fault.wrap(sound)

    # Clauses 1.1 to 1.6 are KP-101 to KP-110.
    return _Sibling(f"{fault.name}: {fault.summary}", make, refusable=fault.trips[0] <= "KP-110")


class _Endless(ScriptedProvider):
    """The fault of that name with an end, so that whoever iterates its answer can be told so."""

    def __init__(self) -> None:
        super().__init__([lambda *_: {"results": self._counting()}])
        self.overrun = False

    def _counting(self) -> Iterator[int]:
        yield from range(_TAKEN_MAX)
        self.overrun = True


# Clause 9.2
@check("KP-925", clause="9.2", level=Level.MUST)
async def malformed_answers_cost_nothing(subject: CompositeSubject) -> None:
    """Whatever a child answers, a good child's results are byte for byte what they are without.

    Answers that are no answers: other types, subclasses whose methods raise or end the process, texts that forge a
    conversation, data without a bottom. Whoever iterates, prints or compares them runs the child's code.
    """
    allowed = await _without_sibling(subject)
    for at, name in enumerate(name for name in MALFORMED if name not in _ENDLESS):
        # Both kinds in turn: each is called another way.
        kind = SyncScriptedProvider if at % 2 else ScriptedProvider
        sibling = _Sibling(name, partial(_answering, kind, name))
        await in_own_loop(partial(_beside, subject, sibling, allowed), where=f"beside a child that answers {name}")
        subject.observe()


def _answering(kind: Callable[..., Any], name: str) -> Any:
    return kind([returning(MALFORMED[name]())])


async def _sweep(subject: CompositeSubject, siblings: Iterable[_Sibling]) -> None:
    allowed = await _without_sibling(subject)
    waiting = iter(siblings)
    while batch := list(islice(waiting, _AT_ONCE)):
        beside = (_beside(subject, sibling, allowed) for sibling in batch)
        for ending in await asyncio.gather(*beside, return_exceptions=True):
            if isinstance(ending, BaseException):
                raise ending
            subject.observe()


async def _beside(subject: CompositeSubject, sibling: _Sibling, allowed: Sequence[Sequence["_Kept"]]) -> None:
    """Raise ``Violation`` unless the good child's results beside the sibling are among those ``allowed``."""
    made = sibling.make()
    try:
        found = await _kept_of_all(subject, {"good": HandbookProvider(_GOOD_DOCUMENTS), "sibling": made})
    except Violation as error:
        if isinstance(error, Refusal) and sibling.refusable:
            return
        error.where = f"{error.where}, beside {sibling.name}"
        raise
    for request, kept, known in zip(_ASKED, found, allowed, strict=True):
        if kept not in known:
            raise Violation(
                wanted=f"the {len(known[0].results)} results of the good child, and its report, as without a sibling",
                saw=kept.difference(known[0]),
                hint=_HINT,
                where=f"query {request.query[:40]!r}, beside {sibling.name}",
            )

    if type(made) is _Endless and made.overrun:
        raise Violation(
            wanted="an iterator without an end not to be iterated",
            saw=f"more than {_TAKEN_MAX:,} items taken",
            hint=_HINT,
            where=f"beside {sibling.name}",
        )


class _Kept(NamedTuple):
    """What an answer has of the good child: pictures of its results in order, and of its reports."""

    results: tuple[Plain, ...]
    reports: tuple[Plain, ...]

    def difference(self, wanted: "_Kept") -> str:
        """How this is not what was wanted, in words."""
        if self.results == wanted.results:
            return "another report of it"
        if len(self.results) != len(wanted.results):
            return f"{len(self.results)} of its results"
        return "its results in another order, or with something else in them"


async def _without_sibling(subject: CompositeSubject) -> list[list[_Kept]]:
    """What the composite makes of the good child alone, and beside one that finds nothing, for each request."""
    alone = await _kept_of_all(subject, {"good": HandbookProvider(_GOOD_DOCUMENTS)})
    beside = await _kept_of_all(subject, {"good": HandbookProvider(_GOOD_DOCUMENTS), "sibling": finding("sibling")})
    for request, kept in zip(_ASKED, alone, strict=True):
        if len(kept.results) != len(_contents(request)):
            raise Violation(
                wanted=f"the {len(_contents(request))} results of the only child",
                saw=f"{len(kept.results)} with their contents",
                hint="hand on each result of a child with its content as it is",
            )
    return [[*pair] for pair in zip(alone, beside, strict=True)]


async def _kept_of_all(subject: CompositeSubject, children: Mapping[str, Any]) -> list[_Kept]:
    async with subject.composed(children, deadline=_AT_ONCE_SECONDS) as composite:
        return [_kept(await composite.answer(request)) for request in _ASKED]


def _kept(exchange: Exchange) -> _Kept:
    good = _contents(exchange.request)
    results = (entry for _, entry in exchange.entries if copied(text_of(entry, "content")) in good)
    own = (report for report in reports(exchange) if copied(report.get("key")) == "good")
    return _Kept(tuple(map(plain, results)), tuple(map(plain, own)))


def _contents(request: RetrievalRequest) -> frozenset[str]:
    return frozenset(found["content"] for found in load_handbook(_GOOD_DOCUMENTS).search(request))


CHECKS: Final[tuple[Check, ...]] = (
    faulty_siblings_cost_nothing,
    malformed_answers_cost_nothing,
)
