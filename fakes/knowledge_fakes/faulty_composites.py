"""Composites with one fault each, as targets: ``knowledge_fakes.faulty_composites:naive_gather``.

For who wants to see what the kit says of one. The names are those of
``knowledge_fakes.composite_faults.COMPOSITE_FAULTS``; each target is called as ``factory(children, *, timeout=…)``.
"""

from collections.abc import Callable
from typing import Any

from knowledge_fakes.composite_faults import COMPOSITE_FAULTS


def __getattr__(name: str) -> Callable[..., Any]:
    """The faulty composite of that name; raises ``AttributeError`` where there is none."""
    if name not in COMPOSITE_FAULTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: there is no fault of that name")
    return COMPOSITE_FAULTS[name].make


def __dir__() -> list[str]:
    """The names of the faults."""
    return sorted(COMPOSITE_FAULTS)
