"""What runs now, on a line of the terminal that is rewritten; in a pipe nothing. Knows terminals, no pytest.

It looks a few times a second from a thread of its own, so that nothing that runs has to tell it anything.
"""

import contextlib
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Final, TextIO

from knowledge_conformance.reading import Tone
from knowledge_conformance.running import Run
from knowledge_conformance.summary import Line

SECONDS: Final = 0.15
"""Between two looks: what is shorter than that would only flicker."""

_REST_OF_LINE, _LINE_UP, _FAINT, _PLAIN = "\x1b[K", "\x1b[1A", "\x1b[2m", "\x1b[0m"
_COLOURS: Final = {Tone.GOOD: "32", Tone.BAD: "31", Tone.OPEN: "33"}


class Ticker:
    """Shows what ``now`` says until it ends: on the current line, or below it where ``used`` columns of that are taken.

    ``write`` gets whole updates, each of which leaves the cursor where it was.
    """

    def __init__(
        self, write: Callable[[str], object], *, now: Callable[[], str | None], used: Callable[[], int]
    ) -> None:
        self._write = write
        self._now = now
        self._used = used
        self._ended = threading.Event()
        self._shown = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._go_on, name="knowledge-conformance-ticker", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def end(self) -> None:
        """Take away what is shown, and look no more."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        self.clear()

    def look(self) -> None:
        """Show what runs now, in place of what was shown."""
        with self._lock:
            self._look()

    def clear(self) -> None:
        """Take away what is shown, for whoever writes on this line next."""
        with self._lock:
            self._clear()

    def _look(self) -> None:
        text, room = self._now(), shutil.get_terminal_size().columns - 2
        if text is None:
            self._clear()
            return
        self._put(_styled(_FAINT, text if len(text) <= room else f"{text[: room - 1]}…"))
        self._shown = True

    def _clear(self) -> None:
        if self._shown:
            self._put("")
            self._shown = False

    def _put(self, text: str) -> None:
        used = self._used()
        # By steps from where the cursor is, since a line more may scroll the screen.
        below = f"\r\n{_REST_OF_LINE}{text}{_LINE_UP}\x1b[{used + 1}G"
        self._write(below if used else f"\r{_REST_OF_LINE}{text}\r")

    def _go_on(self) -> None:
        with contextlib.suppress(OSError):  # the terminal is gone
            while not self._ended.wait(SECONDS):
                self.look()


def progress(run: Run) -> str | None:
    """What a run does now: the check's id and title, and how many calls it has made so far."""
    now = run.now
    if now is None:
        return None
    check, before = now
    calls = run.runner.calls - before
    # The count first: a title may be cut.
    return f"{check.id} ({calls} call{'' if calls == 1 else 's'}) {check.title}"


def is_terminal(stream: TextIO) -> bool:
    """Whether a person looks at what is written there, on something that can be told where to write."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def coloured(stream: TextIO) -> bool:
    """Whether colours go there: to a terminal, unless NO_COLOR is set to anything; https://no-color.org."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def painted(line: Line, *, colours: bool) -> str:
    """A line as it is written, with its colour where there are ``colours``."""
    codes = [code for code in ("1" * line.strong, _COLOURS.get(line.tone)) if code]
    return f"\x1b[{';'.join(codes)}m{line.text}{_PLAIN}" if colours and codes else line.text


@contextlib.contextmanager
def showing(now: Callable[[], str | None]) -> Iterator[None]:
    """Show what ``now`` says on standard output while this is entered; where that is no terminal, do nothing."""
    if not is_terminal(sys.stdout):
        yield
        return
    ticker = Ticker(writer(sys.stdout), now=now, used=lambda: 0)
    ticker.start()
    try:
        yield
    finally:
        ticker.end()


def writer(stream: TextIO) -> Callable[[str], object]:
    """What writes to the terminal behind ``stream``, also while its descriptor is led elsewhere (pytest's capture)."""
    stream.flush()
    descriptor = os.dup(stream.fileno())
    return lambda text: os.write(descriptor, text.encode("utf-8", "replace"))


def _styled(code: str, text: str) -> str:
    return text if os.environ.get("NO_COLOR") else f"{code}{text}{_PLAIN}"
