"""What a check is: a small declared record and a short function; knows no particular check and runs none."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import JsonValue

if TYPE_CHECKING:
    from knowledge_conformance.exchange import Exchange
    from knowledge_conformance.settings import Settings
    from knowledge_conformance.subject import Subject
    from knowledge_conformance.watched import Watched

Seen = TypeVar("Seen", bound="Watched")
"""What a check looks at: a provider, a host, or another kind."""

REQUIREMENTS: Final = "1.0"
"""The frozen requirement set. A MUST whose ``since`` is later is advisory until the next protocol revision."""


class Level(StrEnum):
    """How binding a clause is."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"


class Facet(StrEnum):
    """What part of a provider a check is about; a verdict names the facets it covers."""

    CORE = "core"
    FILTERS = "filters"
    BASES = "bases"
    OWNERS = "owners"
    SECRETS = "secrets"
    BACK_END = "back-end"


class Phase(StrEnum):
    """When a check runs: what a user sees every day first, what takes most and fails least last."""

    EXAMPLES = "examples"
    BOUNDARIES = "boundaries"
    FUZZ = "fuzz"
    INTERLEAVINGS = "interleavings"


@dataclass(frozen=True, slots=True)
class Check:
    """One rule of the contract as something that can be run.

    ``id`` is permanent: it is never reused and says nothing about order. ``needs`` are checks that must hold for this
    one to mean anything. ``run`` is given the subject of its kind. ``calls`` bounds the calls of a provider that it
    makes itself, ``surveyed`` says that it looks at the shared survey of ordinary answers. Fewer than ``minimum``
    observations are inconclusive. ``closes`` marks a check that closes the provider, so that it comes last. ``replays``
    marks one that draws its inputs and, where ``settings.replay`` has one, looks at that alone. ``later`` is a second
    part, which runs on another event loop when the first has ended. ``phase`` is no earlier than those that it needs.
    """

    id: str
    clause: str
    level: Level
    title: str
    rationale: str
    run: Callable[[Any], Awaitable[None]] = field(repr=False)
    facet: Facet = Facet.CORE
    needs: tuple[str, ...] = ()
    calls: int | Callable[["Settings"], int] = 0
    minimum: int = 1
    surveyed: bool = False
    closes: bool = False
    since: str = REQUIREMENTS
    replays: bool = False
    judge: Callable[["Exchange"], int] | None = field(default=None, repr=False)
    later: Callable[[Any], Awaitable[None]] | None = field(default=None, repr=False)
    phase: Phase = Phase.EXAMPLES

    @property
    def binding(self) -> bool:
        """Whether breaking it fails the run: a MUST of the frozen requirement set."""
        return self.level is Level.MUST and _revision(self.since) <= _revision(REQUIREMENTS)

    @property
    def fresh(self) -> bool:
        """Whether what it asks is to be new to the provider: who was asked before may answer out of what that left."""
        return self.phase is Phase.INTERLEAVINGS or self.facet is Facet.BACK_END

    def calls_allowed(self, settings: "Settings") -> int:
        """How many calls of the provider the check may make itself, the survey aside."""
        return self.calls if isinstance(self.calls, int) else self.calls(settings)


def in_phases(*checks: Check) -> tuple[Check, ...]:
    """Phase by phase, and in each as they are given; those that close what is checked last."""
    phases = list(Phase)
    return tuple(sorted(checks, key=lambda check: (check.closes, phases.index(check.phase))))


def number_of(check: Check) -> int:
    """The number in a check's id, by which checks are listed: KP-304 stands before KP-1101."""
    return int(check.id.removeprefix("KP-"))


def section_of(check: Check) -> str:
    """The section of the contract in a check's id: 3 of KP-304, and 11 of KP-1101."""
    return str(number_of(check) // 100)


def calls_where(setting: str, calls: int, *, thorough: int | None = None) -> Callable[["Settings"], int]:
    """``calls`` of a check that costs nothing where the settings have nothing for it, by the setting's Python name.

    ``thorough`` is how many in a thorough run, where these are not as many.
    """
    most = calls if thorough is None else thorough
    return lambda settings: (most if settings.thorough else calls) if getattr(settings, setting) else 0


def _revision(requirements: str) -> tuple[int, ...]:
    return tuple(int(part) for part in requirements.split("."))


class Violation(Exception):  # noqa: N818 - the field's word for a broken rule; it is an outcome, not a programming error
    """A check's finding that a rule is broken; every text is one line, bounded and free of secrets."""

    # ``input`` is set by a check that draws its inputs: the one that it found, as ``CheckResult.input`` is written.
    input: dict[str, JsonValue] | None = None

    def __init__(self, *, wanted: str, saw: str, hint: str, where: str | None = None) -> None:
        super().__init__(f"wanted {wanted}; saw {saw}")
        self.wanted = wanted
        self.saw = saw
        self.hint = hint
        self.where = where


class Hang(Violation):
    """A call that did not end in its time; ``lasting`` where no host can wait for it, so that it fails at any level.

    Not lasting is what waits for something of the kit's own, which never comes, and ends as soon as it is cancelled:
    a host would have cancelled it, and lost nothing but the answer. That is as bad as its check's level says.
    """

    def __init__(self, *, wanted: str, saw: str, hint: str, where: str | None = None, lasting: bool = True) -> None:
        super().__init__(wanted=wanted, saw=saw, hint=hint, where=where)
        self.lasting = lasting


class Inapplicable(Exception):  # noqa: N818 - an outcome
    """The rule does not concern this provider; the message says why."""


class Blocked(Exception):  # noqa: N818 - an outcome
    """Another rule, which the message names, has to hold before this one can be judged."""


class Inconclusive(Exception):  # noqa: N818 - an outcome
    """Too little was observed to tell; the message says what was missing, ``hint`` what to do about it."""

    def __init__(self, reason: str, *, hint: str) -> None:
        super().__init__(reason)
        self.hint = hint


def check(  # a record's fields, each by name
    id: str,  # noqa: A002 - the field's own name
    *,
    clause: str,
    level: Level,
    facet: Facet = Facet.CORE,
    needs: tuple[str, ...] = (),
    calls: int | Callable[["Settings"], int] = 0,
    minimum: int = 1,
    surveyed: bool = False,
    closes: bool = False,
    replays: bool = False,
    later: Callable[[Seen], Awaitable[None]] | None = None,
    phase: Phase | None = None,
) -> Callable[[Callable[[Seen], Awaitable[None]]], Check]:
    """Declare an ``async def`` over its kind's subject as a check; its docstring is the title and the rationale.

    Without a ``phase`` of its own, one that draws its inputs is fuzzing, and any other looks at examples.
    """
    when = phase or (Phase.FUZZ if replays else Phase.EXAMPLES)

    def declare(run: Callable[[Seen], Awaitable[None]]) -> Check:
        title, rationale = _documentation(run)
        return Check(
            id=id, clause=clause, level=level, title=title, rationale=rationale, run=run, facet=facet,
            needs=needs, calls=calls, minimum=minimum, surveyed=surveyed, closes=closes, replays=replays, later=later,
            phase=when,
        )  # fmt: skip

    return declare


def answer_check(
    id: str,  # noqa: A002 - the field's own name
    *,
    clause: str,
    level: Level,
    needs: tuple[str, ...] = (),
) -> Callable[[Callable[["Exchange"], int]], Check]:
    """Declare a judgement of one answer as a check over the survey of ordinary answers.

    The judge raises ``Violation`` or returns how many observations it made. It makes no calls, so the fuzzing check
    applies it to every answer that it gets.
    """

    def declare(judge: Callable[["Exchange"], int]) -> Check:
        async def run(subject: "Subject") -> None:
            for exchange in await subject.survey():
                subject.look_at(exchange)
                subject.observe(judge(exchange))

        title, rationale = _documentation(judge)
        return Check(
            id=id, clause=clause, level=level, title=title, rationale=rationale, run=run,
            needs=needs, surveyed=True, judge=judge,
        )  # fmt: skip

    return declare


def _documentation(run: Callable[..., object]) -> tuple[str, str]:
    title, _, rationale = cleandoc(run.__doc__ or "").partition("\n")
    if not title or not rationale.strip():
        raise TypeError(f"{run.__name__} needs a docstring: one line of title, then why the rule matters")
    return title.strip(), rationale.strip()
