"""The line of the author's own code that something stands on, without a path and whatever stands there."""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any

import pytest

from knowledge_conformance import blame
from knowledge_conformance.blame import Place, Whose, agreed, authors, stack_of_awaitable, where_dumped, within

OWN = Place("acme.search", "retrieve", 12, 10)
DEEPER = Place("acme.client", "read", 5, 3)
LIBRARY = Place("httpx._client", "get", 99, 90, Whose.LIBRARY)
STANDARD = Place("asyncio.tasks", "sleep", 7, 1, Whose.STANDARD)


def test_the_innermost_frame_of_the_authors_own_is_named() -> None:
    """And only where there is none, that of a library."""
    assert within(authors((OWN, LIBRARY, STANDARD))) == " in acme.search.retrieve, line 12"
    assert within(authors((LIBRARY, STANDARD))) == " in httpx._client.get, line 99"
    assert within(authors((STANDARD,))) == ""


def at(place: Place, line: int) -> Place:
    return Place(place.module, place.function, line, place.begins, place.whose)


@pytest.mark.parametrize(
    ("stacks", "named"),
    [
        ([(OWN,), (OWN,)], " in acme.search.retrieve, line 12"),
        ([(OWN, DEEPER), (OWN, at(DEEPER, 6))], " in acme.client.read, which begins at line 3"),
        ([(OWN, DEEPER), (at(OWN, 13), DEEPER)], " in acme.search.retrieve, which begins at line 10"),
        ([(OWN, DEEPER), (OWN,)], " in acme.search.retrieve, line 12"),
        ([(OWN,), (STANDARD,), ()], " in acme.search.retrieve, line 12"),
        ([(OWN,), (DEEPER,)], " in acme.search.retrieve, line 12"),
        ([(STANDARD,)], ""),
        ([], ""),
    ],
)
def test_samples_agree_on_what_all_of_them_show(stacks: list[tuple[Place, ...]], named: str) -> None:
    """Code that runs is on another line each time, and another run must say the same."""
    assert agreed(stacks) == named


async def innermost() -> None:
    await asyncio.Event().wait()


class Awaited:
    def __await__(self) -> Generator[Any, Any, None]:
        yield from innermost().__await__()


async def through_a_generator() -> None:
    async for _ in waiting():
        pass


async def waiting() -> AsyncGenerator[None, None]:
    await innermost()
    yield


async def through_a_task() -> None:
    await asyncio.ensure_future(innermost())


async def through_a_time_out() -> None:
    async with asyncio.timeout(100):
        await innermost()


async def through_an_awaitable() -> None:
    await Awaited()


@pytest.mark.parametrize(
    "call", [innermost, through_a_generator, through_a_task, through_a_time_out, through_an_awaitable]
)
def test_a_call_that_waits_is_followed_to_where_it_does(call: Callable[[], Any]) -> None:
    """Through coroutines, generators, awaitables and the tasks that it waits for."""

    async def main() -> str:
        task = asyncio.ensure_future(call())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        named = within(authors(stack_of_awaitable(task)))
        task.cancel()
        await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()})
        return named

    assert asyncio.run(main()) == f" in {__name__}.innermost, line {innermost.__code__.co_firstlineno + 1}"


def test_what_is_not_suspended_stands_nowhere() -> None:
    """Neither a value nor a future of nobody is a place."""
    assert stack_of_awaitable(3) == stack_of_awaitable(None) == ()


def test_a_thread_is_found_in_the_authors_code() -> None:
    """Whatever of the standard library it is in at the moment."""
    over = threading.Event()

    def holds() -> None:
        over.wait(20)

    thread = threading.Thread(target=holds)
    thread.start()
    time.sleep(0.01)
    named = within(authors(blame.stack_of_thread(thread.ident)))
    over.set()
    thread.join()
    assert named == f" in {__name__}.holds, line {holds.__code__.co_firstlineno + 1}"
    assert blame.stack_of_thread(thread.ident) == ()


def test_names_are_shown_bounded_and_on_one_line() -> None:
    """A module may be called anything."""
    shown = within((Place("a\nb\x1b[31m" * 100, "f" * 500, 1),))
    assert shown.isprintable()
    assert len(shown) < 300


def test_a_module_without_a_name_is_no_accident() -> None:
    """Code that was compiled by hand has globals of any kind."""
    scope: dict[str, Any] = {"__name__": 3}
    exec("def f():\n    raise ValueError", scope)
    with pytest.raises(ValueError, match=r"^$") as caught:
        scope["f"]()
    assert blame.raised_at(caught.value).startswith(" in ?.f, line 2")


DUMP = """Thread 0x00007f01 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 327 in wait
  File "/srv/acme/search.py", line 40 in _watch

Current thread 0x00007f02 (most recent call first):
  File "/usr/lib/python3.11/re/__init__.py", line 166 in match
  File "/srv/acme/search.py", line 12 in retrieve
  File "/site/knowledge_conformance/worker.py", line 150 in run
  File "<frozen runpy>", line 88 in _run_code
"""


def test_a_dump_from_outside_names_the_thread_that_the_kit_called() -> None:
    """By module, as the search path has it."""
    named = where_dumped(DUMP, ["/srv", "/site", "/usr/lib/python3.11"])
    assert named == " inside C code called from acme.search.retrieve, line 12"


@pytest.mark.parametrize(
    "dump",
    ["", "Fatal", "Thread 0x1\n  File", 'Thread 0x1\n  File "x", line 9', 'Thread 0x1\n  File "x", line ٣ in f'],
)
def test_a_dump_of_another_shape_names_nothing(dump: str) -> None:
    """The process may have written anything there."""
    assert where_dumped(dump, ["/srv"]) == ""
