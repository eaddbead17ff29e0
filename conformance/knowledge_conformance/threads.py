"""``HostThread``: the kit's own threads, to whose code they look like a host's main thread; knows nothing else."""

import threading
from collections.abc import Callable
from typing import Any


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
