"""Where the faults of retrieval sources are put together; knows no particular one."""

from typing import Final

from knowledge_fakes.making import MakerFault, declaring

DECLARED: Final[dict[str, MakerFault]] = {}
"""Every fault that has been declared by its name, in the order of their declaration."""

fault = declaring(DECLARED)
"""Declares a retrieval source as a fault."""
