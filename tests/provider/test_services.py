"""What adapters of remote services share: a limit in time, and failures by their codes."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_provider import CancelSignal, errors
from knowledge_provider.services import failure, refusal, time_limit

SECRET = "sk-hunter2"

# Time


def _ended(signal: CancelSignal, seconds: float | None) -> errors.KnowledgeError:
    async def main() -> None:
        async with time_limit(signal, seconds):
            await asyncio.Event().wait()

    with pytest.raises(errors.KnowledgeError) as caught:
        asyncio.run(main())
    return caught.value


def test_the_hosts_deadline_and_the_providers_own_are_told_apart() -> None:
    """Clause 7.6: whichever is earlier ends the block, and says whose it was; another try may help with both."""
    deadline = time.monotonic() + 0.01
    for signal, seconds, code in (
        (CancelSignal(deadline=deadline), 60, "knowledge_timeout"),
        (CancelSignal(deadline=deadline), None, "knowledge_timeout"),
        (CancelSignal(deadline=deadline + 60), 0.01, "knowledge_provider_failed"),
        (CancelSignal(), 0.01, "knowledge_provider_failed"),
    ):
        error = _ended(signal, seconds)
        assert (error.code, error.retryable) == (code, True)


def test_a_deadline_that_has_passed_ends_the_block_at_its_first_wait() -> None:
    """And not later."""
    assert _ended(CancelSignal(deadline=time.monotonic() - 1), 60).code == "knowledge_timeout"


def test_a_block_in_time_is_left_alone_and_knows_how_long_is_left() -> None:
    """A clock of the signal's own is asked."""

    async def main() -> float | None:
        async with time_limit(CancelSignal(deadline=130.0, clock=lambda: 100.0), 20) as limit:
            return limit.remaining()

    assert asyncio.run(main()) == 20


@pytest.mark.parametrize("error", [TimeoutError("its own"), ValueError("no")])
def test_an_error_of_the_blocks_own_comes_out_as_it_is(error: Exception) -> None:
    """A vendor's ``TimeoutError`` is not the limit's."""

    async def main() -> None:
        async with time_limit(CancelSignal(), 60):
            raise error

    with pytest.raises(type(error)) as caught:
        asyncio.run(main())
    assert caught.value is error


def test_a_cancellation_comes_out() -> None:
    """Clause 7.1."""

    async def main() -> None:
        entered = asyncio.Event()

        async def block() -> None:
            async with time_limit(CancelSignal(), 60):
                entered.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(block())
        await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


# Failures


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (401, "knowledge_unauthorized", False),
        (403, "knowledge_unauthorized", False),
        (429, "knowledge_rate_limited", True),
        (500, "knowledge_unavailable", True),
        (502, "knowledge_unavailable", True),
        (503, "knowledge_unavailable", True),
        (599, "knowledge_unavailable", True),
        (408, "knowledge_provider_failed", True),
        (400, "knowledge_provider_failed", False),
        (404, "knowledge_provider_failed", False),
        (302, "knowledge_provider_failed", False),
        (100, "knowledge_provider_failed", False),
    ],
)
def test_a_status_has_a_code(status: int, code: str, retryable: bool) -> None:
    """The message names the status."""
    error = refusal(status)
    assert (error.code, error.retryable, error.retry_after) == (code, retryable, None)
    assert f"status {status};" in str(error)


@pytest.mark.parametrize("status", [429, 503])
def test_how_long_to_wait_is_read_from_a_number_or_a_date(status: int) -> None:
    """Only where the service says so; a moment that has passed is now."""
    assert refusal(status, "7").retry_after == 7
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    assert 3500 < (refusal(status, later).retry_after or 0) <= 3600
    assert refusal(status, "Wed, 21 Oct 2015 07:28:00 GMT").retry_after == 0


@pytest.mark.parametrize(
    "written", [None, "", "soon", "-1", "1.5", "nan", "٣", "9" * 400, "1000000000", "Fri, 99 Foo 2015"]
)
def test_what_says_nothing_about_waiting_is_passed_over(written: str | None) -> None:
    """More than a life is no help to wait for."""
    assert refusal(429, written).retry_after is None


@pytest.mark.parametrize("status", [400, 404, 500, 502])
def test_other_statuses_do_not_ask_to_wait(status: int) -> None:
    """For them, the header means nothing that HTTP defines."""
    assert refusal(status, "7").retry_after is None


@settings(deadline=None)
@given(st.sampled_from([429, 503]), st.text() | st.from_regex(r"\w{3}, \d+ \w{3} \d+ \d+:\d+:\d+ [\w+-]*"))
def test_no_header_breaks_the_reading_of_it(status: int, written: str) -> None:
    """It is the service's."""
    wait = refusal(status, written).retry_after
    assert wait is None or 0 <= wait < 10**9


class LateError(Exception):
    """Of a client's."""


class LostError(Exception):
    """Of a client's."""


class LateAndLostError(LateError, LostError):
    """As in libraries where one is the other's base."""


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        (LateError(SECRET), "knowledge_provider_failed", True),
        (LateAndLostError(SECRET), "knowledge_provider_failed", True),
        (LostError(SECRET), "knowledge_unavailable", True),
        (ConnectionError(SECRET), "knowledge_unavailable", True),
        (ValueError(SECRET), "knowledge_provider_failed", False),
    ],
)
def test_a_clients_own_errors_are_told_apart(error: Exception, code: str, retryable: bool) -> None:
    """By the classes that are named; the rest as without them, and never by words."""
    made = failure(error, "the call", late=LateError, lost=(LostError,))
    assert (made.code, made.retryable) == (code, retryable)
    assert SECRET not in str(made)
    assert failure(ValueError(), "the call").code == "knowledge_provider_failed"
