"""Generated requests: the same for the same seed, smaller after a failure, and nothing left on disk."""

from pathlib import Path

import pytest

from knowledge_conformance.generate import each_request
from knowledge_provider import RetrievalRequest, limits


def generated(seed: int, examples: int = 20) -> list[RetrievalRequest]:
    seen: list[RetrievalRequest] = []
    each_request(seen.append, examples=examples, seed=seed)
    return seen


def test_the_same_seed_gives_the_same_requests() -> None:
    """A report can be made again; another seed gives others."""
    assert generated(0) == generated(0)
    assert generated(0) != generated(1)


def test_as_many_requests_are_made_as_were_asked_for() -> None:
    """Each of them valid."""
    seen = generated(3, examples=30)
    assert len(seen) == 30
    assert all(1 <= len(request.query) <= limits.QUERY_MAX for request in seen)


def test_a_failing_request_is_made_smaller() -> None:
    """The last one that fails is the one to show, and its exception comes out."""
    failing: list[RetrievalRequest] = []

    def examine(request: RetrievalRequest) -> None:
        if len(request.query) >= 3:
            failing.append(request)
            raise ValueError("too long")

    with pytest.raises(ValueError, match="too long"):
        each_request(examine, examples=50, seed=0)
    assert len(failing[-1].query) == 3


def test_what_ends_a_run_from_inside_comes_out() -> None:
    """Without calls left, no further request is made."""

    class EnoughError(BaseException):
        pass

    seen: list[RetrievalRequest] = []

    def examine(request: RetrievalRequest) -> None:
        seen.append(request)
        raise EnoughError

    with pytest.raises(EnoughError):
        each_request(examine, examples=50, seed=0)
    assert len(seen) < 50


def test_nothing_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither examples nor anything else in the folder where the run starts."""
    monkeypatch.chdir(tmp_path)
    generated(5)
    assert list(tmp_path.iterdir()) == []
