"""Ways to change one thing about a provider and leave the rest; knows the contract's shapes, no fault.

The sound provider may be synchronous or not, and answer with plain data or with the contract's models.
"""

import asyncio
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from knowledge_provider import ProviderDescription, RetrievalContext, RetrievalRequest, RetrievalResult, Source

Row = dict[str, Any]
Asked = tuple[RetrievalRequest, RetrievalContext]

_MEMBERS = ("describe", "retrieve", "health", "close")


class Changed:
    """A provider with some members replaced; every other attribute is the sound provider's own."""

    def __init__(self, sound: Any, **members: Any) -> None:
        # Held here, not only found by __getattr__, for those who look at a provider without running its code.
        held = {name: getattr(sound, name) for name in _MEMBERS if hasattr(sound, name)}
        self.__dict__.update(held, **members, _sound=sound)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_sound"], name)


def is_async(function: Any) -> bool:
    """Whether calling it gives a coroutine, through partials and callable objects."""
    method = getattr(type(function), "__call__", None)  # noqa: B004 - the method is looked at, not called
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(method)


async def settled(value: Any) -> Any:
    """The value, awaited when it has to be."""
    return await value if inspect.isawaitable(value) else value


async def ask(sound: Any, request: RetrievalRequest, context: RetrievalContext) -> Any:
    """The sound provider's answer; a synchronous one works in a thread meanwhile."""
    if is_async(sound.retrieve):
        return await sound.retrieve(request, context)
    return await settled(await asyncio.to_thread(sound.retrieve, request, context))


def describing(sound: Any, change: Callable[[Row], Any]) -> Changed:
    """The provider with another description: ``change`` gets a fresh one by wire names."""
    return Changed(sound, describe=lambda: change(described(sound)))


def described(sound: Any) -> Row:
    """The sound provider's description by wire names, as a dictionary of the caller's own."""
    return ProviderDescription.model_validate(sound.describe()).model_dump(by_alias=True)


def claiming(sound: Any, capability: str) -> Changed:
    """The provider that claims a capability."""
    return describing(sound, lambda said: {**said, "capabilities": {**said["capabilities"], capability: True}})


def asking(sound: Any, change: Callable[[RetrievalRequest, RetrievalContext], Asked]) -> Changed:
    """The provider asked something else: ``change`` makes the arguments that it gets, or raises."""

    def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        return sound.retrieve(*change(request, context))

    async def retrieve_later(request: RetrievalRequest, context: RetrievalContext) -> Any:
        return await sound.retrieve(*change(request, context))

    return Changed(sound, retrieve=retrieve_later if is_async(sound.retrieve) else retrieve)


def doing(sound: Any, act: Callable[[RetrievalRequest], object]) -> Changed:
    """The provider that does something of its own before each search."""

    def change(request: RetrievalRequest, context: RetrievalContext) -> Asked:
        act(request)
        return request, context

    return asking(sound, change)


def answering(sound: Any, change: Callable[[Any, RetrievalRequest], Any]) -> Changed:
    """The provider with another answer: ``change`` gets the sound one and the request."""

    async def later(answer: Any, request: RetrievalRequest) -> Any:
        return change(await answer, request)

    def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        answer = sound.retrieve(request, context)
        return later(answer, request) if inspect.isawaitable(answer) else change(answer, request)

    async def retrieve_later(request: RetrievalRequest, context: RetrievalContext) -> Any:
        return change(await sound.retrieve(request, context), request)

    return Changed(sound, retrieve=retrieve_later if is_async(sound.retrieve) else retrieve)


def with_rows(sound: Any, change: Callable[[list[Row]], list[Any]]) -> Changed:
    """The provider with other results in an answer of the same shape."""
    return answering(sound, lambda answer, _request: put_rows(answer, change(rows_of(answer))))


def with_each(sound: Any, change: Callable[[Row], Any]) -> Changed:
    """The provider with another item in each result's place."""
    return with_rows(sound, lambda rows: [change(row) for row in rows])


def with_last(sound: Any, change: Callable[[Row], Any]) -> Changed:
    """The provider with another item in the last place of each answer that has two or more."""
    return with_rows(sound, lambda rows: [*rows[:-1], change(rows[-1])] if len(rows) > 1 else rows)


def with_source(sound: Any, **fields: Any) -> Changed:
    """The provider with these fields in the source of each result; None takes one away."""
    return with_each(sound, lambda row: put_source(row, **fields))


def with_metadata(sound: Any, **entries: Any) -> Changed:
    """The provider with these entries in the metadata of each result."""
    return with_each(sound, lambda row: {**row, "metadata": {**(row.get("metadata") or {}), **entries}})


def put_source(row: Row, **fields: Any) -> Row:
    """The result with these fields in its source."""
    given = row.get("source")
    source = given.model_dump(by_alias=True) if isinstance(given, Source) else dict(given or {})
    return {**row, "source": {name: held for name, held in {**source, **fields}.items() if held is not None}}


def rows_of(answer: Any) -> list[Row]:
    """The results of a sound answer as dictionaries of the caller's own."""
    rows = answer["results"] if isinstance(answer, Mapping) else answer
    return [
        row.model_dump(by_alias=True, exclude_none=True) if isinstance(row, RetrievalResult) else {**row}
        for row in rows
    ]


def put_rows(answer: Any, rows: list[Any]) -> Any:
    """An answer of the same shape with other results."""
    return {**answer, "results": rows} if isinstance(answer, Mapping) else rows
