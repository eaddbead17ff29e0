"""When nothing found is a failure or a refusal, and what is said of children and of their health."""

from typing import Any

import pytest

from knowledge_provider import limits, merging
from knowledge_provider.errors import (
    KnowledgeAllSourcesFailedError,
    KnowledgeBaseUnknownError,
    KnowledgeFailedError,
    KnowledgeFiltersUnsupportedError,
    KnowledgeSourcesIncompleteError,
    KnowledgeTimeoutError,
    KnowledgeUnavailableError,
)
from knowledge_provider.merging import Answer, read_answer
from knowledge_provider.normalize import normalize_response
from knowledge_provider.provider_calls import Ending


class ForeignError(Exception):
    """A provider's own exception: its ``code`` alone ties it to the contract."""

    def __init__(self, code: object, retryable: object = None) -> None:
        super().__init__("the key is hunter2")
        self.code, self.retryable = code, retryable


def refuse(_: object) -> Any:
    raise SystemExit(9)


# Asked for its class, it raises.
Shy: type[BaseException] = type("Shy", (SystemExit,), {"__class__": property(refuse)})


def read(value: Any = None, *, child: str = "a", **ending: Any) -> Answer:
    return read_answer(child, Ending(value, **ending), top_k=5)


def raised(error: BaseException, child: str = "a") -> Answer:
    return read(error=error, child=child)


HIT = [{"id": "1", "content": "Refunds take 14 days."}]
HAS, NONE, LEFT_OUT, DOWN = read(HIT), read([]), raised(KnowledgeBaseUnknownError()), raised(OSError())


@pytest.mark.parametrize(
    ("answers", "kind"),
    [
        ([HAS], None),
        ([NONE, LEFT_OUT], None),
        ([HAS, DOWN, NONE], None),
        ([LEFT_OUT, LEFT_OUT], None),
        ([DOWN], KnowledgeAllSourcesFailedError),
        ([DOWN, DOWN], KnowledgeAllSourcesFailedError),
        ([DOWN, NONE], KnowledgeSourcesIncompleteError),
        ([LEFT_OUT, DOWN], KnowledgeSourcesIncompleteError),
    ],
)
def test_nothing_found_is_a_failure_where_a_child_failed(answers: list[Answer], kind: type | None) -> None:
    """Clause 9.4: and only there, and told apart from a failure of all."""
    error = merging.failure(answers, "composite")
    assert (None if error is None else type(error)) is kind


def test_a_failure_says_who_failed_how_and_why() -> None:
    """Clause 9.4: keys and reasons in the message, reports as data, errors as causes; no child's own text."""
    errors = ForeignError("knowledge_unauthorized"), SystemExit(1)
    error = merging.failure(
        [
            raised(errors[0], "wiki"),
            read([], child="shop"),
            raised(errors[1], "mail"),
            read(timed_out=True, child="dns"),
        ],
        "composite",
    )
    assert isinstance(error, KnowledgeSourcesIncompleteError)
    assert "4 sources; 3 failed" in str(error)
    assert "wiki (unauthorized), mail (error), dns (timeout)" in str(error)
    assert "hunter2" not in str(error)
    assert error.provider_key == "composite"
    assert [(report.key, report.status) for report in error.sources] == [
        ("wiki", "failed"),
        ("shop", "no_hit"),
        ("mail", "failed"),
        ("dns", "failed"),
    ]
    assert isinstance(error.__cause__, BaseExceptionGroup)
    assert error.__cause__.exceptions[:2] == errors
    assert error.__suppress_context__


@pytest.mark.parametrize(
    ("causes", "retryable"),
    [
        ([KnowledgeUnavailableError()], True),
        ([KnowledgeTimeoutError(), ValueError()], True),
        ([ForeignError("knowledge_rate_limited")], True),
        ([ForeignError("knowledge_rate_limited", retryable=False)], False),
        ([ForeignError("knowledge_provider_failed", retryable=True)], True),
        ([ForeignError("knowledge_unavailable", retryable="no")], True),
        ([ForeignError("vendor_code", retryable=True)], False),
        ([KnowledgeFailedError(), TimeoutError()], False),
    ],
)
def test_trying_again_may_help_where_it_may_for_one(causes: list[BaseException], retryable: bool) -> None:
    """Clause 8.11: as the causes say, or their codes; another error's word for it may mean something else."""
    error = merging.failure([raised(cause) for cause in causes], "composite")
    assert error is not None
    assert error.retryable is retryable


def asking_to_wait(seconds: object, code: str = "knowledge_rate_limited") -> BaseException:
    error = ForeignError(code)
    error.retry_after = seconds  # type: ignore[attr-defined]  # as a provider's own error has it
    return error


@pytest.mark.parametrize(
    ("causes", "seconds"),
    [
        ([asking_to_wait(7.0), asking_to_wait(30), OSError()], 30.0),
        ([KnowledgeUnavailableError(retry_after=0.0)], 0.0),
        ([asking_to_wait(10**400), asking_to_wait(1.0)], 1.0),
        ([asking_to_wait(10**9)], merging.RETRY_AFTER_MAX),
        ([asking_to_wait(float("nan")), asking_to_wait(-1), asking_to_wait("9"), asking_to_wait(True)], None),
        ([asking_to_wait(5.0, code="vendor_code"), KnowledgeTimeoutError()], None),
    ],
)
def test_the_longest_wait_that_a_child_asks_for_is_passed_on(causes: list[BaseException], seconds: Any) -> None:
    """Clause 8.11: who asks again before it is over is refused again; a wait that no one would wait is cut to a day."""
    for others in ([], [NONE]):
        error = merging.failure([*map(raised, causes), *others], "composite")
        assert error is not None
        assert error.retry_after == seconds


def test_an_error_that_fights_back_is_a_failure_like_another() -> None:
    """Clause 9.2: a group of errors asks each for its class; the answer of one does not end the whole."""
    error = merging.failure([raised(Shy())], "composite")
    assert isinstance(error, KnowledgeAllSourcesFailedError)
    assert error.__cause__ is None


def test_a_thousand_failures_are_a_message_that_can_be_read() -> None:
    """The first 64 are named and the rest counted, as in an outcome; the data holds all."""
    error = merging.failure([raised(OSError(), f"child-{number}") for number in range(1000)], "composite")
    assert error is not None
    assert "child-63 (error) and 936 more" in str(error)
    assert "child-64" not in str(error)
    assert len(error.sources) == 1000


REFUSED = raised(KnowledgeFiltersUnsupportedError())


@pytest.mark.parametrize(
    ("answers", "refused"),
    [
        ([REFUSED], True),
        ([REFUSED, REFUSED], True),
        ([REFUSED, LEFT_OUT], True),
        ([LEFT_OUT, REFUSED, LEFT_OUT], True),
        ([LEFT_OUT, LEFT_OUT], False),
        ([REFUSED, NONE], False),
        ([REFUSED, HAS], False),
        ([REFUSED, DOWN], False),
        ([], False),
    ],
)
def test_refused_filters_are_refused_where_nothing_was_searched(answers: list[Answer], refused: bool) -> None:
    """Clause 3.5: nothing found would be a lie, but where no child holds the bases."""
    error = merging.refusal(answers, "composite")
    assert (error is not None) is refused
    assert error is None or (error.code, error.provider_key) == ("knowledge_filters_unsupported", "composite")


def test_a_report_is_what_a_response_says_of_it() -> None:
    """Clause 5.11: plain, and read back as it was."""
    answers = [HAS, raised(OSError(), "b"), read([], child="c")]
    entries = merging.report_entries(answers)
    assert entries == [
        {"key": "a", "status": "hit", "count": 1},
        {"key": "b", "status": "failed", "reason": "error", "count": 0},
        {"key": "c", "status": "no_hit", "count": 0},
    ]
    outcome = normalize_response({"results": [], "sources": entries}, query="q")
    assert outcome.sources == tuple(answer.report for answer in answers)


@pytest.mark.parametrize(
    ("statuses", "status"),
    [
        (["ready", "ready"], "ready"),
        (["ready", "unavailable"], "degraded"),
        (["degraded", "unconfigured"], "degraded"),
        (["degraded"], "degraded"),
        (["unavailable", "unconfigured"], "unavailable"),
    ],
)
def test_health_is_that_of_the_whole(statuses: list[str], status: str) -> None:
    """Clause 2.1: one that can be used is enough to be used."""
    health = merging.health({f"child-{at}": word for at, word in enumerate(statuses)})
    assert health["status"] == status
    named = [f"child-{at} ({word})" for at, word in enumerate(statuses) if word != "ready"]
    assert all(name in health["message"] for name in named)
    assert ("message" in health) is (status != "ready")


def test_a_health_message_is_short() -> None:
    """Clause 2.1: also with a thousand children."""
    health = merging.health({f"child-{number}": "unavailable" for number in range(1000)})
    assert len(health["message"]) <= limits.HEALTH_MESSAGE_MAX
