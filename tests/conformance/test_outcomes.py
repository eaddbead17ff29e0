"""How outcomes are read and compared: by value, place by place, whatever a host has put into them."""

import math
from typing import Any

import pytest

from knowledge_conformance.check import Violation
from knowledge_conformance.outcomes import entries, first_difference, is_not_found, read_outcome
from knowledge_provider import Outcome, OutcomeResult, Source, normalize_response

FOUND: dict[str, Any] = {
    "status": "ok",
    "query": "q",
    "results": [{"id": "a", "content": "text", "score": 1.0, "metadata": {"k": 1, "l": "v"}}],
    "citations": [],
}


def read(**changed: Any) -> dict[str, Any]:
    return read_outcome({**FOUND, **changed}, "search")


def result(**changed: Any) -> dict[str, Any]:
    return read(results=[{**FOUND["results"][0], **changed}])


def path(saw: dict[str, Any]) -> str | None:
    found = first_difference(read(), saw)
    return found and found.path


def test_our_outcomes_and_mappings_are_the_same() -> None:
    """A model's null and empty fields are absent."""
    ours = Outcome(status="ok", query="q", results=(OutcomeResult(id="a", content="text", source=Source(id="s")),))
    theirs = {"status": "ok", "query": "q", "results": ({"id": "a", "content": "text", "source": {"id": "s"}},)}
    assert first_difference(read_outcome(ours, ""), {**read_outcome(theirs, ""), "citations": []}) is None


@pytest.mark.parametrize(
    "same",
    [
        {"results": ({**FOUND["results"][0], "score": 1, "source": None},)},
        {"notice": "any", "elapsed": 5},
        {"sources": []},
        {"sources": None},
    ],
)
def test_what_is_the_same(same: dict[str, Any]) -> None:
    """Numbers by value, null as absent, a host's own fields aside."""
    assert first_difference(read(), read(**same)) is None


@pytest.mark.parametrize(
    ("saw", "where"),
    [
        (read(status="not_found"), "outcome.status"),
        (read(results=[]), "outcome.results[0]"),
        (read(results=[*FOUND["results"], {"id": "b"}]), "outcome.results[1]"),
        (read(citations=[{"id": "source_1"}]), "outcome.citations[0]"),
        (read(sources=[{"key": "a"}]), "outcome.sources"),
        (result(score=True), "outcome.results[0].score"),
        (result(score=math.nan), "outcome.results[0].score"),
        (result(score="1.0"), "outcome.results[0].score"),
        (result(source={}), "outcome.results[0].source"),
        (result(raw=object()), "outcome.results[0].raw"),
        (result(metadata={"l": "v", "k": 1}), "outcome.results[0].metadata of the keys"),
        (result(metadata={"k": True, "l": "v"}), "outcome.results[0].metadata.k"),
        (result(metadata={"k": 1, "l": "v", "m": None}), "outcome.results[0].metadata of the keys"),
        (result(content=type("Text", (str,), {})("text")), "outcome.results[0].content"),
    ],
)
def test_where_they_differ(saw: dict[str, Any], where: str) -> None:
    """The first place is named, whatever the value there is."""
    assert path(saw) == where


def test_a_difference_says_both_values() -> None:
    """On one line, and what is no plain data by its type alone."""
    found = first_difference(read(), result(content=b"text", score=object()))
    assert found is not None
    violation = found.violation("vector 7", "hint")
    assert violation.wanted == "outcome.results[0].content 'text'"
    assert violation.saw == "b'text'"
    assert violation.where == "vector 7"
    missing = first_difference(read(), read(results=[{"id": "a"}]))
    assert missing is not None
    assert missing.violation("", "").saw == "absent"


def test_a_host_may_hand_on_what_contains_itself() -> None:
    """Reading has an end, in depth and in length."""
    loop: dict[str, Any] = {}
    loop["metadata"] = loop
    endless = type("Endless", (list,), {"__iter__": lambda self: iter(int, 1)})([{"id": "a"}])
    assert read(results=[loop] * 5000)["results"]
    assert entries(read(results=endless), "results") == [{"id": "a"}]


def test_an_outcome_that_was_not_validated_is_read() -> None:
    """Its own writer would warn, or raise."""
    odd = OutcomeResult.model_construct(id="a", content=object(), metadata=[1, 2])  # type: ignore[arg-type]  # the point
    outcome = Outcome.model_construct(status="ok", query="q", results=[odd], notice=object())  # type: ignore[arg-type]
    assert entries(read_outcome(outcome, ""), "results")[0]["metadata"] == [1, 2]
    assert path(read_outcome(outcome, "")) == "outcome.results[0].content"


def test_entries_of_anything() -> None:
    """What is no list has none, and what is no mapping is an empty one."""
    assert entries({"results": "ab"}, "results") == []
    assert entries({"results": [1, {"id": "a"}]}, "results") == [{}, {"id": "a"}]
    assert entries({}, "citations") == []


def test_not_found() -> None:
    """By its status, and by having nothing."""
    assert is_not_found(read_outcome(normalize_response([], query="q"), ""))
    assert not is_not_found(read())
    assert not is_not_found(read(status="not_found"))


def test_what_is_no_outcome() -> None:
    """The finding says what came, and where."""
    with pytest.raises(Violation, match="an Outcome") as caught:
        read_outcome(["results"], "host.search()")
    assert (caught.value.saw, caught.value.where) == ("['results']", "host.search()")
