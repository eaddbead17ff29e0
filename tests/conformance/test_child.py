"""The child's own side: it serves its two pipes, keeps them to itself, and ends with the kit."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doors import SOUND, WAIT_SECONDS, alive, environment, wait_for

from knowledge_conformance.channel import CHANNEL_LOST, KEY_BYTES, KIT_LOST, Reader, Writer
from knowledge_conformance.child_process import search_path
from knowledge_conformance.settings import Settings

KEY = bytes(range(KEY_BYTES))


class Child:
    """A child process with the kit's ends of its pipes."""

    def __init__(self) -> None:
        commands_from, self.commands = os.pipe()
        self.results, results_to = os.pipe()
        self.dumps, dumps_to = os.pipe()
        given = (commands_from, results_to, dumps_to)
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "knowledge_conformance.child", *map(str, given)],
            pass_fds=given,
            start_new_session=True,
            env=environment(),
            stdin=subprocess.DEVNULL,
        )
        for descriptor in given:
            os.close(descriptor)
        self.reader = Reader(KEY)
        self.writer = Writer(self.commands, KEY)
        self._messages: list[dict[str, Any]] = []

    def begin(self, target: str = SOUND, **settings: Any) -> None:
        os.write(self.commands, KEY)
        given = Settings(**settings).model_dump(mode="json")
        self.writer.write({"path": search_path(), "target": target, "settings": given, "kind": "provider"})

    def until(self, name: str) -> Any:
        """The next message of this name."""
        while True:
            while self._messages:
                message = self._messages.pop(0)
                if name in message:
                    return message[name]
            data = os.read(self.results, 65536)
            assert data, "the child has ended"
            self._messages.extend(self.reader.feed(data))

    def status(self) -> int:
        return self.process.wait(timeout=WAIT_SECONDS)


@pytest.fixture
def child() -> Iterator[Child]:
    made = Child()
    yield made
    made.process.kill()
    made.process.wait()
    for descriptor in (made.commands, made.results):
        with contextlib.suppress(OSError):
            os.close(descriptor)


def test_a_child_opens_runs_and_closes(child: Child) -> None:
    """One message for each step, and the calls between."""
    child.begin()
    assert child.until("opened") == {"instance": False, "entered": False}
    child.writer.write({"run": "KP-102", "remaining": 10, "close": True})
    assert child.until("call") == "describe()"
    assert child.until("result") == {"id": "KP-102", "outcome": "passed", "observations": 1, "calls": 1}
    assert child.until("ready") is True
    child.writer.write({"remaining": 1})
    assert child.until("closed") is True
    os.close(child.commands)
    assert child.status() == -9


def test_a_child_whose_kit_is_gone_ends_itself(child: Child) -> None:
    """At any time: here before it was told anything."""
    os.close(child.commands)
    assert child.status() == KIT_LOST


def test_a_child_that_is_told_by_a_stranger_ends(child: Child) -> None:
    """Whoever writes to its commands without the key is not the kit."""
    child.begin()
    child.until("opened")
    os.write(child.commands, b'{"run": "KP-101"}\n')
    assert child.status() == CHANNEL_LOST


def test_a_child_that_cannot_understand_its_kit_ends(child: Child) -> None:
    """A mistake of the kit's own."""
    child.begin()
    child.until("opened")
    child.writer.write({"run": "KP-000", "remaining": 10, "close": True})
    assert child.status() == KIT_LOST


def test_a_child_that_nobody_listens_to_ends(child: Child) -> None:
    """The results have nowhere to go."""
    child.begin()
    child.until("opened")
    os.close(child.results)
    child.writer.write({"run": "KP-101", "remaining": 10, "close": True})
    assert child.status() == CHANNEL_LOST


def test_the_pipes_are_closed_in_whatever_the_provider_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that outlives the child must not hold the kit's pipes open, nor may a fork speak for the kit."""
    pids = tmp_path / "pids"
    monkeypatch.setenv("OFFSPRING_FILE", str(pids))
    made = Child()
    ours = {Path(f"/proc/self/fd/{descriptor}").readlink() for descriptor in (made.commands, made.results)}
    made.begin("hostile_lives:forks_and_reports")
    made.until("opened")
    assert ours <= held_by(made.process.pid)
    made.writer.write({"run": "KP-301", "remaining": 50, "close": True})
    made.until("ready")
    assert wait_for(pids.exists)
    forked = [int(pid) for pid in pids.read_text().split()]
    assert not ours & held_by(forked[0])
    os.close(made.commands)
    os.close(made.results)
    made.status()
    assert wait_for(lambda: not alive(forked))


def held_by(pid: int) -> set[Path]:
    """What a process has open."""
    return {entry.readlink() for entry in Path(f"/proc/{pid}/fd").iterdir()}


def test_a_child_asks_to_be_killed_before_anything_else_when_memory_ends(child: Child) -> None:
    """A provider that eats all memory takes neither pytest nor the machine along."""
    child.begin()
    child.until("opened")
    assert int(Path(f"/proc/{child.process.pid}/oom_score_adj").read_text()) == 1000
