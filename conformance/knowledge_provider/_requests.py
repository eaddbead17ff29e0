"""What an adapter makes of a request: its filters, its bases and its owner, or a refusal; knows no vendor.

Public through ``adapting``.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from knowledge_provider import errors
from knowledge_provider._failures import failure
from knowledge_provider.models import RetrievalContext, RetrievalRequest
from knowledge_provider.text import is_blank

Scope = Callable[[RetrievalContext], Mapping[str, Any]]
"""What the owner of a context may see, in a vendor's own terms."""

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


def _scalars(value: Any) -> list[Scalar]:
    values = value if isinstance(value, list) else [value]
    scalars = [each for each in values if isinstance(each, Scalar)]
    if not scalars or len(scalars) < len(values):
        raise errors.KnowledgeFiltersUnsupportedError(
            "a filter here is a name with a text, number or boolean, or with a list of them; another kind came, and "
            "ignoring it would show what it excludes. Ask without, or in that form."
        )
    return scalars


def fits(metadata: Mapping[Any, Any], wanted: Collection[tuple[str, list[Scalar]]]) -> bool:
    """Whether a record's metadata keep to all of ``wanted``, as ``equal_filters`` gives it; a list fits by any element.

    For records of a vendor that may not keep to filters itself (clauses 3.5, 4.3).
    """
    return all(_is_among(metadata.get(name), values) for name, values in wanted)


def _is_among(held: Any, values: list[Scalar]) -> bool:
    # To Python True is 1, and to no vendor.
    each_held = held if isinstance(held, list) else (held,)
    return any(one == value and (type(one) is bool) is (type(value) is bool) for one in each_held for value in values)


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


def owner_arguments(scope: Scope, context: RetrievalContext) -> dict[str, Any]:
    """The search arguments that ``scope`` gives for the context's owner (clause 4.2).

    Raises ``KnowledgeOwnerRequiredError`` when the owner is blank, and ``KnowledgeFailedError`` when ``scope`` raises,
    gives nothing, or gives None, an empty list or an empty text for one of the arguments.
    """
    # Clause 4.4.
    if is_blank(context.owner_id):
        raise errors.KnowledgeOwnerRequiredError("no owner came, and this provider keeps owners apart: name one")
    arguments = _given(scope, context)
    # Clause 4.3: many a vendor takes an argument without a value for none at all.
    if not arguments or any(map(_is_empty, arguments.values())):
        raise errors.KnowledgeFailedError(
            "scope gave no search arguments for the owner, or one without a value, which would search everything"
        )
    return arguments


def owner_filters(scope: Scope | None, context: RetrievalContext) -> list[tuple[str, list[Scalar]]]:
    """What ``scope`` gives for the context's owner, in the shape of ``equal_filters``; nothing without a ``scope``.

    Raises as ``owner_arguments`` does, and ``KnowledgeFailedError`` for a value of another shape.
    """
    try:
        own = {} if scope is None else owner_arguments(scope, context)
        return [(name, _scalars(value)) for name, value in own.items()]
    except errors.KnowledgeFiltersUnsupportedError:
        # The request has no part in it, and a composite would pass over the provider for a refusal of filters.
        raise errors.KnowledgeFailedError(
            "scope gives each name a text, number or boolean, or a list of them; another kind came, and ignoring it "
            "would show what is not the owner's"
        ) from None


def _given(scope: Scope, context: RetrievalContext) -> dict[str, Any]:
    try:
        return dict(scope(context))
    except (errors.KnowledgeFailedError, errors.KnowledgeOwnerRequiredError):
        raise
    except Exception as error:
        raise failure(error, "scope") from error


def _is_empty(value: object) -> bool:
    if isinstance(value, str):
        return is_blank(value)
    return value is None or (isinstance(value, list | tuple | dict | set | frozenset) and not value)
