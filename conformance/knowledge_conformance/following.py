"""What a user may ask for beside a verdict: a failure again, tests that show failures, an entry for each known one.

Knows reports, options and folders, for both doors; runs nothing.
"""

import os
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from knowledge_conformance.kinds import PROVIDER, kind_of
from knowledge_conformance.known import utc_day
from knowledge_conformance.known_file import UnwritableError, write_entries
from knowledge_conformance.replay import Replay, TokenError, bounded_lines, outcome_line, read_token
from knowledge_conformance.report import Report
from knowledge_conformance.repro import write_repros
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import TargetError


class FollowUpError(Exception):
    """What was asked for beside the verdict cannot be done; the message is one line, and begins with the option."""


def replaying(text: str, kinds: Collection[str]) -> Replay:
    """What ``--replay`` asks for, in a run on targets of ``kinds``; raises ``TokenError``."""
    replay = read_token(text)
    kind = kind_of(replay.check)
    if kind.name not in kinds:
        raise TokenError(f"{replay.check.id} is a check of {kind.what}, and this run has none; name one")
    return replay


def refuse_unprovable(kinds: Collection[str]) -> None:
    """Raise ``TargetError`` where ``--prove``, in a run on targets of ``kinds``, would have nothing to do."""
    if PROVIDER.name not in kinds:
        raise TargetError(
            f"--prove: its faults are put into a provider, and this run has only a {' and a '.join(sorted(kinds))}: "
            "name the provider that they are to be put into (pytest --provider=MODULE:OBJ, knowledge-kit run "
            "MODULE:OBJ), or leave --prove out"
        )


def refuse_unwritable(folder: Path) -> None:
    """Raise ``FollowUpError`` where ``--emit-repro`` could not write into ``folder``, which need not be there yet."""
    there = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
    if not there.is_dir():
        why = "is no folder"
    elif not os.access(there, os.W_OK | os.X_OK):
        why = "takes no files from you"
    else:
        return
    told = "it" if there == folder else there
    raise FollowUpError(
        f"--emit-repro: cannot write into {folder}: {told} {why}; name a folder, which is made where it is missing"
    )


def follow_up(
    reports: Sequence[Report],
    settings: Settings,
    folder: Path,
    replay: Replay | None,
    *,
    emit: Path | None,
    write: bool,
) -> list[str]:
    """Do what was asked for, and say what was done, line by line; raises ``FollowUpError``."""
    lines = [] if replay is None else list(_replayed(reports, settings, replay))
    if emit is not None:
        try:
            lines += [f"  repro   {line}" for report in reports for line in write_repros(report, settings, emit)]
        except OSError as error:
            raise FollowUpError(f"--emit-repro: cannot write into {emit}: {error.strerror}") from None
    if write:
        lines += _written(reports, settings, folder, replay)
    return lines


def _replayed(reports: Sequence[Report], settings: Settings, replay: Replay) -> Iterator[str]:
    yield from (f"  replay  {line}" for line in bounded_lines(replay, settings))
    for report in reports:
        for check in report.checks:
            if check.id == replay.check.id:
                yield f"  replay  {outcome_line(replay, check)}"


def _written(reports: Sequence[Report], settings: Settings, folder: Path, replay: Replay | None) -> list[str]:
    twice = [kind for kind, count in Counter(report.kind for report in reports).items() if count > 1]
    if twice:
        raise FollowUpError(
            f"--write-known-failures: this run has several {twice[0]}s, and an entry is about one check"
        )
    if replay is not None:
        raise FollowUpError("--write-known-failures: a --replay looks at one input alone; run the whole check")
    checks = [check for report in reports for check in report.checks]
    try:
        return [f"  known   {line}" for line in write_entries(folder, settings, checks, utc_day())]
    except UnwritableError as error:
        raise FollowUpError(f"--write-known-failures: {error}") from None
