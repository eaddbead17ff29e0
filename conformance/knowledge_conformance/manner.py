"""``Manner``: how a provider is opened and called, as far as a run saw it. Knows types; asks the provider nothing.

A test that one writes by hand has only the line that opens this provider, and awaits only what has to be awaited.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict

from knowledge_conformance.exchange import TEXT_NAMES, Exchange, results_of
from knowledge_conformance.plain import is_exactly
from knowledge_provider import ProviderDescription, RetrievalResult
from knowledge_provider.text import is_a

Step = Literal["call", "await", "with", "async with"]
"""What is done with a target, or with what came of the step before, to come to its provider."""
Method = Literal["retrieve", "health", "close"]

METHODS: Final[tuple[Method, ...]] = ("retrieve", "health", "close")


class Manner(BaseModel):
    """How a provider is opened, called and read.

    ``opened``: the steps from the target to the provider, none where the target is the provider. ``awaited``: the
    methods whose calls have to be awaited. ``signalled``: whether ``health`` takes a signal. ``described``: as what
    ``describe`` answers: a ``dict``, the contract's model, or another mapping. ``mapping``: whether results stand under
    ``results``, and not in a list of their own; ``models``: whether they are the contract's. ``names``: what results
    call their id and content.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True)

    opened: tuple[Step, ...] = ()
    awaited: tuple[Method, ...] = ()
    signalled: bool = True
    described: Literal["dict", "model", "view"] = "dict"
    mapping: bool = True
    models: bool = False
    names: tuple[str, str] = ("id", "content")

    @property
    def on_loop(self) -> bool:
        """Whether something of it has to be awaited, so that it is made where a loop runs."""
        return bool(self.awaited) or "await" in self.opened or "async with" in self.opened


def description_kind(description: object) -> Literal["dict", "model", "view"]:
    """As what a description came."""
    if is_a(description, ProviderDescription):
        return "model"
    return "dict" if is_a(description, dict) else "view"


def answer_fields(exchange: Exchange | None) -> Mapping[str, Any]:
    """The fields of a ``Manner`` that an answer shows; none where there is no answer that can be read."""
    items = None if exchange is None else results_of(exchange.response)
    if exchange is None or items is None:
        return {}
    return {
        "mapping": is_a(exchange.response, dict),
        "models": bool(items) and all(is_exactly(item, RetrievalResult) for item in items),
        "names": tuple(_name(exchange.entries, *names) for names in TEXT_NAMES.values()),
    }


def _name(entries: Sequence[tuple[int, Mapping[str, Any]]], *names: str) -> str:
    return next((name for _, entry in entries for name in names if name in entry), names[0])
