"""What the API answers, as plain JSON data; knows bindings and listings, no request and no Starlette."""

from collections.abc import Collection
from typing import Any

from knowledge_provider.sources.bindings import BindingWarning, BoundReferences
from knowledge_provider.sources.listing import DocumentListing
from knowledge_provider.sources.references import ExternalKnowledgeRef, target_key


def bound_answer(bound: BoundReferences, registered: Collection[str]) -> dict[str, Any]:
    """What a task has bound; a warning for each that cannot be loaded, or whose provider this deployment has not."""
    # Clauses 10.3 and 10.4: neither is an error, and neither costs another.
    missing = [
        BindingWarning(target_key(ref), "not_registered") for ref in bound.refs if ref.provider not in registered
    ]
    return {
        "items": [_reference(ref) for ref in bound.refs],
        "total": len(bound.refs),
        "warnings": [{"key": each.key, "reason": each.reason} for each in (*bound.warnings, *missing)],
    }


def listing_answer(listing: DocumentListing) -> dict[str, Any]:
    """Pages, each with all of its fields."""
    pages = [
        {**page.model_dump(exclude={"documents"}), "documents": [_reference(ref) for ref in page.documents]}
        for page in listing.pages
    ]
    return {"pagination_scope": listing.pagination_scope, "pages": pages}


def _reference(ref: ExternalKnowledgeRef) -> dict[str, Any]:
    return ref.model_dump(exclude_none=True)
