"""The exception tree: one code for each meaning, and codes read from any exception without trusting it."""

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from knowledge_provider import errors
from knowledge_provider.errors import (
    ERROR_CODES,
    KnowledgeAllSourcesFailedError,
    KnowledgeError,
    KnowledgeFailedError,
    KnowledgeRateLimitedError,
    KnowledgeRequestError,
    KnowledgeSourcesIncompleteError,
    KnowledgeTimeoutError,
    error_code,
    is_retryable,
)
from knowledge_provider.outcome import SourceReport

# The public list: a code that goes or changes breaks every host that reads it. True: trying again may help.
CODES = {
    "knowledge_unconfigured": False,
    "knowledge_provider_invalid": False,
    "knowledge_query_required": False,
    "knowledge_owner_required": False,
    "knowledge_filters_unsupported": False,
    "knowledge_base_unknown": False,
    "knowledge_timeout": True,
    "knowledge_provider_failed": False,
    "knowledge_unauthorized": False,
    "knowledge_rate_limited": True,
    "knowledge_unavailable": True,
    "knowledge_invalid_response": False,
    "knowledge_all_sources_failed": False,
    "knowledge_sources_incomplete": False,
    "knowledge_reference_invalid": False,
    "knowledge_reference_unknown": False,
}
MENDABLE = {
    "knowledge_query_required",
    "knowledge_owner_required",
    "knowledge_filters_unsupported",
    "knowledge_base_unknown",
    "knowledge_reference_invalid",
    "knowledge_reference_unknown",
}


def family(root: type[KnowledgeError]) -> Iterator[type[KnowledgeError]]:
    for child in root.__subclasses__():
        if child.__module__ == errors.__name__:
            yield child
            yield from family(child)


RAISED = [kind for kind in family(KnowledgeError) if kind is not KnowledgeRequestError]


def test_the_codes_are_the_published_ones() -> None:
    """Each code is there, and each has exactly one class that says it."""
    assert set(CODES) == ERROR_CODES
    assert sorted(kind.code for kind in RAISED) == sorted(CODES)


@pytest.mark.parametrize("kind", RAISED)
def test_a_class_says_its_code_and_whether_to_retry(kind: type[KnowledgeError]) -> None:
    """Without a message the code is the message; the branch says whether the caller can mend the request."""
    error = kind()
    assert (str(error), error_code(error), error.retryable) == (kind.code, kind.code, CODES[kind.code])
    assert issubclass(kind, KnowledgeRequestError) is (kind.code in MENDABLE)
    assert (error.provider_key, error.retry_after) == (None, None)


def test_failures_are_one_branch() -> None:
    """Clause 8.11: whatever failed behind the boundary is caught with one class."""
    failed = {kind.code for kind in family(KnowledgeFailedError)} | {KnowledgeFailedError.code}
    assert failed == set(CODES) - MENDABLE - {"knowledge_unconfigured", "knowledge_provider_invalid"}


def test_what_an_error_knows_is_its_own() -> None:
    """Clause 8.11: whether to retry is as the cause says, for one error and not for its class."""
    error = KnowledgeFailedError("the provider failed", provider_key="docs", retryable=True, retry_after=2.5)
    assert (str(error), error.provider_key, error.retryable, error.retry_after) == (
        "the provider failed",
        "docs",
        True,
        2.5,
    )
    assert not KnowledgeTimeoutError(retryable=False).retryable
    assert not KnowledgeFailedError().retryable
    assert KnowledgeTimeoutError().retryable


@pytest.mark.parametrize("remake", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))], ids=["copy", "pickle"])
def test_an_error_survives_the_way_between_processes(remake: Any) -> None:
    """A provider may run in a child process; nothing is lost on the way."""
    error = remake(KnowledgeRateLimitedError("slow down", provider_key="docs", retry_after=3.0))
    assert type(error) is KnowledgeRateLimitedError
    assert (str(error), error.provider_key, error.retry_after, error.retryable) == ("slow down", "docs", 3.0, True)


@pytest.mark.parametrize("kind", [KnowledgeAllSourcesFailedError, KnowledgeSourcesIncompleteError])
def test_a_composites_failure_says_how_each_source_fared(kind: Any) -> None:
    """Clause 9.3: for one error and not for its class, and still so in another process."""
    error = kind("failed")
    error.sources = (SourceReport(key="docs", status="failed", reason="timeout", count=0),)
    assert pickle.loads(pickle.dumps(error)).sources == error.sources
    assert kind("failed").sources == ()


def coded(code: object) -> Exception:
    error = Exception("foreign")
    error.code = code  # type: ignore[attr-defined]  # what a provider without this package does
    return error


class Sly(str):
    __slots__ = ()


class Trap(Exception):  # noqa: N818 - a stand-in, not an error of ours
    @property
    def code(self) -> str:
        raise RuntimeError("foreign code ran")


class Quitting(Exception):  # noqa: N818 - a stand-in, not an error of ours
    @property
    def code(self) -> str:
        raise SystemExit(9)


class Interrupting(Exception):  # noqa: N818 - a stand-in, not an error of ours
    @property
    def code(self) -> str:
        raise KeyboardInterrupt


class Torn(Exception):  # noqa: N818 - a stand-in, not an error of ours
    code = "knowledge_rate_limited"

    @property
    def retryable(self) -> bool:
        raise SystemExit(9)


class Unhashable(Exception):  # noqa: N818 - a stand-in, not an error of ours
    code: list[str] = []  # noqa: RUF012 - what is tested


@pytest.mark.parametrize("code", sorted(CODES))
def test_a_foreign_error_with_a_known_code_is_read_the_same_way(code: str) -> None:
    """A provider written without this package raises its own exceptions."""
    assert error_code(coded(code)) == code


@pytest.mark.parametrize(
    "error",
    [
        *(Exception(), KeyboardInterrupt(), SystemExit(1), OSError(2, "x"), UnicodeError()),
        *(Trap(), Quitting(), Unhashable()),
        *map(coded, ("knowledge_", "KNOWLEDGE_TIMEOUT", "", None, 404, b"knowledge_timeout", Sly("knowledge_timeout"))),
    ],
    ids=lambda error: type(error).__name__,
)
def test_another_error_has_no_code(error: BaseException) -> None:
    """HTTP status numbers, vendors' own codes and traps mean nothing here, and reading them raises nothing."""
    assert error_code(error) is None


def saying(code: object, retryable: object) -> Exception:
    error = coded(code)
    error.retryable = retryable  # type: ignore[attr-defined]  # as above
    return error


@pytest.mark.parametrize(
    ("error", "retryable"),
    [
        *((kind(), CODES[kind.code]) for kind in RAISED),
        *((coded(code), again) for code, again in CODES.items()),
        (KnowledgeFailedError(retryable=True), True),
        (KnowledgeTimeoutError(retryable=False), False),
        (saying("knowledge_provider_failed", True), True),
        (saying("knowledge_unavailable", False), False),
        (saying("knowledge_unavailable", "no"), True),
        *((saying(code, True), False) for code in ("vendor_code", None, 503)),
        *((error, False) for error in (TimeoutError(), Trap(), Quitting(), Unhashable())),
        (Torn(), True),
    ],
)
def test_whether_to_retry_is_as_the_error_says_or_its_code(error: BaseException, retryable: bool) -> None:
    """Clause 8.11: an error without a code of the contract may mean something else by the word."""
    assert is_retryable(error) is retryable


def test_an_interrupt_goes_through() -> None:
    """Ctrl-C is the user's also while a foreign property runs, and one that the property raises looks the same."""
    with pytest.raises(KeyboardInterrupt):
        error_code(Interrupting())
