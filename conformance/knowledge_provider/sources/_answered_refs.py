"""References in what a source answered: their keys, and what a listing's entries name; knows no call and no page.

An answer is foreign: it is read as ``normalize_response`` reads one, and nothing of it is called or iterated.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from pydantic import BaseModel

from knowledge_provider._foreign import entry, fields_of, head, is_listed
from knowledge_provider.errors import KnowledgeReferenceInvalidError, read_or_none
from knowledge_provider.sources.references import SPELLINGS, ExternalKnowledgeRef, read_reference, target_key
from knowledge_provider.sources.registry import References
from knowledge_provider.text import is_a

# Refused by every field of a reference, and safe to look up, which what came may not be.
_NO_TEXT: Final = True


def listed_entries(answer: object, count: int) -> tuple[object, ...] | None:
    """The first ``count`` of a list or tuple, or of what a dict has under ``documents``; None for anything else."""
    found = answer if is_listed(answer) else entry(fields_of(answer, BaseModel), "documents")
    return tuple(head(found, count)) if is_listed(found) else None


def documents_of(name: str, refs: References, entries: Iterable[object]) -> Iterator[ExternalKnowledgeRef]:
    """The reference that selects each entry; an entry that is none, or of a source that was not asked, is left out."""
    explicit = {ref.id: ref for ref in refs if ref.mode == "explicit"}
    restricted = all(ref.mode == "explicit" for ref in refs)
    only = next(iter(explicit), None) if restricted and len(explicit) == 1 else None
    for each in entries:
        fields = _reference_fields(each)
        source_id = fields.pop("id", None) or only
        known = explicit.get(source_id)
        if known is None and restricted:
            continue
        own = {
            "provider": name,
            "mode": "explicit",
            "id": source_id,
            **({"name": known.name} if known and known.name else {}),
        }
        try:
            yield read_reference({"target_type": "document", **fields, **own})
        except KnowledgeReferenceInvalidError:
            continue


def key_of(value: object) -> object:
    """The target key of what should be a reference; None where it is none, or has none."""
    if not is_a(value, ExternalKnowledgeRef):
        return None
    # Made without validation it may be anything, so not even a key can be made of it.
    return read_or_none(lambda: target_key(ExternalKnowledgeRef.model_construct(**_reference_fields(value))))


def _reference_fields(value: object) -> dict[str, Any]:
    """The fields of a reference by their names; a back end's own, which may be many, are not looked at."""
    fields, found = fields_of(value, ExternalKnowledgeRef), dict[str, Any]()
    for spelled, name in SPELLINGS.items():
        held = entry(fields, spelled)
        if held is not None:
            found.setdefault(name, str.__str__(held) if is_a(held, str) else _NO_TEXT)
    return found
