"""The one exception tree and its codes; knows no provider, host or vendor.

A code is a public promise: hosts, adapters and foreign providers are told apart by it. Messages say what was
wanted and what to do; they never carry a secret, a vendor's text or a query.

::

    KnowledgeError
    ├── KnowledgeUnconfiguredError        knowledge_unconfigured
    ├── KnowledgeProviderInvalidError     knowledge_provider_invalid
    ├── KnowledgeRequestError             (the caller can mend the request)
    │   ├── KnowledgeQueryRequiredError       knowledge_query_required
    │   ├── KnowledgeOwnerRequiredError       knowledge_owner_required
    │   ├── KnowledgeFiltersUnsupportedError  knowledge_filters_unsupported
    │   ├── KnowledgeBaseUnknownError         knowledge_base_unknown
    │   ├── KnowledgeReferenceInvalidError    knowledge_reference_invalid
    │   └── KnowledgeReferenceUnknownError    knowledge_reference_unknown
    └── KnowledgeFailedError              knowledge_provider_failed
        ├── KnowledgeTimeoutError             knowledge_timeout              retryable
        ├── KnowledgeUnauthorizedError        knowledge_unauthorized
        ├── KnowledgeRateLimitedError         knowledge_rate_limited         retryable
        ├── KnowledgeUnavailableError         knowledge_unavailable          retryable
        ├── KnowledgeInvalidResponseError     knowledge_invalid_response
        ├── KnowledgeAllSourcesFailedError    knowledge_all_sources_failed
        └── KnowledgeSourcesIncompleteError   knowledge_sources_incomplete
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from knowledge_provider.outcome import SourceReport


class KnowledgeError(Exception):
    """Any failure of the boundary; ``code`` says which, ``retryable`` whether trying again may help.

    ``provider_key`` names the provider where one is known. ``retry_after`` is in seconds, or None.
    """

    code: str = "knowledge_provider_failed"
    retryable: bool = False

    def __init__(
        self,
        message: str = "",
        *,
        provider_key: str | None = None,
        retryable: bool | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message or self.code)
        self.provider_key = provider_key
        self.retry_after = retry_after
        # Clause 8.11: whether a failed provider is worth another try is as its cause says, so it is per error.
        if retryable is not None:
            self.retryable = retryable


class KnowledgeUnconfiguredError(KnowledgeError):
    """There is no provider (clause 8.2)."""

    code = "knowledge_unconfigured"


class KnowledgeProviderInvalidError(KnowledgeError):
    """The provider does not fit the contract and is refused at composition (clause 8.1)."""

    code = "knowledge_provider_invalid"


class KnowledgeRequestError(KnowledgeError):
    """The caller can mend this request; only its subclasses are raised."""


class KnowledgeQueryRequiredError(KnowledgeRequestError):
    """The query has nothing visible in it (clause 8.3)."""

    code = "knowledge_query_required"


class KnowledgeOwnerRequiredError(KnowledgeRequestError):
    """The trusted context names no owner (clauses 4.4, 8.3)."""

    code = "knowledge_owner_required"


class KnowledgeFiltersUnsupportedError(KnowledgeRequestError):
    """The provider cannot honour these filters and does not ignore them (clause 3.5)."""

    code = "knowledge_filters_unsupported"


class KnowledgeBaseUnknownError(KnowledgeRequestError):
    """A knowledge base id that the provider does not hold (clause 3.4)."""

    code = "knowledge_base_unknown"


class KnowledgeReferenceInvalidError(KnowledgeRequestError):
    """A reference to an external source is malformed (clause 10.2); ``field`` names what is wrong, where known."""

    code = "knowledge_reference_invalid"
    field: str | None = None


class KnowledgeReferenceUnknownError(KnowledgeRequestError):
    """A reference that is not bound to the task (clause 10.4).

    ``overlapping`` has the target keys of what is bound and has to do with it: its whole source, or parts of it.
    """

    code = "knowledge_reference_unknown"
    overlapping: tuple[str, ...] = ()


class KnowledgeFailedError(KnowledgeError):
    """The provider or its back end failed (clauses 5.10, 8.11)."""

    code = "knowledge_provider_failed"


class KnowledgeTimeoutError(KnowledgeFailedError):
    """The host's deadline passed (clause 8.6)."""

    code = "knowledge_timeout"
    retryable = True


class KnowledgeUnauthorizedError(KnowledgeFailedError):
    """The back end refused the provider's credential."""

    code = "knowledge_unauthorized"


class KnowledgeRateLimitedError(KnowledgeFailedError):
    """The back end asks to slow down; ``retry_after`` says for how long, where known."""

    code = "knowledge_rate_limited"
    retryable = True


class KnowledgeUnavailableError(KnowledgeFailedError):
    """The back end cannot be reached or is down."""

    code = "knowledge_unavailable"
    retryable = True


class KnowledgeInvalidResponseError(KnowledgeFailedError):
    """The back end answered something that cannot be read."""

    code = "knowledge_invalid_response"


class KnowledgeAllSourcesFailedError(KnowledgeFailedError):
    """Every provider behind a composite failed (clause 9.4); ``sources`` says how each of them fared (clause 9.3)."""

    code = "knowledge_all_sources_failed"
    sources: "tuple[SourceReport, ...]" = ()


class KnowledgeSourcesIncompleteError(KnowledgeFailedError):
    """No hit, and a provider behind a composite failed (clause 9.4); ``sources`` says how each fared (clause 9.3)."""

    code = "knowledge_sources_incomplete"
    sources: "tuple[SourceReport, ...]" = ()


ERROR_CODES: Final = frozenset(
    {
        "knowledge_unconfigured",
        "knowledge_provider_invalid",
        "knowledge_query_required",
        "knowledge_owner_required",
        "knowledge_filters_unsupported",
        "knowledge_base_unknown",
        "knowledge_timeout",
        "knowledge_provider_failed",
        "knowledge_unauthorized",
        "knowledge_rate_limited",
        "knowledge_unavailable",
        "knowledge_invalid_response",
        "knowledge_all_sources_failed",
        "knowledge_sources_incomplete",
        "knowledge_reference_invalid",
        "knowledge_reference_unknown",
    }
)
"""Every code that means something across the boundary."""

_RETRYABLE_CODES: Final = frozenset({"knowledge_timeout", "knowledge_rate_limited", "knowledge_unavailable"})


def error_code(error: BaseException) -> str | None:
    """The contract's code of any exception, or None; raises nothing but a ``KeyboardInterrupt``, whatever ``code`` is.

    A provider written without this package may raise its own exceptions; one whose ``code`` attribute is in
    ``ERROR_CODES`` is read the same way.
    """
    code = read_or_none(lambda: getattr(error, "code", None))
    return code if type(code) is str and code in ERROR_CODES else None


def is_retryable(error: BaseException) -> bool:
    """Whether trying again may help, as the error says itself or else its code does; raises as ``error_code``.

    Only an error with a code of the contract is believed: any other may use the name ``retryable`` for something else.
    """
    code = error_code(error)
    said = None if code is None else read_or_none(lambda: getattr(error, "retryable", None))
    return said if type(said) is bool else code in _RETRYABLE_CODES


def read_or_none(read: Callable[[], object]) -> object:
    """What ``read`` gives, or None where it raises: for a look at a foreign object, which may run foreign code.

    A ``KeyboardInterrupt`` goes through: it is the user's, and one that foreign code raises looks the same. Everything
    else stays here, a ``SystemExit`` too: who handles an error must not be ended by it.
    """
    try:
        return read()
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None
