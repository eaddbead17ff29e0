"""The survey finds queries that a strange corpus answers, and asks the provider once for all checks."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from knowledge_conformance.exchange import Exchange
from knowledge_conformance.settings import OwnerExpectation, Settings
from knowledge_conformance.subject import ProviderRaisedError, Subject
from knowledge_conformance.survey import PROBES, QUERIES_WANTED, SURVEY_CALLS, Survey, answered, configured_queries
from knowledge_conformance.watched import OutOfCallsError
from knowledge_provider import RetrievalRequest
from knowledge_provider.limits import QUERY_MAX

Answer = Callable[[RetrievalRequest], Any]


class Provider:
    """Answers as it is told, and keeps what it was asked."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.asked: list[tuple[str, int]] = []

    async def retrieve(self, request: RetrievalRequest, context: Any) -> Any:
        self.asked.append((request.query, request.top_k))
        return self._answer(request)


def subject_of(provider: Provider, survey: Survey, *, allowed: int = SURVEY_CALLS, **settings: Any) -> Subject:
    return Subject(provider, Settings(**settings), allowed=allowed, announce=lambda *_: None, surveyor=survey)


def surveyed(provider: Provider, **options: Any) -> list[Exchange]:
    survey = Survey()

    async def run() -> list[Exchange]:
        return list(await subject_of(provider, survey, **options).survey())

    return asyncio.run(run())


def found(request: RetrievalRequest) -> list[dict[str, str]]:
    return [{"id": "a", "content": f"Some words about {request.query}"}]


def nothing(_request: RetrievalRequest) -> list[Any]:
    return []


def several(request: RetrievalRequest) -> list[dict[str, str]]:
    return [{"id": each, "content": f"Some words about {request.query}"} for each in "ab"]


@pytest.mark.parametrize("count", [1, 3, 4, 8])
def test_the_queries_of_the_settings_are_asked_first(count: int) -> None:
    """Then one that was answered again, with the largest and the smallest top_k, however many queries there are."""
    provider = Provider(several)
    queries = tuple(f"query {at}" for at in range(count))
    exchanges = surveyed(provider, queries=queries)
    assert provider.asked[:count] == [(query, 5) for query in queries]
    assert provider.asked[-2:] == [("query 0", 8), ("query 0", 1)]
    # Words of the answers only where the settings name few queries.
    assert len(exchanges) == len(provider.asked) == max(count, QUERIES_WANTED) + 2


def test_other_sizes_are_asked_of_what_finds_most() -> None:
    """Where the first query finds one result, its answer to ``top_k = 1`` shows nothing of who ignores it."""
    provider = Provider(lambda request: (several if request.query == "second" else found)(request))
    surveyed(provider, queries=("first", "second", "third"))
    assert provider.asked[3:] == [("second", 8), ("second", 1)]


def test_where_every_query_finds_one_their_words_are_asked_at_once() -> None:
    """So that who ignores ``top_k``, or repeats an id, is seen on a corpus whose queries are precise."""

    def by_word(request: RetrievalRequest) -> list[dict[str, str]]:
        return [{"id": word, "content": word} for word in ("un", "deux", "trois") if word in request.query.split()]

    provider = Provider(by_word)
    exchanges = surveyed(provider, queries=("un", "deux", "trois", "quatre"))
    assert provider.asked[4:] == [("un deux trois", 5), ("un deux trois", 8), ("un deux trois", 1)]
    assert exchanges[-1].count == 3


def test_words_that_are_too_long_together_are_not_asked_at_once() -> None:
    """A query has a length."""
    provider = Provider(found)
    surveyed(provider, queries=tuple(letter * (QUERY_MAX // 2) for letter in "abc"))
    assert provider.asked[3:] == [("a" * (QUERY_MAX // 2), 8), ("a" * (QUERY_MAX // 2), 1)]


def test_what_was_never_asked_is_handed_out_once() -> None:
    """Words of the corpus and other sizes, each only once, whoever asks: a cache cannot have their answers."""
    provider, survey = Provider(found), Survey()

    async def take() -> list[RetrievalRequest]:
        subject = subject_of(provider, survey)
        return [*await subject.unasked(3), *await subject.unasked(4)]

    requests = [(request.query, request.top_k) for request in asyncio.run(take())]
    assert len({*requests}) == 7
    assert not {*requests} & {*provider.asked}


def test_when_all_was_asked_known_requests_are_asked_again() -> None:
    """Too few fresh requests are no reason to observe nothing."""
    provider, survey = Provider(found), Survey()

    async def take() -> list[RetrievalRequest]:
        return await subject_of(provider, survey).unasked(500)

    assert len(asyncio.run(take())) == 500


def test_without_queries_common_words_are_asked_until_enough_are_answered() -> None:
    """A provider that answers everything is asked little."""
    provider = Provider(several)
    surveyed(provider)
    assert [query for query, _ in provider.asked] == [*PROBES[:QUERIES_WANTED], PROBES[0], PROBES[0]]


def test_a_provider_that_finds_nothing_is_asked_every_probe() -> None:
    """And then no more."""
    provider = Provider(nothing)
    assert answered(surveyed(provider)) == []
    assert [query for query, _ in provider.asked] == list(PROBES)


def test_a_small_corpus_is_asked_in_its_own_words() -> None:
    """One probe finds something, and what it finds has words to ask for."""

    def small(request: RetrievalRequest) -> list[dict[str, str]]:
        known = request.query in ("政策", "Approvals", "Rollback")
        return [{"id": "a", "content": "Approvals, then a Rollback; 12345 and me."}] if known else []

    provider = Provider(small)
    exchanges = surveyed(provider)
    assert [exchange.request.query for exchange in answered(exchanges)] == [
        "政策",
        "Approvals",
        "Rollback",
        "政策",
        "政策",
    ]


def test_the_survey_is_made_once() -> None:
    """By the first check that asks, with its calls."""
    provider = Provider(found)
    survey = Survey()
    assert not survey.made

    async def run() -> None:
        first = subject_of(provider, survey)
        exchanges = await first.survey()
        second = subject_of(provider, survey, allowed=0)
        assert await second.survey() is exchanges
        assert (first.calls, second.calls) == (len(provider.asked), 0)

    asyncio.run(run())
    assert survey.made


@pytest.mark.parametrize("answer", [found, nothing, lambda _: [{"id": "a", "content": "alpha beta gamma delta"}]])
@pytest.mark.parametrize("queries", [(), tuple(f"query {at}" for at in range(40))])
def test_a_survey_keeps_to_its_number_of_calls(answer: Answer, queries: tuple[str, ...]) -> None:
    """However many queries the settings name."""
    provider = Provider(answer)
    surveyed(provider, queries=queries, allowed=500)
    assert len(provider.asked) <= SURVEY_CALLS


def test_a_survey_that_runs_out_of_calls_is_what_it_is() -> None:
    """What was answered so far can still be looked at; where that is nothing, the budget is the reason."""
    assert len(surveyed(Provider(found), allowed=2)) == 2
    with pytest.raises(OutOfCallsError):
        surveyed(Provider(found), allowed=0)
    with pytest.raises(OutOfCallsError):
        surveyed(Provider(nothing), allowed=2)


def test_a_provider_that_raises_has_no_survey() -> None:
    """The check that asked first says so, and the next one asks again."""

    def raises(_request: RetrievalRequest) -> Any:
        raise ValueError("down")

    with pytest.raises(ProviderRaisedError, match="ValueError: down"):
        surveyed(Provider(raises))


@pytest.mark.parametrize(
    "answer", [None, "text", [3, None], [{"content": 3}], {"results": None}, [{"id": "a", "content": "\ud800" * 9000}]]
)
def test_an_odd_answer_does_not_end_a_survey(answer: object) -> None:
    """Judging it is for the checks."""
    assert surveyed(Provider(lambda _: answer))


def test_the_first_owners_query_is_one_of_those_that_promise_an_answer() -> None:
    """It is the owner that the kit asks as."""
    owners = {"alice": OwnerExpectation(query="hers"), "bob": OwnerExpectation(query="his")}
    subject = subject_of(Provider(found), Survey(), queries=("a", "hers"), owners=owners)
    assert configured_queries(subject) == ("a", "hers")
    assert configured_queries(subject_of(Provider(found), Survey(), owners=owners)) == ("hers",)


def test_what_another_survey_may_ask_is_known() -> None:
    """All probes, and what the checks ask beside them: words of the corpus, and other sizes."""
    provider = Provider(lambda _: [{"id": "1", "content": "Holidays begin in summer"}])
    survey = Survey()

    async def rest() -> list[RetrievalRequest]:
        assert survey.rest() == []
        await subject_of(provider, survey).survey()
        taken = survey.unasked(2)
        assert {each.query for each in taken} <= {each.query for each in survey.rest()}
        return survey.rest()

    queries = [each.query for each in asyncio.run(rest())]
    assert {*PROBES, "Holidays", "begin", "summer"} <= {*queries}
