"""Composition: a provider of version 1 passes with its description, anything else is refused by name."""

import asyncio
from collections import UserDict
from collections.abc import Callable, Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from knowledge_fakes.scripted import RAISING, SECRET, UNFIT, ScriptedProvider, SyncScriptedProvider
from knowledge_provider import KnowledgeProviderInvalidError, ProviderDescription
from knowledge_provider.composition import compose

SOUND: Mapping[str, Any] = MappingProxyType({"protocolVersion": 1, "key": "sound", "label": "Sound"})


def described(answer: object, **more: object) -> Any:
    """A provider whose description is ``answer``."""
    return SimpleNamespace(describe=lambda: answer, retrieve=lambda _request, _context: [], **more)


@pytest.mark.parametrize("name", sorted(UNFIT))
def test_what_is_no_provider_is_refused_with_its_fault_and_clause(name: str) -> None:
    """Clauses 1.1 to 1.6: one line of our own words says what was wanted, and where it stands."""
    with pytest.raises(
        KnowledgeProviderInvalidError, match=r"^The provider is refused: .+ \(clause 1\.[1-6]\)\."
    ) as it:
        compose(UNFIT[name]())
    assert "\n" not in str(it.value)


@pytest.mark.parametrize("name", sorted(RAISING))
def test_whatever_describe_raises_is_a_refusal_and_its_text_stays_out(name: str) -> None:
    """A SystemExit must not end the program that composes, nor a vendor's message reach its log."""
    error = RAISING[name]()

    def describe() -> object:
        raise error

    provider = described(None)
    provider.describe = describe
    with pytest.raises(KnowledgeProviderInvalidError) as it:
        compose(provider)
    assert SECRET not in str(it.value)
    assert it.value.__cause__ is not None


def test_a_keyboard_interrupt_goes_through() -> None:
    """It is the user's, also while a slow ``describe`` runs."""

    def describe() -> object:
        raise KeyboardInterrupt

    provider = described(None)
    provider.describe = describe
    with pytest.raises(KeyboardInterrupt):
        compose(provider)


@pytest.mark.parametrize("provider", [ScriptedProvider(), SyncScriptedProvider()], ids=["async", "sync"])
def test_a_provider_passes_whether_its_methods_wait_or_not(provider: object) -> None:
    """Clause 1.1 asks for callables, not for coroutines."""
    assert compose(provider).key == "scripted"


@pytest.mark.parametrize("wrap", [dict, MappingProxyType, UserDict, ProviderDescription.model_validate])
def test_a_description_may_be_any_mapping_or_the_model(wrap: Callable[[Any], object]) -> None:
    """Clause 1.2."""
    assert compose(described(wrap({**SOUND, "capabilities": {"filters": True}}))) == ProviderDescription(
        protocol_version=1, key="sound", label="Sound", capabilities={"filters": True}
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"protocolVersion": 1.0},
        {"protocolVersion": None, "protocol_version": 1},
        {"capabilities": None},
        {"capabilities": MappingProxyType({})},
        {"docs": "an unknown entry means nothing"},
    ],
    ids=str,
)
def test_what_the_clauses_allow_passes(changed: dict[str, Any]) -> None:
    """Clauses 1.3 and 1.6: 1.0 is 1, null is absent, both spellings are read, and unknown entries mean nothing."""
    assert compose(described({**SOUND, **changed})) == ProviderDescription.model_validate(dict(SOUND))


@pytest.mark.parametrize("name", ["health", "close"])
def test_an_optional_method_may_be_none(name: str) -> None:
    """Clause 1.1: None counts as absent."""
    assert compose(described(SOUND, **{name: None})).key == "sound"


def test_what_only_should_be_is_not_refused() -> None:
    """Clauses 1.4 to 1.6: a long key, a long label and many capabilities are for the kit to report."""
    long = {**SOUND, "key": "k" * 65, "label": "l" * 121, "capabilities": {f"c{at}": True for at in range(17)}}
    assert len(compose(described(long)).capabilities) == 17


def test_the_number_that_came_is_named() -> None:
    """An author reads which version the host saw, and which it wanted."""
    with pytest.raises(KnowledgeProviderInvalidError, match=r"its protocolVersion \(2\) is not 1, the only"):
        compose(described({**SOUND, "protocolVersion": 2}))


def test_a_class_in_the_place_of_its_object_is_told() -> None:
    """What is left out most often are the parentheses."""
    with pytest.raises(KnowledgeProviderInvalidError, match="TypeError; it is a class, and an object that it makes is"):
        compose(ScriptedProvider)


def test_an_async_describe_is_refused_without_a_warning() -> None:
    """Clause 1.2: what it gave is closed, or Python would say later that nobody awaited it."""

    async def describe() -> Mapping[str, Any]:
        await asyncio.sleep(0)
        return SOUND

    provider = described(None)
    provider.describe = describe
    with pytest.raises(KnowledgeProviderInvalidError, match="it gave a coroutine"):
        compose(provider)


class Lying(dict[str, Any]):
    """A mapping whose own methods say something else than it holds."""

    def __getitem__(self, name: str) -> Any:
        return 2

    def get(self, name: str, default: Any = None) -> Any:
        return 2


def test_a_dict_is_read_as_what_it_holds() -> None:
    """As rule N1 reads answers: through the base type's own methods."""
    assert compose(described(Lying(SOUND))).protocol_version == 1


class Odd(str):
    """A text that cannot be compared or hashed."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise SystemExit

    def __hash__(self) -> int:
        raise SystemExit


def test_texts_become_plain_ones() -> None:
    """A host compares, sorts and shows them."""
    capabilities = MappingProxyType({"filters": True})
    description = compose(described({**SOUND, "key": Odd("odd"), "label": Odd("Odd"), "capabilities": capabilities}))
    assert (type(description.key), type(description.label)) == (str, str)
    assert description == ProviderDescription(
        protocol_version=1, key="odd", label="Odd", capabilities={"filters": True}
    )


class Named:
    """Capabilities whose names cannot be hashed, which no ``dict`` can hold."""

    def items(self) -> Any:
        return [(Odd("filters"), True)]


def test_names_of_capabilities_become_plain_ones() -> None:
    """Whatever mapping they come in."""
    Mapping.register(Named)
    assert compose(described({**SOUND, "capabilities": Named()})).capabilities == {"filters": True}


class Unreadable(UserDict[str, bool]):
    def items(self) -> Any:
        raise SystemExit(SECRET)


def test_capabilities_that_cannot_be_read_are_refused() -> None:
    """Not taken for none: a claim that was lost could open filters or bases."""
    with pytest.raises(
        KnowledgeProviderInvalidError, match=r"reading its capabilities raised SystemExit \(clause 1.6\)"
    ):
        compose(described({**SOUND, "capabilities": Unreadable()}))
