"""Work that is done once: what a host's close is made of."""

import asyncio
from functools import partial

import pytest
from host_scenes import run

from knowledge_provider._once import Once


def counting(*outcomes: object) -> tuple[Once, list[object]]:
    """Work that ends as each of the outcomes says, one try after another, and the tries."""
    tries: list[object] = []

    async def work() -> None:
        tries.append(outcome := outcomes[len(tries)])
        await asyncio.sleep(0)
        if isinstance(outcome, BaseException):
            raise outcome

    return Once(work), tries


def test_it_is_begun_by_the_first_and_done_for_all() -> None:
    """At the same time, later, and on another loop."""
    once, tries = counting(None)
    assert not once.begun

    async def three() -> None:
        await asyncio.gather(*(once.done(5) for _ in range(3)))

    run(three())
    run(once.done(5))
    assert once.begun
    assert tries == [None]


def test_an_error_of_its_own_is_the_end_for_everybody() -> None:
    """It is not tried again and again, and not hidden."""
    once, tries = counting(ValueError("broken"))
    for _ in range(2):
        with pytest.raises(ValueError, match="broken"):
            run(once.done(5))
    assert len(tries) == 1


def test_one_that_the_user_interrupted_is_begun_again() -> None:
    """The interrupt has ended its loop, and is not raised a second time."""
    once, tries = counting(KeyboardInterrupt(), None)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(once.done(5))
    run(once.done(5))
    assert len(tries) == 2


def test_the_wait_is_bounded() -> None:
    """For the seconds that the caller has; the work goes on."""
    once = Once(partial(asyncio.sleep, 60))
    run(once.done(0.01))
    assert once.begun
