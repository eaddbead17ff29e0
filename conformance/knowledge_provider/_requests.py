"""What an adapter makes of a request: its filters, its bases and its owner, or a refusal; knows no vendor.

Public through ``adapting``.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import JsonValue

from knowledge_provider import errors
from knowledge_provider.models import RetrievalContext, RetrievalRequest
from knowledge_provider.text import is_blank

_Held = TypeVar("_Held")
Scalar = str | int | float | bool


def refuse_filters(request: RetrievalRequest) -> None:
    """Raise ``KnowledgeFiltersUnsupportedError`` when the request has filters (clause 3.5)."""
    if request.filters:
        raise errors.KnowledgeFiltersUnsupportedError(
            "filters came, and this provider has none: ignoring them would show what they exclude. Ask without."
        )


def equal_filters(request: RetrievalRequest) -> list[tuple[str, list[Scalar]]]:
    """The request's filters as names with the values that each may have: all of the names, any of the values.

    A filter is a name with a scalar, or with a list of scalars. Raises ``KnowledgeFiltersUnsupportedError`` for any
    other shape: what cannot be said to the vendor is refused, not ignored (clause 3.5).
    """
    return [(name, _scalars(value)) for name, value in request.filters.items()]


def _scalars(value: JsonValue) -> list[Scalar]:
    values = value if isinstance(value, list) else [value]
    scalars = [each for each in values if isinstance(each, Scalar)]
    if not scalars or len(scalars) < len(values):
        raise errors.KnowledgeFiltersUnsupportedError(
            "a filter here is a name with a text, number or boolean, or with a list of them; another kind came, and "
            "ignoring it would show what it excludes. Ask without, or in that form."
        )
    return scalars


def refuse_other_bases(request: RetrievalRequest, held: str | None) -> None:
    """Raise ``KnowledgeBaseUnknownError`` when bases are asked for and ``held`` is not among them (clause 3.4)."""
    bases_asked_for(request, {} if held is None else {held: held})


def bases_asked_for(request: RetrievalRequest, held: Mapping[str, _Held]) -> list[_Held]:
    """What ``held`` has for the bases that the request asks for, in its own order; all of it when none is asked for.

    Raises ``KnowledgeBaseUnknownError`` when none of those asked for is held: nothing may answer for them (3.4).
    """
    if not request.knowledge_base_ids:
        return list(held.values())
    found = [value for base, value in held.items() if base in request.knowledge_base_ids]
    if not found:
        raise errors.KnowledgeBaseUnknownError(
            "none of the bases asked for is here, and no other may answer for them. Ask for one that is, or for none."
        )
    return found


def owner_arguments(
    scope: Callable[[RetrievalContext], Mapping[str, Any]], context: RetrievalContext
) -> dict[str, Any]:
    """The search arguments that ``scope`` gives for the context's owner (clause 4.2).

    Raises ``KnowledgeOwnerRequiredError`` when the owner is blank, ``KnowledgeFailedError`` when ``scope`` gives none.
    """
    # Clause 4.4.
    if is_blank(context.owner_id):
        raise errors.KnowledgeOwnerRequiredError("no owner came, and this provider keeps owners apart: name one")
    arguments = dict(scope(context))
    if not arguments:
        raise errors.KnowledgeFailedError("scope gave no search arguments for the owner, which would search everything")
    return arguments
