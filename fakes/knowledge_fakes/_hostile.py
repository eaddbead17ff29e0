"""Objects that raise, lie or change when they are looked at; knows Python's data model, no contract.

A host that treats an answer as the type that it seems to have calls them.
"""

from collections import UserDict, UserList
from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn

from pydantic import ConfigDict

from knowledge_provider import RetrievalResult

LOOKED_AT: Final = "looked at"

_OF_DICT: Final = "get items keys values copy pop setdefault __getitem__ __iter__ __len__ __contains__ __eq__ __repr__"
_OF_TEXT: Final = (
    "__str__ __len__ __iter__ __eq__ __repr__ __format__ __getitem__ strip split encode replace lower isprintable"
)
_OF_ALL: Final = (
    "__eq__ __ne__ __lt__ __str__ __repr__ __len__ __iter__ __bool__ __getitem__ __contains__ __float__ __int__ "
    "__index__ __getattr__"
)


def _refuses(error: type[BaseException]) -> Callable[..., NoReturn]:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise error(LOOKED_AT)

    return refuse


def _refusing(base: type, names: str, error: type[BaseException] = RuntimeError) -> Any:
    """A subclass whose methods of these names raise. Made by ``type``: no type checker lets a class do that."""
    members = dict.fromkeys(names.split(), _refuses(error))
    return type(f"Refusing{base.__name__.capitalize()}", (base,), {"__hash__": base.__hash__, **members})


RefusingDict = _refusing(dict, _OF_DICT)
ExitingDict = _refusing(dict, _OF_DICT, SystemExit)
RefusingList = _refusing(list, "__iter__ __len__ __getitem__ __contains__ __eq__ __repr__ copy")
RefusingText = _refusing(str, _OF_TEXT)
RefusingNumber = _refusing(float, "__float__ __int__ __eq__ __lt__ __gt__ __repr__ __str__")


class _Hashed:
    """Has the hash of a field's name, so that a look-up of that name asks whether it equals it."""

    def __init__(self, name: str = "results") -> None:
        self._hash = hash(name)

    def __hash__(self) -> int:
        return self._hash


Refusing = _refusing(_Hashed, _OF_ALL)
Exiting = _refusing(_Hashed, _OF_ALL, SystemExit)
Aborting = _refusing(_Hashed, _OF_ALL, GeneratorExit)


def lying(base: type, said: Callable[[object], type]) -> Any:
    """A subclass of ``base`` that says of its class what ``said`` answers."""
    return type("Lying", (base,), {"__class__": property(said)})


Liar = lying(object, lambda _: dict)
RefusingClass = lying(object, _refuses(RuntimeError))


class EndlessList(list[Any]):
    """A list that never stops when it is iterated."""

    def __iter__(self) -> Iterator[Any]:
        while True:
            yield {"id": "again", "content": "and again"}


class GrowingList(list[Any]):
    """A list that grows while it is iterated."""

    def __iter__(self) -> Iterator[Any]:
        for place in range(10**9):
            self.append({"id": str(place), "content": "one more"})
            yield self[place]


class Vendor:
    """A document as a vendor's client has it: attributes instead of keys."""

    def __init__(self, content: str) -> None:
        self.id = "vendor-1"
        self.content = self.page_content = content
        self.metadata = {"source": "handbook.md"}


class VendorResult(RetrievalResult):
    """The contract's model with fields of a vendor's own."""

    model_config = ConfigDict(extra="allow", arbitrary_types_allowed=True)


class TellingMapping(UserDict[str, Any]):
    """A mapping that is no ``dict``."""


class TellingSequence(UserList[Any]):
    """A sequence that is neither a list nor a tuple."""
