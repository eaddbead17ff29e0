"""Labels on their way through whatever bounds or reads metadata (clause 11.3): whole, or authorising nobody."""

import asyncio
import csv
import io
import json
from collections.abc import Callable
from datetime import date
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from knowledge_fakes.scripted import ScriptedProvider, returning
from knowledge_provider import CompositeProvider, KnowledgeHost, RetrievalContext, RetrievalResult
from knowledge_provider.access import LABELS, AccessMode, AccessScope, Denial, ScopedProvider, allows, denial
from knowledge_provider.adapting import plain_metadata
from knowledge_provider.answers import results_in
from knowledge_provider.normalize import normalize_response, normalize_to_answer
from knowledge_provider.sources import ProviderSource, SourceProvider

ALICE = AccessScope(AccessMode.PERMISSIVE, tenant_id="acme", user_id="alice", roles=frozenset({"editor"}))
MANY: dict[str, Any] = {f"entry {place}": place for place in range(16)}
LONG = ", ".join(f"user-{place}" for place in range(200))
CUT = ",".join(["u" * 99] * 4 + ["x" * 94, "alicemont"])
ROWS: dict[str, tuple[Any, bool]] = {
    "list": ({"visibility": "public", "allowed_users": ["bob"]}, False),
    "seventeenth": ({"visibility": "public", **MANY, "user_id": "bob"}, False),
    "mapping": ({"visibility": "public", "tenant_id": {"id": "other"}}, False),
    "cut at 500": ({"allowed_users": CUT}, False),
    "URL as id": ({"visibility": "public", "user_id": "https://id.example.org/bob"}, False),
    "no object": ("user_id=bob", False),
    "pairs": ([["user_id", "bob"]], False),
    "invisible": ({"user_id": "ali\u202ece"}, False),
    "white space": ({"user_id": "bob", "user_id ": "alice"}, False),
    "longer": ({"allowed_users": LONG + ", alice"}, True),
    "mine": ({**MANY, "user_id": "alice"}, True),
    "null": ({"user_id": None}, True),
    "nothing": (None, True),
}
VISIBLE = [name for name, (_, visible) in ROWS.items() if visible]
ROW_LIST = [
    {"id": name, "content": name, "source_id": "s", "metadata": metadata} for name, (metadata, _) in ROWS.items()
]


class Source:
    """A retrieval source that gives the rows as they are."""

    name = "wiki"
    capabilities: dict[str, bool] = {}  # noqa: RUF012 - as a source has it

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows

    async def retrieve(self, query: str, refs: Any, context: Any) -> Any:
        return {"results": self.rows}


def of_source(rows: list[dict[str, Any]]) -> Any:
    return SourceProvider(Source(rows), [{"provider": "wiki", "mode": "all_accessible"}])


def of_provider_as_source(rows: list[dict[str, Any]]) -> Any:
    source = ProviderSource(ScriptedProvider([rows]), name="wiki")
    return SourceProvider(source, [{"provider": "wiki", "mode": "explicit", "id": "kb"}])


WAYS: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "themselves": lambda rows: ScriptedProvider([rows]),
    "composite": lambda rows: CompositeProvider({"a": ScriptedProvider([rows])}),
    "composite in a composite": lambda rows: CompositeProvider({"b": WAYS["composite"](rows)}),
    "source": of_source,
    "provider as a source": of_provider_as_source,
    "JSON": lambda rows: ScriptedProvider([returning(results_in({"results": rows}, 8))]),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rows", [ROW_LIST[:7], ROW_LIST[7:]], ids=["first", "rest"])
def test_what_labels_forbid_is_shown_on_no_way(way: str, rows: list[dict[str, Any]]) -> None:
    """And what they allow is, as by the rule on the rows themselves."""
    host = KnowledgeHost(ScopedProvider(WAYS[way](rows), ALICE))
    outcome = asyncio.run(host.search("q", context=RetrievalContext(owner_id="alice"), top_k=8))
    assert [result.content for result in outcome.results] == [r["id"] for r in rows if r["id"] in VISIBLE]


@pytest.mark.parametrize("name", ROWS)
def test_the_rows_are_what_they_are_said_to_be(name: str) -> None:
    """By the rule on what nobody has touched."""
    metadata, visible = ROWS[name]
    assert allows(metadata, ALICE) is visible


def test_a_label_that_cannot_be_kept_is_0_and_the_others_stay() -> None:
    """Plain data, and no value that any label may have."""
    values = {**MANY, "a": "b", "allowed_users": ["bob"], "tenant_id": "acme", "public": float("nan"), "user_id": None}
    kept = plain_metadata(values)
    assert list(kept.items())[:3] == [("allowed_users", 0), ("tenant_id", "acme"), ("public", 0)]
    assert len(kept) == 16
    for name in LABELS:
        assert denial({name: 0}, ALICE) == Denial("label_invalid", name)


def test_labels_are_whole_up_to_10000_characters() -> None:
    """Other metadata have 500."""
    longest = ",".join(["alice"] * 1667)[:10_000]
    assert plain_metadata({"allowed_users": longest}) == {"allowed_users": longest}
    assert plain_metadata({"user_id": "x" * 10_001}) == {"user_id": 0}
    assert plain_metadata({"allowed_users": "alice,\n  bob"}) == {"allowed_users": "alice, bob"}


def test_labels_stay_where_others_are_left_out() -> None:
    """What an adapter puts elsewhere, or hides, still says who may read it."""
    assert plain_metadata({"user_id": "bob", "page": 1}, without=("user_id", "page")) == {"user_id": "bob"}


def test_a_key_that_becomes_a_labels_name_authorises_nobody() -> None:
    """When a link is taken out of it."""
    kept = plain_metadata({"user_id //u:secret@": "alice"})
    assert kept == {"user_id": 0}
    assert not allows(kept, ALICE)


def test_a_vendors_own_ids_are_text() -> None:
    """As other metadata are; which is all that can be compared."""
    assert plain_metadata({"user_id": UUID(int=1), "tenant_id": date(2026, 1, 2)}) == {
        "user_id": str(UUID(int=1)),
        "tenant_id": "2026-01-02",
    }


@pytest.mark.parametrize("key", ["\ufeffuser_id", "user_id ", "\u202auser_id", "user_\U000e0041id", "\tuser_id\n"])
def test_a_label_is_one_by_the_name_that_a_host_shows(key: str) -> None:
    """Rule N11 takes away what nobody sees; what is left is what everybody reads."""
    labels = {key: "bob", "visibility": "public"}
    assert denial(labels, ALICE) == Denial("label_mismatch", "user_id")
    assert (
        "user_id"
        in normalize_response([{"id": "1", "content": "c", "metadata": labels}], query="q").results[0].metadata
    )


def test_a_table_with_a_byte_order_mark_is_read() -> None:
    """As a spreadsheet writes it, the first column's name begins with one."""
    (row,) = csv.DictReader(io.StringIO("\ufeffuser_id,visibility\nbob,public\n"))
    assert not allows(dict(row), ALICE)


class Key(str):
    """A name with a hash of its own."""

    __slots__ = ()

    def __hash__(self) -> int:
        return 7


def test_a_subclass_of_a_name_is_that_name() -> None:
    """Rule N1: subclasses are read through the base type."""
    assert denial({"visibility": "public", Key("user_id"): "bob"}, ALICE) == Denial("label_mismatch", "user_id")


@pytest.mark.parametrize("second", ["alice", "bob", "", 5])
def test_two_labels_of_one_name_authorise_nobody(second: object) -> None:
    """Whichever is shown, nobody knows which was meant; one that is null is none."""
    assert denial({"user_id": "alice", " user_id": second}, ALICE) == Denial("label_invalid", "user_id")
    assert allows({"user_id": "alice", " user_id": None}, ALICE)


_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
_VALUES = st.sampled_from(
    [
        "acme",
        "alice",
        "bob",
        "editor",
        "public",
        "true",
        "",
        "\u200b",
        "ali\u202ece",
        "alice\x00",
        "\ud800alice",
        CUT,
        LONG,
    ]
) | st.recursive(_LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2))
_KEYS = st.builds(
    lambda before, name, after: f"{before}{name}{after}",
    st.sampled_from(["", "", " ", "\ufeff", "\u202a"]),
    st.sampled_from(LABELS) | st.text(max_size=3),
    st.sampled_from(["", "", " ", "\u200d", " //a@b", "\n", "x" * 80]),
)
_SCOPES = st.builds(
    AccessScope,
    st.sampled_from(AccessMode),
    st.sampled_from([None, "acme", "a\ufffd"]),
    st.sampled_from([None, "alice", "\ufffdalice", CUT[:500].rpartition(",")[2]]),
    st.sampled_from([frozenset[str](), frozenset({"editor"})]),
)


@settings(deadline=None, max_examples=400)
@given(metadata=st.dictionaries(_KEYS, _VALUES, max_size=24), scope=_SCOPES)
@example(metadata={"user_id": "alice\x00"}, scope=ALICE)
def test_nobody_sees_more_after_metadata_are_read(metadata: dict[str, Any], scope: AccessScope) -> None:
    """Whatever stands there: what is read for a result shows it to nobody whom the record's own would not."""
    item = {"id": "1", "content": "c", "metadata": metadata}
    once = normalize_to_answer([item], limit=1).results[0].metadata
    again = normalize_to_answer([{**item, "metadata": once}], limit=1).results[0].metadata
    for read in (plain_metadata(metadata), once):
        if allows(read, scope):
            assert allows(metadata, scope)
        assert len(read) <= 16
        assert RetrievalResult(id="1", content="c", metadata=read).metadata == read
        assert json.loads(json.dumps(read, allow_nan=False).encode()) == read
    assert list(again.items()) == list(once.items())


@settings(deadline=None)
@given(
    metadata=st.dictionaries(st.sampled_from(LABELS), st.sampled_from(["acme", "alice", "alice,bob", LONG]), max_size=6)
)
def test_readable_labels_say_the_same_after_metadata_are_read(metadata: dict[str, Any]) -> None:
    """Behind 16 other entries, and longer than those may be."""
    behind = {**MANY, **metadata}
    item = {"id": "1", "content": "c", "metadata": behind}
    assert denial(normalize_to_answer([item], limit=1).results[0].metadata, ALICE) == denial(metadata, ALICE)
    assert denial(plain_metadata(behind), ALICE) == denial(metadata, ALICE)


def test_what_a_host_shows_stays_by_its_rule() -> None:
    """Rule N11: the first 16 entries, and at most 500 code points of each."""
    shown = normalize_response([{"id": "1", "content": "c", "metadata": {"allowed_users": LONG, **MANY}}], query="q")
    metadata = shown.results[0].metadata
    assert (len(metadata), metadata["allowed_users"]) == (16, LONG[:500])
