"""``KnowledgeProvider``: the boundary as a type; knows no implementation."""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from knowledge_provider.models import ProviderDescription, RetrievalContext, RetrievalRequest, RetrievalResult

Response = Sequence[RetrievalResult | dict[str, Any]] | Mapping[str, Any]
"""What ``retrieve`` answers: results in a list or tuple, or a mapping with one under ``results`` (clause 5.1)."""


@runtime_checkable
class KnowledgeProvider(Protocol):
    """Any object with these two methods is a provider (clause 1.1); arguments are passed by position.

    Optional beside them: ``health(signal)`` or ``health()``, synchronous or not, which answers a ``Health`` or its
    mapping, and ``close()``, which may be called twice.
    """

    def describe(self) -> ProviderDescription | Mapping[str, Any]:
        """Say what this provider is: synchronous, quick, and equal each time (clauses 1.2, 1.7, 1.8)."""
        ...

    def retrieve(self, request: RetrievalRequest, context: RetrievalContext, /) -> Response | Awaitable[Response]:
        """Answer with at most ``request.top_k`` results, best first; raise when the back end fails (5.10)."""
        ...
