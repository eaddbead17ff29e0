"""What of a vendor's names and places may be shown: links without credentials; knows no vendor, result or host.

Every text is read in bounded time, whatever is in it. Public through ``adapting``.
"""

import re
from itertools import islice
from pathlib import PurePath
from typing import Final
from uuid import UUID

from pydantic_core import Url

from knowledge_provider import limits
from knowledge_provider.text import is_blank, short_text
from knowledge_provider.uris import public_uri, uri_fault

# With a scheme (a wrapped one too), HTTP as browsers read it, or with none; bounded, so that searching stays cheap.
_URI: Final = re.compile(
    r"[a-z][a-z0-9+.-]{0,30}:(?:[a-z][a-z0-9+.-]{0,30}:)?[/\\]{2}\S*|(?<![a-z0-9])https?:\S+|(?<!/)//\S{0,300}[@?#;]\S*",
    re.IGNORECASE,
)
_MAY_HOLD_URI: Final = re.compile(r":[/\\]|//|https?:", re.IGNORECASE)
_USER_INFO: Final = re.compile(r"(://)[^/?#]*@")
_WRITTEN_OUT: Final = (UUID, PurePath)
_QUERY_AND_AFTER: Final = re.compile(r"[?#;].*", re.DOTALL)

# Clause 7.4: reading a link costs up to a hundred times what prose of its length does, and each result may have forty
# texts full of them. Twice a text's limit is read, so that links which become shorter make room for what follows.
_READ_TIMES: Final = 2
_LINKS_MAX: Final = 4
_PARAMETERS_MAX: Final = 16


def place_text(value: object, limit: int) -> str:
    """A name or place on one line of at most ``limit`` code points, "" when there is none, without any credential.

    A public URI in it stays. Any other, and one with more than 16 parameters, loses user-info, query and fragment; it
    goes altogether where it cannot be read or is longer than 2,000. No more is looked at than four URIs and twice
    ``limit``, and what comes after that goes. Takes strings, ints, UUIDs and paths.
    """
    # Most texts are like this, and hold no link: rule N5 folds their spaces, and whether they are blank is left to see.
    if type(value) is str and len(value) <= limit and value.isprintable() and ":" not in value and "//" not in value:
        folded = " ".join(value.split()) if "  " in value else value.strip(" ")
        return folded if value.isascii() or not is_blank(folded) else ""
    if value is None:
        return ""
    text = one_line(value, _READ_TIMES * limit)
    if not _MAY_HOLD_URI.search(text):
        return short_text(text, limit)
    # Clauses 6.1 and 6.4: before the text is cut, since half a link may no longer look like one.
    return short_text(_URI.sub(_shown, _within_bounds(text, _READ_TIMES * limit)), limit)


def one_line(value: object, limit: int) -> str:
    """A name or place by rule N5, as it stands: strings, ints, UUIDs and paths."""
    return short_text(str(value) if isinstance(value, _WRITTEN_OUT) else value, limit)


def _within_bounds(text: str, read: int) -> str:
    fifth = next(islice(_URI.finditer(text), _LINKS_MAX, None), None)
    if fifth is not None:
        return text[: fifth.start()]
    # The last word may be half a link, of which the part that would show it to be one is cut off.
    half = _MAY_HOLD_URI.search(text, text.rfind(" ") + 1) if len(text) == read else None
    return text if half is None else text[: half.start()]


def _shown(found: re.Match[str]) -> str:
    uri = found[0]
    # Rule 1; in three bytes for each of those that are escaped.
    if (len(uri) if uri.isascii() else 3 * len(uri.encode())) > limits.URI_MAX:
        return ""
    # Rule 2: "#" begins the fragment wherever it stands. A public URI keeps its spelling, for the prose around it.
    few = uri.count("&") + uri.count(";") < _PARAMETERS_MAX
    return uri.partition("#")[0] if few and public_uri(uri) else _bare(uri)


def _bare(uri: str) -> str:
    try:
        url = Url(uri)
    except ValueError:
        return ""
    bare = _QUERY_AND_AFTER.sub("", _USER_INFO.sub(r"\1", str(url)))
    fault = uri_fault(bare)
    return "" if fault is not None and fault.is_credential else bare
