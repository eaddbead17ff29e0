"""Access rules with one fault each, as targets: ``knowledge_fakes.faulty_access:permissive_by_default``.

For who wants to see what the kit says of one. The names are those of ``knowledge_fakes.access_faults.ACCESS_FAULTS``;
each target is called as ``factory(provider, scope, *, identity)``.
"""

from collections.abc import Callable
from typing import Any

from knowledge_fakes.access_faults import ACCESS_FAULTS


def __getattr__(name: str) -> Callable[..., Any]:
    """The faulty rule of that name; raises ``AttributeError`` where there is none."""
    if name not in ACCESS_FAULTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: there is no fault of that name")
    return ACCESS_FAULTS[name].make


def __dir__() -> list[str]:
    """The names of the faults."""
    return sorted(ACCESS_FAULTS)
