"""Clause 3.2 by generated requests. The only check that loads Hypothesis, and only when it runs."""

import asyncio
from functools import partial
from typing import Final

from knowledge_conformance.calls import Raised, in_thread
from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.judging import judge_all, judges_that_hold
from knowledge_conformance.checks.requests import accepted
from knowledge_conformance.drawn import EnoughError, plain_input
from knowledge_conformance.known import is_known
from knowledge_conformance.settings import Settings
from knowledge_conformance.subject import Subject
from knowledge_conformance.watched import OutOfCallsError
from knowledge_provider import RetrievalRequest

SHRINK_CALLS: Final = 60
"""How many calls may be spent on making a failing request smaller."""


def _calls(settings: Settings) -> int:
    return settings.examples + SHRINK_CALLS


# Clause 3.2
@check("KP-303", clause="3.2", level=Level.MUST, needs=("KP-301",), calls=_calls, surveyed=True, replays=True)
async def generated_requests_are_answered(subject: Subject) -> None:
    """Generated requests are accepted, and answered as well as ordinary ones.

    Queries of any script, symbols and lengths, with every top_k. An answer must keep each MUST of clauses 3.3, 5 and 6
    that the ordinary answers keep. A failing request is made as small as possible before it is shown, unless it is a
    known failure.
    """
    # Here, not at the top: Hypothesis takes longer to load than everything else, and checks may run without this one.
    from knowledge_conformance.generate import each_request

    judges = await judges_that_hold(subject)
    loop = asyncio.get_running_loop()
    found: list[Violation] = []

    def examine(request: RetrievalRequest) -> None:
        attempt = asyncio.run_coroutine_threadsafe(subject.attempt(request), loop)
        try:
            judge_all(accepted(attempt.result()), judges)
        except OutOfCallsError:
            raise EnoughError from None
        except Violation as violation:
            violation.input = plain_input("request", request.model_dump(mode="json", exclude_defaults=True))
            found.append(violation)
            if is_known("KP-303", subject.settings, violation.wanted, violation.saw):
                raise EnoughError from None
            raise
        subject.observe()

    run = partial(each_request, examine, examples=subject.settings.examples, seed=subject.settings.seed)
    given = (subject.settings.replay or {}).get("request")
    ended = await in_thread(run if given is None else partial(examine, RetrievalRequest.model_validate(given)))
    if found:
        # The last one is the smallest: Hypothesis only tries requests that are smaller than the smallest failing one.
        raise found[-1]
    if isinstance(ended, Raised):
        raise OutOfCallsError if isinstance(ended.error, EnoughError) else ended.error


CHECKS: Final[tuple[Check, ...]] = (generated_requests_are_answered,)
