"""Clauses 10.3 and 10.5: what the summary says of each source. Knows statuses and reasons, no record."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.composite_children import GIVEN_UP_SECONDS
from knowledge_conformance.checks.merging_sources import (
    BOUND,
    answering,
    asked_by,
    built_in,
    finding,
    ref,
    refs_to,
    source_of,
)
from knowledge_conformance.merging_subject import Merged, MergingSubject
from knowledge_conformance.plain import copied, plain
from knowledge_conformance.render import show
from knowledge_fakes.scripted import HeldProvider, ScriptedProvider, returning
from knowledge_provider.errors import KnowledgeUnauthorizedError
from knowledge_provider.text import is_a

_REASONS: Final = ("timeout", "error", "invalid_response", "unauthorized", "not_registered")


class _Wanted(NamedTuple):
    status: str
    found: int = 0
    reason: str | None = None
    ids: tuple[str, ...] = (BOUND,)


_EXPECTED: Final[Mapping[str, _Wanted]] = {
    "hit": _Wanted("hit", 2),
    "no-hit": _Wanted("no_hit"),
    "hanging": _Wanted("failed", reason="timeout"),
    "raising": _Wanted("failed", reason="error"),
    "refused": _Wanted("failed", reason="unauthorized"),
    "nothing": _Wanted("failed", reason="invalid_response"),
    "nonsense": _Wanted("failed", reason="invalid_response"),
}


# Clause 10.5
@check("KP-1060", clause="10.5", level=Level.MUST)
async def each_source_has_a_status(subject: MergingSubject) -> None:
    """The summary has one entry of each source: its status, its count, and a reason from the five slugs.

    An answer that is thinner than it could be looks like any other. Only the summary tells that a source was not heard,
    and an operator which one and why. An entry has the source's name under key, and under source_ids the ids of the
    references that it was asked for; there may be one of built-in knowledge, under another.
    """
    with HeldProvider(key="hanging") as hanging:
        sources = [
            finding("hit", "one", "two"),
            finding("no-hit"),
            source_of(hanging),
            answering("raising", ConnectionError("down")),
            answering("refused", KnowledgeUnauthorizedError("no")),
            answering("nothing", None),
            answering("nonsense", returning([{"title": "no id and no content"}])),
        ]
        merging = await subject.over(sources, built_in("own"), deadline=GIVEN_UP_SECONDS)
        merged = await merging.answer(refs_to(sources))
    for name, wanted in _EXPECTED.items():
        _require_entry(merged, name, wanted)
        subject.observe()


def _require_entry(merged: Merged, name: str, wanted: _Wanted) -> None:
    entries = [entry for entry in merged.summary if copied(entry.get("key")) == name]
    if len(entries) != 1:
        raise _unsaid(f"one entry of the source {name}", f"{len(entries)} of them")
    status, count, reason = (entries[0].get(field) for field in ("status", "count", "reason"))
    if copied(status) != wanted.status:
        raise _unsaid(f"the status {wanted.status!r} of {name}", show(status))
    if plain(count if count is not None else 0) != wanted.found:
        raise _unsaid(f"the count {wanted.found} of {name}, which is {wanted.status}", show(count))
    ids = entries[0].get("source_ids")
    if list(ids if is_a(ids, tuple) or is_a(ids, list) else ()) != list(wanted.ids):
        raise _unsaid(f"the source_ids {list(wanted.ids)} of {name}, those of its references", show(ids))
    if copied(reason) != wanted.reason:
        one_of = f" (out of {', '.join(_REASONS)})" if wanted.reason else ""
        raise _unsaid(
            f"{f'the reason {wanted.reason!r}' if wanted.reason else 'no reason'} of {name}{one_of}", show(reason)
        )


def _unsaid(wanted: str, saw: str) -> Violation:
    hint = (
        '{"records": [...], "summary": [{"key": ..., "status": ..., "count": ..., "reason": ..., "source_ids": ...}]}'
    )
    return Violation(wanted=wanted, saw=saw, hint=hint)


# Clause 10.3
@check("KP-1061", clause="10.3", level=Level.MUST)
async def a_missing_source_is_ignored(subject: MergingSubject) -> None:
    """A reference to a source that is not registered is ignored, with the reason not_registered: it is no error.

    A deployment that does not have a system gets tasks that were bound in one that has it. The others are asked all the
    same.
    """
    merging = await subject.over([finding("wiki", "one")], built_in("own"))
    merged = await merging.answer([ref("elsewhere"), ref("wiki"), ref("elsewhere", "kb-2")])
    _require_entry(merged, "elsewhere", _Wanted("ignored", reason="not_registered", ids=(BOUND, "kb-2")))
    _require_entry(merged, "wiki", _Wanted("hit", 1))
    subject.observe(2)


# Clause 10.5
@check("KP-1088", clause="10.5", level=Level.SHOULD)
async def its_own_failure_is_said(subject: MergingSubject) -> None:
    """Where the host's own search fails or hangs, the summary says so, as it says it of a source.

    The sources' records are the answer then, and look like the whole. Under which key the entry stands is the host's
    own, as long as no source has it.
    """
    with HeldProvider(key="own") as hanging:
        for own in (asked_by(ScriptedProvider([ConnectionError("down")])), asked_by(hanging)):
            merging = await subject.over([finding("wiki", "one")], own, deadline=GIVEN_UP_SECONDS)
            merged = await merging.answer([ref("wiki")])
            said = [copied(entry.get("status")) for entry in merged.summary if copied(entry.get("key")) != "wiki"]
            if said != ["failed"]:
                raise Violation(
                    wanted="an entry of the host's own search, with the status 'failed'",
                    saw=show(said) if said else "none",
                    hint="put an entry of your own knowledge into the summary where it failed, or always",
                    where=merged.shown,
                )
            subject.observe()


CHECKS: Final[tuple[Check, ...]] = (each_source_has_a_status, a_missing_source_is_ignored, its_own_failure_is_said)
