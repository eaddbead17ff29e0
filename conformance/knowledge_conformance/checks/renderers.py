"""The checks of clause 12 in the order in which they run, prerequisites first; knows none of them."""

from typing import Final

from knowledge_conformance.check import Check
from knowledge_conformance.checks import (
    renderer_attacks,
    renderer_budget,
    renderer_conversation,
    renderer_cuts,
    renderer_disguises,
    renderer_lengths,
    renderer_templates,
)

CHECKS: Final[tuple[Check, ...]] = (
    *renderer_conversation.CHECKS,
    *renderer_budget.CHECKS,
    *renderer_cuts.CHECKS,
    *renderer_attacks.CHECKS,
    *renderer_templates.CHECKS,
    *renderer_lengths.CHECKS,
    *renderer_disguises.CHECKS,
)
