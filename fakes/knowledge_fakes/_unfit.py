"""Objects that are no version-1 provider, by name, for ``scripted``; knows clauses 1.1 to 1.6, no host that refuses.

None of them is a provider that a host may begin to use.
"""

import math
from collections.abc import Callable, Generator, Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any, Final

from knowledge_fakes import _hostile
from knowledge_provider import PROTOCOL_VERSION, ProviderDescription


class _Unfit:
    """A provider but for ``described``, which is called where it can be."""

    def __init__(self, described: object) -> None:
        self._described = described

    def describe(self) -> Any:
        return self._described() if callable(self._described) else self._described

    async def retrieve(self, request: object, context: object, /) -> list[object]:
        del request, context
        return []


def _describing(**changed: object) -> Callable[[], object]:
    return lambda: _Unfit({"protocolVersion": PROTOCOL_VERSION, "key": "unfit", "label": "Unfit", **changed})


def _without(name: str) -> Callable[[], object]:
    def make() -> object:
        described = {"protocolVersion": PROTOCOL_VERSION, "key": "unfit", "label": "Unfit"}
        del described[name]
        return _Unfit(described)

    return make


def _with(**attributes: object) -> Callable[[], object]:
    def make() -> object:
        provider: Any = _describing()()
        vars(provider).update(attributes)
        return provider

    return make


def _raise(error: BaseException) -> Any:
    raise error


class _Later:
    """What an ``async def`` gives, without Python's warning where nobody awaits it."""

    def __await__(self) -> Generator[None, None, dict[str, Any]]:
        yield from ()
        return {"protocolVersion": PROTOCOL_VERSION, "key": "unfit", "label": "Unfit"}


class _Hostile(_Unfit):
    """Raises when one of its methods is looked for."""

    def __getattribute__(self, name: str) -> Any:
        if name in {"describe", "retrieve"}:
            raise SystemExit(_hostile.LOOKED_AT)
        return super().__getattribute__(name)


def _objects() -> dict[str, Callable[[], object]]:
    """Clause 1.1: what lacks a method, or has something else in its place."""
    return {
        "a_text": lambda: "knowledge_fakes.handbook:provider",
        "a_number": lambda: 0,
        "a_mapping": lambda: {"describe": dict, "retrieve": list},
        "a_class": lambda: _Unfit,
        "an_object": object,
        "only_describe": lambda: SimpleNamespace(describe=_Unfit(None).describe),
        "only_retrieve": lambda: SimpleNamespace(retrieve=_Unfit(None).retrieve),
        "retrieve_null": _with(retrieve=None),
        "retrieve_a_text": _with(retrieve="POST /search"),
        "describe_a_mapping": _with(describe={"protocolVersion": 1, "key": "unfit", "label": "Unfit"}),
        "health_a_text": _with(health="ready"),
        "close_a_boolean": _with(close=True),
        "exits_when_looked_at": lambda: _Hostile(None),
    }


def _descriptions() -> dict[str, Callable[[], object]]:
    """Clauses 1.2 to 1.6: what describe() may not answer."""
    return {
        "describe_raises": lambda: _Unfit(lambda: _raise(RuntimeError("no configuration"))),
        "describe_exits": lambda: _Unfit(lambda: _raise(SystemExit(1))),
        "describe_asynchronous": lambda: _Unfit(_Later),
        "description_missing": lambda: _Unfit(None),
        "description_a_text": lambda: _Unfit("A provider of knowledge"),
        "description_a_list": lambda: _Unfit([("protocolVersion", 1), ("key", "unfit"), ("label", "Unfit")]),
        "description_empty": lambda: _Unfit({}),
        "description_that_raises": lambda: _Unfit(_hostile.Refusing),
        "description_with_nothing_checked": lambda: _Unfit(
            ProviderDescription.model_construct(protocol_version=2, key="Bad Key", label="", capabilities={})  # type: ignore[arg-type]  # that is the point
        ),
        "version_missing": _without("protocolVersion"),
        "version_null": _describing(protocolVersion=None),
        "version_true": _describing(protocolVersion=True),
        "version_in_a_text": _describing(protocolVersion="1"),
        "version_1_5": _describing(protocolVersion=1.5),
        "version_2": _describing(protocolVersion=2),
        "version_0": _describing(protocolVersion=0),
        "version_nan": _describing(protocolVersion=math.nan),
        "version_that_raises": _describing(protocolVersion=_hostile.Refusing()),
        "key_missing": _without("key"),
        "key_empty": _describing(key=""),
        "key_with_capitals": _describing(key="Unfit"),
        "key_with_spaces": _describing(key="un fit"),
        "key_with_an_underscore": _describing(key="un_fit"),
        "key_with_a_newline": _describing(key="unfit\n"),
        "key_with_a_hyphen_first": _describing(key="-unfit"),
        "key_in_other_letters": _describing(key="ünfit"),
        "key_with_other_digits": _describing(key="unfit٣"),
        "key_a_number": _describing(key=7),
        "label_missing": _without("label"),
        "label_empty": _describing(label=""),
        "label_blank": _describing(label=" \u200b\t"),
        "label_a_number": _describing(label=7),
        "capabilities_a_list": _describing(capabilities=["filters", "scores"]),
        "capabilities_a_text": _describing(capabilities="filters"),
        "capability_in_a_text": _describing(capabilities={"filters": "yes"}),
        "capability_a_number": _describing(capabilities={"filters": 1}),
        "capability_null": _describing(capabilities={"filters": None}),
        "capability_without_a_name": _describing(capabilities={3: True}),
    }


UNFIT: Final[Mapping[str, Callable[[], object]]] = MappingProxyType({**_objects(), **_descriptions()})
"""Each name a fresh object that composition refuses (clause 8.1)."""
