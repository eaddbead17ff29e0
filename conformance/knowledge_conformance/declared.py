"""The secrets that the settings declare, by the names of their variables; knows the environment, no provider."""

import os
from collections.abc import Iterable, Mapping
from typing import Final

_OF_THE_FAULTS: Final = "TARNBROOK_API_KEY"
_values: Final[dict[str, str]] = {}


def read_declared(names: Iterable[str]) -> Mapping[str, str]:
    """The values of these variables as they are now, "" for one that is not set; they are kept for ``declared``.

    To be called before there is a provider, which may take them out of the environment.
    """
    now = {name: _now(name) for name in names}
    _values.update(now)
    return now


def declared(names: Iterable[str]) -> Mapping[str, str]:
    """The values that ``read_declared`` saw, as they are now where it was not called; "" for one that is not set."""
    return {name: _values.get(name) or _now(name) for name in names}


def _now(name: str) -> str:
    value = os.environ.get(name, "")
    if name == _OF_THE_FAULTS and not value:
        # The faults' key has a value without an environment, so that they can be put into anybody's provider.
        from knowledge_fakes.faults.secrets import VALUE

        return VALUE
    return value
