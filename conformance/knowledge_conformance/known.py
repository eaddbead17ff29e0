"""Known failures: what the settings say of a check beside what came of it. Pure; knows results, settings and a day.

Nothing that is said here may rot unseen: an entry that is not true any more fails the run.
"""

import datetime
import hashlib
import re
from typing import Final

from knowledge_conformance.faults import is_lost
from knowledge_conformance.redact import redact
from knowledge_conformance.results import BROKEN, EVIDENCE_MAX, CheckOutcome, CheckResult
from knowledge_conformance.settings import KnownFailure, Settings

# What differs from run to run, from machine to machine, or from one generated input to the next, though the mistake is
# the same: quoted texts, numbers, identifiers, places in memory.
# An apostrophe inside a word opens no quotation; one that was cut ends with the text, and how long it was is said.
_QUOTED: Final = re.compile(
    r"(?<!\w)b?(?:'(?:[^'\\]|\\.)*(?:'(?!\w)|\\?\Z)|\"(?:[^\"\\]|\\.)*(?:\"(?!\w)|\\?\Z))(?:… \([\d,]+ characters\))?",
    re.DOTALL,
)
_NUMBER: Final = re.compile(r"\b0x[0-9a-f]+\b|\b(?=[0-9a-f-]*\d)[0-9a-f-]{8,}\b|\d+", re.IGNORECASE)
# The message of an exception often quotes the input; its type, and where it was raised, tell it from another.
_RAISED: Final = re.compile(r"(raised [\w.]+): .*?( in [\w.<>]+, line \d+| instead)?$", re.DOTALL)


def fingerprint(check_id: str, wanted: str | None, saw: str | None) -> str:
    """What tells one failure of a check from another: twelve characters of 0-9 and a-f.

    The same on each machine and in each run, whatever ids, numbers and quoted texts are in the evidence. Of what a
    provider raised, the type counts, and the place in the author's code, without its line.
    """
    # Cut as a result's evidence is, so that a check can ask about a finding before it is a result.
    text = "\n".join([check_id, *(_folded((part or "")[:EVIDENCE_MAX]) for part in (wanted, saw))])
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


def _folded(text: str) -> str:
    placed = _RAISED.sub(lambda match: f"{match[1]}{match[2] or ''}", text)
    return " ".join(_NUMBER.sub("0", _QUOTED.sub("''", placed)).split())


def judged(result: CheckResult, settings: Settings, today: datetime.date, source: str) -> CheckResult:
    """A check's result as known-failures makes it: ``source`` names the file that holds them, ``today`` is a UTC day.

    Failing as its entry says is ``known``, which is no failure of the run. An entry that is expired, or that is not
    true any more, is one: a failure stays what it is, and says so; anything else becomes ``stale``.
    """
    fails = result.outcome in BROKEN or result.outcome is CheckOutcome.ADVISORY
    if fails:
        result = result.model_copy(update={"fingerprint": fingerprint(result.id, result.wanted, result.saw)})
    entry = settings.known_failures.get(result.id)
    if entry is None:
        return result
    named = f'{source}: known-failures: "{result.id}"'
    if fails and entry.fingerprint not in (None, result.fingerprint):
        return _untrue(result, named, _differs(entry, result), "look at both; then mend the new one, or write it down")
    if entry.fingerprint is None and (other := _no_finding(result)) is not None:
        why = f"without a fingerprint it is about what the check finds, and this is {other}"
        return _untrue(result, named, why, f'mend it, or accept this alone: fingerprint = "{result.fingerprint}"')
    if entry.expires is not None and entry.expires < today:
        return _untrue(
            result, named, f"it expired on {entry.expires}", "mend the failure, or decide until when it may stay"
        )
    return _accepted(result, entry) if fails else _without_failure(result, named)


def _no_finding(result: CheckResult) -> str | None:
    """What a broken check ended with instead of a finding of its own, in words; else None."""
    if result.outcome is CheckOutcome.FAILED:
        return "a provider that took its process or its loop along" if is_lost(result.wanted) else None
    return _OTHERS.get(result.outcome)


_OTHERS: Final = {
    CheckOutcome.KIT_ERROR: "an error of the kit's own",
    CheckOutcome.ERRORED: "an exception that the check did not ask about",
}


def _differs(entry: KnownFailure, result: CheckResult) -> str:
    return f"it is about the failure {entry.fingerprint}, and this one is {result.fingerprint}"


def _accepted(result: CheckResult, entry: KnownFailure) -> CheckResult:
    # Advice does not fail a run, so there is nothing to accept; but whoever reads it sees that it is known.
    advisory = result.outcome is CheckOutcome.ADVISORY
    outcome = CheckOutcome.ADVISORY if advisory else CheckOutcome.KNOWN
    return result.model_copy(update={"outcome": outcome, "known": entry_line(entry)})


def _without_failure(result: CheckResult, named: str) -> CheckResult:
    match result.outcome:
        case CheckOutcome.PASSED:
            return _untrue(result, named, "the check passes", "take the entry out")
        case CheckOutcome.INAPPLICABLE:
            return _untrue(result, named, f"the check is inapplicable: {result.saw}", "take the entry out")
    # Blocked or inconclusive: nobody could look, so nothing is known of the entry, either.
    return result.model_copy(update={"known": f"{named} could not be tried"})


def _untrue(result: CheckResult, named: str, why: str, hint: str) -> CheckResult:
    said = f"{named}: {why}; {hint}"
    if result.outcome in BROKEN:
        return result.model_copy(update={"known": said})
    return result.model_copy(
        update={
            "outcome": CheckOutcome.STALE,
            "wanted": f"what is true of {named}",
            "saw": why,
            "hint": hint,
            "known": said,
        }
    )


def entry_line(entry: KnownFailure) -> str:
    """An entry on one line: the reason, and where it says so the address and the last day."""
    until = f", accepted until {entry.expires}" if entry.expires else ""
    return redact(f"{entry.reason}{f' ({entry.url})' if entry.url else ''}{until}")


def is_known(check_id: str, settings: Settings, wanted: str, saw: str) -> bool:
    """Whether a finding is a known failure's, so that a check that draws its inputs need not make this one smaller."""
    entry = settings.known_failures.get(check_id)
    return entry is not None and entry.fingerprint in (None, fingerprint(check_id, wanted, saw))


def utc_day() -> datetime.date:
    """Today, for whoever asks whether an entry has expired; the same day everywhere."""
    return datetime.datetime.now(datetime.UTC).date()
