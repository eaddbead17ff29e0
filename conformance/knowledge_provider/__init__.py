"""The contract of a knowledge retrieval provider, and the pure functions that a host needs."""

import logging

from knowledge_provider._uri_faults import (
    UriFault,
)
from knowledge_provider.cancel import (
    CancelSignal,
)
from knowledge_provider.citations import (
    CitationLedger,
)
from knowledge_provider.composite import (
    CompositeProvider,
)
from knowledge_provider.errors import (
    ERROR_CODES,
    KnowledgeAllSourcesFailedError,
    KnowledgeBaseUnknownError,
    KnowledgeError,
    KnowledgeFailedError,
    KnowledgeFiltersUnsupportedError,
    KnowledgeInvalidResponseError,
    KnowledgeOwnerRequiredError,
    KnowledgeProviderInvalidError,
    KnowledgeQueryRequiredError,
    KnowledgeRateLimitedError,
    KnowledgeReferenceInvalidError,
    KnowledgeReferenceUnknownError,
    KnowledgeRequestError,
    KnowledgeSourcesIncompleteError,
    KnowledgeTimeoutError,
    KnowledgeUnauthorizedError,
    KnowledgeUnavailableError,
    KnowledgeUnconfiguredError,
    error_code,
)
from knowledge_provider.host import (
    KnowledgeHost,
)
from knowledge_provider.limits import (
    PROTOCOL_VERSION,
)
from knowledge_provider.models import (
    Health,
    ProviderDescription,
    RetrievalContext,
    RetrievalRequest,
    RetrievalResult,
    Source,
)
from knowledge_provider.normalize import (
    normalize_response,
)
from knowledge_provider.outcome import (
    NOTICE,
    Citation,
    Outcome,
    OutcomeResult,
    SourceReport,
)
from knowledge_provider.protocol import (
    KnowledgeProvider,
)
from knowledge_provider.text import (
    is_blank,
)
from knowledge_provider.uris import (
    public_uri,
    uri_fault,
)

__all__ = [
    "ERROR_CODES",
    "NOTICE",
    "PROTOCOL_VERSION",
    "CancelSignal",
    "Citation",
    "CitationLedger",
    "CompositeProvider",
    "Health",
    "KnowledgeAllSourcesFailedError",
    "KnowledgeBaseUnknownError",
    "KnowledgeError",
    "KnowledgeFailedError",
    "KnowledgeFiltersUnsupportedError",
    "KnowledgeHost",
    "KnowledgeInvalidResponseError",
    "KnowledgeOwnerRequiredError",
    "KnowledgeProvider",
    "KnowledgeProviderInvalidError",
    "KnowledgeQueryRequiredError",
    "KnowledgeRateLimitedError",
    "KnowledgeReferenceInvalidError",
    "KnowledgeReferenceUnknownError",
    "KnowledgeRequestError",
    "KnowledgeSourcesIncompleteError",
    "KnowledgeTimeoutError",
    "KnowledgeUnauthorizedError",
    "KnowledgeUnavailableError",
    "KnowledgeUnconfiguredError",
    "Outcome",
    "OutcomeResult",
    "ProviderDescription",
    "RetrievalContext",
    "RetrievalRequest",
    "RetrievalResult",
    "Source",
    "SourceReport",
    "UriFault",
    "error_code",
    "is_blank",
    "normalize_response",
    "public_uri",
    "uri_fault",
]

# As libraries do: what a host or composite logs while it is closed is shown where an application wants it.
logging.getLogger(__name__).addHandler(logging.NullHandler())
