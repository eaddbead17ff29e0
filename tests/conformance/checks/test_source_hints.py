"""What checks of sources advise: whoever follows it passes the check that advised it."""

from collections.abc import Callable
from typing import Any

import pytest

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.kinds import SOURCE
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import Target
from knowledge_fakes.sources import HandbookSource

SETTINGS = Settings(references=({"id": "engineering"},), queries=("release policy",))


def result_of(make: Callable[[], Any], id_: str) -> CheckResult:
    """What one check, and those that it needs, say of what this makes."""
    run = Run(Target("made", make, instance=False), SETTINGS, kind=SOURCE)
    try:
        return run.result(BY_ID[id_])
    finally:
        run.close()


def source_of(name: str, source_uri: str) -> Callable[[], Any]:
    """A source of this name, each record of which has this place."""

    class Placed(HandbookSource):
        async def retrieve(self, *asked: Any) -> Any:
            results = await super().retrieve(*asked)
            return [{**each, "source_uri": source_uri} for each in results]

    Placed.name = name
    return Placed


@pytest.mark.parametrize(
    ("name", "advised"),
    [("wiki", "the source's name"), ("s3", "s3-place"), ("team-data", "team-data-place"), ("4", "place-4-place")],
)
def test_the_scheme_that_is_advised_passes(name: str, advised: str) -> None:
    """Also where the source's name reads as a link's scheme, or as none."""
    refused = result_of(source_of(name, "https://wiki.example.com/7"), "KP-1006")
    assert refused.outcome is CheckOutcome.FAILED
    assert refused.hint is not None
    assert refused.hint.startswith(f"write {advised}, a colon")
    scheme = name if advised == "the source's name" else advised
    assert result_of(source_of(name, f"{scheme}:page/7"), "KP-1006").outcome is CheckOutcome.PASSED


def test_a_list_that_cannot_be_called_so_is_told_how() -> None:
    """Not of its owner alone, of whom it never heard."""

    class ByName(HandbookSource):
        async def list_documents(self, refs: Any, context: Any, *, limit: int, offset: int) -> Any:  # type: ignore[override] # the mistake
            return await super().list_documents(refs, context, limit, offset)

    result = result_of(ByName, "KP-1016")
    assert result.outcome is CheckOutcome.FAILED
    assert result.hint is not None
    assert "list_documents(self, refs, context, limit, offset)" in result.hint


def test_a_list_that_answers_is_told_of_the_owner_alone() -> None:
    """Its signature is right."""

    class Open(HandbookSource):
        async def list_documents(self, refs: Any, context: Any, limit: int, offset: int, /) -> Any:
            return []

    hint = result_of(Open, "KP-1016").hint
    assert hint is not None
    assert hint.startswith("raise KnowledgeOwnerRequiredError")
