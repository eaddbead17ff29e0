"""``Fault``: one mistake as a wrapper, with what catches it as data; knows no particular mistake and no kit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import cleandoc
from types import MappingProxyType
from typing import Any, Final

from knowledge_fakes.faults._misreading import Misread

EMBEDDED: Final = "knowledge_fakes.handbook:provider"
"""The sound provider that a fault is put over where it does not name another."""

Wrap = Callable[[Any], Any]
"""Makes a faulty provider of a sound one. Neither is typed closer: what is wrong may be the type."""
Lacks = Callable[[Mapping[str, Any]], str | None]
"""What a run's settings, by Python name, have not, without which a fault does nothing that a check could see."""


def _nothing(_settings: Mapping[str, Any]) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Fault:
    """A mistake that an author of a provider makes, and what a run of the kit says about it.

    ``wrap`` puts it over any conformant provider, synchronous or not. ``trips`` are the checks that do not hold on the
    embedded provider with it, the one that names the mistake best first; over another
    provider at least that one. ``fragment`` is a piece of what it wanted or saw, or of where it saw it. ``settings``
    are those that a run needs for this fault, by Python name.
    ``over`` names the sound provider, as ``module:obj``, that a run needs for this fault to show: not each has a
    network, or owners, that something can be wrong with.
    One that ``waits`` is noticed when a time is over, half a second at least, or another process has answered.
    Where its check passes all the same, ``lacks`` may say what the settings of that run have nothing of.
    Over another provider than its own, one with ``misread`` is what becomes of bad replies, not ``wrap``.
    A ``lethal`` fault takes the process with it, or holds it for ever: run it in a child process only.
    """

    name: str
    summary: str
    wrap: Wrap = field(repr=False)
    trips: tuple[str, ...]
    fragment: str
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    lethal: bool = False
    over: str = EMBEDDED
    waits: bool = False
    lacks: Lacks = _nothing
    misread: Misread | None = None

    def at_home(self, target: str) -> bool:
        """Whether it does over ``target``, as ``module:obj``, what it does over its own provider; most do over any."""
        return self.over in (EMBEDDED, target)


def fault(
    *trips: str,
    fragment: str,
    settings: Mapping[str, Any] | None = None,
    lethal: bool = False,
    over: str = EMBEDDED,
    waits: bool = False,
    lacks: Lacks = _nothing,
    misread: Misread | None = None,
) -> Callable[[Wrap], Fault]:
    """Declare a wrapper as a fault: its name is the fault's, and its docstring the summary.

    Raises ``TypeError`` for one without a one-line docstring or without a check.
    """

    def declare(wrap: Wrap) -> Fault:
        summary = summary_of(wrap, trips)
        held = MappingProxyType(dict(settings or {}))
        return Fault(wrap.__name__, summary, wrap, trips, fragment, held, lethal, over, waits, lacks, misread)

    return declare


def summary_of(declared: Any, trips: tuple[str, ...]) -> str:
    """The docstring of a function or class that is declared as a fault with these checks.

    Raises ``TypeError`` for one without a one-line docstring or without a check.
    """
    summary = cleandoc(declared.__doc__ or "")
    if not trips or not summary or "\n" in summary:
        raise TypeError(f"the fault {declared.__name__} needs a check that it trips and a docstring of one line")
    return summary
