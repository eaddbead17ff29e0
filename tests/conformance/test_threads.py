"""A thread of the kit's own is waited for by nobody, and what is begun in it is as in a host's main thread."""

import subprocess
import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial

from knowledge_conformance.threads import HostThread, end_idle_threads, run_in_thread


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


def in_which(times: int) -> list[threading.Thread]:
    """The threads of so many works, each begun when the one before is over."""
    threads: list[threading.Thread] = []
    for _ in range(times):
        over = threading.Event()
        threads.append(run_in_thread(partial(getattr, over, "set")))
        assert over.wait(10)
    return threads


def test_two_works_share_a_thread_and_the_next_two_another() -> None:
    """What is kept in one meets another call, and what works in one alone meets another thread."""
    end_idle_threads()
    one, two, three, four, five, six = in_which(6)
    assert one is two
    assert three is four
    assert one is not three
    assert [five, six] == [one, one]


def test_what_is_at_work_is_given_nothing_else() -> None:
    """A work that hangs holds up no other."""
    end_idle_threads()
    go_on, over = threading.Event(), threading.Event()

    def hang() -> "threading.Event":
        go_on.wait(10)
        return over

    held = run_in_thread(lambda: hang().set)
    assert held not in in_which(3)
    go_on.set()
    assert over.wait(10)


def test_those_that_wait_are_ended() -> None:
    """With what was kept in them."""
    (thread,) = in_which(1)
    end_idle_threads()
    thread.join(10)
    assert not thread.is_alive()


def test_a_variable_of_one_call_is_not_the_next_ones() -> None:
    """A thread is used again, its context is not."""
    end_idle_threads()
    variable, seen, over = ContextVar("variable", default=0), list[int](), threading.Event()

    def look() -> Callable[[], object]:
        seen.append(variable.get())
        variable.set(1)
        return over.set if len(seen) > 1 else lambda: run_in_thread(look)

    run_in_thread(look)
    assert over.wait(10)
    assert seen == [0, 0]
