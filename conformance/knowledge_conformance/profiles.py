"""Which checks a run makes and in which order, by what they catch. Pure; knows checks, faults and budgets.

A fault of the catalogue names the checks that it trips. From that alone follow the smallest set of checks that catches
every fault, and which check catches how much for a call.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Final

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.check import Check, Facet
from knowledge_conformance.kinds import PROVIDER, Kind
from knowledge_conformance.settings import Profile, Settings
from knowledge_conformance.survey import SURVEY_CALLS

SLOW: Final[Mapping[str, str]] = MappingProxyType(
    {
        "KP-303": "it loads Hypothesis",
        "KP-315": "it starts another process",
        "KP-403": "it loads Hypothesis",
        "KP-704": "it measures how long the event loop is held",
        "KP-815": "it loads Hypothesis",
        "KP-1210": "it loads Hypothesis",
    }
)
"""Checks that take more than 50 ms on a provider that answers at once, or load what does; the fast profile has none."""


def trips_of(kind: Kind) -> tuple[tuple[str, ...], ...]:
    """For each fault of a kind's catalogue the checks that it trips, the one that names it best first."""
    # Here, not at the top: a run of one kind needs the faults of no other.
    name = "faults" if kind is PROVIDER else f"{kind.name}_faults"
    faults = getattr(import_module(f"knowledge_fakes.{name}"), name.upper())
    return tuple(fault.trips for fault in faults.values())


def smallest(trips: Iterable[Sequence[str]], order: Sequence[Check], slow: Iterable[str] = ()) -> frozenset[str]:
    """Few checks of which at least one is tripped by each fault, ``slow`` ones and faults that only they catch aside.

    A check that alone catches a fault has to be in it. Of the others those that catch most of what is left are taken,
    of equal ones the one that makes fewest calls, then the first in ``order``. What they need is in it, too.
    """
    quick = [check for check in order if check.id not in set(slow)]
    names = {check.id for check in quick}
    caught_by = [found for each in trips if (found := names.intersection(each))]
    chosen = {name for found in caught_by if len(found) == 1 for name in found}
    usual = Settings()
    while left := [found for found in caught_by if not found & chosen]:
        best = max(quick, key=lambda check: (sum(check.id in found for found in left), -check.calls_allowed(usual)))
        chosen.add(best.id)
    return frozenset(name for each in chosen for name in (each, *_all_needs(BY_ID[each])))


def _all_needs(check: Check) -> Iterable[str]:
    for needed in check.needs:
        yield needed
        yield from _all_needs(BY_ID[needed])


@cache
def fast_checks(kind: Kind) -> frozenset[str]:
    """The ids of the checks that the fast profile runs on a target of this kind."""
    return smallest(trips_of(kind), kind.checks, SLOW)


def uncaught(kind: Kind) -> tuple[int, int]:
    """How many faults of a kind's catalogue no check of the fast profile catches, and how many there are."""
    trips = trips_of(kind)
    return sum(not fast_checks(kind).intersection(each) for each in trips), len(trips)


def selected(kind: Kind, settings: Settings) -> tuple[Check, ...]:
    """The checks that the profile of the settings runs, in the catalogue's order."""
    if settings.profile is not Profile.FAST:
        return kind.checks
    return tuple(check for check in kind.checks if check.id in fast_checks(kind))


def ordered(checks: Sequence[Check], kind: Kind, settings: Settings) -> tuple[Check, ...]:
    """Checks as a run makes them: in the catalogue's order, or where the calls may not be enough, by kill power.

    What a check needs comes before it, and what closes the provider last.
    """
    if kind.driven or calls_needed(checks, settings) <= settings.max_calls:
        return tuple(checks)
    power = kill_power(kind, settings)
    strongest = sorted(checks, key=lambda check: (check.closes, -power[check.id]))
    return tuple(_needs_first(strongest))


def _needs_first(checks: Sequence[Check]) -> Iterable[Check]:
    given = {check.id for check in checks}
    path = (BY_ID[name] for check in checks for name in (*reversed([*_all_needs(check)]), check.id) if name in given)
    return dict.fromkeys(path)


def kill_power(kind: Kind, settings: Settings) -> Mapping[str, float]:
    """For each check how many faults of the catalogue it is the one to catch, for each call that it may make.

    None for a check of a facet that the settings do not exercise: it would only say so.
    """
    first = [each[0] for each in trips_of(kind)]
    return {
        check.id: first.count(check.id) / (check.calls_allowed(settings) + 1) if _exercised(check, settings) else 0.0
        for check in kind.checks
    }


def _exercised(check: Check, settings: Settings) -> bool:
    told: Mapping[Facet, object] = {
        Facet.CORE: True,
        Facet.FILTERS: settings.filters,
        Facet.BASES: settings.bases,
        Facet.OWNERS: settings.owners,
        Facet.SECRETS: settings.secrets,
        Facet.BACK_END: settings.inject_network_faults,
    }
    return check.facet not in settings.absent and bool(told[check.facet])


def calls_needed(checks: Iterable[Check], settings: Settings) -> int:
    """At most so many calls do these checks make in one process, with what they need, unless it is taken away."""
    all_needed = dict.fromkeys(each for check in checks for each in (check.id, *_all_needs(check)))
    whole = [BY_ID[name] for name in all_needed]
    # Each may get a provider of its own, which is closed. On a second loop there may be another process.
    each = sum(check.calls_allowed(settings) + 1 for check in whole)
    again = sum(SURVEY_CALLS + 1 for check in whole if check.later is not None)
    return each + again + (SURVEY_CALLS if any(check.surveyed for check in whole) else 0)


def left_out_lines(kind: Kind, settings: Settings) -> list[str]:
    """What a reader must not take from a run of the fast profile; nothing for another profile."""
    if settings.profile is not Profile.FAST:
        return []
    names = ", ".join(check.id for check in kind.checks if check.id not in fast_checks(kind))
    missed, of = uncaught(kind)
    return [f"fast profile: not run are {names}; not looked for are {missed} of {of} known faults"]
