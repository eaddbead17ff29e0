"""Mistakes in what a provider says it is; knows descriptions and section 1 of the contract, no way of catching them."""

import functools
import json
import os
import time
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any

from knowledge_fakes.faults._changing import Changed, described, describing
from knowledge_fakes.faults._fault import fault
from knowledge_provider import ProviderDescription, RetrievalContext, RetrievalRequest


@fault("KP-101", fragment="a callable retrieve")
def misnamed_retrieve(sound: Any) -> Any:
    """The method is called search, so a host finds no retrieve at all."""
    return Changed(sound, retrieve=None, search=sound.retrieve)


@fault("KP-101", fragment="retrieve to take 2 positional arguments")
def keyword_only_arguments(sound: Any) -> Any:
    """retrieve() takes its arguments by keyword only, and a host passes them by position."""

    def retrieve(*, request: RetrievalRequest, context: RetrievalContext) -> Any:
        return sound.retrieve(request, context)

    return Changed(sound, retrieve=retrieve)


@fault("KP-101", fragment="a callable health, or none")
def health_is_a_value(sound: Any) -> Any:
    """health() is an attribute and not a method, so a status page fails when it calls it."""
    return Changed(sound, health={"status": "ready"})


@fault("KP-102", fragment="a coroutine function")
def async_describe(sound: Any) -> Any:
    """describe() is an async def, and a host composes itself where nothing can be awaited."""

    async def describe() -> Any:
        return sound.describe()

    return Changed(sound, describe=describe)


@fault("KP-102", fragment="a mapping or a ProviderDescription")
def description_is_json_text(sound: Any) -> Any:
    """describe() answers JSON text instead of a mapping, so a host can read none of it."""
    return describing(sound, json.dumps)


@fault("KP-102", fragment="ConnectionError: not connected yet")
def describe_needs_a_connection(sound: Any) -> Any:
    """describe() raises until the back end was reached once, so a host cannot be composed while it is down."""

    def describe() -> Any:
        raise ConnectionError("not connected yet")

    return Changed(sound, describe=describe)


@fault("KP-103", fragment="True")
def version_is_true(sound: Any) -> Any:
    """The protocol version is True, which equals 1 in Python and is no version."""
    return describing(sound, lambda said: {**said, "protocolVersion": True})


@fault("KP-103", fragment="'1'")
def version_is_text(sound: Any) -> Any:
    """The protocol version is the text "1", as it came out of an environment variable."""
    return describing(sound, lambda said: {**said, "protocolVersion": "1"})


@fault("KP-103", fragment="nothing")
def version_is_missing(sound: Any) -> Any:
    """The description has no protocolVersion, so a host cannot tell what it would be talking to."""
    return describing(sound, functools.partial(_without, "protocolVersion"))


@fault("KP-103", fragment="1.5")
def version_is_the_packages(sound: Any) -> Any:
    """The protocol version is the version of the author's own package."""
    return describing(sound, lambda said: {**said, "protocolVersion": 1.5})


@fault("KP-104", fragment=r"\n'")
def key_with_newline(sound: Any) -> Any:
    """The key was read from a file with its line end, which splits log lines in two."""
    return describing(sound, lambda said: {**said, "key": f"{said['key']}\n"})


@fault("KP-104", fragment="'Acme Search'")
def key_is_a_title(sound: Any) -> Any:
    """The key is a name for people, with capitals and a space."""
    return describing(sound, lambda said: {**said, "key": "Acme Search"})


@fault("KP-105", fragment="a first letter or digit")
def key_with_leading_hyphen(sound: Any) -> Any:
    """The key begins with a hyphen, left over from an empty prefix."""
    return describing(sound, lambda said: {**said, "key": f"-{said['key']}"})


@fault("KP-106", fragment="a key of at most 64 characters")
def overlong_key(sound: Any) -> Any:
    """The key is a hash with a path before it, longer than a metrics system keeps."""
    return describing(sound, lambda said: {**said, "key": "services-knowledge-" + "0123456789abcdef" * 4})


@fault("KP-107", fragment="a label that a person can read")
def invisible_label(sound: Any) -> Any:
    """The label is nothing but a space and a zero-width one, so a settings page shows an empty line."""
    return describing(sound, lambda said: {**said, "label": " \u200b"})


@fault("KP-107", fragment="nothing")
def label_is_missing(sound: Any) -> Any:
    """The description has no label."""
    return describing(sound, functools.partial(_without, "label"))


@fault("KP-108", fragment="a label of at most 120 characters")
def overlong_label(sound: Any) -> Any:
    """The label is a whole paragraph about the product."""
    return describing(sound, lambda said: {**said, "label": "Knowledge of the whole company, always up to date. " * 3})


@fault("KP-109", fragment="'filters': 'false'")
def capability_is_text(sound: Any) -> Any:
    """A capability is the text "false" from a settings file, which every host reads as true."""
    return describing(sound, lambda said: {**said, "capabilities": {"filters": "false"}})


@fault("KP-109", fragment="['scores', 'citations']")
def capabilities_are_a_list(sound: Any) -> Any:
    """The capabilities are a list of names instead of a mapping to booleans."""
    return describing(sound, lambda said: {**said, "capabilities": ["scores", "citations"]})


@fault("KP-110", fragment="at most 16 capabilities")
def many_capabilities(sound: Any) -> Any:
    """Every flag of the vendor's is copied into capabilities."""
    flags = {f"vendor-flag-{number}": True for number in range(20)}
    return describing(sound, lambda said: {**said, "capabilities": {**said["capabilities"], **flags}})


@fault("KP-111", fragment="after the caller had changed the first answer")
def shared_description(sound: Any) -> Any:
    """describe() gives its one dictionary away, so a caller's change is what everyone sees from then on."""
    kept = described(sound)
    return Changed(sound, describe=lambda: kept)


@fault("KP-111", fragment="the same description again")
def shared_capabilities(sound: Any) -> Any:
    """describe() copies its dictionary, but not the one inside it."""
    kept = described(sound)
    return Changed(sound, describe=lambda: dict(kept))


@fault("KP-111", fragment="the same description again")
def counting_description_behind_a_view(sound: Any) -> Any:
    """The description is a read-only view of a dictionary, and of another one each time."""
    documents = count(1000)
    return describing(
        sound, lambda said: MappingProxyType({**said, "label": f"{said['label']}, {next(documents)} documents"})
    )


@fault("KP-111", fragment="the same description again")
def shared_model(sound: Any) -> Any:
    """describe() gives its one frozen model away, and the dictionary inside it is not frozen."""
    kept = ProviderDescription.model_validate(sound.describe())
    return Changed(sound, describe=lambda: kept)


@fault("KP-111", fragment="the same description again")
def counting_description(sound: Any) -> Any:
    """The description holds the number of documents at the moment, so a host's cached one is never right."""
    documents = count(1000)
    return describing(sound, lambda said: {**said, "label": f"{said['label']}, {next(documents)} documents"})


@fault("KP-112", fragment="the events open")
def description_from_a_file(sound: Any) -> Any:
    """describe() reads its settings file each time, on the event loop, while audio is playing."""

    def read(said: dict[str, Any]) -> dict[str, Any]:
        Path(os.devnull).read_bytes()
        return said

    return describing(sound, read)


@fault("KP-112", fragment="an answer in under 50 ms")
def slow_description(sound: Any) -> Any:
    """describe() asks the back end for its version each time, and the host's loop waits for it."""

    def wait(said: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.055)
        return said

    return describing(sound, wait)


def _without(name: str, said: dict[str, Any]) -> dict[str, Any]:
    return {other: value for other, value in said.items() if other != name}
