"""Targets that answer what no host expects, and objects that lie or raise when they are looked at."""

import unittest.mock
from typing import Any

from hostile_base import answering

from knowledge_fakes.handbook import HandbookProvider


def _forever() -> Any:
    while True:
        yield {}


endless_generator = answering(_forever)
endless_results = answering(lambda: {"results": _forever()})


# Objects that lie, or raise when they are looked at.


class Hostile:
    """Raises whatever is done to it, and has the hash of a field's name."""

    def _refuse(self, *_arguments: Any) -> Any:
        raise RuntimeError("looked at")

    __eq__ = __ne__ = __str__ = __repr__ = __len__ = __iter__ = __bool__ = __getattr__ = _refuse

    def __hash__(self) -> int:
        return hash("results")


class Liar:
    """Says that it is a dictionary."""

    def __getattribute__(self, name: str) -> Any:
        return dict if name == "__class__" else super().__getattribute__(name)


hostile_answer = answering(Hostile)
hostile_keys = answering(lambda: {Hostile(): 1})
hostile_items = answering(lambda: [Hostile(), {"id": Hostile(), "content": Hostile()}])
lying_answer = answering(Liar)
lying_items = answering(lambda: [Liar(), unittest.mock.Mock(spec=dict)])
hostile_description = type("D", (HandbookProvider,), {"describe": lambda self: Hostile()})
lying_description = type("L", (HandbookProvider,), {"describe": lambda self: {"protocolVersion": Liar()}})
huge_text = answering(lambda: [{"id": "a", "content": "x" * 10**6, "score": 10**5000}])
mock = unittest.mock.MagicMock()


class Null(HandbookProvider):
    """Describes itself well and never finds anything."""

    async def retrieve(self, request: Any, context: Any) -> Any:
        return []


class HostileRetrieve(HandbookProvider):
    """Has its methods only when it likes."""

    looks = 0

    def __getattribute__(self, name: str) -> Any:
        if name == "retrieve":
            type(self).looks += 1
            if type(self).looks > 3:
                raise RuntimeError("not now")
        return super().__getattribute__(name)


class HostileClose(HandbookProvider):
    """Raises when close is looked at."""

    def __getattribute__(self, name: str) -> Any:
        if name == "close":
            raise RuntimeError("do not look")
        return super().__getattribute__(name)


class HostileInstance:
    """Raises when anything of it is looked at."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


hostile_instance = HostileInstance()


class Advised(HandbookProvider):
    """Keeps every MUST, and not the SHOULD about a label's length."""

    def describe(self) -> Any:
        return {**super().describe(), "label": "A very long label. " * 20}
