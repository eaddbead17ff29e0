"""``HostThread`` and ``run_in_thread``: the kit's own threads, in which provider code finds what it finds in a host's.

To that code they look like a host's main thread, and one is used again, as an executor's are. Knows nothing else.
"""

import contextlib
import contextvars
import os
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final

_WORKS_IN_TURN: Final = 2


class HostThread(threading.Thread):
    """A daemon thread, so that nothing waits for it; threads that are begun in it are none unless they say so.

    A thread takes after the one that begins it. A host calls a provider from its main thread, so what the provider
    begins holds up the interpreter's end there, and must not be spared here.
    """

    def __init__(self, work: Callable[[], Any], name: str) -> None:
        self._begun = False
        super().__init__(target=work, name=name, daemon=True)

    @property
    def daemon(self) -> bool:  # type: ignore[override] # nobody sets it
        """True until it runs, for whoever starts it; then False, for the threads that it begins."""
        return not self._begun

    def run(self) -> None:
        """Run what it was made for."""
        self._begun = True
        super().run()


Work = Callable[[], Callable[[], object]]
"""What is done in a thread; what it gives is called when the thread may be given the next."""


class Caller(HostThread):
    """A thread that does one work after the other, two in its turn, and waits between them; None ends it."""

    def __init__(self) -> None:
        self.given: SimpleQueue[Work | None] = SimpleQueue()
        self.done: int = 0
        super().__init__(self._go_on, "knowledge-conformance-call")

    @property
    def in_turn(self) -> bool:
        """Whether the next work is to be its own, too."""
        return self.done % _WORKS_IN_TURN > 0

    def _go_on(self) -> None:
        while (work := self.given.get()) is not None:
            # As in a new thread: a variable of one call's is not the next one's.
            tell = contextvars.Context().run(work)
            # Nothing of a call may be kept alive here while it waits.
            del work
            self.done += 1
            if self.given.empty():  # it was not told to end meanwhile
                (_idle.appendleft if self.in_turn else _idle.append)(self)
            tell()
            del tell


# Those that wait, who comes next first. Its methods are atomic; what is started by a fork has no threads.
_idle: deque[Caller] = deque()
os.register_at_fork(after_in_child=_idle.clear)


def run_in_thread(work: Work) -> threading.Thread:
    """Do ``work`` in a thread, which must not raise: two calls that follow each other share one, the next two do not.

    What a provider keeps in a thread is there when another owner's call comes to it, as in a host's executor; and what
    works only in the thread that it was made in fails in the other.
    """
    thread = _waiting()
    if thread is None:
        thread = Caller()
        thread.start()
    thread.given.put(work)
    return thread


def _waiting() -> Caller | None:
    with contextlib.suppress(IndexError):  # another thread was faster
        if len(_idle) > 1 or _idle[0].in_turn:
            return _idle.popleft()
    return None


def end_idle_threads() -> None:
    """End the threads that wait, with what provider code keeps in them: as a host's executor is shut down."""
    with contextlib.suppress(IndexError):  # as above
        while True:
            _idle.popleft().given.put(None)
