"""Where an error is from, for a log: classes, files, lines and functions, and no text of anything."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from knowledge_provider._origins import origin, why
from knowledge_provider.adapting import refuse_filters
from knowledge_provider.models import RetrievalContext, RetrievalRequest
from knowledge_provider.provider_calls import ProviderCalls

SECRET = "k-4711-secret"
HERE = Path(__file__).name


def raised_by(call: Callable[[], object]) -> BaseException:
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - any will do
        call()
    return caught.value


def own_mistake() -> object:
    text: Any = SECRET
    return text.lowerr()


def deep_in_a_library() -> object:
    return json.loads(f'{{"{SECRET}')


def in_this_package() -> None:
    refuse_filters(RetrievalRequest(query="q", filters={SECRET: 1}))


def with_a_cause() -> None:
    try:
        own_mistake()
    except AttributeError as error:
        raise LookupError(SECRET) from error


class HostileError(Exception):
    @property
    def __traceback__(self) -> Any:  # type: ignore[override]
        raise SystemExit(SECRET)

    @property
    def __cause__(self) -> Any:  # type: ignore[override]
        raise SystemExit(SECRET)

    def __str__(self) -> str:
        raise SystemExit(SECRET)

    def __bool__(self) -> bool:
        raise SystemExit(SECRET)


def hostile() -> None:
    raise HostileError(SECRET)


def secret_in_the_class_name() -> None:
    raise type(f"Error_{SECRET}", (Exception,), {})


def made_from_text() -> None:
    code = compile("raise ValueError", f"https://example.com/?token={SECRET}{'x' * 99}", "exec")
    exec(code, {})


def line_of(function: Any) -> int:
    return int(function.__code__.co_firstlineno)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (own_mistake, f"AttributeError at {HERE}:{line_of(own_mistake) + 2} in own_mistake"),
        (deep_in_a_library, f", under {HERE}:{line_of(deep_in_a_library) + 1} in deep_in_a_library"),
        (in_this_package, f", under {HERE}:{line_of(in_this_package) + 1} in in_this_package"),
        (with_a_cause, f"in with_a_cause, because of AttributeError at {HERE}:{line_of(own_mistake) + 2}"),
        (hostile, f"HostileError at {HERE}:{line_of(hostile) + 1} in hostile"),
        (secret_in_the_class_name, f"an error of its own at {HERE}:{line_of(secret_in_the_class_name) + 1} in "),
        (made_from_text, "ValueError at (a long name):1 in <module>"),
    ],
)
def test_an_error_is_found_by_its_class_and_place(call: Callable[[], object], said: str) -> None:
    """Where it was raised, under which line of one's own, and because of what; never what it says."""
    shown = origin(raised_by(call))
    assert said in shown
    assert SECRET not in shown
    assert "\n" not in shown


def test_a_call_that_does_not_fit_says_that_nothing_ran() -> None:
    """Its place is where this package called it, which is of no help alone."""

    class Strange:
        async def retrieve(self, request: object) -> None:
            raise NotImplementedError

    context = RetrievalContext(owner_id="alice", session_id="s", turn_id="t")
    ending = asyncio.run(ProviderCalls(Strange()).retrieve(RetrievalRequest(query="q"), context))
    assert ending.error is not None
    assert origin(ending.error).endswith(", before any code of its own")


def test_an_error_that_was_made_here_has_words_of_its_own() -> None:
    """Nobody raised it: it says what an answer lacks. Without any, there is nothing to say."""
    assert why(LookupError("none of the references stands")) == ": none of the references stands"
    assert why(asyncio.CancelledError()) == ": cancelled from within"
    assert why(raised_by(own_mistake)).startswith(": AttributeError at ")
    assert why(None) == ""
