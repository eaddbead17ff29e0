"""What a source says of references that it was asked about (clause 10.1), as pure functions; knows no call.

An answer is foreign. A reference stands by its target key, and it is the asker's own that stands: a source cannot bind
what nobody has bound.
"""

from collections.abc import Iterable
from typing import ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict

from knowledge_provider import limits, merging
from knowledge_provider._foreign import head, is_listed
from knowledge_provider.errors import (
    KnowledgeBaseUnknownError,
    KnowledgeInvalidResponseError,
    KnowledgeReferenceInvalidError,
    KnowledgeReferenceUnknownError,
    error_code,
)
from knowledge_provider.provider_calls import Ending
from knowledge_provider.sources._answered_refs import key_of
from knowledge_provider.sources.references import ExternalKnowledgeRef, target_key
from knowledge_provider.sources.registry import References

BINDING_LEVEL: Final = "task"
"""What ``validate_refs`` is told: references are bound to a task, and to no agent or team."""

# To raise one of these says it, too, of all that it was asked about.
_REFUSALS: Final = frozenset(
    {KnowledgeReferenceInvalidError.code, KnowledgeReferenceUnknownError.code, KnowledgeBaseUnknownError.code}
)


class ReferenceVerdict(BaseModel):
    """What is said of one reference; ``reason`` is a slug of clause 9.3 where that is ``ignored`` or ``failed``.

    ``stands``: its source knows it, or has nothing to say of references. ``refused``: its source does not know it.
    ``ignored``: there is no such source here. ``failed``: its source gave no answer that can be used.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True)

    ref: ExternalKnowledgeRef
    status: Literal["stands", "refused", "ignored", "failed"]
    reason: str | None = None


def standing(value: object, refs: References) -> References | None:
    """Those of ``refs`` that an answer of ``validate_refs`` names; None where it is no list or tuple of references."""
    if value is refs:
        return refs
    if not is_listed(value):
        return None
    named = {key_of(each) for each in head(value, len(refs) * limits.CANDIDATES_PER_RESULT)}
    return tuple(ref for ref in refs if target_key(ref) in named)


def verdicts(name: str, refs: References, ending: Ending) -> tuple[ReferenceVerdict, ...]:
    """What a call of a source's ``validate_refs`` came to, for each of ``refs``, which are all of that source."""
    if ending.error is not None and error_code(ending.error) in _REFUSALS:
        return _all(refs, "refused")
    stands = None if ending.error is not None or ending.timed_out else standing(ending.value, refs)
    if stands is None:
        return _all(refs, "failed", _reason(name, ending))
    return tuple(ReferenceVerdict(ref=ref, status="stands" if ref in stands else "refused") for ref in refs)


def unregistered(refs: References) -> tuple[ReferenceVerdict, ...]:
    """What is said of references whose source is not registered (clause 10.3)."""
    return _all(refs, "ignored", "not_registered")


def _all(
    refs: Iterable[ExternalKnowledgeRef], status: Literal["refused", "ignored", "failed"], reason: str | None = None
) -> tuple[ReferenceVerdict, ...]:
    return tuple(ReferenceVerdict(ref=ref, status=status, reason=reason) for ref in refs)


def _reason(name: str, ending: Ending) -> str:
    # Clause 9.3.
    failed = ending.error is not None or ending.timed_out
    nonsense = Ending(error=KnowledgeInvalidResponseError("no references", provider_key=name))
    return merging.read_answer(name, ending if failed else nonsense, top_k=1).report.reason or "error"
