"""What a run says of how a provider is opened and called."""

import asyncio
import functools
from collections.abc import Callable
from typing import Any

import pytest

from knowledge_conformance.exchange import Exchange
from knowledge_conformance.manner import Manner, answer_fields, description_kind
from knowledge_conformance.settings import Settings
from knowledge_conformance.subject import Subject
from knowledge_conformance.survey import Survey
from knowledge_fakes.handbook import HandbookProvider, SyncHandbookProvider
from knowledge_provider import ProviderDescription, RetrievalContext, RetrievalRequest, RetrievalResult

REQUEST = RetrievalRequest(query="policy")
DESCRIPTION = {"protocolVersion": 1, "key": "k", "label": "l"}


def exchange(response: object) -> Exchange:
    return Exchange(REQUEST, RetrievalContext(owner_id="o"), response)


def subject_of(provider: Any) -> Subject:
    return Subject(provider, Settings(), allowed=99, announce=lambda *_: None, surveyor=Survey())


@pytest.mark.parametrize(
    ("response", "fields"),
    [
        ({"results": []}, (True, False, ("id", "content"))),
        ([], (False, False, ("id", "content"))),
        (({"id": "1", "content": "c"},), (False, False, ("id", "content"))),
        ([{"chunk_id": "1", "text": "c"}], (False, False, ("chunk_id", "text"))),
        ([{"chunkId": "1", "content": None, "text": "c"}], (False, False, ("chunkId", "text"))),
        ([RetrievalResult(id="1", content="c")], (False, True, ("id", "content"))),
        ({"results": (RetrievalResult(id="1", content="c"),)}, (True, True, ("id", "content"))),
        ([RetrievalResult(id="1", content="c"), {"id": "2", "content": "c"}], (False, False, ("id", "content"))),
    ],
)
def test_an_answer_shows_its_form(response: object, fields: tuple[Any, ...]) -> None:
    """Whether results stand in it or are it, whether they are models, and what they call what they have to have."""
    assert answer_fields(exchange(response)) == dict(zip(("mapping", "models", "names"), fields, strict=True))


@pytest.mark.parametrize("answered", [None, exchange(None), exchange("text"), exchange({"documents": []})])
def test_what_is_no_answer_shows_nothing(answered: Exchange | None) -> None:
    """The defaults stand."""
    assert answer_fields(answered) == {}


@pytest.mark.parametrize(
    ("description", "kind"),
    [
        (DESCRIPTION, "dict"),
        (ProviderDescription.model_validate(DESCRIPTION), "model"),
        (functools.partial(dict), "view"),
        (type(DESCRIPTION).__dict__, "view"),
    ],
)
def test_a_description_has_a_kind(description: object, kind: str) -> None:
    """Of a mapping that is no dict, a caller can change nothing."""
    assert description_kind(description) == kind


def delayed(provider: Any) -> Any:
    asked = provider.retrieve
    provider.retrieve = lambda request, context: asked(request, context)
    return provider


@pytest.mark.parametrize(
    ("make", "awaited", "signalled"),
    [
        (HandbookProvider, ("retrieve", "health", "close"), True),
        (SyncHandbookProvider, (), False),
        (lambda: delayed(HandbookProvider()), ("retrieve", "health", "close"), True),
    ],
    ids=["asynchronous", "synchronous", "behind a plain function"],
)
def test_what_was_called_is_known(make: Callable[[], Any], awaited: tuple[str, ...], signalled: bool) -> None:
    """Also of a method that only looks synchronous."""

    async def called() -> Manner:
        subject = subject_of(make())
        await subject.describe()
        await subject.health()
        await subject.attempt(REQUEST)
        await subject.close()
        return subject.manner(("call",))

    manner = asyncio.run(called())
    assert manner == Manner(opened=("call",), awaited=awaited, signalled=signalled)
    assert manner.on_loop is bool(awaited)


def test_what_was_not_called_is_looked_at() -> None:
    """A check that opens a provider and calls nothing still says how to call it; a property that raises is none."""

    class Odd(HandbookProvider):
        @property
        def health(self) -> Any:
            raise ValueError

    assert subject_of(Odd()).manner(()).awaited == ("retrieve", "close")


@pytest.mark.parametrize(
    ("opened", "on_loop"),
    [((), False), (("call",), False), (("call", "await"), True), (("with",), False), (("async with",), True)],
)
def test_what_is_opened_by_waiting_needs_a_loop(opened: Any, on_loop: bool) -> None:
    """Whatever its methods are."""
    assert Manner(opened=opened).on_loop is on_loop
