"""One answer out of those of several providers (clauses 9.3 to 9.5), as pure functions; knows no call and no clock.

A child is one of the providers, by the key that it has in the composite. What it answered or raised is foreign: it is
read through ``normalize_response`` and by its code alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, zip_longest
from typing import Any, Final

from knowledge_provider import limits
from knowledge_provider._foreign import head, is_listed, listed
from knowledge_provider.adapting import stable_id
from knowledge_provider.errors import (
    KnowledgeAllSourcesFailedError,
    KnowledgeFiltersUnsupportedError,
    KnowledgeInvalidResponseError,
    KnowledgeRequestError,
    KnowledgeSourcesIncompleteError,
    KnowledgeTimeoutError,
    error_code,
    is_retryable,
    read_or_none,
)
from knowledge_provider.normalize import normalize_response, normalize_to_answer
from knowledge_provider.outcome import Outcome, OutcomeResult, SourceReport
from knowledge_provider.provider_calls import Ending
from knowledge_provider.text import finite_number, is_a, short_text

# Clause 9.3. A child that refuses the filters or the bases of a request has not failed: they are not its own.
_REFUSALS: Final = frozenset({"knowledge_base_unknown", "knowledge_filters_unsupported"})
_REASONS: Final = {
    "knowledge_timeout": "timeout",
    "knowledge_unauthorized": "unauthorized",
    "knowledge_invalid_response": "invalid_response",
}
_SLUGS: Final = frozenset({*_REASONS.values(), "error", "not_registered"})
# Those of a composite inside, which says in ``sources`` how its own children fared.
_REPORTING: Final = frozenset({KnowledgeAllSourcesFailedError.code, KnowledgeSourcesIncompleteError.code})

RETRY_AFTER_MAX: Final = 86_400.0
"""Seconds, a day: the longest wait that is passed on from a child."""

_USABLE: Final = frozenset({"ready", "degraded"})

Result = dict[str, Any]
"""A result as plain data by wire names: ``id``, ``content``, ``provider``, and ``source`` and ``metadata`` if any."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one child gave: how it fared, its results in its own order, and what it raised or did wrong, if it did.

    ``inner`` is what it reported itself (clause 5.11), each by the child's key, a dot and the key that it gave.
    """

    report: SourceReport
    results: tuple[Result, ...] = ()
    error: BaseException | None = None
    inner: tuple[SourceReport, ...] = ()


def read_answer(
    child: str,
    ending: Ending,
    *,
    top_k: int,
    allow_hosts: tuple[str, ...] = (),
    max_content_chars: int = limits.CONTENT_MAX,
) -> Answer:
    """What a call of ``child`` came to, with at most ``top_k`` results; raises nothing but a ``KeyboardInterrupt``."""
    if ending.timed_out:
        return _raised(child, KnowledgeTimeoutError("its own deadline passed first", provider_key=child))
    if ending.error is not None:
        return replace(_raised(child, ending.error), inner=_reported_with(child, ending.error))
    # Clause 11.3: whoever asked may filter by labels, so those are not bounded yet.
    outcome = normalize_to_answer(
        ending.value, limit=top_k, max_content_chars=max_content_chars, allow_hosts=allow_hosts
    )
    return replace(_read(child, outcome, ending.value), inner=_inner(child, outcome.sources))


def merge(answers: Sequence[Answer], top_k: int, *, concatenate: bool = False) -> list[Result]:
    """At most ``top_k`` results: in turn from each child in its own order, or one child's after another's (9.5)."""
    # Clause 9.5.
    return list(islice(_one_after_another(answers) if concatenate else _in_turn(answers), top_k))


def refusal(answers: Sequence[Answer], provider_key: str) -> KnowledgeRequestError | None:
    """The error to raise when nothing was searched, and not only because no child holds the bases; else None."""
    # Clause 3.5: refused, not ignored. An empty answer would say that nothing is known.
    codes = [error_code(answer.error) for answer in answers if answer.error is not None]
    refused = codes.count(KnowledgeFiltersUnsupportedError.code)
    if not refused or any(answer.report.status != "ignored" for answer in answers):
        return None
    some = f"{refused} refused these and the others the knowledge bases"
    return KnowledgeFiltersUnsupportedError(
        f"Wanted filters that one of the {len(answers)} sources can honour, and "
        f"{'each of them refused these' if refused == len(answers) else some}. Leaving them out would answer more than "
        "was asked for, so nothing was searched. Ask with filters that they know.",
        provider_key=provider_key,
    )


def failure(
    answers: Sequence[Answer], provider_key: str
) -> KnowledgeAllSourcesFailedError | KnowledgeSourcesIncompleteError | None:
    """The error to raise when nothing was found and a child failed; else None (clause 9.4).

    Its ``sources`` are the reports of all children, then their own; its ``__cause__`` is a group of what the failed
    ones raised. Trying again may help when it may for one of them, after the longest ``retry_after`` of theirs.
    """
    failures = [answer for answer in answers if answer.report.status == "failed"]
    if not failures or any(answer.results for answer in answers):
        return None
    # Clause 9.4.
    kind = KnowledgeAllSourcesFailedError if len(failures) == len(answers) else KnowledgeSourcesIncompleteError
    causes = [answer.error for answer in failures if answer.error is not None]
    retryable = any(is_retryable(cause) for cause in causes)
    error = kind(
        _message(failures, len(answers)),
        provider_key=provider_key,
        retryable=retryable,
        retry_after=max((wait for wait in map(_retry_after, causes) if wait is not None), default=None),
    )
    error.sources = reports(answers)
    error.__cause__ = _together(causes)
    return error


def reports(answers: Sequence[Answer]) -> tuple[SourceReport, ...]:
    """How each child fared, and behind that what the children reported themselves, what failed first.

    Theirs fill up to the 64 that a host reads; a child's own report is never left out.
    """
    # Clauses 5.11 and 9.3.
    inner = sorted((report for answer in answers for report in answer.inner), key=lambda report: not _failed(report))
    room = max(0, limits.SOURCE_REPORTS_MAX - len(answers))
    return (*(answer.report for answer in answers), *inner[:room])


def report_entries(answers: Sequence[Answer]) -> list[dict[str, Any]]:
    """The same as a response's ``sources`` (clause 5.11)."""
    return [report.model_dump(exclude_none=True) for report in reports(answers)]


def own_id(child: str, result_id: str) -> str:
    """The id of a child's result among those of others, at most 160; a key has no colon, so an id names one child."""
    # Clause 9.5.
    own = f"{child}:{result_id}"
    return own if len(own) <= limits.RESULT_ID_MAX else f"{child}:{stable_id(result_id)}"


def health(statuses: Mapping[str, str]) -> dict[str, str]:
    """The health of the whole: ``ready`` when each child is, ``unavailable`` when none can be used, else ``degraded``.

    The message names the children that are not ready, without their own messages, which may say anything.
    """
    if others := [f"{child} ({status})" for child, status in statuses.items() if status != "ready"]:
        status = "degraded" if _USABLE.intersection(statuses.values()) else "unavailable"
        message = short_text(f"not ready: {', '.join(others)}", limits.HEALTH_MESSAGE_MAX)
        return {"status": status, "message": message}
    return {"status": "ready"}


def _raised(child: str, error: BaseException) -> Answer:
    # Clause 9.3.
    code = str(error_code(error))
    status, reason = ("ignored", "not_registered") if code in _REFUSALS else ("failed", _REASONS.get(code, "error"))
    return Answer(SourceReport(key=child, status=status, reason=reason, count=0), error=error)


def _read(child: str, outcome: Outcome, response: object) -> Answer:
    if outcome.results:
        return _answered(child, outcome.results)
    # Clause 5.10: an answer of which nothing is left is not one that found nothing.
    if not _is_empty(response):
        return _raised(child, KnowledgeInvalidResponseError("its answer holds no result", provider_key=child))
    # Clause 9.4: nor is one of a child that could not ask everywhere itself.
    if any(map(_failed, outcome.sources)):
        return _raised(child, KnowledgeSourcesIncompleteError("a source of its own failed", provider_key=child))
    return _answered(child, ())


def _reported_with(child: str, error: BaseException) -> tuple[SourceReport, ...]:
    """What a composite inside says of its children when it raises."""
    if error_code(error) not in _REPORTING:
        return ()
    said = read_or_none(lambda: getattr(error, "sources", None))
    return _inner(child, normalize_response({"sources": said}, query="").sources)


def _inner(child: str, reported: Sequence[SourceReport]) -> tuple[SourceReport, ...]:
    # Rule N13 has read them. A reason that is none of the five could be any text, which a log would keep (clause 9.3).
    return tuple(
        SourceReport(
            key=short_text(f"{child}.{report.key}", limits.PROVIDER_NAME_MAX),
            status=report.status,
            reason=report.reason if report.reason in _SLUGS else None,
            count=report.count,
        )
        for report in reported
    )


def _failed(report: SourceReport) -> bool:
    return report.status == "failed"


def _retry_after(error: BaseException) -> float | None:
    # As in ``is_retryable``: only an error with a code of the contract is believed.
    said = None if error_code(error) is None else read_or_none(lambda: getattr(error, "retry_after", None))
    seconds = None if is_a(said, bool) else finite_number(said)
    return None if seconds is None or seconds < 0 else min(float(seconds), RETRY_AFTER_MAX)


def _answered(child: str, results: Sequence[OutcomeResult]) -> Answer:
    # Two ids that are too long and differ from each other differ in their hashes, too; a short one may equal such a
    # hash, so the first keeps it (clause 5.3).
    own: dict[str, Result] = {}
    for result in results:
        own.setdefault(name := own_id(child, result.id), _result(child, name, result))
    report = SourceReport(key=child, status="hit" if own else "no_hit", count=len(own))
    return Answer(report, tuple(own.values()))


def _result(child: str, own_id: str, result: OutcomeResult) -> Result:
    # Clause 9.5: no score, since one child's says nothing beside another's.
    source = {} if result.source is None else result.source.model_dump(by_alias=True, exclude_none=True)
    optional = {"source": source, "metadata": result.metadata}
    return {"id": own_id, "content": result.content, "provider": child} | {
        name: held for name, held in optional.items() if held
    }


def _is_empty(response: object) -> bool:
    """Whether it is a response by rule N1 that has no candidate."""
    found = listed(response, "results", Outcome)
    return is_listed(found) and not head(found, 1)


def _together(causes: Sequence[BaseException]) -> BaseException | None:
    # A group asks each error for its class, which is foreign code where an error says so.
    group = read_or_none(lambda: BaseExceptionGroup("what the sources raised", causes))
    return group if is_a(group, BaseException) else None


def _one_after_another(answers: Sequence[Answer]) -> Iterator[Result]:
    return chain.from_iterable(answer.results for answer in answers)


def _in_turn(answers: Sequence[Answer]) -> Iterator[Result]:
    rounds = zip_longest(*(answer.results for answer in answers))
    return (result for each in rounds for result in each if result is not None)


def _message(failures: Sequence[Answer], asked: int) -> str:
    named = [f"{answer.report.key} ({answer.report.reason})" for answer in failures[: limits.SOURCE_REPORTS_MAX]]
    more = len(failures) - len(named)
    return (
        f"Wanted an answer from {asked} sources; {len(failures)} failed and no other found anything: "
        f"{', '.join(named)}{f' and {more} more' if more else ''}. Nothing found would read as if nothing was known. "
        "See __cause__ for what each raised, mend or leave out those sources, or ask again."
    )
