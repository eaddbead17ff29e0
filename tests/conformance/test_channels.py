"""What comes out of a call as texts with their places, whatever the provider's classes do meanwhile."""

from typing import Any

import pytest

from knowledge_conformance.channels import Leak, Search, texts_of_answer, texts_of_error, texts_of_value
from knowledge_conformance.taint import Found
from knowledge_provider import RetrievalResult

SECRET = "tb-live-9vX2Qe7"


def places(texts: Any) -> list[str]:
    """Where the secret is found."""
    search = Search({"KEY": SECRET})
    search.look_at(texts)
    return [leak.channel for leak in search.leaks]


class Shown:
    def __repr__(self) -> str:
        return f"Shown({SECRET})"


class Hostile(Exception):  # noqa: N818 - it is no error, it is a value
    """Every way of writing it raises, and so does every attribute that a reader would look at."""

    def __str__(self) -> str:
        raise SystemExit

    def __repr__(self) -> str:
        raise KeyboardInterrupt

    def __format__(self, spec: str) -> str:
        return 7  # type: ignore[return-value]

    def __getattribute__(self, name: str) -> Any:
        raise SystemExit


def test_every_text_of_an_answer_is_looked_at() -> None:
    """Keys, bytes, models, and what foreign objects write of themselves."""
    answer = {
        "results": [
            {"id": "1", "content": f"x {SECRET}", "metadata": {SECRET: 1, "raw": SECRET.encode(), "shown": Shown()}},
            RetrievalResult(id="2", content=SECRET),
        ],
    }
    assert places(texts_of_answer(answer)) == [
        "answer['results'][0]['content']",
        "answer['results'][0]['metadata']['key']",
        "answer['results'][0]['metadata']['raw']",
        "answer['results'][0]['metadata']['shown']",
        "answer['results'][1]['content']",
    ]


def test_a_description_and_a_health_have_their_own_names() -> None:
    """So that a finding says what to look at."""
    assert places(texts_of_answer({"label": SECRET}, "description")) == ["description['label']"]


def test_a_value_is_looked_at_as_it_is_written() -> None:
    """Ways that write the same count once; of plain data the parts say it all."""
    assert places(texts_of_value("provider", Shown())) == ["repr(provider)"]
    assert places(texts_of_value("answer", {"a": SECRET})) == []
    assert places(texts_of_value("answer", None)) == []


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:
        return caught


def test_an_exception_is_looked_at_as_a_whole() -> None:
    """Message, repr(), arguments however deep, and notes."""
    error = raised(ValueError("refused", {"headers": [SECRET]}))
    error.add_note(f"asked with {SECRET}")
    assert places(texts_of_error(error)) == [
        "the message of the exception",
        "repr() of the exception",
        "the arguments of the exception",
        "a note of the exception",
    ]


def test_what_stands_behind_an_exception_is_looked_at() -> None:
    """A cause, a context, one that "from None" hides, and the members of a group."""
    cause, context, hidden = KeyError(SECRET), OSError(SECRET), ConnectionError(SECRET)
    error = ValueError("refused")
    error.__cause__, error.__context__ = cause, context
    context.__context__, context.__suppress_context__ = hidden, True
    found = places(texts_of_error(ExceptionGroup("all failed", [error])))
    assert "the message of the __cause__ of a member of the exception" in found
    assert "the message of the __context__ of a member of the exception" in found
    assert "the message of the __context__ of the __context__ of a member of the exception" in found


def test_exceptions_that_stand_behind_each_other_come_to_an_end() -> None:
    """A loop of causes is looked at once."""
    first, second = ValueError(SECRET), ValueError("x")
    first.__cause__, second.__cause__ = second, first
    assert places(texts_of_error(first)).count("the message of the exception") == 1


@pytest.mark.parametrize("texts", [texts_of_error, texts_of_answer, lambda value: texts_of_value("it", value)])
def test_what_cannot_be_written_holds_nothing(texts: Any) -> None:
    """Neither SystemExit nor KeyboardInterrupt comes out."""
    assert places(texts(Hostile())) == []


def test_a_leak_knows_its_call() -> None:
    """And is no leak where the kit wrote it itself."""
    search = Search({"KEY": SECRET}, control="control-4711")
    search.call = "health()"
    search.look("standard output", f"control-4711 {SECRET}")
    search.look("a warning", "control-4711")
    assert search.leaks == [Leak(Found("KEY", "as it is"), "standard output", "health()")]
    assert search.controlled == {"standard output", "a warning"}


def test_a_place_is_worded_only_where_something_was_found() -> None:
    """A large answer has thousands."""

    def never() -> str:
        raise AssertionError

    Search({"KEY": SECRET}).look(never, "nothing")


def test_leaks_have_an_order_of_their_own() -> None:
    """Threads write as they come, and two reports of the same provider must not differ."""

    def leaks(*channels: str) -> list[str]:
        search = Search({"KEY": SECRET})
        search.call = "describe()"
        search.look("description['label']", SECRET)
        search.call = "health()"
        for channel in channels:
            search.hear(channel, SECRET)
        search.look("health['message']", SECRET)
        return [leak.channel for leak in search.ordered]

    assert leaks("standard output", "a warning") == leaks("a warning", "standard output")
    assert leaks("a warning")[:2] == ["description['label']", "health['message']"]
