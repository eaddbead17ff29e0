"""How long a call of a file of bindings waits for others, from the call to its end, and what it leaves behind."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from knowledge_fakes.sources import reference
from knowledge_provider.errors import KnowledgeUnavailableError
from knowledge_provider.sources import SQLiteStorage, TaskBindings, sqlite_storage
from knowledge_provider.sources.bindings import Row, Rows

OLD, NEW = reference("ap", "old"), reference("ap", "new")


class Clock:
    """Time that passes where somebody waits, and does then what a test wants at that time."""

    def __init__(self) -> None:
        self.now = 100.0
        self.then: list[tuple[float, Callable[[], object]]] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += max(seconds, 0.001)
        while self.then and self.then[0][0] <= self.now:
            self.then.pop(0)[1]()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(sqlite_storage, "time", made)
    return made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    TaskBindings(SQLiteStorage(tmp_path / "bindings.db")).add("t1", OLD)
    return tmp_path / "bindings.db"


@pytest.fixture
def other(path: Path) -> Iterator[sqlite3.Connection]:
    """Another process's connection."""
    connection = sqlite3.connect(path, isolation_level=None)
    yield connection
    connection.close()


def read_in(connection: sqlite3.Connection) -> None:
    """Hold what readers hold: who writes may begin, and cannot end."""
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM bindings").fetchall()


@pytest.mark.parametrize("begin", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_a_change_that_others_keep_out_ends_in_time_and_is_none(
    clock: Clock, path: Path, other: sqlite3.Connection, begin: str
) -> None:
    """Neither then nor once they have gone."""
    other.execute(begin)
    with pytest.raises(KnowledgeUnavailableError, match="held by another") as caught:
        TaskBindings(SQLiteStorage(path)).add("t1", NEW)
    assert caught.value.retryable
    assert 5.0 <= clock.now - 100.0 < 5.01
    other.execute("ROLLBACK")
    assert TaskBindings(SQLiteStorage(path)).list("t1").refs == (OLD,)


def test_the_wait_before_and_the_wait_at_the_end_share_the_time(
    clock: Clock, path: Path, other: sqlite3.Connection
) -> None:
    """A reader lets a change begin and not end; what could not end is taken back."""
    read_in(other)

    def change(rows: Rows) -> Rows:
        clock.now += 0.9
        return (*rows, Row("k", "{}"))

    with pytest.raises(KnowledgeUnavailableError, match="held by another"):
        SQLiteStorage(path, timeout=1.0).change("t1", change)
    assert 1.0 <= clock.now - 100.0 < 1.01
    other.execute("ROLLBACK")
    bindings = TaskBindings(SQLiteStorage(path))
    assert (bindings.list("t1").refs, bindings.list("t1").warnings) == ((OLD,), ())
    assert bindings.add("t1", NEW).refs == (OLD, NEW)


def test_whose_turn_comes_in_time_is_served(clock: Clock, path: Path, other: sqlite3.Connection) -> None:
    """First a writer goes, then a reader, each while the change waits."""
    other.execute("BEGIN EXCLUSIVE")

    def let_begin() -> None:
        other.execute("ROLLBACK")
        read_in(other)

    clock.then = [(101.0, let_begin), (104.0, lambda: other.execute("ROLLBACK"))]
    assert TaskBindings(SQLiteStorage(path)).add("t1", NEW).refs == (OLD, NEW)
    assert 104.0 <= clock.now < 105.0


def test_who_reads_waits_too_and_as_long(clock: Clock, path: Path, other: sqlite3.Connection) -> None:
    """While another one writes to the file."""
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(KnowledgeUnavailableError, match="held by another"):
        TaskBindings(SQLiteStorage(path, timeout=2.0)).list("t1")
    assert 2.0 <= clock.now - 100.0 < 2.01
    clock.then = [(clock.now + 1.0, lambda: other.execute("ROLLBACK"))]
    assert TaskBindings(SQLiteStorage(path, timeout=2.0)).list("t1").refs == (OLD,)


@pytest.mark.parametrize(("left", "waited"), [(0.5, 0.5), (60.0, 2.0), (-1.0, 0.0)])
def test_a_call_that_has_less_time_left_waits_less(
    clock: Clock, path: Path, other: sqlite3.Connection, left: float, waited: float
) -> None:
    """And none waits longer than its storage does."""
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(KnowledgeUnavailableError):
        TaskBindings(SQLiteStorage(path, timeout=2.0)).within(left).add("t1", NEW)
    assert waited <= clock.now - 100.0 < waited + 0.01
