"""Every check of a provider in the order of a run, and all checks by their ids. Runs nothing.

The checks of the other kinds are loaded when one of them is asked for: a run is about one kind mostly, and they take a
third of the time that all take.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Final

from knowledge_conformance.check import Check, in_phases
from knowledge_conformance.checks import (
    awaits,
    back_end,
    back_end_health,
    back_end_secrets,
    bases,
    claims,
    describing,
    filtering,
    fuzzing,
    holding,
    identity,
    impersonation,
    leaving,
    lifecycle,
    links,
    loops,
    owner_lookalikes,
    owners,
    passages,
    plainness,
    repeating,
    requests,
    secrets,
    shapes,
    sources,
    survival,
    timing,
    turn_ids,
)

CHECKS: Final[tuple[Check, ...]] = in_phases(
    *identity.CHECKS,
    *describing.CHECKS,
    *lifecycle.CHECKS,
    *requests.CHECKS,
    *shapes.CHECKS,
    *passages.CHECKS,
    *sources.CHECKS,
    *plainness.CHECKS,
    *survival.CHECKS,
    *links.CHECKS,
    *secrets.CHECKS,
    *bases.CHECKS,
    *filtering.CHECKS,
    *claims.CHECKS,
    *repeating.CHECKS,
    *owners.CHECKS,
    *owner_lookalikes.CHECKS,
    *turn_ids.CHECKS,
    *impersonation.CHECKS,
    *fuzzing.CHECKS,
    *timing.CHECKS,
    *holding.CHECKS,
    *awaits.CHECKS,
    *back_end.CHECKS,
    *back_end_secrets.CHECKS,
    *back_end_health.CHECKS,
    # Last: on a provider that lives for the whole run nothing can be asked after these.
    *secrets.CLOSING_CHECKS,
    *lifecycle.CLOSING_CHECKS,
    *leaving.CLOSING_CHECKS,
    *loops.CLOSING_CHECKS,
)
"""Every check of a provider once, phase by phase, prerequisites first."""


NOT_TESTED: Final[Mapping[str, str]] = {
    "3.1": "requests are made by the kit's own model, which keeps it",
    "4.1": "contexts are made by the host",
    "7.1 (synchronous)": "that a thread is told, counted and bounded is the host's part",
}
"""Clauses about providers that no check stands for, with the reason."""

NUMBERS: Final[Mapping[str, range]] = MappingProxyType(
    {
        "provider": range(100, 800),
        "host": range(800, 900),
        "composite": range(900, 1000),
        "source": range(1000, 1050),
        "merging": range(1050, 1100),
        "access": range(1100, 1200),
        "renderer": range(1200, 1300),
    }
)
"""For each kind by its name the numbers in the ids of its checks."""


def kind_name_of(check_id: str) -> str:
    """The name of the kind that a check of this id is about; raises ``KeyError`` where there is none."""
    number = check_id.removeprefix("KP-")
    for name, numbers in NUMBERS.items():
        if number.isdecimal() and int(number) in numbers:
            return name
    raise KeyError(check_id)


@cache
def catalogue_of(kind_name: str) -> ModuleType:
    """The module with the ``CHECKS`` of a kind, what is ``NOT_TESTED``, and for all but providers the ``SUBJECT``."""
    own = "catalogue" if kind_name == "provider" else f"{kind_name}_catalogue"
    return import_module(f"knowledge_conformance.{own}")


@cache
def _by_id(kind_name: str) -> Mapping[str, Check]:
    return {check.id: check for check in catalogue_of(kind_name).CHECKS}


class _ById(Mapping[str, Check]):
    def __getitem__(self, check_id: str) -> Check:
        return _by_id(kind_name_of(check_id))[check_id]

    def __iter__(self) -> Iterator[str]:
        return (check_id for kind_name in NUMBERS for check_id in _by_id(kind_name))

    def __len__(self) -> int:
        return sum(len(_by_id(kind_name)) for kind_name in NUMBERS)


BY_ID: Final[Mapping[str, Check]] = _ById()
"""All checks by their permanent ids."""
