"""The event loop that a provider lives on: how it is made, and how what is left on it ends. Knows no provider."""

import asyncio
from concurrent.futures import Executor

from knowledge_conformance.leftovers import fresh_executor
from knowledge_conformance.render import show_error
from knowledge_conformance.target import TargetError


def new_loop(name: str) -> tuple[asyncio.AbstractEventLoop, Executor]:
    """A loop for the target of that name, set as this thread's, with its default executor; raises ``TargetError``."""
    try:
        loop = asyncio.new_event_loop()
        executor = fresh_executor(loop)
    except BaseException as error:  # the provider may have set a policy, or used up all descriptors
        raise TargetError(f"cannot open {name}: there is no event loop, {show_error(error)}") from error
    loop.set_exception_handler(lambda _loop, _context: None)
    asyncio.set_event_loop(loop)
    return loop, executor


async def cancel_rest(seconds: float) -> None:
    """Cancel every other task of the running loop and wait for their ends, ``seconds`` at most; end its generators."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    if rest:
        await asyncio.wait(rest, timeout=seconds)
    await asyncio.get_running_loop().shutdown_asyncgens()
