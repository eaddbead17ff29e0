"""What is said when a provider fails (clauses 8.6 and 8.11), as pure functions; knows no call, request or outcome.

The messages are our own words, the provider's key and a code. What the provider said stays in ``__cause__``: its text
may hold a document, a query or a key.
"""

import asyncio
import builtins
from typing import Final

from knowledge_provider import errors
from knowledge_provider.text import finite_number, is_a

# Clause 3.2: refusing a request is not failing, and the caller can mend it.
_REFUSALS: Final[dict[str | None, type[errors.KnowledgeRequestError]]] = {
    kind.code: kind
    for kind in (
        errors.KnowledgeQueryRequiredError,
        errors.KnowledgeOwnerRequiredError,
        errors.KnowledgeFiltersUnsupportedError,
        errors.KnowledgeBaseUnknownError,
        errors.KnowledgeReferenceInvalidError,
        errors.KnowledgeReferenceUnknownError,
    )
}

# A day. A back end may say anything, and beyond it is a mistake or a way to have it never asked again.
_RETRY_AFTER_MAX: Final = 86_400

_ERRORS: Final = tuple(kind for kind in vars(builtins).values() if is_a(kind, type) and issubclass(kind, BaseException))
_NAMED: Final = (*_ERRORS, asyncio.CancelledError)


def error_kind(error: BaseException) -> str:
    """What kind of error it is, in words that cannot hold the provider's own: a code, or the name of a class of Python.

    The name of any other class is the provider's text, too.
    """
    known = (kind.__name__ for kind in _NAMED if kind is type(error))
    return errors.error_code(error) or next(known, "an error of its own")


def failure(error: BaseException, provider_key: str) -> errors.KnowledgeError:
    """The host's error for what a provider raised, with that as its ``__cause__``.

    A refusal keeps its code. Everything else is a ``KnowledgeFailedError``, a time-out of the provider's own and a
    ``CancelledError`` that nobody asked for included; it is retryable, and has a ``retry_after`` in seconds, where the
    error carries a code of the contract and says so. A ``retry_after`` of more than a day is None: it is no time that
    a turn, or who schedules the next try, could go by.
    """
    code = errors.error_code(error)
    kind = _REFUSALS.get(code)
    made = _failed(error, code, provider_key) if kind is None else _refused(kind, provider_key)
    made.__cause__ = error
    return made


def timed_out(provider_key: str, seconds: float) -> errors.KnowledgeTimeoutError:
    """The host's error for a provider that did not answer within ``seconds``, or before the caller's own deadline."""
    return errors.KnowledgeTimeoutError(
        f"Wanted an answer from {provider_key} within {seconds:g} seconds, or the caller's own deadline, and none "
        "came: the wait is over, and a late answer is dropped. Try again, or allow more time.",
        provider_key=provider_key,
    )


def _refused(kind: type[errors.KnowledgeRequestError], provider_key: str) -> errors.KnowledgeRequestError:
    return kind(
        f"The provider {provider_key} refused the request ({kind.code}): asked as it is, it cannot be answered. Mend "
        "the request; its own words are in __cause__.",
        provider_key=provider_key,
    )


def _failed(error: BaseException, code: str | None, provider_key: str) -> errors.KnowledgeFailedError:
    # Clause 8.11. Which says nothing about the knowledge: no answer is not "nothing found".
    return errors.KnowledgeFailedError(
        f"Wanted an answer from the provider {provider_key}, and it raised {error_kind(error)}: whether there is one "
        "is not known. Look at __cause__ for what it said.",
        provider_key=provider_key,
        retryable=errors.is_retryable(error),
        retry_after=_retry_after(error) if code else None,
    )


def _retry_after(error: BaseException) -> float | None:
    seconds = finite_number(errors.read_or_none(lambda: getattr(error, "retry_after", None)))
    return float(seconds) if seconds is not None and 0 <= seconds <= _RETRY_AFTER_MAX else None
