"""Two reports side by side: what is worse, better or otherwise different. Pure; reads and prints nothing."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from knowledge_conformance.proof import Ending
from knowledge_conformance.render import visible
from knowledge_conformance.report import CheckReport, Report
from knowledge_conformance.results import FAILING, CheckOutcome


class OtherKindError(Exception):
    """The reports have no check in common; the message is one line."""


@dataclass(frozen=True, slots=True)
class Change:
    """Things that changed in the same way. ``worse`` is whether whoever merges should look first."""

    label: str
    lines: tuple[str, ...]
    worse: bool = False


_OPEN: Final = {CheckOutcome.INCONCLUSIVE, CheckOutcome.BLOCKED}
_LIVE: Final = {CheckOutcome.PASSED, CheckOutcome.ADVISORY, CheckOutcome.KNOWN}
_Pair = tuple[CheckReport, CheckReport]


def changes(old: Report, new: Report) -> list[Change]:
    """What changed from one report to another of the same kind, worst first; raises ``OtherKindError``.

    Another target is compared, too, and is said by ``preface``.
    """
    if old.kind != new.kind:
        raise OtherKindError(f"one report is about a {old.noun} and one about a {new.noun}: they share no check")
    before = {check.id: check for check in old.checks}
    after = {check.id: check for check in new.checks}
    both = [(before[name], after[name]) for name in before if name in after]
    found = [
        *_outcomes(both),
        *_came_and_went(old, new),
        *_proofs(old, new),
        Change("changed though passing", tuple(_said(pair) for pair in both if _still_passing(pair))),
    ]
    return sorted((change for change in found if change.lines), key=lambda change: not change.worse)


def worse(found: Iterable[Change]) -> bool:
    """Whether anything is worse than it was."""
    return any(change.worse for change in found)


def preface(old: Report, new: Report) -> Iterator[str]:
    """What a reader has to know first: another target, another version, the verdicts."""
    if old.target != new.target:
        yield f"other target: {visible(old.target)}, then {visible(new.target)}"
    for name, was, now in (("kit", old.kit, new.kit), ("requirements", old.requirements, new.requirements)):
        if was != now:
            yield f"other {name}: {visible(was)}, then {visible(now)}"
    yield f"verdict: {old.verdict}" + ("" if old.verdict is new.verdict else f", then {new.verdict}")


def diff_lines(old: Report, new: Report) -> Iterator[str]:
    """All of it in words, line by line; raises ``OtherKindError``."""
    found = changes(old, new)
    yield from preface(old, new)
    for change in found:
        yield f"{change.label} ({len(change.lines)})"
        yield from (f"  {visible(line)}" for line in change.lines)
    yield _conclusion(found)


def _conclusion(found: list[Change]) -> str:
    if worse(found):
        return f"worse: {', '.join(change.label for change in found if change.worse)}"
    return "nothing is worse" if found else "nothing changed"


def _outcomes(both: list[_Pair]) -> Iterator[Change]:
    said: dict[tuple[str, bool], list[str]] = {}
    for was, now in both:
        label = _label(was, now)
        if label is not None:
            said.setdefault(label, []).append(_said((was, now)))
    for (name, is_worse), lines in said.items():
        yield Change(name, tuple(lines), is_worse)


def _label(was: CheckReport, now: CheckReport) -> tuple[str, bool] | None:
    """How a check's outcome changed and whether that is worse, or None where it did not."""
    if now.outcome in FAILING:
        if was.outcome not in FAILING:
            return "newly failing", True
        # Another mistake under the same rule is news, which its outcome alone would hide.
        return ("failing differently", True) if _differently(was, now) else None
    if was.outcome is now.outcome:
        return _accepted_otherwise(was, now)
    if was.outcome in FAILING:
        return _no_longer_failing(now), False
    if now.outcome in _OPEN:
        # What is blocked follows from another check's failure, which stands beside it.
        label = "newly blocked" if now.outcome is CheckOutcome.BLOCKED else "newly inconclusive"
        return (label, True) if was.outcome in _LIVE else ("changed", False)
    return _quietly(was, now)


def _accepted_otherwise(was: CheckReport, now: CheckReport) -> tuple[str, bool] | None:
    """How what does not fail a run changed, advice or a known failure, or None where it did not."""
    if now.outcome not in (CheckOutcome.ADVISORY, CheckOutcome.KNOWN):
        return None
    if was.fingerprint != now.fingerprint:
        return (
            "advised differently" if now.outcome is CheckOutcome.ADVISORY else "known, and failing differently"
        ), True
    if was.known == now.known:
        return None
    # What somebody accepted is accepted no more, or for another reason or until another day.
    return ("no longer known", True) if now.known is None else ("known otherwise", False)


def _no_longer_failing(now: CheckReport) -> str:
    if now.outcome is CheckOutcome.KNOWN:
        return "accepted as known"
    return "fixed" if now.outcome in _LIVE else "no longer seen to fail"


def _quietly(was: CheckReport, now: CheckReport) -> tuple[str, bool]:
    match now.outcome:
        case CheckOutcome.ADVISORY:
            return "newly advised", was.outcome is CheckOutcome.PASSED
        case CheckOutcome.KNOWN:
            return "newly a known failure", True
        case CheckOutcome.INAPPLICABLE:
            # What was shown once is shown no more: a setting went, or a promise of the provider's.
            return "no longer looked at", was.outcome in _LIVE
    return ("fixed" if was.outcome in (CheckOutcome.ADVISORY, CheckOutcome.KNOWN) else "newly passing"), False


def _differently(was: CheckReport, now: CheckReport) -> bool:
    return was.outcome is not now.outcome or was.fingerprint != now.fingerprint


def _still_passing(pair: _Pair) -> bool:
    was, now = pair
    same = (was.observations, was.calls) == (now.observations, now.calls)
    return was.outcome is now.outcome is CheckOutcome.PASSED and not same


def _said(pair: _Pair) -> str:
    was, now = pair
    if was.outcome is now.outcome is CheckOutcome.PASSED:
        return f"{now.id} {_looked(was)}, then {_looked(now)}"
    saw = f" Saw: {now.saw}" if now.saw and now.outcome is not CheckOutcome.PASSED else ""
    known = f" Known: {was.known or 'not'}, then {now.known or 'not'}." if was.known != now.known else ""
    return f"{now.id} {was.outcome}, then {now.outcome}: {now.title}{saw}{known}"


def _looked(check: CheckReport) -> str:
    return f"{check.observations} observation{_s(check.observations)} in {check.calls} call{_s(check.calls)}"


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _came_and_went(old: Report, new: Report) -> Iterator[Change]:
    before, after = {check.id for check in old.checks}, {check.id for check in new.checks}
    gone = tuple(f"{check.id} {check.outcome}: {check.title}" for check in old.checks if check.id not in after)
    # The same kit has the same checks: one that is missing was not selected, so nothing is known of it any more.
    yield Change("no longer there", gone, worse=(old.kit, old.requirements) == (new.kit, new.requirements))
    for failing in (True, False):
        came = [each for each in new.checks if each.id not in before and (each.outcome in FAILING) is failing]
        lines = tuple(f"{check.id} {check.outcome}: {check.title}" for check in came)
        yield Change("new here, and failing" if failing else "new here", lines, worse=failing)


def _proofs(old: Report, new: Report) -> Iterator[Change]:
    caught = [] if old.proof is None or old.proof.void is not None else old.proof.ended(Ending.CAUGHT)
    if not caught:
        return
    if new.proof is None or new.proof.void is not None:
        now = "nothing was injected" if new.proof is None else f"it proves {new.proof.sentence}"
        yield Change("proof lost", (f"{len(caught)} fault{_s(len(caught))} caught, then {now}",), worse=True)
        return
    names = {trial.fault for trial in caught}
    for ending in (Ending.MISSED, Ending.HIDDEN):
        lost = tuple(f"{each.fault}: {each.reason}" for each in new.proof.ended(ending) if each.fault in names)
        yield Change(f"faults no longer caught, now {ending}", lost, worse=True)
    tried = {trial.fault for trial in new.proof.trials}
    gone = tuple(f"{each.fault}: {each.check}" for each in caught if each.fault not in tried)
    # As with checks: another kit may have other faults.
    yield Change("faults no longer injected", gone, worse=(old.kit, old.requirements) == (new.kit, new.requirements))
