"""Mistakes of those who write a retrieval source, each as a source with what catches it; knows no kit.

From this one catalogue come the kit's proof that its checks of sources catch something, the faulty sources of
``knowledge_fakes.faulty_sources``, and the bad examples of the documentation.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from knowledge_fakes.making import MakerFault
from knowledge_fakes.source_faults import (  # noqa: F401 - each declares its own
    _answers,
    _asking,
    _documents,
    _identity,
    _listing,
    _permissions,
    _references,
    _timing,
)
from knowledge_fakes.source_faults._declared import DECLARED

__all__ = ["SOURCE_FAULTS"]

SOURCE_FAULTS: Final[Mapping[str, MakerFault]] = MappingProxyType(dict(DECLARED))
"""Every fault by its name."""
