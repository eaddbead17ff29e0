"""Retrieval sources with one fault each, as targets: ``knowledge_fakes.faulty_sources:link_as_uri``.

For who wants to see what the kit says of one. The names are those of
``knowledge_fakes.source_faults.SOURCE_FAULTS``; each has the knowledge bases of the handbook to be asked for.
"""

from collections.abc import Callable
from typing import Any

from knowledge_fakes.source_faults import SOURCE_FAULTS


def __getattr__(name: str) -> Callable[[], Any]:
    """The faulty source of that name; raises ``AttributeError`` where there is none."""
    if name not in SOURCE_FAULTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: there is no fault of that name")
    return SOURCE_FAULTS[name].make


def __dir__() -> list[str]:
    """The names of the faults."""
    return sorted(SOURCE_FAULTS)
