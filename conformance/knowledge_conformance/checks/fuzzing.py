"""Clause 3.2 by generated requests. The only check that loads Hypothesis, and only when it runs."""

from functools import partial
from typing import Final

from knowledge_conformance.check import Check, Level, check
from knowledge_conformance.checks.judging import judge_all, judges_that_hold
from knowledge_conformance.checks.requests import accepted
from knowledge_conformance.drawing import look_at_requests
from knowledge_conformance.settings import Settings
from knowledge_conformance.subject import Subject
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
    settings = subject.settings

    async def ask(request: RetrievalRequest) -> None:
        judge_all(accepted(await subject.attempt(request)), judges)
        subject.observe()

    draw = partial(each_request, examples=settings.examples, seed=settings.seed)
    await look_at_requests("KP-303", settings, draw, ask)


CHECKS: Final[tuple[Check, ...]] = (generated_requests_are_answered,)
