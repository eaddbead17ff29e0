"""``RendererSubject``: what puts outcomes in front of a model, as a check sees it, with every call bounded.

Knows one factory and its two methods. It judges nothing but that they end, and answer text and messages.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, Final

from knowledge_conformance import calls
from knowledge_conformance.blame import raised_at
from knowledge_conformance.check import Violation
from knowledge_conformance.marking import unmarked
from knowledge_conformance.render import show, show_error
from knowledge_conformance.settings import Settings
from knowledge_conformance.watched import Watched, refuse_hang
from knowledge_provider.outcome import Outcome

RENDER_SECONDS: Final = 5.0
"""How long one call may take: a busy machine's time, and no rule's."""

Message = Mapping[str, Any]


_CALLED: Final[tuple[tuple[str, str, tuple[Sequence[Any], Mapping[str, Any]]], ...]] = (
    ("render_block", "render_block(outcome, *, max_chars=…)", (({},), {"max_chars": 8000})),
    ("inject", "inject(messages, block)", (([], ""), {})),
)
"""What a renderer has to have, how each is called, and the arguments of such a call."""


class RendererSubject(Watched):
    """The factory of renderers under one check; each check has a renderer of its own, made when it is first used."""

    def __init__(
        self, factory: Callable[..., Any], settings: Settings, *, announce: Callable[[str, float], None]
    ) -> None:
        super().__init__(settings, announce=announce)
        self._factory = factory
        self._made: Any = None

    async def block(self, outcome: Outcome, max_chars: int | None = None) -> str:
        """What ``render_block`` makes of an outcome; raises ``Violation`` when that is no text."""
        given = {} if max_chars is None else {"max_chars": max_chars}
        named = "" if max_chars is None else f", max_chars={max_chars}"
        shown = f"render_block({show_outcome(outcome)}{named})"
        block = await self._call("render_block", shown, outcome, **given)
        if type(block) is not str:
            raise Violation(
                wanted="a block of text", saw=show(block), hint="return a str, also for no results", where=shown
            )
        return block

    async def injected(self, messages: Sequence[Message], block: str) -> list[Message]:
        """The conversation that ``inject`` makes; raises ``Violation`` when that is no list of messages.

        The renderer gets a copy, so that what it does to the messages is not done to the check's own.
        """
        return await self.injected_into(deepcopy(list(messages)), block)

    async def injected_into(self, messages: list[Message], block: str) -> list[Message]:
        """The same with this very list, for who looks at what becomes of it."""
        shown = f"inject({show([dict(each) for each in messages])}, block)"
        found = await self._call("inject", shown, messages, block)
        if type(found) not in (list, tuple) or not all(isinstance(each, Mapping) for each in found):
            raise Violation(
                wanted="a list of messages, as mappings with role and content",
                saw=show(found),
                hint="return a new list: the messages that came, and one more",
                where=shown,
            )
        return list(found)

    async def conversation(
        self, messages: Sequence[Message], outcome: Outcome, max_chars: int | None = None
    ) -> tuple[list[Message], str]:
        """The conversation with an outcome's block in it, and that block."""
        block = await self.block(outcome, max_chars)
        return await self.injected(messages, block), block

    async def _renderer(self) -> Any:
        if self._made is None:
            self.count("factory()", RENDER_SECONDS)
            make = calls.on_loop(self._factory)
            made = _ended(await calls.call(make, seconds=RENDER_SECONDS), "factory()")
            for name, called, arguments in _CALLED:
                _require_callable(made, name, called, arguments)
            self._made = made
        return self._made

    async def _call(self, name: str, shown: str, *arguments: Any, **named: Any) -> Any:
        made = await self._renderer()
        method = getattr(made, name)
        self.count(shown, RENDER_SECONDS)

        def call() -> Any:
            return method(*arguments, **named)

        return _ended(await calls.call(call, seconds=RENDER_SECONDS), shown)


def show_outcome(outcome: Outcome) -> str:
    """An outcome on one line: what its first result says, and how many more there are."""
    if not outcome.results:
        return "an outcome without results"
    first, more = unmarked(outcome.results[0].content), len(outcome.results) - 1
    if not first:
        return f"an outcome of {more + 1} with no text but the kit's marks"
    return f"an outcome with {show(first)}{f' and {more} more' if more else ''}"


def _require_callable(made: Any, name: str, called: str, arguments: tuple[Sequence[Any], Mapping[str, Any]]) -> None:
    method = getattr(made, name, None)
    saw = f"{show(made)} without one"
    if callable(method):
        try:
            positional, named = arguments
            inspect.signature(method).bind(*positional, **named)
            return
        except TypeError as error:
            saw = show_error(error)
        except ValueError:  # its signature cannot be read, which says nothing
            return
    raise Violation(
        wanted=f"a renderer with a callable {name}, called as {called}",
        saw=saw,
        hint="factory() gives an object with render_block(outcome, *, max_chars) and inject(messages, block)",
        where="factory()",
    )


def _ended(ending: calls.Ending, shown: str) -> Any:
    hint = "render in time that grows with the text, and no faster: what is retrieved chooses the text"
    refuse_hang(ending, shown, RENDER_SECONDS, hint=hint)
    if ending.error is not None:
        raise Violation(
            wanted="a result",
            saw=f"raised {show_error(ending.error)}{raised_at(ending.error)}",
            hint="no outcome and no conversation of a host's is a mistake: render it",
            where=shown,
        )
    return ending.value
