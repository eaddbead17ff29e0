"""A provider's failure is told by code and key, and is neither an empty answer nor the host's own end."""

import asyncio
import threading
import time
from typing import Any

import httpx
import pytest
from host_scenes import context, run

from knowledge_fakes.scripted import RAISING, SECRET, ScriptedProvider, SyncScriptedProvider
from knowledge_provider import (
    ERROR_CODES,
    CompositeProvider,
    KnowledgeBaseUnknownError,
    KnowledgeError,
    KnowledgeFailedError,
    KnowledgeFiltersUnsupportedError,
    KnowledgeHost,
    KnowledgeRateLimitedError,
    KnowledgeTimeoutError,
    RetrievalContext,
    error_code,
)

REFUSALS = {
    "knowledge_query_required",
    "knowledge_owner_required",
    "knowledge_filters_unsupported",
    "knowledge_base_unknown",
    "knowledge_reference_invalid",
    "knowledge_reference_unknown",
}

each_kind = pytest.mark.parametrize("kind", [ScriptedProvider, SyncScriptedProvider])


def failure_of(provider: object) -> KnowledgeError:
    """What a search raises."""
    with pytest.raises(KnowledgeError) as it:
        run(KnowledgeHost(provider, timeout=5.0).search("release policy", context=context()))
    return it.value


@each_kind
@pytest.mark.parametrize("name", sorted(RAISING))
def test_whatever_a_provider_raises_is_its_failure(kind: type[Any], name: str) -> None:
    """Field case 73, and more: SystemExit, groups, hostile objects. A code, the key, and its words in the cause."""
    raised = RAISING[name]()
    error = failure_of(kind([raised]))
    code = error_code(raised)
    assert error.code == (code if code in REFUSALS else "knowledge_provider_failed")
    assert error.provider_key == "scripted"
    assert error.__cause__ is not None
    assert SECRET not in str(error)
    assert "\n" not in str(error)


@pytest.mark.parametrize("code", sorted(ERROR_CODES))
def test_a_foreign_exception_with_a_code_is_read_the_same_way(code: str) -> None:
    """Clause 3.2: refusing a request is not failing; everything else is one failure that names the code."""
    raised = type("VendorError", (Exception,), {"code": code})(SECRET)
    error = failure_of(ScriptedProvider([raised]))
    assert error.code == (code if code in REFUSALS else "knowledge_provider_failed")
    assert code in str(error)
    assert error.__cause__ is raised
    assert error.retryable is (code in {"knowledge_timeout", "knowledge_rate_limited", "knowledge_unavailable"})


def test_a_refusal_keeps_its_class_with_our_words() -> None:
    """So that a caller can mend the request."""
    error = failure_of(ScriptedProvider([KnowledgeBaseUnknownError(f"no base {SECRET}", provider_key="other")]))
    assert type(error) is KnowledgeBaseUnknownError
    assert (SECRET in str(error), error.provider_key) == (False, "scripted")
    assert type(failure_of(ScriptedProvider([KnowledgeFiltersUnsupportedError()]))) is KnowledgeFiltersUnsupportedError


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (3, 3.0),
        (0.5, 0.5),
        (86_400, 86_400.0),
        (86_401, None),
        (1e308, None),
        (10**400, None),
        (-1, None),
        (float("nan"), None),
        (True, None),
        ("3", None),
        (None, None),
    ],
    ids=lambda it: f"{it}"[:8],
)
def test_how_long_to_wait_is_as_the_cause_says(given: Any, read: float | None) -> None:
    """Clause 8.11: in seconds, where they are a number of at most a day."""
    error = failure_of(ScriptedProvider([KnowledgeRateLimitedError(retry_after=given)]))
    assert (error.code, error.retryable, error.retry_after) == ("knowledge_provider_failed", True, read)


def test_other_exceptions_do_not_say_whether_to_try_again() -> None:
    """``retryable`` on a vendor's exception may mean anything."""
    raised = type("VendorError", (Exception,), {"retryable": True, "retry_after": 5})()
    error = failure_of(ScriptedProvider([raised]))
    assert (error.retryable, error.retry_after) == (False, None)


@each_kind
@pytest.mark.parametrize(
    "raised",
    [
        TimeoutError("as a socket or asyncio raises it"),
        httpx.ReadTimeout("as a client of HTTP raises it"),
        KnowledgeTimeoutError("mine"),
    ],
    ids=lambda it: type(it).__name__,
)
def test_a_providers_own_time_out_is_not_the_hosts_deadline(kind: type[Any], raised: Exception) -> None:
    """Clause 7.6, field case 79: it comes after ten milliseconds, and is the provider's failure."""

    def later(*_: object) -> None:
        time.sleep(0.01)
        raise raised

    began = time.monotonic()
    error = failure_of(kind([later]))
    assert error.code == "knowledge_provider_failed"
    assert error.__cause__ is raised
    assert time.monotonic() - began < 1


async def _gives_up(_request: object, context: RetrievalContext) -> object:
    await context.signal.wait()
    raise TimeoutError("told to stop, and says that it was its own limit")


async def _gives_up_when_cancelled(_request: object, _context: object) -> object:
    try:
        return await asyncio.Event().wait()
    except asyncio.CancelledError:
        raise TimeoutError("cancelled, and says that it was its own limit") from None


def _gives_up_in_a_thread(_request: object, context: RetrievalContext) -> object:
    told = threading.Event()
    context.signal.add_callback(told.set)
    assert told.wait(5)
    raise TimeoutError("told to stop, and says that it was its own limit")


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        (ScriptedProvider, _gives_up),
        (ScriptedProvider, _gives_up_when_cancelled),
        (SyncScriptedProvider, _gives_up_in_a_thread),
    ],
)
def test_the_hosts_deadline_is_not_a_providers_own_time_out(kind: type[Any], answer: object) -> None:
    """Field case 79, the other way round: whatever a provider makes of being told to stop, the deadline had passed."""
    with pytest.raises(KnowledgeTimeoutError, match=r"within 0\.05 seconds"):
        run(KnowledgeHost(kind([answer]), timeout=0.05).search("policy", context=context()))


@each_kind
def test_a_keyboard_interrupt_is_the_users(kind: type[Any]) -> None:
    """And goes through; field case 73."""
    with pytest.raises(KeyboardInterrupt):
        run(KnowledgeHost(kind([KeyboardInterrupt()])).search("x", context=context()))


@each_kind
def test_a_provider_that_cancels_itself_does_not_cancel_the_host(kind: type[Any]) -> None:
    """Field case 73: nobody who catches Exception catches it, and it must not look like the caller's."""

    async def scene() -> tuple[KnowledgeError, int]:
        task = asyncio.current_task()
        assert task is not None
        with pytest.raises(KnowledgeFailedError) as it:
            await KnowledgeHost(kind([asyncio.CancelledError()])).search("x", context=context())
        return it.value, task.cancelling()

    error, cancelling = run(scene())
    assert isinstance(error.__cause__, asyncio.CancelledError)
    assert cancelling == 0


def test_an_outage_a_partial_one_and_no_hits_are_three_things() -> None:
    """Field case 71: failures that are swallowed into an empty list let an agent answer from memory."""

    def host(**children: object) -> KnowledgeHost:
        return KnowledgeHost(CompositeProvider({name: ScriptedProvider([each]) for name, each in children.items()}))

    async def scene() -> tuple[str, str, KnowledgeError]:
        none = await host(a=[], b=[]).search("x", context=context())
        partial = await host(a=ValueError(), b=[{"id": "1", "content": "one"}]).search("x", context=context())
        with pytest.raises(KnowledgeFailedError, match="knowledge_all_sources_failed") as it:
            await host(a=ValueError(), b=ValueError()).search("x", context=context())
        return none.status, ", ".join(f"{each.key} {each.status}" for each in partial.sources), it.value

    none, partial, total = run(scene())
    assert (none, partial) == ("not_found", "a failed, b hit")
    assert error_code(total.__cause__ or total) == "knowledge_all_sources_failed"


def test_a_method_that_cannot_be_looked_up_has_failed() -> None:
    """Composition saw it; a later turn may not."""

    class Fading(ScriptedProvider):
        gone = False

        def __getattribute__(self, name: str) -> Any:
            if name == "retrieve" and super().__getattribute__("gone"):
                raise SystemExit("closed")
            return super().__getattribute__(name)

    provider = Fading()
    host = KnowledgeHost(provider)
    provider.gone = True
    with pytest.raises(KnowledgeFailedError):
        run(host.search("x", context=context()))
