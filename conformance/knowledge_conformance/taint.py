"""Secrets and canaries as text: how each may be written, and whether a text has one in it; knows no provider.

A canary is a value that stands nowhere until the kit plants it, so wherever it comes out, it came from there.
"""

import hashlib
import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple
from urllib.parse import quote, quote_plus

SECRET_MIN: Final = 8
"""Characters below which a value stands in ordinary texts by chance."""

_CANARY_DIGITS: Final = 24
# Base64 of a very short secret, less its ambiguous ends, is a syllable that stands in ordinary words.
_BASE64_MIN: Final = 6
_HEX_MIN: Final = 4
_DIFFERENT_MIN: Final = 4
_DIGITS_MIN: Final = 12
_WORD: Final = re.compile(r"[^\W\d_]{1,20}[.!]?")


class Found(NamedTuple):
    """A secret in a text: the ``name`` it was given, never its value, and how it was ``written`` there."""

    name: str
    written: str

    def __str__(self) -> str:
        """In words, for a finding."""
        return f"the value of {self.name}, {self.written}"


def canary(label: str, seed: int = 0) -> str:
    """A value that stands nowhere by chance, always the same for a label and a seed; safe in ids, headers and URLs."""
    return f"canary-{hashlib.sha256(f'{seed} {label}'.encode()).hexdigest()[:_CANARY_DIGITS]}"


def found_in(text: str, secrets: Mapping[str, str]) -> Found | None:
    """The first of ``secrets``, values by their names, that stands in ``text`` in any spelling, or None."""
    text = str.__str__(text)
    for name, secret in secrets.items():
        for spelling, written in spelled(secret).items():
            if spelling in text:
                return Found(name, written)
    return None


@lru_cache(maxsize=64)
def spelled(secret: str) -> Mapping[str, str]:
    """Every way in which a secret is searched for (clause 6.4), with its name; empty for a blank one.

    As it is, percent-encoded, escaped as JSON and Python write it, in hexadecimal, and in Base64 of either alphabet,
    also from the middle of an encoded text (``Basic`` encodes a user name before the password).
    """
    plain = str.__str__(secret).strip()
    raw = plain.encode("utf-8", "surrogatepass")
    ways = {
        "as it is": (plain,),
        "percent-encoded": _percent(raw),
        "escaped as in JSON": _escaped(plain),
        "in Base64": _base64_cores(raw),
        "in hexadecimal": (raw.hex(), raw.hex().upper()) if len(raw) >= _HEX_MIN else (),
    }
    # The first name stays, so that a spelling that changes nothing has none of its own.
    named: dict[str, str] = {}
    for written, spellings in ways.items():
        for spelling in spellings:
            named.setdefault(spelling, written)
    return MappingProxyType({spelling: written for spelling, written in named.items() if spelling})


def unsearchable(secret: str) -> str | None:
    """Why a value cannot be searched for without finding it where it was never put, or None when it can."""
    plain = secret.strip()
    if not plain:
        return "is not set"
    if len(plain) < SECRET_MIN or len(set(plain)) < _DIFFERENT_MIN:
        return "is too short, or too uniform"
    if _WORD.fullmatch(plain) or (plain.isdecimal() and len(plain) < _DIGITS_MIN):
        return "reads like an ordinary word or number"
    return None


def _percent(raw: bytes) -> Iterator[str]:
    every = "".join(f"%{byte:02X}" for byte in raw)
    for text in (quote(raw, safe=""), quote(raw), quote_plus(raw), every):
        yield from (text, re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), text))


def _escaped(plain: str) -> Iterator[str]:
    for ensure_ascii in (True, False):
        # Not ``json.dumps``, which a provider may have replaced.
        text = json.JSONEncoder(ensure_ascii=ensure_ascii).encode(plain)[1:-1]
        yield from (text, text.replace("/", "\\/"))
    # Python escapes a "'" only where the whole text has both quotes.
    for write in (repr, ascii):
        yield from (write(plain)[1:-1], write(f"'\"{plain}")[4:-1])


def _base64_cores(raw: bytes) -> Iterator[str]:
    # Three bytes become four characters, so a secret has three forms by where it begins; at both ends stand
    # characters that depend on its neighbours, which are left out.
    for offset in range(3):
        core = slice(-(-offset * 4 // 3), (offset + len(raw)) * 4 // 3)
        for encode in (b64encode, urlsafe_b64encode):
            text = encode(bytes(offset) + raw).decode()[core]
            if len(text) >= _BASE64_MIN:
                yield text
