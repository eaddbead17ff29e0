"""Whether an object is a provider of protocol version 1 (clauses 1.1 to 1.6); calls ``describe()`` and nothing else.

Knows no host, request or result. A provider is foreign: whatever it is made of, the answer is its description or one
error that names the fault in words of our own.
"""

from collections.abc import Mapping
from functools import partial
from itertools import islice
from types import CoroutineType
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from knowledge_provider import limits
from knowledge_provider.errors import KnowledgeProviderInvalidError, read_or_none
from knowledge_provider.failing import error_kind
from knowledge_provider.models import ProviderDescription
from knowledge_provider.text import class_name, finite_number, is_a

# Each field with its names, in the order in which they are looked for.
_NAMES: Final = {
    "protocolVersion": ("protocolVersion", "protocol_version"),
    "key": ("key",),
    "label": ("label",),
    "capabilities": ("capabilities",),
}
_CLAUSES: Final = {"protocolVersion": "1.3", "key": "1.4", "label": "1.5", "capabilities": "1.6"}
_WANTED: Final = {"key": "a string", "label": "a string", "capabilities": "a mapping of names to booleans"}
_OUR_WORDS: Final = "Value error, "

# Far above the 16 that a provider should keep to; a mapping may have no end.
_CAPABILITIES_READ_MAX: Final = 1000

_DICT: Final[type[dict[Any, Any]]] = dict
_COROUTINE: Final["type[CoroutineType[Any, Any, Any]]"] = CoroutineType
# A model's fields, also where a subclass has put something else in the way.
_MODEL_FIELDS: Final = BaseModel.__dict__["__dict__"]
_MISSING: Final = object()


def compose(provider: object) -> ProviderDescription:
    """The provider's description, read once and checked.

    Raises ``KnowledgeProviderInvalidError`` when the object breaks a MUST of clauses 1.1 to 1.6; the message names the
    first fault, and what the provider raised is its ``__cause__``. Nothing else is raised but a ``KeyboardInterrupt``.
    """
    # Clause 1.1: None counts as absent for the optional methods, and is as wrong as anything else for the others.
    _require_callable(provider, "retrieve")
    for name in ("health", "close"):
        found = _attribute(provider, name)
        if found is not _MISSING and found is not None:
            _require_callable(provider, name)
    return _validated(_fields(_described(provider)))


def _require_callable(provider: object, name: str) -> None:
    found = _attribute(provider, name)
    if not callable(found):
        came = "there is none" if found is _MISSING else f"it is a {class_name(found)}"
        raise _refusal(f"wanted a callable {name}, and {came}", "1.1")


def _attribute(provider: object, name: str) -> Any:
    try:
        return getattr(provider, name, _MISSING)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _refusal(f"looking for its {name} raised {error_kind(error)}", "1.1") from error


def _described(provider: Any) -> object:
    _require_callable(provider, "describe")
    try:
        description: object = provider.describe()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # What is left out most often are the parentheses behind its name.
        made = "; it is a class, and an object that it makes is wanted" if is_a(provider, type) else ""
        raise _refusal(f"its describe() raised {error_kind(error)}{made}", "1.2") from error
    # Clause 1.2. Closed, or it would say when it is collected that it was never awaited.
    if is_a(description, _COROUTINE):
        description.close()
    return description


def _fields(description: object) -> dict[str, Any]:
    # Clause 1.2. The four known names are looked up and nothing is iterated: a mapping may have no end.
    if not _is_mapping(description) and not is_a(description, ProviderDescription):
        raise _refusal(
            f"wanted a mapping or a ProviderDescription from describe(), and it gave a {class_name(description)}", "1.2"
        )
    held = _MODEL_FIELDS.__get__(description) if is_a(description, ProviderDescription) else description
    found = {field: _first(held, names) for field, names in _NAMES.items()}
    if found["capabilities"] is not None:
        found["capabilities"] = _capabilities(found["capabilities"])
    return {field: value for field, value in found.items() if value is not None}


def _first(held: Any, names: tuple[str, ...]) -> object:
    found = (read_or_none(partial(_got, held, name)) for name in names)
    return next((value for value in found if value is not None), None)


def _got(held: Any, name: str) -> object:
    return _DICT.get(held, name) if is_a(held, _DICT) else held[name]


def _capabilities(value: Any) -> object:
    if not _is_mapping(value):
        return value
    try:
        items = _DICT.items(value) if is_a(value, _DICT) else value.items()
        read = [(name, held) for name, held in islice(items, _CAPABILITIES_READ_MAX)]
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _refusal(f"reading its capabilities raised {error_kind(error)}", "1.6") from error
    if strange := [name for name, _ in read if not is_a(name, str)]:
        raise _refusal(f"the name of one of its capabilities is a {class_name(strange[0])}", "1.6")
    return {str.__str__(name): held for name, held in read}


def _is_mapping(value: object) -> bool:
    return is_a(value, _DICT) or read_or_none(lambda: isinstance(value, Mapping)) is True


def _validated(fields: dict[str, Any]) -> ProviderDescription:
    try:
        return ProviderDescription.model_validate(fields)
    except ValidationError as error:
        # `from None`: pydantic's own text may name a foreign capability.
        raise _refusal(*_fault(error, fields)) from None


def _fault(error: ValidationError, fields: dict[str, Any]) -> tuple[str, str]:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    field = str(first["loc"][0])
    if field not in fields:
        return f"its description has no {field}", _CLAUSES[field]
    # Our own validators say what it is not; of pydantic's words none are needed.
    ours = first["msg"].startswith(_OUR_WORDS)
    words = first["msg"].removeprefix(_OUR_WORDS) if ours else f"is not {_WANTED[field]}"
    return f"its {field} ({_came(fields[field])}) {words}", _CLAUSES[field]


def _came(value: object) -> str:
    # A number says more than its class, and hides nothing.
    number = finite_number(value)
    return class_name(value) if number is None else repr(number)


def _refusal(fault: str, clause: str) -> KnowledgeProviderInvalidError:
    return KnowledgeProviderInvalidError(
        f"The provider is refused: {fault} (clause {clause}). A host could rely on nothing that it says. Mend the "
        f"provider; one of protocol version {limits.PROTOCOL_VERSION} passes."
    )
