"""Where the faults of merging hosts are put together; knows no particular one."""

from functools import partial
from typing import Any, Final

from knowledge_fakes.making import MakerFault, declaring
from knowledge_fakes.plain_merging import PlainMerging

DECLARED: Final[dict[str, MakerFault]] = {}
"""Every fault that has been declared by its name, in the order of their declaration."""


def _merge(made: type[PlainMerging], built_in: Any, sources: Any, *, timeout: float = 5.0) -> Any:
    return made(built_in, sources, timeout=timeout).merge


fault = declaring(DECLARED, lambda made: partial(_merge, made))
"""Declares a merging host as a fault."""
