"""Mistakes of those who put several providers behind one, each as a composite with what catches it; knows no kit.

From this one catalogue come the kit's proof that its checks of composites catch something, the faulty composites of
``knowledge_fakes.faulty_composites``, and the bad examples of the documentation.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from knowledge_fakes.composite_faults import (  # noqa: F401 - each declares its faults
    _asking,
    _ending,
    _isolation,
    _lifecycle,
    _merging,
    _naming,
    _remembering,
)
from knowledge_fakes.composite_faults._declared import DECLARED
from knowledge_fakes.making import MakerFault

__all__ = ["COMPOSITE_FAULTS"]

COMPOSITE_FAULTS: Final[Mapping[str, MakerFault]] = MappingProxyType(dict(DECLARED))
"""Every fault by its name; the naive combination of the retrieval protocol's document first."""
