"""Mistakes of those who put retrieved text in front of a model, each as a renderer with what catches it; knows no kit.

From this one catalogue come the kit's proof that its checks of renderers catch something, the faulty renderers of
``knowledge_fakes.faulty_renderers``, and the bad examples of the documentation.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from knowledge_fakes.making import MakerFault
from knowledge_fakes.renderer_faults import (  # noqa: F401 - each declares its faults
    _budget,
    _conversation,
    _escaping,
    _places,
)
from knowledge_fakes.renderer_faults._declared import DECLARED

__all__ = ["RENDERER_FAULTS"]

RENDERER_FAULTS: Final[Mapping[str, MakerFault]] = MappingProxyType(dict(DECLARED))
"""Every fault by its name."""
