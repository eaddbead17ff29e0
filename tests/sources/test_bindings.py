"""Bindings of a task, over each storage: no duplicates, a whole or its parts, removal by target, and local warnings."""

import json
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_fakes.sources import reference
from knowledge_provider import (
    KnowledgeReferenceInvalidError,
    KnowledgeReferenceUnknownError,
    KnowledgeUnavailableError,
)
from knowledge_provider.sources import (
    BindingStorage,
    ExternalKnowledgeRef,
    MemoryStorage,
    Row,
    SQLiteStorage,
    TaskBindings,
    target_key,
)

WHOLE = reference("ap")
PART = reference("ap", target_type="document", document_id="d1")
FOLDER = reference("ap", target_type="folder", node_id="f1")
OTHER = reference("ap", "kb-2")


@pytest.fixture(params=["memory", "sqlite"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> BindingStorage:
    return MemoryStorage() if request.param == "memory" else SQLiteStorage(tmp_path / "bindings.db")


@pytest.fixture
def bindings(storage: BindingStorage) -> TaskBindings:
    return TaskBindings(storage)


def test_what_is_bound_is_listed_in_order(bindings: TaskBindings) -> None:
    """For its own task alone; another one, and one that nobody knows, has nothing."""
    bindings.add("t1", PART, OTHER)
    assert bindings.add("t1", FOLDER).refs == (PART, OTHER, FOLDER)
    assert bindings.list("t1").refs == (PART, OTHER, FOLDER)
    assert bindings.list("t2").refs == ()


@pytest.mark.parametrize("wrong", [None, "bindings.db", Path("bindings.db"), {}, MemoryStorage, SQLiteStorage])
def test_what_is_no_storage_is_refused_at_once(wrong: Any) -> None:
    """Not at the first call, and with a word of what to pass."""
    with pytest.raises(TypeError, match=r"storage must be .* pass SQLiteStorage"):
        TaskBindings(wrong)


def test_the_same_target_is_bound_once(bindings: TaskBindings) -> None:
    """It keeps its place and gets the new names; a mapping will do."""
    bindings.add("t1", PART, OTHER)
    renamed = {"provider": "ap", "id": "kb-1", "target_type": "document", "document_id": "d1", "target_name": "New"}
    refs = bindings.add("t1", renamed).refs
    assert [(ref.id, ref.target_name) for ref in refs] == [("kb-1", "New"), ("kb-2", None)]


def test_a_whole_source_and_its_parts_exclude_each_other(bindings: TaskBindings) -> None:
    """Whichever is bound later stays; other sources are as they were."""
    bindings.add("t1", PART, OTHER, FOLDER)
    assert bindings.add("t1", WHOLE).refs == (OTHER, WHOLE)
    assert bindings.add("t1", PART).refs == (OTHER, PART)


def test_everything_accessible_is_a_source_of_its_own(bindings: TaskBindings) -> None:
    """By its scope; it is neither a part nor the whole of an explicit one."""
    group, own = ({"provider": "ap", "mode": "all_accessible", "scope": scope} for scope in ("group", "personal"))
    assert len(bindings.add("t1", WHOLE, group, own, group).refs) == 3


def test_removing_is_by_target_and_once(bindings: TaskBindings) -> None:
    """Names make no difference; the second time, and in another task, it is unknown, and nothing is changed."""
    bindings.add("t1", PART, OTHER)
    named = PART.model_copy(update={"name": "Wiki", "target_name": "Doc"})
    for task, ref in [("t2", PART), ("t1", WHOLE), ("t1", FOLDER)]:
        with pytest.raises(KnowledgeReferenceUnknownError, match=r"^ref: wanted one that is bound"):
            bindings.remove(task, ref)
    assert bindings.remove("t1", named).refs == (OTHER,)
    with pytest.raises(KnowledgeReferenceUnknownError):
        bindings.remove("t1", named)
    assert bindings.list("t1").refs == (OTHER,)


def test_what_overlaps_is_said(bindings: TaskBindings) -> None:
    """One who removes a document of a bound source is told that it is still there; so with the whole."""
    bindings.add("t1", WHOLE, OTHER)
    with pytest.raises(KnowledgeReferenceUnknownError, match="but the whole source is") as caught:
        bindings.remove("t1", PART)
    assert caught.value.overlapping == (target_key(WHOLE),)
    bindings.add("t1", PART, FOLDER)
    with pytest.raises(KnowledgeReferenceUnknownError, match="but folders or documents of it are") as caught:
        bindings.remove("t1", WHOLE)
    assert caught.value.overlapping == (target_key(PART), target_key(FOLDER))
    with pytest.raises(KnowledgeReferenceUnknownError, match="or it was removed before") as caught:
        bindings.remove("t1", reference("ap", target_type="document", document_id="d2"))
    assert caught.value.overlapping == ()


def test_history_is_untouched(bindings: TaskBindings) -> None:
    """What was listed before is a value of its own."""
    before = bindings.add("t1", PART)
    bindings.remove("t1", PART)
    assert before.refs == (PART,)


def test_all_are_added_or_none(bindings: TaskBindings) -> None:
    """One that is refused keeps the others out, and the message names its field."""
    with pytest.raises(KnowledgeReferenceInvalidError, match=r"^id: "):
        bindings.add("t1", PART, {"provider": "ap", "id": "https://files.example.com"})
    assert bindings.list("t1").refs == ()


@pytest.mark.parametrize("task", [None, 7, "", "  ", "x" * 161, "\ud800", b"t1"])
def test_a_task_needs_an_id(bindings: TaskBindings, task: Any) -> None:
    """Named in the error, whatever is asked; nothing is stored."""
    calls: list[Callable[[], object]] = [
        lambda: bindings.add(task, PART),
        lambda: bindings.list(task),
        lambda: bindings.remove(task, PART),
    ]
    for call in calls:
        with pytest.raises(KnowledgeReferenceInvalidError, match=r"^task_id: "):
            call()


@pytest.mark.parametrize("task", ["'; DROP TABLE bindings; --", "t1' OR '1'='1", "%", "任务", "a\x00b"])
def test_no_text_leads_out_of_its_place(bindings: TaskBindings, task: str) -> None:
    """Field case 83: whatever a task or a source is called, it is a value."""
    ref = reference("ap", "'); DELETE FROM bindings; --")
    bindings.add("t1", PART)
    assert bindings.add(task, ref).refs == (ref,)
    assert bindings.list("t1").refs == (PART,)
    assert bindings.remove(task, ref).refs == ()


@pytest.mark.parametrize("held", ["{", "[]", "null", '{"provider": "ap"}', '{"provider": "ap", "id": "other"}'])
def test_what_cannot_be_loaded_is_a_local_warning(storage: BindingStorage, held: str) -> None:
    """The others are there, it survives their changes, and it can be removed."""
    key = target_key(PART)
    storage.change("t1", lambda rows: (*rows, Row(key, held)))
    bindings = TaskBindings(storage)
    listed = bindings.add("t1", OTHER)
    assert (listed.refs, [warning.key for warning in listed.warnings]) == ((OTHER,), [key])
    assert [warning.key for warning in bindings.list("t1").warnings] == [key]
    assert bindings.remove("t1", PART) == TaskBindings(storage).list("t1")
    assert bindings.list("t1").warnings == ()


@pytest.mark.parametrize("key", ["garbage", "", "a:b", "ap:explicit:kb-1:document:d1:more"])
def test_a_key_of_another_shape_costs_no_change(storage: BindingStorage, key: str) -> None:
    """It is in the warnings, stays while others come and go, and is removed by what the warning says."""
    storage.change("t1", lambda rows: (*rows, Row(key, "{}")))
    bindings = TaskBindings(storage)
    assert [warning.key for warning in bindings.add("t1", WHOLE, OTHER).warnings] == [key]
    assert bindings.remove("t1", OTHER).refs == (WHOLE,)
    with pytest.raises(KnowledgeReferenceUnknownError):
        bindings.remove("t1", OTHER)
    assert bindings.remove("t1", key).warnings == ()
    assert bindings.list("t1").refs == (WHOLE,)


def test_bytes_that_are_no_text_cost_themselves(tmp_path: Path) -> None:
    """The others are there, the row is written as it was, and can be removed by the key of its warning."""
    path = tmp_path / "bindings.db"
    bindings = TaskBindings(SQLiteStorage(path))
    bindings.add("t1", PART, FOLDER, OTHER)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE bindings SET reference = CAST(x'7bff7d' AS TEXT) WHERE place = 0")
        connection.execute("UPDATE bindings SET target_key = x'61ff' WHERE place = 1")
    connection.close()
    listed = bindings.add("t1", reference("b"))
    assert listed.refs == (OTHER, reference("b"))
    assert [warning.key for warning in listed.warnings] == [target_key(PART), "a?"]
    with sqlite3.connect(path) as connection:
        held = connection.execute(
            "SELECT CAST(reference AS BLOB), CAST(target_key AS BLOB) FROM bindings ORDER BY place"
        )
        rows = held.fetchall()
    connection.close()
    assert (rows[0][0], rows[1][1]) == (b"{\xff}", b"a\xff")
    bindings.remove("t1", PART)
    assert bindings.remove("t1", "a?").warnings == ()


def test_more_than_a_task_may_have_is_refused_before_it_is_read(bindings: TaskBindings) -> None:
    """By the field, and nothing is stored; with those that are bound as well."""

    class Unread(dict[str, str]):
        def get(self, *_: object) -> Any:
            raise AssertionError("it was read")

    with pytest.raises(KnowledgeReferenceInvalidError, match=r"^refs: "):
        bindings.add("t1", *[Unread()] * 1001)
    bindings.add("t1", *(reference("ap", f"kb-{place}") for place in range(1000)))
    with pytest.raises(KnowledgeReferenceInvalidError, match=r"^refs: .* 1001 came"):
        bindings.add("t1", reference("b"))
    assert len(bindings.list("t1").refs) == 1000


def test_a_database_without_a_file_is_refused() -> None:
    """It would take each change, and lose it."""
    with pytest.raises(ValueError, match="MemoryStorage"):
        SQLiteStorage(":memory:")
    with pytest.raises(ValueError, match="null character"):
        SQLiteStorage("bindings\0.db")


def test_a_path_is_a_file_whatever_it_begins_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some builds of SQLite read it as a URI, and would keep what is stored in memory, until the call ends."""
    monkeypatch.chdir(tmp_path)
    bindings = TaskBindings(SQLiteStorage("file:bindings.db?mode=memory"))
    bindings.add("t1", PART)
    monkeypatch.chdir("/")
    assert bindings.list("t1").refs == (PART,)
    assert [each.name for each in tmp_path.iterdir()] == ["file:bindings.db?mode=memory"]


def test_a_path_that_cannot_be_is_said_by_each_method(tmp_path: Path) -> None:
    """As what cannot be read, whichever is called, and without the path."""
    for place in (tmp_path / ("x" * 300), tmp_path):
        bindings = TaskBindings(SQLiteStorage(place))
        calls: list[Callable[..., object]] = [bindings.list, bindings.remove, bindings.add]
        for call, refs in zip(calls, ((), (PART,), (PART,)), strict=True):
            with pytest.raises(KnowledgeUnavailableError) as caught:
                call("t1", *refs)
            assert str(tmp_path) not in str(caught.value)


def test_threads_lose_no_change(bindings: TaskBindings) -> None:
    """Eight at once, each with bindings of its own."""

    def work(worker: int) -> None:
        for place in range(6):
            bindings.add("t1", reference("ap", f"{worker}-{place}"))
            if place % 2:
                bindings.remove("t1", reference("ap", f"{worker}-{place}"))

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wanted = {f"{worker}-{place}" for worker in range(8) for place in (0, 2, 4)}
    assert {ref.id for ref in bindings.list("t1").refs} == wanted


REFS = [WHOLE, PART, FOLDER, OTHER, reference("ap", "kb-2", target_type="folder", node_id="f1"), reference("b")]


@given(steps=st.lists(st.tuples(st.booleans(), st.sampled_from(REFS)), max_size=12))
@settings(deadline=None, max_examples=60)
def test_any_order_of_changes_leaves_a_whole_or_parts(steps: list[tuple[bool, ExternalKnowledgeRef]]) -> None:
    """Against a model that knows the rule alone: no duplicate, never a whole beside its parts."""
    bindings, model = TaskBindings(MemoryStorage()), list[ExternalKnowledgeRef]()
    for adding, ref in steps:
        if adding:
            bindings.add("t", ref)
            same = [each for each in model if (each.provider, each.id) == (ref.provider, ref.id)]
            model = [each for each in model if each not in same or (each.is_whole == ref.is_whole)]
            model += [] if ref in model else [ref]
        elif ref in model:
            bindings.remove("t", ref)
            model.remove(ref)
        assert list(bindings.list("t").refs) == model


def test_reading_makes_no_file(tmp_path: Path) -> None:
    """Only a change does."""
    bindings = TaskBindings(SQLiteStorage(tmp_path / "bindings.db"))
    assert bindings.list("t1").refs == ()
    assert list(tmp_path.iterdir()) == []


def test_the_file_holds_the_fields_alone(tmp_path: Path) -> None:
    """Clause 10.2, in the bytes on the disk."""
    path = tmp_path / "bindings.db"
    TaskBindings(SQLiteStorage(path)).add("t1", {"provider": "ap", "id": "kb-1", "private": "zq-private-81"})
    assert b"private" not in path.read_bytes()
    with sqlite3.connect(path) as connection:
        (held,) = connection.execute("SELECT reference FROM bindings").fetchone()
    connection.close()
    assert json.loads(held) == {"provider": "ap", "mode": "explicit", "id": "kb-1", "target_type": "knowledge_base"}


@pytest.mark.parametrize(
    "statement", ["PRAGMA user_version = 2", "PRAGMA application_id = 7", "CREATE TABLE other (x)"]
)
def test_a_file_that_is_not_ours_is_left_alone(tmp_path: Path, statement: str) -> None:
    """A later version, another application, and a table of somebody's."""
    path = tmp_path / "bindings.db"
    if "CREATE" not in statement:
        TaskBindings(SQLiteStorage(path)).add("t1", PART)
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()
    before = path.read_bytes()
    bindings = TaskBindings(SQLiteStorage(path))
    calls: list[Callable[[], object]] = [lambda: bindings.list("t1"), lambda: bindings.add("t1", OTHER)]
    for call in calls:
        with pytest.raises(KnowledgeUnavailableError, match="version 1") as caught:
            call()
        assert not caught.value.retryable
    assert path.read_bytes() == before


def test_what_is_no_database_is_said(tmp_path: Path) -> None:
    """With an error of the contract that holds no path, and is not worth another try."""
    path = tmp_path / "bindings.db"
    path.write_bytes(b"not a database, and long enough to be looked at" * 50)
    for place in (path, tmp_path, tmp_path / "gone" / "b.db"):
        with pytest.raises(KnowledgeUnavailableError) as caught:
            TaskBindings(SQLiteStorage(place)).add("t1", PART)
        assert (caught.value.retryable, str(tmp_path) in str(caught.value)) == (False, False)


def test_one_that_others_hold_is_worth_another_try(tmp_path: Path) -> None:
    """After the time that it may wait; reading what is there goes on."""
    path = tmp_path / "bindings.db"
    bindings = TaskBindings(SQLiteStorage(path, timeout=0.05))
    bindings.add("t1", PART)
    holder = sqlite3.connect(path, isolation_level=None)
    try:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(KnowledgeUnavailableError, match="held by another") as caught:
            bindings.add("t1", OTHER)
        assert caught.value.retryable
        assert bindings.list("t1").refs == (PART,)
    finally:
        holder.close()
    assert bindings.add("t1", OTHER).refs == (PART, OTHER)
