"""Renderers with one fault each, as targets: ``knowledge_fakes.faulty_renderers:tags_without_escaping``.

For who wants to see what the kit says of one. The names are those of
``knowledge_fakes.renderer_faults.RENDERER_FAULTS``; each target is called without arguments.
"""

from collections.abc import Callable
from typing import Any

from knowledge_fakes.renderer_faults import RENDERER_FAULTS


def __getattr__(name: str) -> Callable[..., Any]:
    """The faulty renderer of that name; raises ``AttributeError`` where there is none."""
    if name not in RENDERER_FAULTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: there is no fault of that name")
    return RENDERER_FAULTS[name].make


def __dir__() -> list[str]:
    """The names of the faults."""
    return sorted(RENDERER_FAULTS)
