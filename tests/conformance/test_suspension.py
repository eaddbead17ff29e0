"""The awaits of a call are counted and acted on, and the call does not notice."""

import asyncio
from collections.abc import Callable, Generator
from typing import Any

import pytest

from knowledge_conformance.blame import Place, Stack
from knowledge_conformance.suspension import Stepped, points, repeats


async def three_awaits() -> str:
    await asyncio.sleep(0)
    await asyncio.sleep(0.001)
    await asyncio.gather(asyncio.sleep(0), asyncio.sleep(0))
    return "done"


class Awaitable:
    """Something else than a coroutine that can be awaited."""

    def __await__(self) -> Generator[Any, Any, str]:
        yield
        return "done"


class Bare:
    """An iterator without ``send`` and ``throw``."""

    def __init__(self) -> None:
        self.left = 2

    def __await__(self) -> Any:
        return self

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise StopIteration("done")


def run(awaited: Callable[[], Any], at: int = 0, reached: Callable[[], object] = lambda: None) -> tuple[Stepped, Any]:
    """The awaitable, stepped through as a task, and what came of it."""

    async def main() -> tuple[Stepped, Any]:
        stepped = Stepped(awaited(), at, reached)

        async def call() -> Any:
            return await stepped

        task = asyncio.ensure_future(call())
        await asyncio.wait({task})
        error: BaseException | None = asyncio.CancelledError() if task.cancelled() else task.exception()
        return stepped, task.result() if error is None else error

    return asyncio.run(main())


@pytest.mark.parametrize(("awaited", "count"), [(three_awaits, 3), (Awaitable, 1), (Bare, 2)])
def test_the_suspensions_are_counted(awaited: Callable[[], Any], count: int) -> None:
    """Whatever kind of awaitable it is; its value comes out."""
    stepped, came = run(awaited)
    assert (stepped.points, came) == (count, "done")


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_call_is_cancelled_at_one_of_its_awaits(at: int) -> None:
    """From within, as soon as it is suspended there; and it is known where that was."""

    def cancel() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    stepped, came = run(three_awaits, at, cancel)
    assert isinstance(came, asyncio.CancelledError)
    assert stepped.points == at
    first = three_awaits.__code__.co_firstlineno
    assert [place.line for place in stepped.held if place.function == "three_awaits"] == [first + at]


def test_an_error_comes_out_as_it_is() -> None:
    """The same object, with the author's frame in its traceback."""

    async def fails() -> None:
        await asyncio.sleep(0)
        raise ValueError("no")

    _, came = run(fails)
    assert isinstance(came, ValueError)


def test_an_iterator_that_takes_no_exception_ends_with_it() -> None:
    """As the interpreter does it."""

    def cancel() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    _, came = run(Bare, 1, cancel)
    assert isinstance(came, asyncio.CancelledError)


def test_it_is_closed_with_what_it_awaits() -> None:
    """A call that is dropped before its end releases what it holds."""
    ended: list[bool] = []

    async def holds() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            ended.append(True)

    stepped = Stepped(holds())
    next(stepped)
    stepped.close()
    assert ended == [True]


def at(*lines: int) -> list[Stack]:
    """Where a call stands at each suspension, by lines of one function."""
    return [(Place("m", "f", line),) for line in lines]


@pytest.mark.parametrize(("count", "expected"), [(0, []), (1, [1]), (4, [1, 2, 3, 4]), (9, [1, 3, 7, 9])])
def test_the_points_are_spread_evenly(count: int, expected: list[int]) -> None:
    """The first and the last are among them."""
    assert points(at(*range(count)), 4) == expected


@pytest.mark.parametrize(
    ("lines", "most", "expected"),
    [
        ([1] * 30 + [2] + [3] * 30, 4, [1, 31, 32, 61]),
        ([1] * 30 + [2] + [3] * 30, 5, [1, 30, 31, 32, 61]),
        ([1] * 30 + [2] + [3] * 30, 6, [1, 30, 31, 32, 33, 61]),
        ([1] * 9, 3, [1, 5, 9]),
        ([1, 2] * 10, 3, [1, 2, 20]),
        ([1] * 9, 1, [9]),
        ([1] * 9, 0, []),
    ],
)
def test_another_place_goes_before_another_turn_of_a_loop(lines: list[int], most: int, expected: list[int]) -> None:
    """Where it comes to first, then where it is last, then some between."""
    assert points(at(*lines), most) == expected


def test_where_a_call_stands_is_kept_while_its_awaits_are_counted() -> None:
    """For as many of them as there may be places; a call that is acted on needs none."""

    async def polls() -> str:
        for _ in range(300):
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        return "done"

    counted, _ = run(polls)
    assert len(counted.places) == counted.points == 301
    assert len({*counted.places}) == 2
    assert counted.places[-1] == ()
    assert run(polls, 301)[0].places == []


@pytest.mark.parametrize(
    ("lines", "room", "expected"),
    [
        ([], 24, []),
        ([1], 24, [(1, 7)]),
        ([1, 1, 2], 24, [(1, 6), (3, 7)]),
        ([1] * 8 + [2], 24, [(9, 7)]),
        ([1, 2, 3, 4, 5], 31, [(1, 7), (3, 7), (5, 7)]),
        ([1, 2, 3], 8, [(2, 7)]),
        ([1, 2, 3], 7, []),
    ],
)
def test_each_place_is_stopped_at_as_often_as_is_wanted(
    lines: list[int], room: int, expected: list[tuple[int, int]]
) -> None:
    """Eight times, those at its other suspensions counted; of many places at some."""
    assert repeats(at(*lines), range(1, len(lines) + 1), room, 8) == expected
