"""Inputs that a check draws: Hypothesis works in a thread of its own, the provider on its loop. Knows no strategy.

The finding is that of the smallest failing input, and carries it, so that another run can look at that one alone.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TypeVar

from pydantic import JsonValue

from knowledge_conformance.calls import Raised, in_thread
from knowledge_conformance.check import Violation
from knowledge_conformance.drawn import EnoughError, plain_input
from knowledge_conformance.known import is_known
from knowledge_conformance.settings import Settings
from knowledge_conformance.watched import OutOfCallsError
from knowledge_provider import RetrievalRequest

Drawn = TypeVar("Drawn")
Draw = Callable[[Callable[[Drawn], None]], None]
"""Calls what it is given with one input after another, until that raises, then with smaller ones."""
Ask = Callable[[Drawn], Coroutine[None, None, None]]
"""Looks at one input; raises ``Violation`` where it fails."""


async def look_at_requests(
    check_id: str, settings: Settings, draw: Draw[RetrievalRequest], ask: Ask[RetrievalRequest]
) -> None:
    """``look_at_drawn`` with requests, or with the one alone that ``settings.replay`` holds."""
    given = (settings.replay or {}).get("request")
    if given is not None:
        request = RetrievalRequest.model_validate(given)
        await look_at_drawn(check_id, settings, lambda examine: examine(request), ask, keep=_kept)
    else:
        await look_at_drawn(check_id, settings, draw, ask, keep=_kept)


def _kept(request: RetrievalRequest) -> dict[str, JsonValue] | None:
    return plain_input("request", request.model_dump(mode="json", exclude_defaults=True))


async def look_at_drawn(
    check_id: str,
    settings: Settings,
    draw: Draw[Drawn],
    ask: Ask[Drawn],
    *,
    keep: Callable[[Drawn], dict[str, JsonValue] | None],
) -> None:
    """Let ``draw`` give inputs, and ask each on the running loop; ``keep`` writes one down as ``CheckResult.input`` is.

    Raises the ``Violation`` of the smallest failing input; one that the settings know, or of a trial, is not made
    smaller. Raises ``OutOfCallsError`` when the budget ends it, and what else comes out of ``ask``.
    """
    loop = asyncio.get_running_loop()
    found: list[Violation] = []

    def examine(drawn: Drawn) -> None:
        kept = keep(drawn)  # now: whoever gets it may change it
        try:
            asyncio.run_coroutine_threadsafe(ask(drawn), loop).result()
        except OutOfCallsError:
            raise EnoughError from None
        except Violation as violation:
            violation.input = kept
            found.append(violation)
            if settings.trial or is_known(check_id, settings, violation.wanted, violation.saw):
                raise EnoughError from None
            raise

    ended = await in_thread(draw, examine)
    if found:
        # The last one is the smallest: Hypothesis only tries inputs that are smaller than the smallest failing one.
        raise found[-1]
    if isinstance(ended, Raised):
        raise OutOfCallsError if isinstance(ended.error, EnoughError) else ended.error
