"""The line that names what runs now: on a terminal only, rewritten, and gone at the end."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from doors import SOUND, environment, pytest_command

from knowledge_conformance.reading import Tone
from knowledge_conformance.summary import Line
from knowledge_conformance.ticker import Ticker, painted

ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Screen:
    """What a ticker wrote, and what it is told to show."""

    def __init__(self, used: int = 0) -> None:
        self.written: list[str] = []
        self.now: str | None = None
        self.ticker = Ticker(self.written.append, now=lambda: self.now, used=lambda: used)


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.mark.usefixtures("plain")
def test_where_nothing_runs_nothing_is_written() -> None:
    """Not even an escape."""
    screen = Screen()
    screen.ticker.look()
    screen.ticker.clear()
    assert screen.written == []


@pytest.mark.usefixtures("plain")
def test_what_runs_is_rewritten_on_an_empty_line() -> None:
    """Cut to the width, and taken away."""
    screen = Screen()
    screen.now = "KP-304 " + "x" * 80
    screen.ticker.look()
    screen.now = None
    screen.ticker.look()
    screen.ticker.look()
    assert screen.written == [f"\r\x1b[K{'KP-304 ' + 'x' * 30}…\r", "\r\x1b[K\r"]


@pytest.mark.usefixtures("plain")
def test_a_line_that_is_taken_stays_as_it_is() -> None:
    """The text stands below it, and the cursor comes back to its column; by steps, since the screen may scroll."""
    screen = Screen(used=12)
    screen.now = "KP-304"
    screen.ticker.look()
    screen.ticker.clear()
    assert screen.written == ["\r\n\x1b[KKP-304\x1b[1A\x1b[13G", "\r\n\x1b[K\x1b[1A\x1b[13G"]


@pytest.mark.usefixtures("plain")
def test_a_ticker_ends_with_a_clean_line() -> None:
    """Its thread too; one that never began also ends."""
    screen = Screen()
    screen.now = "KP-304"
    screen.ticker.start()
    while not screen.written:
        time.sleep(0.01)
    screen.ticker.end()
    assert screen.written[-1] == "\r\x1b[K\r"
    Screen().ticker.end()


@pytest.mark.parametrize(
    ("line", "colours", "shown"),
    [
        (Line("x", Tone.GOOD), True, "\x1b[32mx\x1b[0m"),
        (Line("x", Tone.BAD, strong=True), True, "\x1b[1;31mx\x1b[0m"),
        (Line("x"), True, "x"),
        (Line("x", Tone.BAD, strong=True), False, "x"),
    ],
)
def test_a_line_is_coloured_where_colours_go(line: Line, colours: bool, shown: str) -> None:
    """By its tone; the words are the same."""
    assert painted(line, colours=colours) == shown


# In a real pseudo-terminal.


def on_a_terminal(folder: Path, command: list[str], **changes: str) -> str:
    """What a command writes to a terminal."""
    outside, inside = pty.openpty()
    env = {**environment(TERM="xterm", **changes)}
    if not changes:
        env.pop("NO_COLOR", None)
    done = subprocess.Popen(command, cwd=folder, env=env, stdin=inside, stdout=inside, stderr=inside)
    os.close(inside)
    written = b""
    until = time.monotonic() + 100
    while time.monotonic() < until:
        if select.select([outside], [], [], 0.2)[0]:
            try:
                data = os.read(outside, 1 << 16)
            except OSError:  # the other side is closed
                break
            written += data
            if not data:
                break
    os.close(outside)
    assert done.wait(20) == 0, written
    return written.decode()


# Long enough to be seen.
PYTEST = pytest_command(f"--provider={SOUND}", "--provider-examples=60", "provider::KP-303")
KIT = [sys.executable, "-m", "knowledge_conformance.cli", "run", SOUND]


def test_pytest_on_a_terminal_names_what_runs(tmp_path: Path) -> None:
    """With its number of calls; and the summary is coloured."""
    written = on_a_terminal(tmp_path, PYTEST)
    assert re.search(r"KP-303 \(\d+ calls?\) [A-Z]", written)
    assert "\x1b[32mKP-303  passed" in written
    assert "verdict partial" in written


def test_no_color_is_respected_on_a_terminal(tmp_path: Path) -> None:
    """The line is there, and no colour: no-color.org."""
    written = on_a_terminal(tmp_path, PYTEST, NO_COLOR="1")
    assert re.search(r"KP-303 \(\d+ calls?\) ", written)
    assert not re.search(r"\x1b\[[0-9;]*m", written)


def test_the_command_on_a_terminal_names_what_runs_and_fits_on_a_screen(tmp_path: Path) -> None:
    """For a conformant provider: at most 24 lines of 80 columns, verdict last."""
    written = on_a_terminal(tmp_path, KIT)
    assert re.search(r"\r\x1b\[K\x1b\[2mKP-\d+ \(\d+ calls?\) ", written)
    assert "\x1b[1m  verdict conformant" in written
    shown = [ESCAPES.sub("", line).rpartition("\r")[2] for line in written.replace("\r\n", "\n").split("\n")[:-1]]
    assert sum(max(1, -(-len(line) // 80)) for line in shown) <= 24


@pytest.mark.parametrize("command", [PYTEST, [*KIT[:-1], "target_kinds:instance"]], ids=("pytest", "knowledge-kit"))
def test_a_pipe_gets_no_escape(command: list[str], tmp_path: Path) -> None:
    """Neither a colour nor a line that is rewritten."""
    env = environment(TERM="xterm", RECORD_FILE=str(tmp_path / "calls"))
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout
    assert "\x1b" not in done.stdout + done.stderr
