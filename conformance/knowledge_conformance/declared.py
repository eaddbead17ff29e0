"""The secrets that the settings declare, by the names of their variables; knows the environment, no provider."""

import os
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from knowledge_conformance.taint import unsearchable

_values: Final[dict[str, str]] = {}


def read_declared(names: Iterable[str], invented: Mapping[str, str] = MappingProxyType({})) -> Mapping[str, str]:
    """The values of these variables as they are now, "" for one that is not set; they are kept for ``declared``.

    To be called before there is a provider, which may take them out of the environment. ``invented`` are values for
    those that are not set.
    """
    now = {name: os.environ.get(name) or invented.get(name, "") for name in names}
    _values.update(now)
    return now


def declared(names: Iterable[str]) -> Mapping[str, str]:
    """The values that ``read_declared`` saw, as they are now where it was not called; "" for one that is not set."""
    return {name: _values.get(name) or os.environ.get(name, "") for name in names}


def searchable(names: Iterable[str]) -> Mapping[str, str]:
    """Those of ``declared`` that can be searched for, and are not in any text by chance (``taint.unsearchable``)."""
    return {name: value for name, value in declared(names).items() if unsearchable(value) is None}
