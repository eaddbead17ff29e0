"""Merging hosts with one fault each, as targets: ``knowledge_fakes.faulty_merging:sources_before_its_own``.

For who wants to see what the kit says of one. The names are those of
``knowledge_fakes.merging_faults.MERGING_FAULTS``; each is called as ``factory(built_in, sources, *, timeout=…)``.
"""

from collections.abc import Callable
from typing import Any

from knowledge_fakes.merging_faults import MERGING_FAULTS


def __getattr__(name: str) -> Callable[..., Any]:
    """The faulty merging host of that name; raises ``AttributeError`` where there is none."""
    if name not in MERGING_FAULTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: there is no fault of that name")
    return MERGING_FAULTS[name].make


def __dir__() -> list[str]:
    """The names of the faults."""
    return sorted(MERGING_FAULTS)
