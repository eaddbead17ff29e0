"""What a source writes while it is asked: links and what is the task's are found, words that look alike are not."""

import logging
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.kinds import SOURCE
from knowledge_conformance.results import CheckOutcome
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import Target
from knowledge_fakes.sources import HandbookSource

SETTINGS = Settings(references=({"id": "engineering"},), queries=("release policy",))
_LOG = logging.getLogger(__name__)

# Nobody listens while the survey is made.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def written(write: Callable[[str], object]) -> tuple[CheckOutcome, str]:
    """What the check says of a source that writes so each time it is asked, by the query."""

    class Writing(HandbookSource):
        async def retrieve(self, query: str, refs: Any, context: Any, /) -> Any:
            write(query)
            return await super().retrieve(query, refs, context)

    run = Run(Target("made", Writing, instance=False), SETTINGS, kind=SOURCE)
    result = run.result(BY_ID["KP-1024"])
    run.close()
    return result.outcome, str(result.saw)


@pytest.mark.parametrize(
    "write",
    [
        lambda query: _LOG.debug("3 references, max_token=512, token: 12345678"),
        lambda query: _LOG.info("handbook ['engineering']: hit, no reason, 2 records"),
        lambda query: warnings.warn("see https://docs.example.com/migrate", stacklevel=1),
    ],
    ids=["numbers", "a status", "the page of a warning"],
)
def test_what_may_be_written_is_no_finding(write: Callable[[str], object]) -> None:
    """Names, ids, counts, and where a library explains its warning."""
    assert written(write)[0] is CheckOutcome.PASSED


@pytest.mark.parametrize(
    ("write", "saw"),
    [
        (lambda query: _LOG.debug("asked %r", {"q": query}), "the value of the query"),
        (lambda query: warnings.warn(query, stacklevel=1), "the value of the query"),
        (lambda query: _LOG.info("GET https://wiki.example.com/search 200"), "a raw URL"),
        (lambda query: _LOG.info("GET https://u:p@wiki.example.com/ 200"), "a credential"),
    ],
    ids=["a query", "a query in a warning", "a link", "a link with a password"],
)
def test_what_may_not_be_written_is_found(write: Callable[[str], object], saw: str) -> None:
    """And where."""
    outcome, said = written(write)
    assert outcome is CheckOutcome.FAILED
    assert saw in said


@pytest.mark.parametrize("method", ["validate_refs", "retrieve", "list_documents"])
def test_the_call_that_wrote_is_shown(method: str) -> None:
    """And not the last one: each method is asked, and only one of them writes."""

    class Writing(HandbookSource):
        def __getattribute__(self, name: str) -> Any:
            found = super().__getattribute__(name)
            return partial(self.telling, found) if name == method else found

        def telling(self, call: Callable[..., Any], *arguments: Any) -> Any:
            _LOG.info("GET https://wiki.example.com/search 200")
            return call(*arguments)

    run = Run(Target("made", Writing, instance=False), SETTINGS, kind=SOURCE)
    result = run.result(BY_ID["KP-1024"])
    run.close()
    assert (result.outcome, result.saw) == (
        CheckOutcome.FAILED,
        "a raw URL, in a log record of 'test_source_logs' at INFO",
    )
    assert str(result.where).startswith(f"{method}(")
