"""Inputs that a check drew, as JSON that another run can look at again. Knows JSON and bounds, no check, no token."""

import json
from copy import deepcopy
from typing import Any, Final

from pydantic import JsonValue

from knowledge_conformance.redact import redact

INPUT_MAX: Final = 4_000
"""Characters of JSON that an input may take; a larger one is found again by its seed."""


_WRITER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
"""Made here: a provider in this process may replace what ``json.dumps`` names."""


class EnoughError(BaseException):
    """Ends a Hypothesis run from inside: it catches ordinary exceptions as failing examples."""


def plain_input(name: str, value: Any) -> dict[str, JsonValue] | None:
    """``{name: value}`` where the value is JSON, by exact types, and short enough to be kept; None otherwise."""
    try:
        text = compact(value) if _is_json(value) else ""
    except (ValueError, RecursionError):
        return None
    return {name: deepcopy(value)} if 0 < len(text) <= INPUT_MAX else None


def shown_input(value: dict[str, JsonValue] | None, secrets: tuple[str, ...]) -> dict[str, JsonValue] | None:
    """An input as a report may show it: None for one that is too long, or holds what is or looks like a secret."""
    text = compact(value)
    return None if len(text) > INPUT_MAX or redact(text, secrets) != text else value


def compact(value: object) -> str:
    """JSON in as few characters as it takes; raises ``ValueError`` for NaN and infinities."""
    return _WRITER.encode(value)


def _is_json(value: object) -> bool:
    if type(value) is dict:
        return all(type(key) is str and _is_json(key) and _is_json(held) for key, held in value.items())
    if type(value) is list:
        return all(map(_is_json, value))
    if type(value) is str:
        return not any("\ud800" <= character <= "\udfff" for character in value)
    return value is None or type(value) in (bool, int, float)
