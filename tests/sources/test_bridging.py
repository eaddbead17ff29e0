"""A provider as a source and a source as a provider: each keeps what the other side promises."""

import asyncio
from typing import Any

import pytest

from knowledge_conformance.report import Report
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import load
from knowledge_conformance.verdict import Verdict
from knowledge_fakes.handbook import HandbookProvider, SyncHandbookProvider
from knowledge_fakes.scripted import RAISING, ScriptedProvider
from knowledge_fakes.sources import HOSTILE_SOURCES, HandbookSource, reference
from knowledge_provider import (
    CompositeProvider,
    KnowledgeBaseUnknownError,
    KnowledgeFiltersUnsupportedError,
    KnowledgeOwnerRequiredError,
    KnowledgeProviderInvalidError,
    KnowledgeReferenceInvalidError,
    KnowledgeTimeoutError,
    KnowledgeUnauthorizedError,
    KnowledgeUnavailableError,
    RetrievalContext,
    RetrievalRequest,
)
from knowledge_provider.sources import (
    ExternalKnowledgeRef,
    ProviderSource,
    RetrievalSource,
    SourceProvider,
    SourceRegistry,
    list_documents,
    retrieve_merged,
)

ALICE = RetrievalContext(owner_id="alice")
EVERYTHING = ExternalKnowledgeRef(provider="handbook", mode="all_accessible")
PEOPLE = reference("handbook", "people")


def handbook_over_source() -> SourceProvider:
    return SourceProvider(HandbookSource(), [EVERYTHING])


def handbook_there_and_back() -> SourceProvider:
    return SourceProvider(ProviderSource(HandbookProvider()), [EVERYTHING])


def handbook_of_bases() -> SourceProvider:
    return SourceProvider(HandbookSource(), [reference("handbook", base) for base in ("engineering", "people")])


@pytest.mark.parametrize("name", ["handbook_over_source", "handbook_there_and_back", "handbook_of_bases"])
def test_a_source_is_a_provider_that_keeps_the_contract(name: str) -> None:
    """Every check of the kit that a fresh provider can be put to."""
    settings = Settings(queries=("release policy", "lost laptop"))
    report: Report = Run(load(f"{__name__}:{name}"), settings).all()
    assert report.verdict is Verdict.CONFORMANT, [check for check in report.checks if check.saw]


def test_without_an_owner_no_provider_is_asked() -> None:
    """Also one that does not keep owners apart (clause 10.9)."""
    provider = ScriptedProvider([[{"id": "1", "content": "one"}]], key="wiki")
    nobody = RetrievalContext.model_construct(**{**dict(ALICE), "owner_id": " "})
    with pytest.raises(KnowledgeOwnerRequiredError):
        asyncio.run(ProviderSource(provider).retrieve("q", (reference("wiki"),), nobody))
    assert not provider.calls


def asked(provider: Any, **options: Any) -> list[dict[str, Any]]:
    request = RetrievalRequest(query="release policy", **options)
    found: list[dict[str, Any]] = asyncio.run(provider.retrieve(request, ALICE))["results"]
    return found


def test_bases_are_the_ids_of_references() -> None:
    """They restrict, and one that is not bound is unknown, whatever the source has."""
    provider = handbook_of_bases()
    assert {result["source"]["id"] for result in asked(provider, top_k=8)} <= {"engineering", "people"}
    found = asked(provider, knowledge_base_ids=("engineering", "support"))
    assert {result["source"]["id"] for result in found} == {"engineering"}
    with pytest.raises(KnowledgeBaseUnknownError):
        asked(provider, knowledge_base_ids=("support",))


def test_what_a_source_cannot_do_is_refused() -> None:
    """Filters, a blank owner, and anything once it is closed."""
    provider = handbook_over_source()
    with pytest.raises(KnowledgeFiltersUnsupportedError):
        asked(provider, filters={"department": "people"})
    blank = ALICE.model_copy(update={"owner_id": " "})
    with pytest.raises(KnowledgeOwnerRequiredError):
        asyncio.run(provider.retrieve(RetrievalRequest(query="q"), blank))
    asyncio.run(provider.close())
    with pytest.raises(KnowledgeUnavailableError):
        asked(provider)


@pytest.mark.parametrize("name", [name for name, hostile in HOSTILE_SOURCES.items() if hostile.status == "failed"])
def test_a_failing_source_is_a_provider_that_raises(name: str) -> None:
    """Never an empty answer, and never what would end the caller."""
    provider = SourceProvider(HOSTILE_SOURCES[name].make(), [reference("hostile")], timeout=0.5)
    with pytest.raises(Exception) as caught:  # noqa: PT011 - any of them will do
        asked(provider)
    assert isinstance(caught.value, KnowledgeTimeoutError) is (HOSTILE_SOURCES[name].reason == "timeout")


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: SourceProvider(object(), [PEOPLE]), KnowledgeProviderInvalidError),
        (lambda: SourceProvider(HandbookSource(), []), KnowledgeProviderInvalidError),
        (lambda: SourceProvider(HandbookSource(), [reference("other")]), KnowledgeProviderInvalidError),
        (lambda: SourceProvider(HandbookSource(), [PEOPLE], label=" "), KnowledgeProviderInvalidError),
        (lambda: SourceProvider(HandbookSource(), [{"provider": "handbook"}]), KnowledgeReferenceInvalidError),
        (lambda: SourceProvider(HandbookSource(), [PEOPLE], timeout=0), ValueError),
        (lambda: ProviderSource(object()), KnowledgeProviderInvalidError),
    ],
)
def test_mistakes_are_refused_when_it_is_made(make: Any, error: type[Exception]) -> None:
    """Never at the first turn."""
    with pytest.raises(error):
        make()


def merged(source: object, *refs: ExternalKnowledgeRef, query: str = "release policy", **options: Any) -> Any:
    call = retrieve_merged(query, context=ALICE, registry=SourceRegistry(source), refs=refs, **options)
    return asyncio.run(call)


@pytest.mark.parametrize("make", [HandbookProvider, SyncHandbookProvider])
def test_a_provider_is_a_source_of_its_bases(make: Any) -> None:
    """A record says which base it is from, and holds no raw URL."""
    source = ProviderSource(make(), name="book")
    assert isinstance(source, RetrievalSource)
    found = merged(source, reference("book", "engineering", name="Engineering"), top_k=8)
    assert {(record.source_id, record.source_name) for record in found.records} == {("engineering", "Engineering")}
    assert found.records[0].title == "Release handbook"
    assert "https://" not in str(found)


def test_each_base_is_asked_for_by_itself() -> None:
    """And everything that is accessible by none."""
    provider = ScriptedProvider(key="book")
    merged(ProviderSource(provider), reference("book", "a"), reference("book", "b"))
    merged(ProviderSource(provider), ExternalKnowledgeRef(provider="book", mode="all_accessible"))
    assert [call.request.knowledge_base_ids for call in provider.calls] == [("a",), ("b",), ()]
    assert {call.context.owner_id for call in provider.calls} == {"alice"}


def test_a_part_is_not_widened() -> None:
    """A provider cannot keep to a folder or document, so it is not asked."""
    provider = ScriptedProvider([[{"id": "1", "content": "c"}]], key="book")
    part = reference("book", target_type="document", document_id="d")
    assert [each.status for each in merged(ProviderSource(provider), part).summary] == ["failed"]
    with pytest.raises(KnowledgeReferenceInvalidError, match=r"^target_type: "):
        asyncio.run(ProviderSource(provider).retrieve("q", (part,), ALICE))
    assert provider.calls == []


def test_a_provider_has_no_listing() -> None:
    """Browsing is disabled."""
    registry = SourceRegistry(ProviderSource(HandbookProvider()))
    (page,) = asyncio.run(list_documents([PEOPLE], context=ALICE, registry=registry)).pages
    assert page.status == "disabled"


@pytest.mark.parametrize("name", [name for name in RAISING if "Keyboard" not in name])
def test_a_failing_provider_is_a_source_that_fails(name: str) -> None:
    """Whatever it raises."""
    source = ProviderSource(ScriptedProvider([RAISING[name]()], key="book"))
    found = merged(source, reference("book"), timeout=0.5)
    assert found.status in ("failed", "not_found")
    assert [each.status for each in found.summary] in (["failed"], ["ignored"])


def test_a_base_that_the_provider_does_not_have_is_ignored() -> None:
    """As clause 9.3 has it for a child that refuses the bases."""
    source = ProviderSource(ScriptedProvider([KnowledgeBaseUnknownError("none")], key="book"))
    (status,) = merged(source, reference("book")).summary
    assert (status.status, status.reason) == ("ignored", "not_registered")


class _Bases:
    """A provider whose base ``gone`` is unknown and whose base ``down`` fails; each passage has the same id."""

    def __init__(self) -> None:
        self.now = self.peak = 0

    def describe(self) -> dict[str, Any]:
        return {"protocolVersion": 1, "key": "book", "label": "Book"}

    async def retrieve(self, request: RetrievalRequest, _: object) -> list[dict[str, Any]]:
        base = next(iter(request.knowledge_base_ids), "everything")
        self.now += 1
        self.peak = max(self.peak, self.now)
        await asyncio.sleep(0)
        self.now -= 1
        if base == "hung":
            await asyncio.Event().wait()
        if base in ("gone", "down"):
            raise KnowledgeBaseUnknownError("gone") if base == "gone" else KnowledgeUnauthorizedError("down")
        found = {"id": "1", "content": f"of {base}", "source": {"id": "page 7", "title": "T", "locator": "p. 2"}}
        return [] if base == "empty" else [found]


def of_bases(*bases: str) -> Any:
    return merged(ProviderSource(_Bases()), *(reference("book", base) for base in bases), top_k=8)


def test_one_id_in_two_bases_is_two_records() -> None:
    """Clause 5.3 asks for ids that differ within a response alone; and where a record is from, its uri says."""
    found = of_bases("a", "b", "a:b", "%3A" * 40)
    assert [record.content for record in found.records] == ["of a", "of b", "of a:b", f"of {'%3A' * 40}"]
    assert [record.id for record in found.records[:3]] == ["book:a:1", "book:b:1", "book:a%3Ab:1"]
    assert found.records[0].source_uri == "book:a/page%207#p.%202"


@pytest.mark.parametrize(
    ("bases", "statuses"),
    [
        (("a", "gone"), [("book", "hit", None), ("book.gone", "ignored", "not_registered")]),
        (("down", "a"), [("book", "hit", None), ("book.down", "failed", "unauthorized")]),
        (("hung", "a"), [("book", "hit", None), ("book.hung", "failed", "timeout")]),
        (("empty", "gone"), [("book", "no_hit", None), ("book.gone", "ignored", "not_registered")]),
        (("empty", "down"), [("book", "failed", "unauthorized")]),
        (("gone", "down"), [("book", "failed", "unauthorized")]),
        (("gone",), [("book", "ignored", "not_registered")]),
    ],
)
def test_one_base_costs_no_other(bases: tuple[str, ...], statuses: list[tuple[str, str, str | None]]) -> None:
    """One that is deleted or down is in the summary, and what the others found is there; nothing looks whole."""
    found = merged(ProviderSource(_Bases()), *(reference("book", base) for base in bases), timeout=0.5)
    assert [(each.key, each.status, each.reason) for each in found.summary] == statuses
    assert [record.source_id for record in found.records] == [base for base in bases if base == "a"]


def test_a_provider_is_asked_as_often_at_once_as_it_can_bear() -> None:
    """Clause 7.5: at most 32 calls, however many bases are bound."""
    provider = _Bases()
    found = merged(ProviderSource(provider), *(reference("book", f"k{place}") for place in range(100)), top_k=8)
    assert (len(found.records), provider.peak) == (8, 32)


@pytest.mark.parametrize(
    ("field", "beyond"),
    [
        ("id", reference("book", "k" * 121)),
        ("scope", ExternalKnowledgeRef(provider="book", mode="all_accessible", scope="personal")),
        ("target_type", reference("book", "b", target_type="folder", node_id="n")),
    ],
)
def test_what_a_provider_cannot_be_told_does_not_stand(field: str, beyond: ExternalKnowledgeRef) -> None:
    """Clause 3.4: it is not asked as more, costs no other base, and is in the summary."""
    found = merged(ProviderSource(_Bases()), reference("book", "a"), beyond)
    assert [record.content for record in found.records] == ["of a"]
    assert [each.status for each in found.summary] == ["hit", "ignored"]
    with pytest.raises(KnowledgeReferenceInvalidError, match=rf"^{field}: "):
        asyncio.run(ProviderSource(_Bases()).retrieve("q", (beyond,), ALICE))


def test_with_everything_accessible_a_record_says_where_it_is_from() -> None:
    """By the provider's own ids, where they are no links."""
    everything = ExternalKnowledgeRef(provider="book", mode="all_accessible")
    (record,) = merged(ProviderSource(_Bases()), everything).records
    assert (record.source_id, record.source_uri) == ("page 7", "book:all_accessible/page%207#p.%202")
    private = [{"id": "1", "content": "c", "source": {"id": "file:///srv/7.pdf", "locator": "//srv/share"}}]
    (record,) = merged(ProviderSource(ScriptedProvider([private], key="book")), everything).records
    assert (record.source_id, record.source_uri) == ("all_accessible", "book:all_accessible")


def test_a_base_that_is_down_is_said_by_the_provider_of_a_source() -> None:
    """Clause 5.11, there and back."""
    provider = SourceProvider(ProviderSource(_Bases()), [reference("book", "a"), reference("book", "down")])
    answer = asyncio.run(provider.retrieve(RetrievalRequest(query="q"), ALICE))
    assert [result["id"] for result in answer["results"]] == ["a:1"]
    assert [(each["key"], each["status"]) for each in answer["sources"]] == [("book.down", "failed")]


def test_a_child_that_is_down_is_a_base_that_was_not_heard() -> None:
    """A composite that found something elsewhere does not look whole behind a ``ProviderSource``."""
    found = [{"id": "1", "content": "c"}]
    children = {"up": ScriptedProvider([found]), "down": ScriptedProvider([OSError("down")])}
    answer = merged(ProviderSource(CompositeProvider(children, key="book")), reference("book", "a"))
    assert [(each.key, each.status, each.reason, each.count) for each in answer.summary] == [
        ("book", "hit", None, 1),
        ("book.a", "failed", "error", 1),
    ]
