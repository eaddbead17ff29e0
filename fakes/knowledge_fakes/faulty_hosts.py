"""A small host with one fault each, as targets: ``knowledge_fakes.faulty_hosts:citations_per_search``.

For who wants to see what the kit says of a host. The names are those of ``knowledge_fakes.host_faults.HOST_FAULTS``;
without the fault it is ``knowledge_fakes.plain_host:factory``.
"""

import functools
from collections.abc import Callable
from typing import Any

from knowledge_fakes import plain_host
from knowledge_fakes.host_faults import HOST_FAULTS


@functools.cache
def _factory(name: str) -> Callable[..., Any]:
    fault = HOST_FAULTS[name]

    @functools.wraps(plain_host.factory)
    def factory(provider: Any, **options: Any) -> Any:
        return fault.make(provider, **options)

    factory.__name__ = factory.__qualname__ = name
    factory.__module__ = __name__
    factory.__doc__ = fault.summary
    return factory


def __getattr__(name: str) -> Callable[..., Any]:
    """The fault of that name as a factory of hosts; raises ``AttributeError`` where there is none."""
    if name not in HOST_FAULTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: there is no fault of that name")
    return _factory(name)


def __dir__() -> list[str]:
    """The names of the faults."""
    return sorted(HOST_FAULTS)
