"""How the hostile targets are made: the sound handbook but for one thing, so that what fails is what saw that thing."""

from collections.abc import Callable
from typing import Any, Final

from knowledge_fakes.handbook import HandbookProvider

LONG: Final = 1000.0
"""Seconds: for ever, in a test."""

Act = Callable[[], object]


def on(method: str, act: Act) -> type[HandbookProvider]:
    """A handbook whose synchronous ``method`` first does something."""
    sound = getattr(HandbookProvider, method)

    def does(self: HandbookProvider, *arguments: Any) -> Any:
        act()
        return sound(self, *arguments)

    return type(method, (HandbookProvider,), {method: does})


def retrieving(*acts: Act) -> type[HandbookProvider]:
    """A handbook whose ``retrieve`` first does something on the event loop."""

    class Provider(HandbookProvider):
        async def retrieve(self, request: Any, context: Any) -> Any:
            for act in acts:
                act()
            return await super().retrieve(request, context)

    return Provider


def answering(answer: Callable[[], Any]) -> type[HandbookProvider]:
    class Provider(HandbookProvider):
        async def retrieve(self, request: Any, context: Any) -> Any:
            return answer()

    return Provider


def raising(error: BaseException) -> Act:
    def act() -> None:
        raise error

    return act


def once(act: Act) -> Act:
    done: list[bool] = []

    def once() -> None:
        if not done:
            done.append(True)
            act()

    return once
