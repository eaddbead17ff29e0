"""``Stepped``: an awaitable whose suspensions are counted, and one of them acted on; knows no provider and no check."""

from collections.abc import Awaitable, Callable, Generator
from types import CoroutineType
from typing import Any, cast

from knowledge_conformance.blame import Stack, stack_of_awaitable


def points(count: int, most: int) -> list[int]:
    """At most ``most`` of the numbers 1 to ``count``, the first and the last among them, spread evenly."""
    if count <= most:
        return list(range(1, count + 1))
    return [1 + at * (count - 1) // (most - 1) for at in range(most)]


class Stepped:
    """Awaits what it is given, and counts how often that suspends the task; in between it is not in the way.

    At suspension number ``at``, counted from 1, ``reached`` is called, in the task and before it gives way. ``points``
    is how many suspensions there were so far, ``held`` where the call stood at number ``at``.
    """

    def __init__(self, awaited: Awaitable[Any], at: int = 0, reached: Callable[[], object] = lambda: None) -> None:
        self._awaited = awaited
        self._steps: Any = None
        self._at = at
        self._reached = reached
        self.points: int = 0
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
        if self.points == self._at:
            self.held = self.where
            self._reached()
        return yielded
