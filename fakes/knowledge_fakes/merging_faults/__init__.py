"""Mistakes of those who merge a task's sources with what a host knows, each with what catches it; knows no kit.

From this one catalogue come the kit's proof that its checks of merging hosts catch something, the faulty ones of
``knowledge_fakes.faulty_merging``, and the bad examples of the documentation.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from knowledge_fakes.making import MakerFault
from knowledge_fakes.merging_faults import _again, _calls, _ending, _records  # noqa: F401 - each declares its faults
from knowledge_fakes.merging_faults._declared import DECLARED

__all__ = ["MERGING_FAULTS"]

MERGING_FAULTS: Final[Mapping[str, MakerFault]] = MappingProxyType(dict(DECLARED))
"""Every fault by its name."""
