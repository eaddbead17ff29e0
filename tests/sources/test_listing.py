"""What can be selected: a page of each provider or of each source, and what there is when there is none."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from knowledge_fakes.sources import (
    HOSTILE_SOURCES,
    SECRET_URL,
    HandbookSource,
    PagingSource,
    ScriptedSource,
    mixed_registry,
    reference,
)
from knowledge_provider import KnowledgeOwnerRequiredError, RetrievalContext
from knowledge_provider.sources import (
    DocumentListing,
    DocumentPage,
    ExternalKnowledgeRef,
    MemoryStorage,
    SourceRegistry,
    TaskBindings,
    list_documents,
    list_merged,
)
from knowledge_provider.sources import listing as listing_module

ALICE = RetrievalContext(owner_id="alice")


def listing(*sources: object, refs: Any = None, merged: bool = False, **options: Any) -> DocumentListing:
    registry = SourceRegistry(*sources)
    bound = [reference(name) for name in registry.names] if refs is None else refs
    ask = list_merged if merged else list_documents
    return asyncio.run(ask(bound, context=ALICE, registry=registry, **options))


def names(page: DocumentPage) -> list[str | None]:
    return [document.target_name for document in page.documents]


def test_a_page_is_of_each_provider() -> None:
    """One window over all that is asked of it, in its own order."""
    refs = [reference("paging", "a"), reference("paging", "b")]
    first = listing(PagingSource("paging", documents=3), refs=refs, limit=4)
    assert first.pagination_scope == "per_provider"
    (page,) = first.pages
    assert [document.id for document in page.documents] == ["a", "a", "a", "b"]
    assert (page.status, page.next_offset) == ("listed", 4)
    (rest,) = listing(PagingSource("paging", documents=3), refs=refs, limit=4, offset=4).pages
    assert ([document.id for document in rest.documents], rest.next_offset) == (["b", "b"], None)


def test_after_merging_a_page_is_of_each_source() -> None:
    """Each source has a window of its own, and the host's own pages come first."""
    own = DocumentPage(provider="knowledge_base", source_id="kb", status="listed")
    refs = [reference("paging", "a"), reference("plain"), reference("paging", "b")]
    source = PagingSource("paging", documents=3)
    merged = listing(source, ScriptedSource("plain"), refs=refs, merged=True, built_in=[own], limit=2, offset=1)
    assert merged.pagination_scope == "per_source"
    assert [(page.provider, page.source_id, page.status) for page in merged.pages] == [
        ("knowledge_base", "kb", "listed"),
        ("paging", "a", "listed"),
        ("paging", "b", "listed"),
        ("plain", "kb-1", "disabled"),
    ]
    assert names(merged.pages[1]) == names(merged.pages[2]) == ["Document 2", "Document 3"]
    assert source.pages == [(2, 1), (2, 1)]


def test_an_entry_can_be_bound() -> None:
    """As it is: it names its source and its document."""
    (page,) = listing(HandbookSource(), refs=[reference("handbook", "people")], limit=1).pages
    (document,) = page.documents
    assert (document.provider, document.id, document.target_type) == ("handbook", "people", "document")
    assert TaskBindings(MemoryStorage()).add("t", *page.documents).refs == (document,)


def test_an_entry_may_be_spelled_in_camel_case() -> None:
    """As JSON of a back end often is; fields of its own are left out."""

    class Lists(ScriptedSource):
        async def list_documents(self, *_: object) -> list[dict[str, object]]:
            return [{"id": "kb-1", "documentId": "d1", "targetName": "One", "mtime": 7}]

    (page,) = listing(Lists("lists")).pages
    named = {"target_type": "document", "document_id": "d1", "target_name": "One"}
    assert page.documents == (reference("lists", **named),)


@pytest.mark.parametrize("offset", [5, 6, 1_000_000])
def test_past_the_end_is_said(offset: int) -> None:
    """It is neither a failure nor an empty source, which is listed with nothing in it."""
    (page,) = listing(PagingSource("paging"), offset=offset).pages
    assert (page.status, page.documents, page.next_offset) == ("past_end", (), None)
    (empty,) = listing(PagingSource("paging", documents=0)).pages
    assert (empty.status, empty.documents) == ("listed", ())


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"limit": 0}, "limit_out_of_range"),
        ({"limit": -1}, "limit_out_of_range"),
        ({"limit": 101}, "limit_out_of_range"),
        ({"limit": True}, "limit_out_of_range"),
        ({"limit": "5"}, "limit_out_of_range"),
        ({"limit": None}, "limit_out_of_range"),
        ({"limit": 2.0}, "limit_out_of_range"),
        ({"offset": -1}, "offset_out_of_range"),
        ({"offset": 1_000_001}, "offset_out_of_range"),
        ({"offset": None}, "offset_out_of_range"),
        ({"offset": 10**30}, "offset_out_of_range"),
    ],
)
def test_a_window_that_cannot_be_is_said(options: dict[str, Any], status: str) -> None:
    """By name, and no source is asked."""
    source = PagingSource("paging")
    (page,) = listing(source, **options).pages
    assert (page.status, page.documents, source.pages) == (status, (), [])


@pytest.mark.parametrize("options", [{"limit": 0}, {"offset": -1}])
def test_a_source_without_a_listing_is_disabled_whatever_the_window(options: dict[str, Any]) -> None:
    """No other window would change it: a client hides the button, and does not ask again."""
    refs = [reference("plain"), reference("gone")]
    found = asyncio.run(list_documents(refs, context=ALICE, registry=mixed_registry(), **options)).pages
    assert [page.status for page in found] == ["disabled", "ignored"]


def test_no_listing_is_disabled_and_no_source_is_ignored() -> None:
    """Neither has failed."""
    refs = [reference("plain"), reference("gone"), reference("handbook", "people")]
    found = asyncio.run(list_documents(refs, context=ALICE, registry=mixed_registry())).pages
    assert [(page.status, page.reason) for page in found] == [
        ("disabled", None),
        ("ignored", "not_registered"),
        ("listed", None),
    ]


@pytest.mark.parametrize("name", ["raises", "exits", "cancels itself", "hangs", "answers text", "answers numbers"])
def test_a_hostile_listing_costs_itself_alone(name: str) -> None:
    """The others are listed, and nothing of what it raised is shown."""
    found = listing(HOSTILE_SOURCES[name].make(), PagingSource("paging"), timeout=0.5)
    assert (found.pages[0].status, found.pages[0].reason) == ("failed", HOSTILE_SOURCES[name].reason)
    assert len(found.pages[1].documents) == 5
    assert SECRET_URL not in str(found)


class Listing:
    """Lists what it is given."""

    name = "lists"
    capabilities: dict[str, bool] = {}  # noqa: RUF012 - it is read once

    def __init__(self, answer: object) -> None:
        self._answer = answer

    def retrieve(self, *_: object) -> list[object]:
        return []

    def list_documents(self, *_: object) -> object:
        return self._answer


@pytest.mark.parametrize(
    "entry",
    [
        {"document_id": "d", "id": "kb-of-another"},
        {"document_id": SECRET_URL},
        {"document_id": "d", "target_name": "api_key=12345"},
        {"target_name": "no place"},
        {"document_id": 7},
        {"document_id": "d", "id": ["kb-1"]},
        "d",
        None,
    ],
)
def test_an_entry_that_cannot_be_bound_is_left_out(entry: object) -> None:
    """One of another source, with a link or a secret, or without a place; where nothing else came, it has failed."""
    sound = {"document_id": "d", "target_name": "Sound", "private": SECRET_URL, "provider": "other"}
    (page,) = listing(Listing([entry, sound])).pages
    assert (names(page), page.documents[0].provider) == (["Sound"], "lists")
    (failed,) = listing(Listing([entry])).pages
    assert (failed.status, failed.reason) == ("failed", "invalid_response")


def test_more_than_was_asked_for_is_cut() -> None:
    """To the limit; and the next page begins behind it."""
    (page,) = listing(Listing([{"document_id": str(place)} for place in range(500)]), limit=3).pages
    assert ([document.document_id for document in page.documents], page.next_offset) == (["0", "1", "2"], 3)


def test_with_everything_accessible_an_entry_names_its_source() -> None:
    """There is no other way to know which; one that names none is left out."""
    everything = ExternalKnowledgeRef(provider="lists", mode="all_accessible")
    entries = [{"document_id": "d", "id": "kb-7", "name": "Wiki"}, {"document_id": "e"}]
    (page,) = listing(Listing(entries), refs=[everything]).pages
    assert [(document.id, document.name) for document in page.documents] == [("kb-7", "Wiki")]


def test_who_asks_is_required() -> None:
    """Clause 10.9, for listing too."""
    blank = ALICE.model_copy(update={"owner_id": ""})
    with pytest.raises(KnowledgeOwnerRequiredError):
        asyncio.run(list_documents([], context=blank, registry=SourceRegistry()))


class _Crowd(Listing):
    """Lists one document of each of its sources, and counts how many calls there are at once."""

    def __init__(self, name: str) -> None:
        super().__init__([])
        self.name = name
        self.now = self.peak = 0

    async def list_documents(self, *arguments: Any) -> object:
        self.now += 1
        self.peak = max(self.peak, self.now)
        await asyncio.sleep(0)
        self.now -= 1
        return [{"id": arguments[0][0].id, "document_id": "d"}]


def crowd(name: str) -> list[ExternalKnowledgeRef]:
    return [reference(name, f"kb-{place}") for place in range(100)]


def test_a_source_is_asked_for_so_many_pages_at_a_time() -> None:
    """Clause 7.5: at most 32, and every page is there."""
    source = _Crowd("crowd")
    found = listing(source, refs=crowd("crowd"), merged=True, timeout=60.0)
    assert (source.peak, {page.status for page in found.pages}, len(found.pages)) == (32, {"listed"}, 100)


def test_many_pages_of_one_source_cost_another_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clauses 9.1 and 9.2: what is not read in time has failed; the first page of each source is read."""
    now = 0.0

    def read(*arguments: Any) -> DocumentPage:
        nonlocal now
        now += 0.3
        return page_of(*arguments)

    page_of = listing_module._page
    monkeypatch.setattr(listing_module, "_page", read)
    monkeypatch.setattr(listing_module, "time", SimpleNamespace(monotonic=lambda: now))
    found = listing(
        _Crowd("crowd"), _Crowd("late"), refs=[*crowd("crowd"), reference("late")], merged=True, timeout=1.0
    )
    assert (found.pages[0].status, found.pages[-1].provider, found.pages[-1].status) == ("listed", "late", "listed")
    assert {(page.status, page.reason) for page in found.pages[5:-1]} == {("failed", "timeout")}


def test_two_scopes_are_told_apart() -> None:
    """What is accessible has no id, and the pages of two scopes would look the same."""
    refs = [
        ExternalKnowledgeRef(provider="lists", mode="all_accessible", scope=scope) for scope in ("personal", "group")
    ]
    found = listing(Listing([]), refs=refs, merged=True)
    assert [(page.source_id, page.scope) for page in found.pages] == [(None, "personal"), (None, "group")]


def test_an_entry_keeps_the_name_of_its_source() -> None:
    """Where the reference has one, that is it; without it, what the source says."""
    entry = {"document_id": "d", "name": "Team wiki"}
    for name, shown in ((None, "Team wiki"), ("My wiki", "My wiki")):
        (page,) = listing(Listing([entry]), refs=[reference("lists", name=name)]).pages
        assert page.documents[0].name == shown
