"""``Watched``: what every subject of a check keeps while it is watched; knows no provider, host or composite.

And what any of them says of a call that does not end.
"""

from collections import deque
from collections.abc import Callable
from typing import Final

from pydantic import BaseModel, JsonValue

from knowledge_conformance.calls import Ending
from knowledge_conformance.check import Hang
from knowledge_conformance.settings import Settings

TRANSCRIPT_MAX: Final = 64


class OutOfCallsError(Exception):
    """The run may not call what it checks any more (``--max-calls``)."""


def refuse_hang(
    ending: Ending, shown: str, seconds: float, *, hint: str, wanted: str = "an end", over_fakes: bool = False
) -> None:
    """Raise ``Hang`` for a call that did not end within ``seconds``; ``shown`` is how it reads.

    ``over_fakes``: there is nothing behind it but the kit's own, so it lasts only where cancelling does not end it.
    """
    if ending.hung:
        lasting = ending.left_running or not over_fakes
        raise Hang(wanted=f"{wanted} within {seconds:g} s", saw=ending.instead, hint=hint, where=shown, lasting=lasting)


class Watched:
    """Counts what a check looks at and what it calls, and writes the calls down.

    ``allowed`` is how many calls the check may make, or None where there is no back end to spare. ``announce`` is told
    each call before it is made, and within how many seconds it should end, so that whoever watches can count the calls
    and tell which one took the process away. ``calls`` counts all, ``shared`` those among them that were made for other
    checks as well: which check makes them is chance where processes share the checks.
    """

    def __init__(
        self, settings: Settings, *, announce: Callable[[str, float], None], allowed: int | None = None
    ) -> None:
        self.settings = settings
        self.calls: int = 0
        self.shared: int = 0
        self.observations: int = 0
        self.met: bool = False
        self.transcript: deque[str] = deque(maxlen=TRANSCRIPT_MAX)
        self.shown: str | None = None
        self._asked: dict[str, BaseModel] = {}
        self._allowed = allowed
        self._announce = announce

    def observe(self, count: int = 1) -> None:
        """Count what was looked at."""
        self.observations += count

    def show(self, shown: str) -> None:
        """Make it the call that a finding shows."""
        self.shown = shown

    def input_of(self, where: str | None) -> dict[str, JsonValue] | None:
        """What was asked in the call that ``where`` shows, as ``CheckResult.input`` is written, where that is known."""
        shown = (text for text in reversed(self._asked) if where is not None and text in where)
        request = next((self._asked[text] for text in shown), None)
        return None if request is None else {"request": request.model_dump(mode="json", exclude_defaults=True)}

    def asks(self, shown: str, request: BaseModel) -> None:
        """Remember what is asked in the call that reads ``shown``; of many calls, the last ones."""
        self._asked.pop(shown, None)
        self._asked[shown] = request
        if len(self._asked) > TRANSCRIPT_MAX:
            del self._asked[next(iter(self._asked))]

    def count(self, shown: str, seconds: float) -> None:
        """Count a call that is about to be made, and make it the one that a finding shows; ``OutOfCallsError``."""
        if self._allowed is not None and self.calls >= self._allowed:
            raise OutOfCallsError
        self.calls += 1
        self.show(shown)
        self.transcript.append(shown)
        self._announce(shown, seconds)

    def answered(self, shown: str, told: str) -> None:
        """Make the call that reads ``shown`` read ``told``, with what came of it, and be the one that a finding shows.

        Of several that read the same, the last: calls that go on at the same time stand in the order they began in.
        """
        self.show(told)
        for at in range(len(self.transcript) - 1, -1, -1):
            if self.transcript[at] == shown:
                self.transcript[at] = told
                return
