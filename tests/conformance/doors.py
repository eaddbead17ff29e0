"""What the tests of the kit's doors share: a pytest of their own, and processes to look for."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
SOUND: Final = "knowledge_fakes.handbook:provider"
WAIT_SECONDS: Final = 60.0
FEW: Final = "--provider-examples=1"
"""For runs that are not about generated requests."""


def environment(**changes: str) -> dict[str, str]:
    """The environment of a program that finds the modules beside this one and loads no plugin by itself.

    Nor does it know that a CI runs it: pytest then shows each failure twice.
    """
    unknown = ("PYTEST_", "KNOWLEDGE_", "CI", "BUILD_NUMBER")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unknown)}
    return {**kept, "PYTHONPATH": str(HERE), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "120", **changes}


def pytest_command(*arguments: str) -> list[str]:
    """The command line of a pytest that has the kit's plugin and keeps no cache."""
    command = [sys.executable, "-P", "-m", "pytest", "-p", "knowledge_conformance"]
    return [*command, *([] if "cacheprovider" in arguments else ["-p", "no:cacheprovider"]), *arguments]


def run_pytest(folder: Path, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    """Run a pytest in ``folder`` to its end."""
    return run(folder, pytest_command(*arguments), **changes)


def run(folder: Path, command: Iterable[str], **changes: str) -> subprocess.CompletedProcess[str]:
    """Run a command in ``folder`` to its end; output and errors together."""
    return subprocess.run(
        [*command],
        cwd=folder,
        env=environment(**changes),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=2 * WAIT_SECONDS,
        check=False,
    )


def ids_in(text: str) -> list[str]:
    """The ids that have a line of their own in a summary."""
    return [line.split()[0] for line in text.splitlines() if re.match(r"KP-\d+  \w", line)]


def hostile(name: str) -> str:
    """The target of this name, in whichever module of hostile ones it is."""
    modules = ("hostile_providers", "hostile_values", "hostile_lives")
    return next(f"{module}:{name}" for module in modules if hasattr(import_module(module), name))


def lines(text: str, *, starting: str) -> list[str]:
    """The lines of ``text`` that begin so, white space aside."""
    return [line.strip() for line in text.splitlines() if line.strip().startswith(starting)]


class Interrupted:
    """A pytest that was sent a signal in the middle of its run; ``offspring`` are the processes that had started."""

    def __init__(self, folder: Path, number: signal.Signals, *arguments: str, **changes: str) -> None:
        pids = folder / "pids"
        pids.touch()
        with heeding_ctrl_c():
            process = subprocess.Popen(
                pytest_command(*arguments),
                cwd=folder,
                env=environment(OFFSPRING_FILE=str(pids), **changes),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        wait_for(lambda: pids.read_text().endswith("\n") or process.poll() is not None)
        self.offspring = [int(pid) for pid in pids.read_text().split()]
        process.send_signal(number)
        began = time.monotonic()
        self.output, _ = process.communicate(timeout=WAIT_SECONDS)
        self.seconds = time.monotonic() - began
        self.status = process.returncode


@contextmanager
def heeding_ctrl_c() -> Iterator[None]:
    """Ctrl-C interrupts this process and what it starts: what a shell runs in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def wait_for(condition: Callable[[], bool]) -> bool:
    """Whether ``condition()`` becomes true within a minute."""
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.02)
    return False


def alive(pids: Iterable[int]) -> list[int]:
    """Those of the processes that still run."""
    return [pid for pid in pids if _runs(pid)]


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")
