"""How the processes of pytest-xdist share the checks of a target, so that they report what one process would.

Knows checks, budgets and how xdist hands out items; runs nothing. A share is run by one process, in order, with calls
of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import pytest

from knowledge_conformance.check import Check
from knowledge_conformance.items import Aim
from knowledge_conformance.kinds import KINDS, Kind
from knowledge_conformance.profiles import calls_needed
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings


class Share(NamedTuple):
    """Checks that one process runs, by id, and how many calls of the provider it may make for them."""

    ids: frozenset[str]
    calls: int


def shares(checks: Sequence[Check], kind: Kind, settings: Settings, processes: int) -> tuple[Share, ...]:
    """At most as many shares as there are processes, and as the budget of calls can hold; always the same ones.

    What several of them need is run in each, and has to be paid for in each. The checks that close a provider are in
    the last share.
    """
    count = processes
    while count > 1:
        split = _split(checks, settings, count)
        needed = [calls_needed(each, settings) for each in split]
        spare = settings.max_calls - sum(needed)
        if spare >= 0 or kind.driven:
            return tuple(
                Share(frozenset(check.id for check in each), calls + max(spare, 0) // len(split))
                for each, calls in zip(split, needed, strict=True)
            )
        count -= 1
    return (Share(frozenset(check.id for check in checks), settings.max_calls),)


def _split(checks: Sequence[Check], settings: Settings, count: int) -> list[list[Check]]:
    """The heaviest first, each to whoever has least."""
    parts: list[list[Check]] = [[] for _ in range(count)]
    weights = [0] * count
    for lump in sorted(_lumps(checks), key=lambda lump: -_weight(lump, settings)):
        least = weights.index(min(weights))
        parts[least].extend(lump)
        weights[least] += _weight(lump, settings)
    used = [part for part in parts if part]
    return sorted(used, key=lambda part: any(check.closes for check in part))


def _weight(lump: Sequence[Check], settings: Settings) -> int:
    return sum(check.calls_allowed(settings) + 1 for check in lump)


_CLOSING: Final = "closing"
_FRESH: Final = "fresh"


def _lumps(checks: Sequence[Check]) -> list[list[Check]]:
    """What has to stay together: a provider is closed once, and what was never asked before is asked once, in turn."""
    lumps: dict[str, list[Check]] = {}
    for check in checks:
        name = _CLOSING if check.closes else _FRESH if check.fresh else check.id
        lumps.setdefault(name, []).append(check)
    return list(lumps.values())


def scheduler(config: pytest.Config, log: Any, share_of: Callable[[str], str | None]) -> Any:
    """What hands out whole shares in their order, and every other item alone; ``share_of`` names an item's share."""
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped] # xdist has no types

    class Shares(LoadScopeScheduling):  # type: ignore[misc] # as above
        def _split_scope(self, nodeid: str) -> str:
            return share_of(nodeid) or nodeid

    # Else the largest would come first, and with it perhaps what closes a provider.
    config.option.loadscopereorder = False
    return Shares(config, log)


class Spread:
    """The shares of all targets in one process: where they are ``wanted``, the controller's; in a worker, its own.

    ``prefix`` gives what the node ids of a target begin with.
    """

    def __init__(self, config: pytest.Config, prefix: Callable[[Aim], str]) -> None:
        self.is_worker: bool = getattr(config, "workerinput", {}).get("knowledge_shares", False)
        # As -n alone asks for; any other way of handing out items is the user's own choice.
        self.wanted: bool = config.getoption("dist", "no") == "load"
        self._prefix = prefix
        self._of: dict[Aim, tuple[Share, ...]] = {}
        self._paid: set[tuple[Aim, int]] = set()

    def divide(self, checks: Mapping[Aim, Sequence[Check]], settings: Settings, processes: int) -> None:
        """Make the shares of each target."""
        self._of = {aim: shares(those, KINDS[aim.kind], settings, processes) for aim, those in checks.items()}

    def share_of(self, nodeid: str) -> str | None:
        """The name of the share that an item belongs to, or None where it is none of a target's."""
        prefix, _, check_id = nodeid.rpartition("::")
        for aim, those in self._of.items():
            for number, share in enumerate(those):
                if prefix == self._prefix(aim) and check_id in share.ids:
                    return f"{prefix}::share {number}"
        return None

    def pay(self, run: Run, aim: Aim, check: Check) -> None:
        """Give the run of a worker the calls of the share that a check begins."""
        for number, share in enumerate(self._of.get(aim, ())):
            if self.is_worker and check.id in share.ids and (aim, number) not in self._paid:
                self._paid.add((aim, number))
                run.grant(share.calls)


def process_count(config: pytest.Config) -> int:
    """How many processes pytest-xdist has been asked for."""
    from xdist.workermanage import parse_tx_spec_config  # type: ignore[import-untyped] # as above

    return len(parse_tx_spec_config(config))
