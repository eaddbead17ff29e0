"""The same again, here and in another process: what cannot be asked, and what is not compared."""

import asyncio
from typing import Any

import pytest

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.checks import repeating
from knowledge_conformance.elsewhere import ElsewhereError, Question
from knowledge_conformance.engine import run_check
from knowledge_conformance.ranking import Ranked
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.settings import Settings
from knowledge_conformance.subject import Subject
from knowledge_conformance.survey import SURVEY_CALLS, Survey
from knowledge_fakes.faults import FAULTS
from knowledge_fakes.handbook import HandbookProvider, load_handbook
from knowledge_provider import RetrievalContext, RetrievalRequest

TARGET = "knowledge_fakes.handbook:provider"


def result(
    provider: Any, target: str | None = TARGET, check_id: str = "KP-315", queries: tuple[str, ...] = ()
) -> CheckResult:
    subject = Subject(
        provider,
        Settings(secrets=("ACME_KEY",), queries=queries),
        allowed=99,
        announce=lambda _shown, _seconds: None,
        surveyor=Survey(),
        target=target,
    )
    return asyncio.run(run_check(BY_ID[check_id], subject))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Question]:
    """What is asked of another process, which answers as the handbook does."""
    questions: list[Question] = []

    def answer(question: Question) -> list[Ranked]:
        questions.append(question)
        found = [load_handbook().search(request) for request in question.requests]
        return [tuple((row["id"], row["score"]) for row in rows) for rows in found]

    monkeypatch.setattr(repeating, "ask_elsewhere", answer)
    return questions


def test_it_asks_what_was_asked_here(asked: list[Question]) -> None:
    """As the same owner, with the time for one call, and with the names of the secrets."""
    found = result(HandbookProvider())
    assert found.outcome is CheckOutcome.PASSED
    (question,) = asked
    assert (question.target, question.owner, question.taping.secrets) == (TARGET, "conformance-owner", ("ACME_KEY",))
    assert len(question.requests) == found.observations == 5
    # Those of the other process count, too, with the close() of its two providers.
    assert found.calls <= SURVEY_CALLS + 3 + 3 + 2 + 2 * (3 + 1)
    assert BY_ID["KP-315"].calls == 3 + 3 + 2 + 2 * (3 + 1)
    assert question.afresh == 2


class NeverTwice(HandbookProvider):
    """Leaves out what an earlier call got, as a default argument does."""

    def __init__(self) -> None:
        super().__init__()
        self._told: set[str] = set()

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        """What nobody was told yet."""
        found = [row for row in (await super().retrieve(request, context))["results"] if row["id"] not in self._told]
        self._told.update(row["id"] for row in found)
        return {"results": found}


def test_what_keeps_from_telling_twice_is_told_so() -> None:
    """Its author has no ids to sort."""
    found = result(NeverTwice(), check_id="KP-314", queries=("release policy",))
    assert found.outcome is CheckOutcome.ADVISORY
    assert found.hint is not None
    assert "leave nothing out because an earlier one got it" in found.hint


class OneForMany(HandbookProvider):
    """Searches for the first query of as many words, whichever comes."""

    def __init__(self) -> None:
        super().__init__()
        self._first: dict[int, str] = {}

    def rewritten(self, request: RetrievalRequest) -> RetrievalRequest:
        """The request as it is searched for."""
        first = self._first.setdefault(len(request.query.split()), request.query)
        return request.model_copy(update={"query": first})

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        """What the handbook has for another query."""
        return await super().retrieve(self.rewritten(request), context)


def test_the_last_query_is_asked_first_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one order of questions such a provider says the same for ever."""
    questions: list[Question] = []

    def answer(question: Question) -> list[Ranked]:
        questions.append(question)
        there = OneForMany()
        found = [load_handbook().search(there.rewritten(request)) for request in question.requests]
        return [tuple((row["id"], row["score"]) for row in rows) for rows in found]

    monkeypatch.setattr(repeating, "ask_elsewhere", answer)
    found = result(OneForMany())
    assert (found.outcome, found.saw) == (CheckOutcome.ADVISORY, "other ids")
    there = [request.query for request in questions[0].requests][2:]
    assert len({*there}) == 3
    assert f"one of them retrieve(RetrievalRequest(query={there[-1]!r}" in str(found.where)


def test_without_a_name_no_other_process_is_asked(asked: list[Question]) -> None:
    """The half in this process is another check's."""
    found = result(HandbookProvider(), target=None)
    assert found.outcome is CheckOutcome.INAPPLICABLE
    assert found.saw is not None
    assert "module:obj" in found.saw
    assert not asked
    assert result(HandbookProvider(), target=None, check_id="KP-314").outcome is CheckOutcome.PASSED


def test_what_does_not_hold_still_here_is_not_compared(asked: list[Question]) -> None:
    """KP-314 says it once."""
    provider = FAULTS["ids_by_a_counter"].wrap(HandbookProvider())
    found = result(provider)
    assert (found.outcome, found.saw) == (CheckOutcome.BLOCKED, "KP-314 has to hold first")
    assert not asked


def test_what_cannot_be_opened_twice_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that one process may open alone says nothing about order."""

    def refuse(_question: Question) -> list[Ranked]:
        raise ElsewhereError("the index is locked")

    monkeypatch.setattr(repeating, "ask_elsewhere", refuse)
    found = result(HandbookProvider())
    assert found.outcome is CheckOutcome.INAPPLICABLE
    assert found.saw == "another process could not ask the target: 'the index is locked'"


def test_another_answer_there_is_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty one, too."""
    monkeypatch.setattr(repeating, "ask_elsewhere", lambda question: [() for _ in question.requests])
    found = result(HandbookProvider())
    assert found.outcome is CheckOutcome.ADVISORY
    assert found.saw == "other ids"


def test_raising_the_second_time_is_not_the_same() -> None:
    """What was answered once is answered again."""

    class Once(HandbookProvider):
        def __init__(self) -> None:
            super().__init__()
            self.seen: set[str] = set()

        async def retrieve(self, request: Any, context: Any) -> Any:
            name = request.model_dump_json()
            if name in self.seen:
                raise PermissionError("quota")
            self.seen.add(name)
            return await super().retrieve(request, context)

    found = result(Once(), check_id="KP-314")
    assert found.outcome is CheckOutcome.ADVISORY
    assert found.saw is not None
    assert "PermissionError" in found.saw
    assert result(Once()).outcome is CheckOutcome.BLOCKED


CACHES = {"cache_without_top_k": "2 results, then 6", "cache_by_the_beginning_of_the_query": "2 results, then 8"}


@pytest.mark.parametrize("name", CACHES)
def test_an_answer_that_is_kept_by_too_little_is_seen(name: str, asked: list[Question]) -> None:
    """Here it was asked after one that looks the same, and there alone, before anything else."""
    found = result(FAULTS[name].wrap(HandbookProvider()))
    assert found.outcome is CheckOutcome.ADVISORY
    assert CACHES[name] in str(found.saw)
    assert "), after retrieve(" in str(found.where)
    sizes, beginning, *_ = asked[0].requests
    assert (sizes.top_k, beginning.top_k) == (8, 8)
    assert len(beginning.query) > 100


def test_what_does_not_hold_still_of_the_two_is_left_out(asked: list[Question]) -> None:
    """An index that answers long queries by chance says nothing about what a cache is kept by."""

    class Wavering(HandbookProvider):
        turn = 0

        async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
            answer = await super().retrieve(request, context)
            self.turn += 1
            kept = self.turn % 2 if " " in request.query else 0
            return {"results": answer["results"][kept:]}

    found = result(Wavering(), queries=("release", "policy", "team"))
    assert found.outcome is CheckOutcome.PASSED
    assert len(asked[0].requests) == found.observations == 5 - 2
