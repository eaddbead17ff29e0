"""A sound provider with one fault each, mostly the embedded one, as targets: ``knowledge_fakes.faulty:duplicate_ids``.

For authors of hosts, who want to see theirs survive them, and for who wants to see what the kit says. The names are
those of ``knowledge_fakes.faults.FAULTS``; a lethal one takes the process with it when it is asked something.
"""

import functools
from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any

from knowledge_fakes.faults import FAULTS


@functools.cache
def _factory(name: str) -> Callable[[], Any]:
    fault = FAULTS[name]

    def factory() -> Any:
        return fault.wrap(resolve_name(fault.over)())

    factory.__name__ = factory.__qualname__ = name
    factory.__doc__ = fault.summary
    return factory


def __getattr__(name: str) -> Callable[[], Any]:
    """The fault of that name as a factory without arguments; raises ``AttributeError`` where there is none."""
    if name not in FAULTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: there is no fault of that name")
    return _factory(name)


def __dir__() -> list[str]:
    """The names of the faults."""
    return sorted(FAULTS)
