"""The published inputs that ship with the kit, with the answers they must get; knows files, no host and no rule."""

import gzip
import json
from functools import cache
from importlib.resources import files
from typing import Any


def vectors() -> tuple[dict[str, Any], ...]:
    """Answers of providers, each with the outcome that rules N1 to N13 give: 487 of them.

    ``n``, ``response``, ``query``, ``limit``, ``expected`` (without ``notice``), and for some ``why``. Fresh at each
    call, so that a host may change what it gets.
    """
    return tuple(json.loads(line) for line in gzip.decompress(_bytes("normalization-vectors.jsonl.gz")).splitlines())


def uris() -> tuple[dict[str, Any], ...]:
    """653 labelled URIs: ``input``, ``verdict`` keep or drop, ``normalized``, ``reason``, ``tier`` must or should."""
    return _rows("uris.jsonl")


def no_uris() -> tuple[dict[str, Any], ...]:
    """What is no text, or cannot be written, in the form of ``uris``; a host drops all of it."""
    return _rows("uris-not-strings.jsonl")


def _rows(name: str) -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(line) for line in _bytes(name).splitlines())


@cache
def _bytes(name: str) -> bytes:
    return (files("knowledge_conformance") / "data" / name).read_bytes()
