"""Who asks, read from whatever a caller of a host gave (clauses 8.3 and 8.5); knows the context and no request."""

from typing import Any, Final

from knowledge_provider.cancel import CancelSignal
from knowledge_provider.errors import KnowledgeOwnerRequiredError
from knowledge_provider.models import RetrievalContext
from knowledge_provider.text import class_name, is_a, is_blank

_KINDS: Final[dict[str, type]] = {
    "owner_id": str,
    "session_id": str,
    "turn_id": str,
    "trace_id": str,
    "signal": CancelSignal,
}


def read_context(context: object) -> RetrievalContext:
    """The context, with its five fields and nothing that a subclass adds.

    Raises ``TypeError`` when it is no ``RetrievalContext`` or a field has another type, as one that was made without
    validation may; ``KnowledgeOwnerRequiredError`` when it names no owner.
    """
    if not is_a(context, RetrievalContext):
        raise TypeError(
            f"context must be a RetrievalContext, since identity comes from nowhere else; got {class_name(context)}: "
            "make one from what the host itself knows"
        )
    fields: dict[str, Any] = {name: getattr(context, name, None) for name in _KINDS}
    # Clause 8.3.
    if is_blank(fields["owner_id"]):
        raise KnowledgeOwnerRequiredError(
            "Wanted an owner in the context, and it is blank: whose knowledge may be shown is not known. Make a "
            "context with the owner_id of whoever asks."
        )
    # Not mended: two turns whose ids cannot be read would share their citations, and nobody could cancel the search.
    for name, kind in _KINDS.items():
        if not is_a(fields[name], kind):
            raise TypeError(
                f"context.{name} must be a {kind.__name__}; got {class_name(fields[name])}: make the context with "
                "RetrievalContext(...), which validates it, and not with model_construct"
            )
    # Clause 8.5.
    return context if type(context) is RetrievalContext else RetrievalContext.model_construct(**fields)
