"""An event loop in a thread of its own, for a part of a check that may stop it; knows no composite and no child."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, Final

from knowledge_conformance import calls
from knowledge_conformance.check import Hang, Violation
from knowledge_conformance.render import show_error

LOOP_SECONDS: Final = 8.0
"""How long such a part may take: a call, its end and its closing, and every patience in it."""
_WIND_DOWN_SECONDS: Final = 1.0
# Each task that is still there may stop the loop once more, when it meets what another one raised.
_WIND_DOWNS: Final = 8

Play = Callable[[], Coroutine[Any, Any, Any]]


async def own_loop(play: Play) -> calls.Ending:
    """What came of ``play()`` on a loop of its own, which may be stopped without stopping ours."""
    return await calls.call(lambda: _run(play), seconds=LOOP_SECONDS)


async def in_own_loop(play: Play, *, where: str) -> None:
    """``play()`` as in ``own_loop``; raises its ``Violation``, or one that says that the loop was stopped."""
    ending = await own_loop(play)
    if isinstance(ending.error, Violation):
        raise ending.error
    if ending.hung:
        hint = "wait for each child or source until its own deadline, and leave it behind then"
        raise Hang(wanted=f"an end within {LOOP_SECONDS:g} s", saw="none", hint=hint, where=where)
    if ending.error is not None:
        raise Violation(
            wanted="the host's event loop to go on",
            saw=f"raised {show_error(ending.error)} out of a task beside the call, which stopped it",
            hint="catch BaseException inside each task: asyncio stops its loop for a SystemExit that a task raises",
            where=where,
        )


def _run(play: Play) -> Any:
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)
    try:
        return loop.run_until_complete(play())
    finally:
        # ``asyncio.run`` winds down once, and leaves tasks behind where that was stopped, too.
        for _ in range(_WIND_DOWNS):
            with contextlib.suppress(BaseException):
                loop.run_until_complete(_wind_down())
                break
        loop.close()


async def _wind_down() -> None:
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    if rest:
        await asyncio.wait(rest, timeout=_WIND_DOWN_SECONDS)
    loop = asyncio.get_running_loop()
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()
