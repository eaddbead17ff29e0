"""``Stepped``: an awaitable whose suspensions are counted, and one of them acted on; knows no provider and no check."""

from collections.abc import Awaitable, Callable, Generator, Sequence
from types import CoroutineType
from typing import Any, Final, TypeVar, cast

from knowledge_conformance.blame import Stack, stack_of_awaitable

_PLACES_MAX: Final = 256
"""Of how many suspensions it is kept where the call stood: to look costs more than the suspension."""

Spread = TypeVar("Spread")


def points(places: Sequence[Stack], most: int) -> list[int]:
    """At most ``most`` of the numbers of suspensions, from 1; ``places`` says where the call stood at each.

    The first and the last are among them. Then come those at which a call first stands somewhere and those at which it
    stands there last, since a loop may wait at one place most of the time; and then others, all spread evenly.
    """
    numbers = list(range(1, len(places) + 1))
    first = {place: number for number, place in reversed(list(zip(numbers, places, strict=True)))}
    last = dict(zip(places, numbers, strict=True))
    chosen: set[int] = set()
    for group in ({1, len(places)} if places else set[int](), {*first.values()}, {*last.values()}, {*numbers}):
        chosen |= {*_spread(sorted(group - chosen), most - len(chosen))}
    return sorted(chosen)


def repeats(places: Sequence[Stack], chosen: Sequence[int], room: int, times: int) -> list[tuple[int, int]]:
    """At which of the ``chosen`` suspensions to stop a call again, and how often, for ``times`` stops at each place.

    One suspension of each place, and of so many places that there is ``room`` for ``times`` calls at each. That a call
    was stopped at each of ``chosen`` once counts.
    """
    at_place: dict[Stack, list[int]] = {}
    for number in chosen:
        at_place.setdefault(places[number - 1], []).append(number)
    return _spread([(held[0], times - len(held)) for held in at_place.values() if len(held) < times], room // times)


def _spread(items: Sequence[Spread], room: int) -> list[Spread]:
    """At most ``room`` of them, each from the middle of an equal share."""
    if len(items) <= room:
        return list(items)
    return [items[(2 * at + 1) * len(items) // (2 * room)] for at in range(room)]


class Stepped:
    """Awaits what it is given, and counts how often that suspends the task; in between it is not in the way.

    At suspension number ``at``, counted from 1, ``reached`` is called, in the task and before it gives way. ``points``
    is how many suspensions there were so far, ``held`` where the call stood at number ``at``, and ``places`` where it
    stood at each, as far as that is looked at, where there is no such number.
    """

    def __init__(self, awaited: Awaitable[Any], at: int = 0, reached: Callable[[], object] = lambda: None) -> None:
        self._awaited = awaited
        self._steps: Any = None
        self._at = at
        self._reached = reached
        self.points: int = 0
        self.places: list[Stack] = []
        self.held: Stack = ()

    @property
    def where(self) -> Stack:
        """Where it is suspended now."""
        return stack_of_awaitable(self._awaited)

    def __await__(self) -> Generator[Any, Any, Any]:
        """Itself, as what a task drives."""
        return cast("Generator[Any, Any, Any]", self)

    def __iter__(self) -> "Stepped":
        """Itself."""
        return self

    def __next__(self) -> Any:
        """Go on to the next suspension."""
        if self._steps is None:
            # A coroutine's own wrapper hides where it stands, so that is done without.
            self._steps = self._awaited if type(self._awaited) is CoroutineType else self._awaited.__await__()
        steps = self._steps
        return self._suspended(steps.send(None) if hasattr(steps, "send") else next(steps))

    def throw(self, *error: Any) -> Any:
        """Go on with an exception, as a cancellation is delivered."""
        steps = self._steps
        if steps is None or not hasattr(steps, "throw"):
            raise error[0]
        return self._suspended(steps.throw(*error))

    def close(self) -> None:
        """End it where it stands."""
        steps: Any = self._steps if self._steps is not None else self._awaited
        if hasattr(steps, "close"):
            steps.close()

    def _suspended(self, yielded: Any) -> Any:
        self.points += 1
        if not self._at:
            self.places.append(self.where if self.points <= _PLACES_MAX else ())
        if self.points == self._at:
            self.held = self.where
            self._reached()
        return yielded
