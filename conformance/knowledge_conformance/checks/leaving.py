"""Clause 2.3: what a provider leaves when it is closed. Knows tasks, sockets, processes and threads, and no answers."""

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Final

from knowledge_conformance import calls
from knowledge_conformance.check import Check, Hang, Inapplicable, Inconclusive, Level, Violation, check
from knowledge_conformance.exchange import show_request
from knowledge_conformance.leftovers import (
    cleared,
    fresh_executor,
    processes_since,
    sockets_since,
    tasks_since,
    threads_since,
)
from knowledge_conformance.subject import Subject
from knowledge_provider import RetrievalRequest

_LEFT_SECONDS: Final = 0.5
_CALLS: Final = 3
# Of KP-204 it is that close() ends, and leaves the process alone; that it is unmet as advice keeps nothing back.
_NEEDS: Final = ("KP-204", "KP-301")
_NOT_HERE: Final = "this system has no /proc, so it does not say what a process holds"


# Clause 2.3
@check("KP-206", clause="2.3", level=Level.MUST, needs=_NEEDS, calls=_CALLS, surveyed=True, closes=True)
async def no_task_is_left(subject: Subject) -> None:
    """Half a second after close() no task that the provider started is left.

    A host that reloads its configuration closes one provider and opens the next: what is left adds up, and goes on to
    ask a back end for nobody. Calls are made first, and another cancelled.
    """
    await lived(subject)
    await refuse_left(subject, lambda: tasks_since(subject.life.stood), "cancel it in close(), and wait for its end")


# Clause 2.3
@check("KP-209", clause="2.3", level=Level.MUST, needs=_NEEDS, calls=_CALLS + 1, surveyed=True, closes=True)
async def no_socket_is_left(subject: Subject) -> None:
    """Half a second after close() no socket that the provider opened is left.

    Each is one of the back end's connections and one of the process's descriptors, and both run out.
    """
    stood = subject.life.stood
    if sockets_since(stood) is None:
        raise Inapplicable(_NOT_HERE)
    await lived(subject, again=True)
    await refuse_left(subject, lambda: sockets_since(stood) or [], "close each client, stream and generator in close()")


# Clause 2.3
@check("KP-210", clause="2.3", level=Level.MUST, needs=_NEEDS, calls=_CALLS, surveyed=True, closes=True)
async def no_process_is_left(subject: Subject) -> None:
    """Half a second after close() no child process that the provider started is left.

    It keeps its memory, its port and its lock on the index, and outlives the host itself.
    """
    stood = subject.life.stood
    if processes_since(stood) is None:
        raise Inapplicable(_NOT_HERE)
    await lived(subject)
    await refuse_left(subject, lambda: processes_since(stood) or [], "terminate it in close(), and wait for its end")


# Clause 2.3
@check("KP-207", clause="2.3", level=Level.MUST, needs=_NEEDS, calls=_CALLS, surveyed=True, closes=True)
async def no_thread_is_left(subject: Subject) -> None:
    """After close(), and after the loop's default executor is shut down, no non-daemon thread is left.

    The interpreter waits for each at its end: a host that was told to stop hangs until it is killed. Nor does the
    executor's own shutting down take longer than a call may.
    """
    stood = subject.life.stood
    await lived(subject, close=subject.member("close") is not None)
    # What runs in it is left to end, as asyncio.run does.
    ending = await calls.call(_executor(subject).shutdown, seconds=subject.settings.timeout)
    left = await cleared(lambda: threads_since(stood), 0.0 if ending.hung else _LEFT_SECONDS)
    if left or ending.hung:
        raise Violation(
            wanted="no non-daemon thread after close() and the end of the loop's default executor",
            saw=_counted(left or ["a thread of the default executor"]),
            hint="let each thread look at an event that close() sets, or at the call's signal; shut executors down",
            where="close()",
        )
    subject.observe()


def _executor(subject: Subject) -> Executor:
    # On a provider of the whole run more is asked after this, so the loop gets another.
    executor = subject.life.executor
    loop = asyncio.get_running_loop()
    used: Executor | None = getattr(loop, "_default_executor", executor)
    subject.life.executor = fresh_executor(loop)
    return used or executor


async def lived(subject: Subject, *, close: bool = True, again: bool = False) -> None:
    """A call that is answered, one that is cancelled, ``again`` one that is not, and the closing.

    Raises ``Inapplicable`` without a close().
    """
    if subject.member("close") is None and close:
        raise Inapplicable("the provider has no close()")
    known = await subject.found()
    request = known[0].request
    # One that lives for the whole run was closed before, and refuses; what it left by then is what is looked for.
    await (subject.attempt if subject.life.spent else subject.retrieve)(request.model_copy(deep=True))
    await _cancelled(subject, request.model_copy(deep=True))
    if again:
        # A cancelled call ends the connection that it was given, which may have been the only one. That it spoils the
        # next call is KP-709's matter.
        with contextlib.suppress(Hang):
            await subject.attempt(known[-1].request.model_copy(deep=True))
    if close:
        # What it raises is KP-204's matter.
        await subject.close()


async def _cancelled(subject: Subject, request: RetrievalRequest) -> None:
    context = subject.context()
    task = await subject.start(request, context)
    if task is None:
        return
    await asyncio.sleep(0)
    await calls.cancelled_by_the_host(task, context.signal)
    if not task.done():
        raise Inconclusive(
            f"a cancelled call did not end: {show_request(request)}", hint="see what KP-701 and KP-702 say of it"
        )


async def refuse_left(subject: Subject, look: Callable[[], list[str]], hint: str) -> None:
    """Count an observation, or raise ``Violation`` when ``look`` still sees something after half a second."""
    left = await cleared(look, _LEFT_SECONDS)
    if left:
        raise Violation(
            wanted=f"nothing to be left {_LEFT_SECONDS * 1000:g} ms after close()",
            saw=_counted(left),
            hint=hint,
            where="close()",
        )
    subject.observe()


def _counted(left: list[str]) -> str:
    return left[0] if len(left) == 1 else f"{left[0]}, and others"


CLOSING_CHECKS: Final[tuple[Check, ...]] = (no_task_is_left, no_socket_is_left, no_process_is_left, no_thread_is_left)
