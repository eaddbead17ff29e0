"""One call over built-in knowledge and sources: order, statuses, isolation, cancelling, and what is never shown."""

import asyncio
import gc
import itertools
import logging
import time
from typing import Any, ClassVar

import pytest

from knowledge_fakes.handbook import HandbookProvider
from knowledge_fakes.scripted import HeldProvider
from knowledge_fakes.sources import (
    HOSTILE_SOURCES,
    SECRET_URL,
    HandbookSource,
    ScriptedSource,
    mixed_registry,
    reference,
)
from knowledge_provider import (
    CancelSignal,
    KnowledgeHost,
    KnowledgeInvalidResponseError,
    KnowledgeOwnerRequiredError,
    KnowledgeQueryRequiredError,
    KnowledgeReferenceInvalidError,
    Outcome,
    RetrievalContext,
    RetrievalRequest,
    normalize_response,
)
from knowledge_provider.normalize import normalize_to_answer
from knowledge_provider.sources import (
    ExternalKnowledgeRef,
    MergedRecords,
    ProviderSource,
    SourceProvider,
    SourceRegistry,
    _answered_records,
    list_documents,
    list_merged,
    retrieve_merged,
    retrieving,
    screening,
)
from knowledge_provider.sources._answered_records import read_source
from knowledge_provider.untrusted import render_block

ALICE = RetrievalContext(owner_id="alice", session_id="s", turn_id="t")
FOUND = [{"id": "1", "content": "one"}, {"id": "2", "content": "two"}]


def merge(*sources: object, context: RetrievalContext = ALICE, refs: Any = None, **options: Any) -> MergedRecords:
    """All sources by their ``kb-1``."""
    registry = SourceRegistry(*sources)
    bound = [reference(name) for name in registry.names] if refs is None else refs
    return asyncio.run(retrieve_merged("q", context=context, registry=registry, refs=bound, **options))


def fared(merged: MergedRecords) -> list[tuple[str, str, str | None, int | None]]:
    return [(each.key, each.status, each.reason, each.count) for each in merged.summary]


def test_built_in_comes_first_and_then_each_source_in_its_order() -> None:
    """Whatever order they answer in, and whatever their scores say."""
    own = [{"id": "b2", "content": "B", "score": 0.1}, {"id": "b1", "content": "A", "score": 0.9}]
    late = ScriptedSource("late", [lambda *_: asyncio.sleep(0.02, FOUND)])
    merged = merge(late, ScriptedSource("quick", [FOUND[::-1]]), built_in=own)
    assert [record.id for record in merged.records] == [
        "knowledge_base:b2",
        "knowledge_base:b1",
        "late:1",
        "late:2",
        "quick:2",
        "quick:1",
    ]
    assert merged.status == "ok"


def test_what_a_source_makes_of_its_references_is_its_own() -> None:
    """They are frozen, and it can write into them all the same; what is bound is looked up elsewhere."""

    class Meddling:
        name = "meddling"
        capabilities: ClassVar[dict[str, bool]] = {}

        async def retrieve(self, query: str, refs: Any, context: RetrievalContext) -> Any:
            self._widen(refs)
            return [{"id": "1", "content": "theirs", "source_id": "kb-of-another"}]

        async def list_documents(self, refs: Any, context: RetrievalContext, limit: int, offset: int) -> Any:
            self._widen(refs)
            return [{"id": "kb-of-another", "document_id": "d"}]

        def _widen(self, refs: Any) -> None:
            for each in refs:
                object.__setattr__(each, "id", "kb-of-another")

    refs = [reference("meddling")]
    found = merge(Meddling(), refs=refs)
    assert fared(found) == [("meddling", "failed", "invalid_response", 0)]
    assert found.summary[0].source_ids == ("kb-1",)
    listing = asyncio.run(list_documents(refs, context=ALICE, registry=SourceRegistry(Meddling())))
    assert [page.status for page in listing.pages] == ["failed"]
    provider = SourceProvider(Meddling(), refs)
    for _ in range(2):
        with pytest.raises(KnowledgeInvalidResponseError):
            asyncio.run(provider.retrieve(RetrievalRequest(query="q"), ALICE))
    assert refs == [reference("meddling")]


def test_each_kind_has_its_status() -> None:
    """Found, nothing, failed, and not registered; the ids of what was asked stand beside it."""
    refs = [reference("handbook", "people"), reference("silent"), reference("down"), reference("gone", "g-1")]
    merged = asyncio.run(
        retrieve_merged("parental leave", context=ALICE, registry=mixed_registry(), refs=refs, built_in=[], top_k=1)
    )
    assert fared(merged) == [
        ("knowledge_base", "no_hit", None, 0),
        ("handbook", "hit", None, 1),
        ("silent", "no_hit", None, 0),
        ("down", "failed", "error", 0),
        ("gone", "ignored", "not_registered", 0),
    ]
    assert [each.source_ids for each in merged.summary] == [(), ("people",), ("kb-1",), ("kb-1",), ("g-1",)]


@pytest.mark.parametrize(
    ("answers", "status"),
    [
        ([[], []], "not_found"),
        ([ValueError, []], "incomplete"),
        ([ValueError, OSError], "failed"),
        ([ValueError, FOUND], "ok"),
        ([], "not_found"),
    ],
)
def test_nothing_found_is_told_from_nobody_answered(answers: list[object], status: str) -> None:
    """Field case 71: zero hits, partial failure and total failure are three things."""
    assert merge(*(ScriptedSource(f"s{place}", [each]) for place, each in enumerate(answers))).status == status


def test_some_nonsense_before_a_record_hides_it_not() -> None:
    """As many candidates are looked at as a host would (rule N2)."""
    assert [record.id for record in merge(ScriptedSource("a", [[None] * 20 + FOUND])).records] == ["a:1", "a:2"]


async def search() -> list[object]:
    return []


@pytest.mark.parametrize("wrong", [None, "found", 7, search, list, HandbookProvider()])
def test_a_built_in_that_is_no_answer_is_refused_at_once(wrong: Any) -> None:
    """It could give nothing in any call: a function that nobody called, or a provider that nobody asked."""
    source = ScriptedSource("wiki", [FOUND])
    with pytest.raises(TypeError, match=r"built_in must be an answer .* pass host\.search"):
        merge(source, built_in=wrong)
    assert source.calls == []


@pytest.mark.parametrize("call", [retrieve_merged, list_documents, list_merged])
@pytest.mark.parametrize("wrong", [None, [ScriptedSource("wiki")], ScriptedSource("wiki"), {"wiki": 1}, SourceRegistry])
def test_what_is_no_registry_is_refused_at_once(call: Any, wrong: Any) -> None:
    """As one sentence, and not out of a group of tasks; also where nothing is bound."""
    asked = {"query": "q", "refs": [reference("wiki")]} if call is retrieve_merged else {"refs": []}
    with pytest.raises(TypeError, match=r"registry must be a SourceRegistry.* pass SourceRegistry"):
        asyncio.run(call(**asked, context=ALICE, registry=wrong))


@pytest.mark.parametrize("name", HOSTILE_SOURCES)
def test_a_hostile_source_costs_itself_alone(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """Field case 73: the others' hits are there; nothing of a link or secret is in what comes out or in the log."""
    hostile = HOSTILE_SOURCES[name]
    with caplog.at_level(logging.DEBUG, "knowledge_provider"):
        merged = merge(hostile.make(), ScriptedSource("sound", [FOUND]), built_in=FOUND, timeout=0.5)
    assert fared(merged) == [
        ("knowledge_base", "hit", None, 2),
        ("hostile", hostile.status, hostile.reason, hostile.count),
        ("sound", "hit", None, 2),
    ]
    ids = [record.id for record in merged.records]
    assert (ids[:2], ids[-2:], len(ids)) == (
        ["knowledge_base:1", "knowledge_base:2"],
        ["sound:1", "sound:2"],
        4 + hostile.count,
    )
    assert {record.source_type for record in merged.records[2:-2]} <= {"hostile"}
    for shown in (merged.model_dump_json(), str(merged.response()), caplog.text):
        assert SECRET_URL not in shown
        assert "k-12345678" not in shown


def test_the_log_and_the_summary_hold_ids_and_numbers_alone(caplog: pytest.LogCaptureFixture) -> None:
    """Clause 10.8: no query, content, or words of an error."""
    with caplog.at_level(logging.DEBUG, "knowledge_provider"):
        found = [{"id": "zq-id", "content": "zq-content", "metadata": {"zq-key": "zq-value"}}]
        merged = merge(ScriptedSource("a", [found]), ScriptedSource("b", [ValueError("zq-words")]))
    said = caplog.text + str(merged.summary)
    assert "knowledge source b ['kb-1']: failed, error, 0 records" in caplog.text
    assert "zq-" not in said


@pytest.mark.parametrize("said", [f"{'x' * 160}-of-another", SECRET_URL])
def test_a_source_that_no_reference_could_name_is_not_shown(said: str) -> None:
    """Clause 10.2: its id is not cut to one that is bound, and is no link."""
    found = [{"id": "1", "content": "one", "source_id": said}, {"id": "2", "content": "two", "source_id": "kb-1"}]
    everything = ExternalKnowledgeRef(provider="a", mode="all_accessible")
    for refs in ([reference("a", "x" * 160), reference("a")], [everything]):
        records = merge(ScriptedSource("a", [found]), refs=refs).records
        assert [(record.id, record.source_id) for record in records] == [("a:2", "kb-1")]


class Mistaken:
    """Its author wrote two wrong lines."""

    name = "mistaken"
    capabilities: ClassVar[dict[str, bool]] = {}

    def retrieve(self, query: Any, refs: object, context: object) -> object:
        return query.lowerr()

    async def list_documents(self, refs: Any, context: object, limit: int, offset: int) -> object:
        return [{"document_id": ref["id"]} for ref in refs]


def test_a_mistake_in_a_source_can_be_found(caplog: pytest.LogCaptureFixture) -> None:
    """The log has the class of what was raised, the line and the function, in a thread and on the loop."""
    merge(Mistaken())
    place = f"test_retrieve_merged.py:{Mistaken.retrieve.__code__.co_firstlineno + 1} in retrieve"
    assert caplog.messages == [
        f"knowledge source mistaken ['kb-1']: failed, error, 0 records: AttributeError at {place}"
    ]
    caplog.clear()
    asked = list_documents([reference("mistaken")], context=ALICE, registry=SourceRegistry(Mistaken()))
    assert asyncio.run(asked).pages[0].status == "failed"
    place = f"test_retrieve_merged.py:{Mistaken.list_documents.__code__.co_firstlineno + 1} in "
    said = f"documents of the knowledge source mistaken: failed, error: TypeError at {place}"
    assert [message[: len(said)] for message in caplog.messages] == [said]


def test_a_record_that_names_no_source_can_be_found(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing was raised: the log has this package's own words."""
    merge(ScriptedSource("wiki", [[{"id": "1", "content": "c", "source_id": "kb-9"}]]))
    assert caplog.messages[0].endswith(
        "failed, invalid_response, 0 records: none of its records is from what was asked"
    )


def test_every_record_says_where_it_is_from() -> None:
    """Clause 10.6, for built-in ones too."""
    uri = "wiki:page/7"
    found = [{"id": "1", "content": "c", "source_uri": uri, "title": "T", "metadata": {"page": 7}}]
    named = ExternalKnowledgeRef(provider="wiki", id="kb-1", name="Team wiki")
    own = [{"id": "b", "content": "c", "source": {"id": "kb", "title": "Own", "uri": "https://docs.example.com"}}]
    built_in, external = merge(ScriptedSource("wiki", [found]), refs=[named], built_in=own).records
    assert external.model_dump(exclude={"id", "content"}, exclude_none=True) == {
        "title": "T",
        "source_type": "wiki",
        "source_id": "kb-1",
        "source_uri": uri,
        "source_name": "Team wiki",
        "metadata": {"page": 7},
    }
    assert (built_in.source_type, built_in.source_id, built_in.source_name) == ("knowledge_base", "kb", "Own")
    assert built_in.source_uri == "knowledge.base:kb"


@pytest.mark.parametrize("uri", [None, "", "kb-1", SECRET_URL, "http://x.example.com", "ap://user:pw@kb", "a b:c", 7])
def test_a_uri_that_is_none_of_the_sources_own_is_replaced(uri: object) -> None:
    """By one that is stable, from the source's name and id."""
    found = [{"id": "1", "content": "c", "source_uri": uri}]
    (record,) = merge(ScriptedSource("wiki", [found])).records
    assert record.source_uri == "wiki:kb-1"


def test_a_record_of_no_bound_source_is_dropped() -> None:
    """With two bound, it has to say which; with one, it may leave it out; what names another is never shown."""
    said: list[dict[str, Any]] = [
        {"source_id": "kb-1"},
        {"source_id": "kb-3"},
        {},
        {"source_id": "kb-2"},
        {"source": {"id": "kb-2"}},
    ]
    found = [{"id": str(place), "content": "c", **each} for place, each in enumerate(said)]
    refs = [reference("wiki", "kb-1"), reference("wiki", "kb-2")]
    merged = merge(ScriptedSource("wiki", [found]), refs=refs)
    assert [(record.id, record.source_id) for record in merged.records] == [
        ("wiki:0", "kb-1"),
        ("wiki:3", "kb-2"),
        ("wiki:4", "kb-2"),
    ]


def test_references_of_one_source_are_asked_at_once() -> None:
    """In their order, with the query by rule N5, and the owner of the context; the others see nothing of them."""
    source, other = ScriptedSource("wiki"), ScriptedSource("other")
    refs = (reference("wiki", "a"), reference("other", "o"), reference("wiki", "b"))
    registry = SourceRegistry(source, other)
    asyncio.run(retrieve_merged("  who\n approves ", context=ALICE, registry=registry, refs=refs))
    (call,) = source.calls
    assert (call.query, call.refs, call.context.owner_id) == ("who approves", (refs[0], refs[2]), "alice")
    assert [len(other.calls), other.calls[0].refs] == [1, (refs[1],)]


def test_sources_are_asked_at_the_same_time_within_their_time() -> None:
    """Field case 75: four that hang cost one time-out, and a synchronous one that blocks costs no other."""

    class Blocking:
        name = "blocking"
        capabilities: dict[str, bool] = {}  # noqa: RUF012 - it is read once

        def retrieve(self, *_: object) -> list[Any]:
            time.sleep(0.6)
            return []

    hanging = [ScriptedSource(f"h{place}", [lambda *_: asyncio.Event().wait()]) for place in range(4)]
    began = time.monotonic()
    merged = merge(*hanging, Blocking(), ScriptedSource("quick", [FOUND]), timeout=0.3)
    assert time.monotonic() - began < 1.0
    assert {each.reason for each in merged.summary[:-1]} == {"timeout"}
    assert len(merged.records) == 2


def test_the_callers_deadline_leaves_time_for_the_others() -> None:
    """A source gets nine tenths of what is left."""
    hanging = ScriptedSource("h", [lambda *_: asyncio.Event().wait()])
    context = ALICE.model_copy(update={"signal": CancelSignal(deadline=time.monotonic() + 0.2)})
    merged = merge(hanging, ScriptedSource("quick", [FOUND]), context=context, timeout=30)
    assert [each.status for each in merged.summary] == ["failed", "hit"]


@pytest.mark.parametrize("how", ["task", "signal"])
def test_cancelling_reaches_every_source(how: str) -> None:
    """The caller's task or signal; both sources are told, and none is left running."""

    async def scene() -> None:
        signal, told = CancelSignal(), list[str]()

        def held(name: str) -> ScriptedSource:
            async def answer(_: object, __: object, context: RetrievalContext) -> object:
                try:
                    await asyncio.Event().wait()
                finally:
                    told.append(f"{name} {context.signal.cancelled}")
                return []

            return ScriptedSource(name, [answer])

        sources = held("a"), held("b")
        context = ALICE.model_copy(update={"signal": signal})
        refs = [reference("a"), reference("b")]
        call = retrieve_merged("q", context=context, registry=SourceRegistry(*sources), refs=refs, timeout=5)
        task = asyncio.create_task(call)
        for _ in range(10):
            await asyncio.sleep(0)
        assert all(source.calls for source in sources)
        task.cancel() if how == "task" else signal.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert sorted(told) == ["a True", "b True"]
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(scene())


def test_a_cancelled_signal_starts_nothing() -> None:
    """Clause 7.3; and what would have been awaited is closed."""
    signal, source = CancelSignal(), ScriptedSource("a")
    signal.cancel()

    async def own() -> list[Any]:
        raise AssertionError("it was asked")

    with pytest.raises(asyncio.CancelledError):
        merge(source, context=ALICE.model_copy(update={"signal": signal}), built_in=own())
    assert source.calls == []
    gc.collect()


def test_a_keyboard_interrupt_is_the_users() -> None:
    """It is no source's failure."""
    with pytest.raises((KeyboardInterrupt, BaseExceptionGroup)):
        merge(ScriptedSource("a", [KeyboardInterrupt]))


def test_the_hosts_own_search_is_awaited_beside_the_sources() -> None:
    """An outcome of a host, with its order; every record is there."""

    async def scene() -> MergedRecords:
        async with KnowledgeHost(HandbookProvider()) as host:
            search = host.search("release policy", context=ALICE)
            refs = [reference("handbook", "people")]
            return await retrieve_merged(
                "release policy", context=ALICE, registry=mixed_registry(), refs=refs, built_in=search
            )

    merged = asyncio.run(scene())
    own = [record for record in merged.records if record.source_type == "knowledge_base"]
    assert [record.id for record in merged.records][: len(own)] == [record.id for record in own]
    assert len(own) == 5


@pytest.mark.parametrize("wrong", [OSError("zq-words"), SystemExit(2), asyncio.CancelledError()])
def test_the_hosts_own_failure_costs_no_source(wrong: BaseException) -> None:
    """It has a status like another."""

    async def own() -> list[Any]:
        raise wrong

    merged = merge(ScriptedSource("a", [FOUND]), built_in=own())
    assert fared(merged) == [("knowledge_base", "failed", "error", 0), ("a", "hit", None, 2)]


def test_a_host_that_does_not_answer_has_its_time() -> None:
    """And the sources' hits are given."""
    held = HeldProvider()

    async def own() -> Any:
        await held.started.wait()

    merged = merge(ScriptedSource("a", [FOUND]), built_in=own(), built_in_timeout=0.05)
    assert [each.reason for each in merged.summary] == ["timeout", None]


def test_who_asks_is_required() -> None:
    """Clause 10.9; no source is asked, and what would have been awaited is closed."""
    source = ScriptedSource("a")

    async def own() -> list[Any]:
        raise AssertionError("it was asked")

    blank = RetrievalContext.model_construct(
        owner_id=" ", session_id="", turn_id="", trace_id="", signal=CancelSignal()
    )
    with pytest.raises(KnowledgeOwnerRequiredError):
        merge(source, context=blank, built_in=own())
    assert source.calls == []
    gc.collect()


def test_what_cannot_be_asked_is_refused() -> None:
    """A blank query, a reference that is none, a time that cannot be waited; no source is asked."""
    source = ScriptedSource("a")
    registry = SourceRegistry(source)
    with pytest.raises(KnowledgeQueryRequiredError):
        asyncio.run(retrieve_merged(" ", context=ALICE, registry=registry, refs=[reference("a")]))
    with pytest.raises(KnowledgeReferenceInvalidError, match=r"^id: "):
        merge(source, refs=[{"provider": "a"}])
    with pytest.raises(ValueError, match="timeout"):
        merge(source, timeout=0)
    assert source.calls == []


def test_owners_stay_apart() -> None:
    """Field case 81: by the context, also when they ask at once; nothing in a reference is an owner."""

    async def scene() -> list[MergedRecords]:
        registry = SourceRegistry(HandbookSource())
        refs = [ExternalKnowledgeRef(provider="handbook", mode="all_accessible", scope="tomas")]
        owners = ("mara", "tomas", "alice")
        contexts = [RetrievalContext(owner_id=owner) for owner in owners]
        calls = [retrieve_merged("my notes", context=each, registry=registry, refs=refs, top_k=8) for each in contexts]
        return await asyncio.gather(*calls)

    seen = [{record.id for record in merged.records if "notes-" in record.id} for merged in asyncio.run(scene())]
    assert seen[0]
    assert seen[1]
    assert not seen[0] & seen[1]
    assert seen[2] == set()


def test_validation_is_the_sources_own() -> None:
    """What it does not name is not asked; it can name nothing that is not bound."""

    class Choosy(ScriptedSource):
        async def validate_refs(self, refs: tuple[ExternalKnowledgeRef, ...], level: str) -> Any:
            assert level == "task"
            return [refs[1], reference("wiki", "kb-9")]

    source = Choosy("wiki", [[{"id": "1", "content": "c"}]])
    refs = [reference("wiki", "kb-1"), reference("wiki", "kb-2")]
    merged = merge(source, refs=refs)
    assert [ref.id for ref in source.calls[0].refs] == ["kb-2"]
    assert [record.source_id for record in merged.records] == ["kb-2"]


async def _gives_up(_: object, __: object, context: RetrievalContext) -> object:
    await context.signal.wait()
    raise TimeoutError("told to stop, and says that it was its own limit")


@pytest.mark.parametrize(("answer", "reason"), [(TimeoutError("a socket's"), "error"), (_gives_up, "timeout")])
def test_a_sources_own_time_out_and_its_deadline_are_two_things(answer: object, reason: str) -> None:
    """Field case 79: which of the two it was decides who has to mend it, and not what was raised."""
    merged = merge(ScriptedSource("slow", [answer]), timeout=0.05 if reason == "timeout" else 5.0)
    assert fared(merged) == [("slow", "failed", reason, 0)]


def test_calls_that_hang_are_counted() -> None:
    """Field case 77: a source that does not end when it is told is given up, and counted until it ends."""

    async def scene() -> tuple[int, int]:
        released = asyncio.Event()

        async def deaf(*_: object) -> object:
            while not released.is_set():
                try:
                    await released.wait()
                except asyncio.CancelledError:
                    continue
            return []

        registry = SourceRegistry(ScriptedSource("deaf", [deaf]))
        await retrieve_merged("q", context=ALICE, registry=registry, refs=[reference("deaf")], timeout=0.02)
        held = registry.get("deaf")
        assert held is not None
        before = held.abandoned
        released.set()
        for _ in range(10):
            await asyncio.sleep(0)
        return before, held.abandoned

    assert asyncio.run(scene()) == (1, 0)


def test_what_was_merged_is_an_answer_to_render() -> None:
    """By the rules for any answer: provenance stands in the block, and failures are said in it."""
    merged = merge(ScriptedSource("wiki", [FOUND]), ScriptedSource("down", [OSError]), built_in=FOUND)
    for outcome in (normalize_response(merged.response(), query=" q ", limit=8), merged.outcome(" q ")):
        assert isinstance(outcome, Outcome)
        assert (outcome.status, outcome.query) == ("ok", "q")
        assert [each.id for each in outcome.results] == ["knowledge_base:1", "knowledge_base:2", "wiki:1", "wiki:2"]
        assert [report.status for report in outcome.sources] == ["hit", "hit", "failed"]
        assert "Not every source could be asked." in render_block(outcome)


def test_a_provider_is_a_source_beside_the_others() -> None:
    """Its knowledge bases are what can be bound."""
    merged = asyncio.run(
        retrieve_merged(
            "parental leave and release policy",
            context=ALICE,
            registry=SourceRegistry(ProviderSource(HandbookProvider(), name="book")),
            refs=[reference("book", "engineering"), reference("book", "people")],
            top_k=4,
        )
    )
    assert [record.source_id for record in merged.records] == ["engineering", "people"] * 2


class _Own:
    """A host's own knowledge: one passage that is longer than a host keeps by default, at a public place."""

    def describe(self) -> dict[str, Any]:
        return {"protocolVersion": 1, "key": "own", "label": "Own", "capabilities": {"citations": True}}

    async def retrieve(self, *_: object) -> list[dict[str, Any]]:
        source = {"id": "doc", "title": "T", "uri": "https://docs.example.com/1", "mimeType": "a/b", "locator": "p. 1"}
        intranet = {"id": "doc", "uri": "https://wiki.corp/2"}
        own = {"content": "x" * 9000, "score": 0.5, "source": source, "metadata": {"page": 1}}
        return [{"id": "wiki:1", **own}, {"id": "2", "content": "c", "source": intranet}]


def with_own(**options: Any) -> tuple[Outcome, MergedRecords]:
    async def scene() -> tuple[Outcome, MergedRecords]:
        async with KnowledgeHost(_Own(), max_content_chars=10_000, allow_hosts=["wiki.corp"]) as host:
            await host.search("before", context=ALICE)
            built_in = await host.search("q", context=ALICE)
            registry = SourceRegistry(ScriptedSource("wiki", [FOUND]))
            return built_in, await retrieve_merged("q", context=ALICE, registry=registry, built_in=built_in, **options)

    return asyncio.run(scene())


def test_what_the_host_found_stays_as_it_is() -> None:
    """Clauses 8.9 and 10.5: content of any length, place, score, link and citation; the id says whose it is."""
    built_in, merged = with_own()
    outcome = merged.outcome("q")
    for before, after in zip(built_in.results, outcome.results, strict=True):
        assert (after.id, after.source.uri if after.source else None) == (f"knowledge_base:{before.id}", before.url)
        changed = {"id": after.id, "source": after.source}
        assert before.model_copy(update=changed) == after
    assert outcome.results[0].source == built_in.results[0].source
    assert outcome.citations == built_in.citations
    assert [citation.id for citation in outcome.citations] == ["source_1", "source_2"]


def test_the_hosts_own_ids_are_no_sources() -> None:
    """Clause 5.3: a host whose own ids look like a source's costs that source nothing."""
    _, merged = with_own(refs=[reference("wiki")])
    assert [record.id for record in merged.records] == ["knowledge_base:wiki:1", "knowledge_base:2", "wiki:1", "wiki:2"]
    assert len(normalize_response(merged.response(), query="q", limit=8).results) == 4
    assert len(merged.outcome("q").results) == 4


@pytest.mark.parametrize("said", ["knowledge.base:release-handbook", "tickets:7", "Tickets:7"])
def test_a_uri_of_another_scheme_is_no_others(said: str) -> None:
    """Clause 10.6: it stays, behind the source's own name, so that nobody takes it for the host's or another one's."""
    (record,) = merge(ScriptedSource("wiki", [[{"id": "1", "content": "c", "source_uri": said}]])).records
    assert record.source_uri == f"wiki:{said}"
    (own,) = merge(ScriptedSource("wiki", [[{"id": "1", "content": "c", "source_uri": "Wiki:7"}]])).records
    assert own.source_uri == "Wiki:7"


@pytest.mark.parametrize(
    ("name", "scheme"), [("s3", "s3-place"), ("team-data", "team-data-place"), ("4", "place-4-place"), ("wiki", "wiki")]
)
def test_a_source_that_is_called_as_what_browsers_open_has_another_scheme(name: str, scheme: str) -> None:
    """``s3:kb-1`` is a raw URL to whoever reads it, and clause 10.6 has none in a record."""
    (record,) = merge(ScriptedSource(name, [[{"id": "1", "content": "c"}]])).records
    assert record.source_uri is not None
    assert record.source_uri.startswith(f"{scheme}:")
    assert screening.fault(record.source_uri) is None


def test_no_half_of_an_id_leads_anywhere() -> None:
    """Clause 5.9: what a host would cut stands whole in the record, and not in the answer made of it."""
    long = "\u77e5" * 160
    merged = merge(ScriptedSource("wiki", [FOUND]), refs=[reference("wiki", long)])
    assert merged.records[0].source_id == long
    outcome = normalize_response(merged.response(), query="q", limit=8)
    assert [result.source for result in outcome.results] == [result.source for result in merged.outcome("q").results]
    source = outcome.results[0].source
    assert source is not None
    assert (len(source.id or ""), source.locator) == (32, None)


def test_a_reference_that_does_not_stand_is_in_the_summary() -> None:
    """Clauses 9.3 and 10.4: who bound two does not take one's answer for that of both."""

    class Choosy(ScriptedSource):
        def validate_refs(self, refs: tuple[ExternalKnowledgeRef, ...], _: str) -> Any:
            return refs[:1]

    merged = merge(Choosy("wiki", [FOUND]), refs=[reference("wiki", "a"), reference("wiki", "gone")])
    assert fared(merged) == [("wiki", "hit", None, 2), ("wiki.gone", "ignored", "not_registered", 0)]
    assert [each.source_ids for each in merged.summary] == [("a",), ("gone",)]


def test_a_source_names_nothing_in_the_summary_but_references(caplog: pytest.LogCaptureFixture) -> None:
    """Clause 10.8: what it reports of others could be a query, a content or a link; so could its status."""
    said = [("kb-1", "failed"), ("zq-words", "failed"), ("kb-2", "zq-words"), ("https://zq-words.example", "failed")]
    sources = [{"key": key, "status": status} for key, status in said]
    refs = [reference("wiki", "kb-1"), reference("wiki", "kb-2")]
    found = [{**each, "source_id": "kb-1"} for each in FOUND]
    with caplog.at_level(logging.DEBUG, "knowledge_provider"):
        merged = merge(ScriptedSource("wiki", [{"results": found, "sources": sources}]), refs=refs)
    assert fared(merged) == [("wiki", "hit", None, 2), ("wiki.kb-1", "failed", None, None)]
    assert "zq-words" not in caplog.text + str(merged.summary)


def test_a_child_of_the_hosts_own_that_failed_is_said() -> None:
    """Clause 9.3: a host over a composite knows which child was not heard, and so does who reads what was merged."""
    reported = [{"key": "faq", "status": "failed", "reason": "timeout"}, {"key": "a b", "status": "failed"}]
    merged = merge(built_in={"results": FOUND, "sources": reported})
    assert fared(merged) == [
        ("knowledge_base", "hit", None, 2),
        ("knowledge_base.faq", "failed", "timeout", None),
    ]


def test_no_more_is_read_than_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clause 7.4: what stands behind the last record that is kept is not looked through."""
    read: list[object] = []

    def counted(response: object, **options: Any) -> Outcome:
        read.append(response)
        return normalize_to_answer(response, **options)

    monkeypatch.setattr(_answered_records, "normalize_to_answer", counted)
    found = [{"id": str(place), "content": "c"} for place in range(64)]
    assert len(merge(ScriptedSource("wiki", [found]), top_k=8).records) == len(read) == 8


def test_answers_that_come_at_once_are_read_one_in_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clause 7.4: the loop is free between them, however many there are."""
    turns, seen = itertools.count(), list[int]()

    def noted(*arguments: Any) -> Any:
        seen.append(next(turns))
        return read_source(*arguments)

    async def scene() -> None:
        registry = SourceRegistry(*(ScriptedSource(f"s{place}", [FOUND]) for place in range(20)))
        asking = asyncio.create_task(
            retrieve_merged("q", context=ALICE, registry=registry, refs=[reference(name) for name in registry.names])
        )
        while not asking.done():
            next(turns)
            await asyncio.sleep(0)
        assert len((await asking).records) == 40

    monkeypatch.setattr(retrieving, "read_source", noted)
    asyncio.run(scene())
    assert len(seen) == 20
    assert all(after - before > 1 for before, after in itertools.pairwise(seen))
