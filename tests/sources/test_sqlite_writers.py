"""Several processes on one file of bindings, and one that is killed at the worst moment."""

import signal
import subprocess
import sys
from pathlib import Path

from knowledge_fakes.sources import reference
from knowledge_provider.sources import SQLiteStorage, TaskBindings

BENCH = Path(__file__).parents[1] / "bench" / "bench_sources.py"

# Between the rows that are gone and those that come; a small cache, so that half of it is on the disk by then.
KILLED_WITHIN = """
import os, signal, sys
from knowledge_provider.sources import SQLiteStorage, TaskBindings, sqlite_storage

def replace(connection, task_id, rows):
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("DELETE FROM bindings WHERE task_id = ?", (task_id,))
    more = [("x", place, str(place), "x" * 9000) for place in range(4)]
    connection.executemany("INSERT INTO bindings VALUES (?, ?, ?, ?)", more)
    os.kill(os.getpid(), signal.SIGKILL)

sqlite_storage._replace = replace
TaskBindings(SQLiteStorage(sys.argv[1])).add("t1", {"provider": "ap", "id": "never"})
"""


def test_processes_lose_no_change_and_a_killed_one_none_that_was_acknowledged() -> None:
    """The bench, for a short time; it says what was lost."""
    done = subprocess.run([sys.executable, str(BENCH), "0.5"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("\n") == 2


def test_a_writer_that_is_killed_within_a_change_leaves_what_was(tmp_path: Path) -> None:
    """Half of its change is on the disk, with a journal; the next one to open takes it back."""
    path = tmp_path / "bindings.db"
    bindings = TaskBindings(SQLiteStorage(path))
    refs = tuple(reference("ap", f"kb-{place}") for place in range(50))
    bindings.add("t1", *refs)
    before = path.read_bytes()
    done = subprocess.run([sys.executable, "-c", KILLED_WITHIN, str(path)], timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() != before
    assert bindings.list("t1").refs == refs
    assert bindings.add("t1", reference("ap", "after")).refs == (*refs, reference("ap", "after"))
    assert [each.name for each in tmp_path.iterdir()] == ["bindings.db"]
