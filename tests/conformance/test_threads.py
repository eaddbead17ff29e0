"""A thread of the kit's own is waited for by nobody, and what is begun in it is as in a host's main thread."""

import subprocess
import sys
import threading

from knowledge_conformance.threads import HostThread


def test_threads_begun_in_it_are_no_daemons() -> None:
    """A thread takes after the one that begins it, and a host calls a provider from its main thread."""
    begun: list[threading.Thread] = []
    thread = HostThread(lambda: begun.append(threading.Thread(target=int)), "kit")
    thread.start()
    thread.join()
    assert [each.daemon for each in begun] == [False]


def test_nobody_waits_for_it() -> None:
    """The interpreter ends although one runs for ever."""
    script = """
import threading
from knowledge_conformance.threads import HostThread
HostThread(threading.Event().wait, "kit").start()
"""
    ended = subprocess.run([sys.executable, "-c", script], timeout=30, check=False)
    assert ended.returncode == 0
