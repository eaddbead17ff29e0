"""The catalogue of faults as data, and that a fault changes what it is about and nothing else."""

import asyncio
import functools
import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any, cast

import pytest

from knowledge_fakes import faulty
from knowledge_fakes.conformant import models
from knowledge_fakes.faults import FAULTS, Fault, _changing, answers, links, requests, timing
from knowledge_fakes.faults._fault import fault
from knowledge_fakes.handbook import HandbookProvider, SyncHandbookProvider
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest, RetrievalResult

CONTEXT = RetrievalContext(owner_id="alice", session_id="s", turn_id="t", trace_id="x")
REQUEST = RetrievalRequest(query="release policy", top_k=3)
IDENTITY = {f"KP-{number}" for number in range(101, 113)}

each_fault = pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
each_provider = pytest.mark.parametrize("make", [HandbookProvider, SyncHandbookProvider, models])


def asked(provider: Any, request: RetrievalRequest = REQUEST) -> Any:
    """What a host gets from the provider."""

    async def ask() -> Any:
        return await _changing.ask(provider, request, CONTEXT)

    return asyncio.run(ask())


def rows(provider: Any, request: RetrievalRequest = REQUEST) -> list[dict[str, Any]]:
    return _changing.rows_of(asked(provider, request))


@each_fault
def test_a_fault_says_what_it_is(fault: Fault) -> None:
    """A name that is an attribute, a sentence for a person, checks by their ids, and something to look for."""
    assert fault.name.isidentifier()
    assert fault.summary.endswith(".")
    assert "\n" not in fault.summary
    assert all(re.fullmatch(r"KP-\d{3}", check) for check in fault.trips)
    assert len(set(fault.trips)) == len(fault.trips) > 0
    assert fault.fragment.strip()


def test_each_fault_has_a_summary_of_its_own() -> None:
    """Two faults that read the same would be one."""
    assert len({fault.summary for fault in FAULTS.values()}) == len(FAULTS)


def test_the_catalogue_cannot_be_changed() -> None:
    """One run must not change what the next one injects."""
    with pytest.raises(TypeError):
        cast("dict[str, Fault]", FAULTS)["another"] = FAULTS["nan_score"]
    with pytest.raises(TypeError):
        cast("dict[str, Any]", FAULTS["hangs_for_ever"].settings)["timeout"] = 60


def test_a_fault_without_a_check_is_refused() -> None:
    """Nothing would ever show that it is caught."""
    with pytest.raises(TypeError, match="without_a_check needs a check"):

        @fault(fragment="x")
        def without_a_check(sound: Any) -> Any:
            """A mistake that nobody sees."""
            return sound


def test_a_fault_without_a_sentence_is_refused() -> None:
    """Nobody would know what the author did wrong."""
    with pytest.raises(TypeError, match="a docstring of one line"):

        @fault("KP-101", fragment="x")
        def without_a_sentence(sound: Any) -> Any:
            return sound


# As targets.


@each_fault
def test_each_fault_is_a_target(fault: Fault) -> None:
    """``knowledge_fakes.faulty:name`` is a factory without arguments, the same one each time, that makes fresh ones."""
    factory = getattr(faulty, fault.name)
    assert factory is getattr(faulty, fault.name)
    assert (factory.__module__, factory.__qualname__) == ("knowledge_fakes.faulty", fault.name)
    assert factory.__doc__ == fault.summary
    assert not inspect.signature(factory).parameters
    assert factory() is not factory()


def test_the_targets_can_be_listed() -> None:
    """dir() names every fault, and nothing else."""
    assert dir(faulty) == sorted(FAULTS)


def test_a_fault_that_is_not_there_is_said_so() -> None:
    """A misspelt name is an AttributeError, as of any module."""
    with pytest.raises(AttributeError, match="'duplicate_idz': there is no fault"):
        _ = faulty.duplicate_idz


def test_the_faults_do_not_load_the_kit() -> None:
    """Authors of hosts use them without pytest and Hypothesis."""
    script = "import sys, knowledge_fakes.faulty; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "knowledge_fakes" in loaded
    assert not {"knowledge_conformance", "pytest", "hypothesis"} & set(loaded)


# What a fault leaves alone.


# What is claimed and not shown, and shown and not claimed.
CLAIMS = {"KP-113", "KP-114", "KP-115", "KP-313", "KP-508", "KP-603"}


@each_provider
@each_fault
def test_a_fault_elsewhere_leaves_the_description_alone(fault: Fault, make: Callable[[], Any]) -> None:
    """Putting a fault over a provider asks nothing of its back end, and describe() changes only where that is meant."""
    sound = make()
    wrapped = fault.wrap(sound)
    described_by_purpose = not IDENTITY.isdisjoint(fault.trips) or fault.trips[0] in CLAIMS
    described_by_purpose |= fault.name in ("key_in_label", "last_session_in_the_description")
    assert described_by_purpose or wrapped.describe() == sound.describe()


@each_provider
def test_everything_else_is_the_sound_providers_own(make: Callable[[], Any]) -> None:
    """Methods of the provider's own stay, and so does the way in which it is called."""
    sound = make()
    sound.reload = object()
    wrapped = answers.nan_score.wrap(sound)
    assert wrapped.reload is sound.reload
    assert wrapped.health == sound.health
    assert wrapped.close == sound.close
    assert inspect.iscoroutinefunction(wrapped.retrieve) is inspect.iscoroutinefunction(sound.retrieve)
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = wrapped.no_such_thing


@each_provider
def test_an_answer_keeps_its_shape(make: Callable[[], Any]) -> None:
    """A mapping stays one, with whatever else it has in it; the other fields of a result stay what they were."""
    sound = make()
    before, after = rows(sound), rows(answers.numeric_ids.wrap(sound))
    assert isinstance(asked(answers.numeric_ids.wrap(sound)), dict) is isinstance(asked(sound), dict)
    assert [row["id"] for row in after] == [1, 2, 3]
    assert [{**row, "id": None} for row in after] == [{**row, "id": None} for row in before]


def test_a_model_becomes_a_dictionary_by_wire_names() -> None:
    """A faulty result cannot be a model, since the model refuses what is wrong with it."""
    found = rows(links.relative_link.wrap(models()))[0]
    assert type(found) is dict
    assert found["source"]["uri"] == "/handbook/approvals"
    assert found["source"]["mimeType"] == "text/markdown"


def test_a_source_model_inside_a_dictionary_is_read_too() -> None:
    """An answer may mix plain data and models."""
    source = RetrievalResult.model_validate(rows(HandbookProvider())[0]).source
    assert _changing.put_source({"source": source}, uri=None)["source"].keys() == {"id", "title", "mimeType", "locator"}


def test_a_single_result_is_no_last_one() -> None:
    """Where the last of several is spoilt, an answer with one result stays sound."""
    one = REQUEST.model_copy(update={"top_k": 1})
    assert rows(answers.blank_content.wrap(HandbookProvider()), one) == rows(HandbookProvider(), one)


def test_the_sound_providers_own_data_stay_sound() -> None:
    """A provider that keeps its answers must not be spoilt for the next run."""
    kept = {"results": [{"id": "1", "content": "one"}, {"id": "2", "content": "two", "metadata": {"a": 1}}]}

    class Keeping(HandbookProvider):
        async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
            return kept

    for found in (answers.duplicate_ids, answers.nulls_in_metadata, links.presigned_link, answers.blank_content):
        assert asked(found.wrap(Keeping())) != kept
    assert kept == {"results": [{"id": "1", "content": "one"}, {"id": "2", "content": "two", "metadata": {"a": 1}}]}


class Deferring:
    """A plain method that gives an awaitable, as a decorator often makes it."""

    def __init__(self) -> None:
        self._handbook = HandbookProvider()

    def describe(self) -> Any:
        return self._handbook.describe()

    def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        return self._handbook.retrieve(request, context)


@pytest.mark.parametrize("found", [answers.duplicate_ids, timing.last_request_wins, requests.one_too_many])
def test_a_plain_method_may_answer_an_awaitable(found: Fault) -> None:
    """What has to be awaited is awaited, and then changed."""
    assert rows(found.wrap(Deferring())) == rows(found.wrap(HandbookProvider()))


def test_an_async_method_may_be_a_partial_or_an_object() -> None:
    """Whether a provider is asynchronous does not depend on how its method was made."""
    sound = HandbookProvider()

    class AsyncObject:
        async def __call__(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
            return await sound.retrieve(request, context)

    assert _changing.is_async(AsyncObject())
    assert _changing.is_async(functools.partial(sound.retrieve))
    assert not _changing.is_async(SyncHandbookProvider().retrieve)


# A few of the faults themselves, seen from outside.


def test_a_merge_gives_twice_as_much() -> None:
    """Two stores of top_k each."""
    found = rows(requests.merged_without_a_cut.wrap(HandbookProvider()))
    assert len({row["id"] for row in found}) == 2 * REQUEST.top_k


def test_an_apology_stands_in_only_where_nothing_was_found() -> None:
    """An ordinary answer stays as it is."""
    wrapped = requests.apology_as_a_result.wrap(HandbookProvider())
    assert rows(wrapped) == rows(HandbookProvider())
    assert [row["id"] for row in rows(wrapped, RetrievalRequest(query="zzqx"))] == ["no-results"]


def test_the_last_request_wins() -> None:
    """Two calls at the same time get the answer to the second one."""

    async def together() -> Any:
        wrapped = timing.last_request_wins.wrap(HandbookProvider())
        other = RetrievalRequest(query="lost laptop")
        return await asyncio.gather(wrapped.retrieve(REQUEST, CONTEXT), wrapped.retrieve(other, CONTEXT))

    first, second = asyncio.run(together())
    assert first == second


def test_an_ignored_signal_lets_a_cancelled_call_run() -> None:
    """The sound provider refuses such a call."""
    signal = CancelSignal()
    signal.cancel()
    cancelled = CONTEXT.model_copy(update={"signal": signal})

    async def ask(provider: Any) -> Any:
        return await provider.retrieve(REQUEST, cancelled)

    assert asyncio.run(ask(timing.signal_is_ignored.wrap(HandbookProvider())))["results"]
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(ask(HandbookProvider()))
