"""``SQLiteStorage``: bindings in a file that several processes change at once; knows rows and no reference.

Each change is one immediate transaction, so that no two of them read the same rows, and is on the disk when it is
acknowledged. A writer that is killed leaves a journal, with which the next one takes its half change back.
"""

import random
import sqlite3
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from knowledge_provider.cancel import read_seconds
from knowledge_provider.errors import KnowledgeUnavailableError
from knowledge_provider.sources.bindings import Change, Row, Rows

SCHEMA_VERSION: Final = 1
"""The only version of the tables, as ``PRAGMA user_version`` has it."""

# "KPKB": a file of another application is left alone, also where its version is the same number.
_APPLICATION: Final = 0x4B504B42
# Seconds between two tries, at most: about half of what a change takes.
_TURN: Final = 0.004
_TABLES: Final = """
CREATE TABLE bindings (
    task_id TEXT NOT NULL,
    place INTEGER NOT NULL,
    target_key TEXT NOT NULL,
    reference TEXT NOT NULL,
    PRIMARY KEY (task_id, place),
    UNIQUE (task_id, target_key)
) WITHOUT ROWID
"""


class SQLiteStorage:
    """Rows in a SQLite file, safe in any thread and for several processes; it is made at the first change.

    Args:
        path: The file, on a file system that locks.
        timeout: Seconds to wait for the others' changes, from the call to its end.

    What cannot be read or written raises ``KnowledgeUnavailableError``, which is retryable while another one holds the
    file; of a change that raises, nothing is stored, and nothing will be. Raises ``TypeError`` or ``ValueError`` when
    ``timeout`` is no number above 0, and ``ValueError`` for ``:memory:`` and for what no file can be called.
    """

    def __init__(self, path: str | Path, *, timeout: float = 5.0) -> None:
        if str(path) == ":memory:":
            raise ValueError(
                "path must be that of a file, and ':memory:' came: each change opens the database anew, so everything "
                "would be lost. Pass a path, or take MemoryStorage"
            )
        if "\0" in str(path):
            raise ValueError("path must be that of a file, and one with a null character names none. Pass a path")
        # Of one that begins with "file:", some builds of SQLite make a database in memory.
        self._path = Path(path).absolute()
        self._timeout = read_seconds(timeout)

    def within(self, seconds: float) -> "SQLiteStorage":
        """The same file for one call that has so many seconds left, or fewer where ``timeout`` is less."""
        return SQLiteStorage(self._path, timeout=min(self._timeout, max(seconds, _TURN)))

    def read(self, task_id: str) -> Rows:
        """The rows of a task; without a file there are none, and none is made."""
        try:
            self._path.stat()
        except FileNotFoundError:
            return ()
        except OSError as error:
            # Also a folder that cannot be searched, and a name that no file can have.
            raise _unavailable(error) from error
        # Without reading, a transaction that only reads has nothing to wait for, and would wait later.
        with self._transaction("BEGIN", "SELECT count(*) FROM sqlite_master") as connection:
            return _rows(connection, task_id) if _is_made(connection) else ()

    def change(self, task_id: str, change: Change) -> Rows:
        """Replace the rows in one transaction; what ``change`` raises takes it back."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            if not _is_made(connection):
                _make(connection)
            rows = change(_rows(connection, task_id))
            _replace(connection, task_id, rows)
        return rows

    @contextmanager
    def _transaction(self, *begin: str) -> Generator[sqlite3.Connection]:
        ends = time.monotonic() + self._timeout
        # A connection for each, since one may pass neither between threads nor over a fork.
        try:
            with closing(sqlite3.connect(self._path, timeout=0.0, isolation_level=None)) as connection:
                connection.text_factory = _text
                with connection:
                    # The first one reads the file, so it has to wait as well.
                    for statement in ("PRAGMA synchronous = FULL", *begin):
                        _when_free(connection, statement, ends)
                    yield connection
                    # It waits for those who read, and what does not come to an end is taken back.
                    _when_free(connection, "COMMIT", ends)
        except sqlite3.Error as error:
            raise _unavailable(error) from error


def _when_free(connection: sqlite3.Connection, statement: str, ends: float) -> None:
    """Do it as soon as the others let it; SQLite's own waiting grows to 100 ms, so that who is late stays last."""
    while True:
        try:
            connection.execute(statement).fetchall()
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or time.monotonic() >= ends:
                raise
            time.sleep(random.uniform(0, _TURN))  # noqa: S311 - so that two do not wait in step
        else:
            return


def _is_made(connection: sqlite3.Connection) -> bool:
    """Whether the tables are there; raises ``KnowledgeUnavailableError`` for a file that is not ours to use."""
    application, version, tables = (
        connection.execute(question).fetchone()[0]
        for question in ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master")
    )
    if (application, version, tables) == (0, 0, 0):
        return False
    if application != _APPLICATION or version != SCHEMA_VERSION:
        came = f"version {version}" if application == _APPLICATION else "a file of another application"
        raise KnowledgeUnavailableError(
            f"Wanted a database of bindings in version {SCHEMA_VERSION}, and {came} is there. It was not touched, "
            "since its rows may mean something else. Choose another file, or the version of this package that made it.",
            retryable=False,
        )
    return True


def _make(connection: sqlite3.Connection) -> None:
    connection.execute(_TABLES)
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _rows(connection: sqlite3.Connection, task_id: str) -> Rows:
    found = connection.execute(
        "SELECT CAST(target_key AS TEXT), CAST(reference AS TEXT) FROM bindings WHERE task_id = ? ORDER BY place",
        (task_id,),
    )
    return tuple(Row(*row) for row in found)


def _replace(connection: sqlite3.Connection, task_id: str, rows: Rows) -> None:
    connection.execute("DELETE FROM bindings WHERE task_id = ?", (task_id,))
    connection.executemany(
        "INSERT INTO bindings (task_id, place, target_key, reference) VALUES (?, ?, CAST(? AS TEXT), CAST(? AS TEXT))",
        [(task_id, place, _bytes(row.key), _bytes(row.reference)) for place, row in enumerate(rows)],
    )


def _text(stored: bytes) -> str:
    # A row that somebody changed by hand costs itself alone, and is written as it was (clause 10.4).
    return stored.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _unavailable(error: Exception) -> KnowledgeUnavailableError:
    # Its own words stay in `__cause__`: they may hold a path.
    busy = _is_busy(error)
    return KnowledgeUnavailableError(
        "Wanted to read or change the bindings, and the database "
        f"{'is held by another process' if busy else 'cannot be used'}: what is bound is not known, and nothing was "
        f"changed. {'Try again, or allow more time.' if busy else 'See __cause__ for what it said.'}",
        retryable=busy,
    )


def _is_busy(error: Exception) -> bool:
    # Errors of the module itself, such as that of a closed connection, have no code. The low byte is the kind.
    code = getattr(error, "sqlite_errorcode", None)
    return type(code) is int and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
