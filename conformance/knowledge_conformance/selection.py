"""Which checks of which targets a command line asks for, by node ids, profile and token. Pure; knows no pytest."""

from collections.abc import Sequence

from knowledge_conformance.check import Check
from knowledge_conformance.items import Aim
from knowledge_conformance.kinds import KINDS
from knowledge_conformance.profiles import ordered, selected
from knowledge_conformance.settings import Settings


class Selection:
    """The checks that are asked for; ``given`` are the node ids of the command line that begin with a kind.

    ``only`` is the check of a ``--replay``, which leaves everything else out.
    """

    def __init__(self, aims: Sequence[Aim], settings: Settings, only: Check | None = None) -> None:
        self.given: list[str] = []
        self._aims = aims
        self._settings = settings
        self._only = only

    def prefix(self, aim: Aim) -> str:
        """What the node ids of a target begin with: its kind, and its name where there are several of a kind."""
        return aim.kind if len(self._named(aim.kind)) == 1 else f"{aim.kind}::{aim.target}"

    def checks(self) -> dict[Aim, tuple[Check, ...]]:
        """For each target its checks as they run; without a node id all of the profile."""
        return {aim: self._checks_of(aim) for aim in self._aims}

    def _checks_of(self, aim: Aim) -> tuple[Check, ...]:
        kind = KINDS[aim.kind]
        of_profile = set(selected(kind, self._settings))
        wanted = [check for check in kind.checks if self._wants(check, aim, in_profile=check in of_profile)]
        return ordered(wanted, kind, self._settings)

    def _wants(self, check: Check, aim: Aim, *, in_profile: bool) -> bool:
        if self._only is not None:
            return check is self._only
        kind, given = aim.kind, set(self.given)
        # Who names a check wants it, whatever the profile leaves out.
        if given & {f"{kind}::{check.id}", f"{kind}::{aim.target}::{check.id}"}:
            return True
        return in_profile and (not given or bool(given & {kind, f"{kind}::{aim.target}"}))

    def refusal(self) -> str | None:
        """Why a node id names nothing that there is, on one line; None where each does."""
        for given in self.given:
            kind, *names = given.split("::")
            known = {*(check.id for check in KINDS[kind].checks), *self._named(kind)}
            unknown = [name for name in names if name not in known]
            if unknown or not self._named(kind):
                return f"{given}: {self._no_such(kind, *unknown)}"
        return None

    def _named(self, kind: str) -> list[str]:
        return [aim.target for aim in self._aims if aim.kind == kind]

    def _no_such(self, kind: str, name: str = "") -> str:
        named = self._named(kind)
        if not named:
            return f"there is no {KINDS[kind].words} in this run; name one with --{kind}"
        if ":" in name:
            return f"there is no {KINDS[kind].words} {name!r} in this run; --{kind} names {', '.join(named)}"
        return f"there is no check {name!r} of {KINDS[kind].what}; knowledge-kit checks lists them"
