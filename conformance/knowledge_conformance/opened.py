"""One open provider with the event loop that it lives on, from its making to its end; knows loops, no check.

It gives up on nothing for ever: each end of its own has a bound.
"""

import asyncio
import contextlib
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from typing import Any, Final, TypeVar

from knowledge_conformance import calls
from knowledge_conformance.event_loops import cancel_rest, new_loop
from knowledge_conformance.kinds import PROVIDER, Kind
from knowledge_conformance.leftovers import Standing
from knowledge_conformance.manner import Step
from knowledge_conformance.opening import overheard
from knowledge_conformance.render import show_error
from knowledge_conformance.subject import Life
from knowledge_conformance.target import Opening, Target, TargetError, factory_of, open_provider

CLOSE_SECONDS: Final = 1.5
WIND_DOWN_SECONDS: Final = 0.5

Value = TypeVar("Value")


class Opened:
    """One provider with the loop that it lives on; raises ``TargetError`` when it cannot be opened.

    Where the target is a factory, as for hosts and composites, ``provider`` is the factory: a check makes and closes
    its own. Meanwhile it is listened to for the values of the variables in ``secrets``.
    """

    def __init__(self, target: Target, kind: Kind = PROVIDER, secrets: tuple[str, ...] = ()) -> None:
        self.instance: bool = target.instance
        self._kind = kind
        self._target = target
        self._loop, executor = new_loop(target.name)
        self._leave = asyncio.Event()
        opening: asyncio.Future[Opening] = self._loop.create_future()
        self._secrets = secrets
        self._life = self._loop.create_task(self._live(target, opening))
        # Before the target's own code runs, and after the kit's part of the loop is there.
        self.life: Life = Life(Standing.now(self._loop), executor, misread=target.misread)
        self.provider: Any = None
        self.steps: tuple[Step, ...] = ()
        try:
            opened = self.run(_value_of(opening))
            self.provider, self.steps, self.life.entered = opened.provider, opened.steps, opened.entered
            if self.life.entered:
                # What the context manager opened is its own to close.
                self.life.stood = Standing.now(self._loop)
        except BaseException as error:
            self.wind_down()
            if isinstance(error, TargetError):
                raise
            raise TargetError(f"cannot open {target.name}: it raised {show_error(error)}") from error

    @property
    def closing(self) -> str | None:
        """How the call reads that closes the provider, or None when there is none."""
        if self.life.entered:
            return "leaving the context manager"
        if self._kind.subject is not None:
            return None
        with contextlib.suppress(BaseException):
            return "close()" if callable(getattr(self.provider, "close", None)) else None
        return None

    def run(self, work: Coroutine[Any, Any, Value]) -> Value:
        """Run on the provider's loop; ``SystemExit`` from one of the provider's own tasks comes out."""
        task = self._loop.create_task(work)
        try:
            return self._loop.run_until_complete(task)
        except BaseException:
            task.cancel()  # else it would go on when the loop runs again
            raise

    def close(self) -> bool:
        """Close the provider, or leave its context manager; whether that came to an end within a bound."""
        close = self._left if self.life.entered else self.provider.close
        with contextlib.suppress(BaseException):
            return not self.run(calls.call(close, seconds=CLOSE_SECONDS)).hung
        return False

    def renew(self) -> None:
        """End the loop as a host does, and go on with another; raises ``TargetError`` when there is none."""
        self.wind_down()
        before = Standing.now(self._loop)
        self._loop, self.life.executor = new_loop(self._target.name)
        # The loop has sockets of its own.
        self.life.stood = self.life.stood.joined(before, Standing.now(self._loop))

    def wind_down(self) -> None:
        """Cancel what is left and close the loop, within a bound."""
        with contextlib.suppress(BaseException):
            if not self.life.entered:
                # Not cancelled as the rest is: the traceback of that would keep the provider alive.
                self.run(calls.call(self._left, seconds=WIND_DOWN_SECONDS))
        with contextlib.suppress(BaseException):
            self.run(cancel_rest(WIND_DOWN_SECONDS))
        self.abandon()

    def abandon(self) -> None:
        """Close the loop, whatever waits on it."""
        with contextlib.suppress(BaseException):
            asyncio.set_event_loop(None)
            self._loop.close()

    async def _live(self, target: Target, opening: "asyncio.Future[Opening]") -> None:
        # One task for both ends: a context manager over a task group can only be left where it was entered.
        async with AsyncExitStack() as stack:
            try:
                with overheard(self._secrets, "making the provider", self.life.overheard):
                    made = await self._made(target, stack)
                opening.set_result(made)
            except TargetError as error:
                opening.set_exception(error)
            else:
                await self._leave.wait()

    async def _made(self, target: Target, stack: AsyncExitStack) -> Opening:
        if self._kind.driven:
            return Opening(factory_of(target, self._kind.wanted, self._kind.arguments))
        return await open_provider(target, stack)

    async def _left(self) -> None:
        self._leave.set()
        await self._life


async def _value_of(future: "asyncio.Future[Value]") -> Value:
    return await future
