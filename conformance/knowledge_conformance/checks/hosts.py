"""The checks of clause 8 in the order in which they run, prerequisites first; knows none of them."""

from typing import Final

from knowledge_conformance.check import Check
from knowledge_conformance.checks import (
    host_answers,
    host_asking,
    host_bases,
    host_beside,
    host_callers,
    host_calling,
    host_cancelling,
    host_citations,
    host_composing,
    host_failing,
    host_handing,
    host_lifecycle,
    host_secrets,
    host_threads,
    host_tool,
)

CHECKS: Final[tuple[Check, ...]] = (
    *host_composing.CHECKS,
    *host_asking.CHECKS,
    *host_bases.CHECKS,
    *host_handing.CHECKS,
    *host_callers.CHECKS,
    *host_calling.CHECKS,
    *host_cancelling.CHECKS,
    *host_answers.CHECKS,
    *host_beside.CHECKS,
    *host_citations.CHECKS,
    *host_failing.CHECKS,
    *host_tool.CHECKS,
    *host_lifecycle.CHECKS,
    *host_secrets.CHECKS,
    *host_threads.CHECKS,
)
