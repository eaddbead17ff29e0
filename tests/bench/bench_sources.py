"""Bindings on SQLite: four processes that add and remove at once lose no acknowledged change, nor does a killed one.

``python tests/bench/bench_sources.py [SECONDS]`` prints what was done, and exits with 1 when a change is lost or the
database does not open.
"""

import multiprocessing
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from knowledge_provider.sources import ExternalKnowledgeRef, SQLiteStorage, TaskBindings

SECONDS = 5.0
PROCESSES = 4
KILLED = 8
TASK = "task-1"
# A writer's own bindings at a time, so that a change rewrites what others have written, and not too much of it.
HELD_MAX = 8


def reference(source_id: str) -> ExternalKnowledgeRef:
    """One whole source."""
    return ExternalKnowledgeRef(provider="wiki", id=source_id)


def write(path: str, log: str, worker: int, seconds: float) -> None:
    """Add and remove until the time is over; each change stands in the log once it is acknowledged, and no sooner."""
    bindings, held, choose = TaskBindings(SQLiteStorage(path, timeout=60)), list[str](), random.Random(worker)
    ends, place = time.monotonic() + seconds, 0
    with Path(log).open("ab", buffering=0) as said:
        while time.monotonic() < ends:
            if held and (len(held) >= HELD_MAX or choose.random() < 0.4):
                gone = held.pop(choose.randrange(len(held)))
                bindings.remove(TASK, reference(gone))
                said.write(f"-{gone}\n".encode())
            else:
                place += 1
                held.append(f"{worker}-{place}")
                bindings.add(TASK, reference(held[-1]))
                said.write(f"+{held[-1]}\n".encode())


def acknowledged(log: Path) -> tuple[set[str], int]:
    """What is bound by the changes in a log, and how many there are."""
    held, lines = set[str](), log.read_text().splitlines()
    for line in lines:
        (held.add if line[0] == "+" else held.discard)(line[1:])
    return held, len(lines)


def bound(path: Path) -> set[str]:
    """What is bound, by the ids, in a database that SQLite finds whole."""
    listed = TaskBindings(SQLiteStorage(path)).list(TASK)
    with closing(sqlite3.connect(path)) as connection:
        (whole,) = connection.execute("PRAGMA integrity_check").fetchone()
    if whole != "ok" or listed.warnings:
        raise AssertionError(f"the database is damaged: {whole}, {listed.warnings}")
    return {ref.id or "" for ref in listed.refs}


def at_once(folder: Path, seconds: float) -> int:
    """How many changes were lost, or came back, with all processes writing; prints how many were made."""
    path, logs = folder / "at-once.db", [folder / f"{worker}.log" for worker in range(PROCESSES)]
    spawn = multiprocessing.get_context("spawn")
    writers = [
        spawn.Process(target=write, args=(str(path), str(log), worker, seconds)) for worker, log in enumerate(logs)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    if any(writer.exitcode for writer in writers):
        raise AssertionError("a writer ended with an error")
    found = [acknowledged(log) for log in logs]
    wrong = set[str]().union(*(held for held, _ in found)) ^ bound(path)
    counts = [count for _, count in found]
    print(f"at once       {sum(counts)} changes by {PROCESSES} processes in {seconds:g} s {counts}, {len(wrong)} lost")
    return len(wrong) + (min(counts) == 0)


def killed(folder: Path, rounds: int) -> int:
    """How many times a database was not as it should be after its writer was killed; prints how many were."""
    wrong, changes, choose = 0, 0, random.Random(7)
    spawn = multiprocessing.get_context("spawn")
    path = folder / "killed.db"
    for round_ in range(rounds):
        log = folder / f"killed-{round_}.log"
        log.touch()
        before = bound(path) if path.exists() else set()
        writer = spawn.Process(target=write, args=(str(path), str(log), round_, 60.0))
        writer.start()
        while not log.stat().st_size:
            time.sleep(0.005)
        time.sleep(choose.uniform(0, 0.03))
        os.kill(writer.pid or 0, signal.SIGKILL)
        writer.join()
        held, count = acknowledged(log)
        changes += count
        # One change may be made and not yet acknowledged.
        wrong += len((held | before) ^ bound(path)) > 1
        TaskBindings(SQLiteStorage(path)).add(TASK, reference(f"after-{round_}"))
    print(f"killed        {rounds} writers after {changes} changes, {wrong} databases that are not as acknowledged")
    return wrong


def main(seconds: float) -> int:
    """Measure and compare; fewer writers are killed where there is less time than the measure wants."""
    rounds = KILLED if seconds >= SECONDS else KILLED // 3
    with tempfile.TemporaryDirectory() as folder:
        return int(bool(at_once(Path(folder), seconds) + killed(Path(folder), rounds)))


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS))
