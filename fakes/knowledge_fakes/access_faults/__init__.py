"""Mistakes of those who decide who may read what, each as an access rule with what catches it; knows no kit.

From this one catalogue come the kit's proof that its checks of access rules catch something, the faulty rules of
``knowledge_fakes.faulty_access``, and the bad examples of the documentation.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from knowledge_fakes.access_faults import _answering, _labels, _readers, _shapes  # noqa: F401 - each declares its faults
from knowledge_fakes.access_faults._declared import DECLARED
from knowledge_fakes.making import MakerFault

__all__ = ["ACCESS_FAULTS"]

ACCESS_FAULTS: Final[Mapping[str, MakerFault]] = MappingProxyType(dict(DECLARED))
"""Every fault by its name."""
