"""Says in TOML's words what of the settings cannot be used. Knows pydantic's errors; reads no file, sets nothing.

What came is said by its kind, and a number as it is: a person may have put a secret anywhere, so no text is repeated.
"""

import datetime
import inspect
import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from knowledge_conformance.redact import redact
from knowledge_conformance.render import show

_BARE_KEY: Final = re.compile(r"[\w-]{1,80}")
_OF_A_NAME: Final = "[key]"
"""What pydantic puts behind the name that is wrong, where it is no value."""
_FOLLOWS: Final = "default_factory_not_called"
"""What another error brings along."""

_WANTED: Final = MappingProxyType(
    {
        "tuple_type": "a list",
        "dict_type": "a table",
        "model_type": "a table",
        "string_type": "a string",
        "bool_type": "true or false",
        "int_type": "a whole number",
        "float_type": "a number",
        "finite_number": "a finite number",
        "invalid-json-value": "a string, a number, true or false, a list or a table",
        "greater_than": "a number greater than {gt:g}",
        "greater_than_equal": "a number that is at least {ge:g}",
        "less_than_equal": "a number that is at most {le:g}",
        "string_too_long": "at most {max_length} characters",
        "enum": "{expected}",
    }
)
_IN_FULL: Final = MappingProxyType(
    {
        "missing": "is missing",
        "string_too_short": "is blank: it needs at least one visible character",
    }
)
_KINDS: Final = MappingProxyType(
    {
        str: "a string",
        list: "a list",
        tuple: "a list",
        dict: "a table",
        type(None): "nothing",
        datetime.date: "a day",
        datetime.datetime: "a day with a time",
        datetime.time: "a time",
    }
)


class Spelling(NamedTuple):
    """How a place is spelled: ``top`` stands for the settings themselves, ``header`` before a table's name.

    ``listed``: the settings that are lists of tables. ``hidden``: those that are not named to anybody.
    """

    top: str
    header: str
    listed: Collection[str]
    hidden: Collection[str]


def said_of(error: ValidationError, model: type[BaseModel], spelling: Spelling) -> str:
    """The first thing that is wrong, on one line: where, what was wanted and what came."""
    found = [each for each in error.errors(include_url=False) if each["type"] != _FOLLOWS]
    # A misspelt name first: it mostly is why something else is wrong.
    first = min(found, key=lambda each: each["type"] != "extra_forbidden")
    place = ".".join(map(_named, first["loc"])) or spelling.top
    if first["loc"][-1:] == (_OF_A_NAME,):
        *above, name, _ = first["loc"]
        place = f"{'.'.join(map(_named, above))}: the name {_named(name)}"
    if first["type"] == "extra_forbidden":
        return f"{place}: there is no such setting; {_known(first['loc'], model, spelling)}"
    return f"{place}: {_wrong(first, spelling)}"


def _named(part: int | str) -> str:
    # TOML lets a key be any text, also one with line ends, and a person may put a secret there.
    if isinstance(part, int):
        return str(part)
    return redact(part) if _BARE_KEY.fullmatch(part) else show(part)


def _known(loc: tuple[int | str, ...], model: type[BaseModel], spelling: Spelling) -> str:
    """The names that the table has in which there was another."""
    table = model
    for part in loc[:-1]:
        table = _tables(table).get(str(part), table)
    if table is model:
        names = sorted(set(_spelled(model)).difference(spelling.hidden))
        return f"the settings are: {', '.join(names)}"
    return f"those of this table are: {', '.join(_spelled(table))}"


def _spelled(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _tables(model: type[BaseModel]) -> Mapping[str, type[BaseModel]]:
    """The settings of a table that are tables, or hold some, each with what such a one is."""
    held = {
        name: next((each for each in get_args(field.annotation) if _is_table(each)), None)
        for name, field in zip(_spelled(model), model.model_fields.values(), strict=True)
    }
    return {name: table for name, table in held.items() if table is not None}


def _is_table(kind: object) -> bool:
    return inspect.isclass(kind) and issubclass(kind, BaseModel)


def _wrong(details: ErrorDetails, spelling: Spelling) -> str:
    kind, came = details["type"], details["input"]
    if kind in _IN_FULL:
        return _IN_FULL[kind]
    if kind not in _WANTED:
        # Of a value's own rule: it says all of it.
        message = details["msg"].removeprefix("Value error, ")
        return f"{message[:1].lower()}{message[1:]}"
    wanted = _WANTED[kind].format(**details.get("ctx", {}))
    (first, *more) = (*details["loc"], "")
    if kind == "tuple_type" and first in spelling.listed and more == [""] and isinstance(came, dict):
        return f"wanted a list of tables, and one table came: write [[{spelling.header}{first}]] over each of them"
    return f"wanted {wanted}, and {_came(kind, came)} came"


def _came(kind: str, value: object) -> str:
    if kind == "string_too_long" and isinstance(value, str):
        return str(len(value))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return show(value)
    another = kind == "enum" and isinstance(value, str)
    return "another string" if another else _KINDS.get(type(value), "something else")
