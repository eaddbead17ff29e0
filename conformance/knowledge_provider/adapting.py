"""What several adapters need to put a vendor's library behind the boundary; knows no vendor, no host and no client.

Vendors' values become plain data, their exceptions the contract's, and their calls keep off the event loop
(``DaemonThreads``) or to the loop that they belong to (``PerLoop``).
"""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from datetime import date
from pathlib import PurePath
from typing import Any, Final
from uuid import UUID

from pydantic import ValidationError
from pydantic_core import Url

from knowledge_provider import errors, limits
from knowledge_provider._calls import DaemonThreads, PerLoop
from knowledge_provider._requests import (
    bases_asked_for,
    equal_filters,
    owner_arguments,
    refuse_filters,
    refuse_other_bases,
)
from knowledge_provider.models import MetadataValue, RetrievalResult, Source
from knowledge_provider.text import class_name, content_text, finite_number, is_a, short_text
from knowledge_provider.uris import public_uri, uri_fault

__all__ = [
    "DaemonThreads",
    "PerLoop",
    "bases_asked_for",
    "equal_filters",
    "failure",
    "owner_arguments",
    "passage_text",
    "place_text",
    "plain_metadata",
    "plain_number",
    "refuse_filters",
    "refuse_other_bases",
    "result_id",
    "result_of",
    "source_of",
    "stable_id",
    "usable",
]

_CUT: Final = "…"
_MAY_HOLD_URI: Final = re.compile(r":[/\\]|//|https?:", re.IGNORECASE)
# With a scheme (a wrapped one too), HTTP as browsers read it, or with none; bounded, so that searching stays cheap.
_URI: Final = re.compile(
    r"[a-z][a-z0-9+.-]{0,30}:(?:[a-z][a-z0-9+.-]{0,30}:)?[/\\]{2}\S*|(?<![a-z0-9])https?:\S+|(?<!/)//\S{0,300}[@?#;]\S*",
    re.IGNORECASE,
)
_USER_INFO: Final = re.compile(r"(://)[^/?#]*@")
_QUERY_AND_AFTER: Final = re.compile(r"[?#;].*", re.DOTALL)
_READ_MAX: Final = 2 * limits.URI_MAX
# Whole seconds, as HTTP writes them; more than nine digits are more than a life, and no help to wait for.
_SECONDS: Final = re.compile(r"[0-9]{1,9}")


def stable_id(*parts: str) -> str:
    """An id of 32 hexadecimal digits made from ``parts``; the same in every process, for any strings."""
    # JSON keeps ("a", "b") apart from ("ab",), and writes a lone surrogate, which UTF-8 cannot.
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def result_of(
    content: object,
    metadata: Mapping[Any, Any],
    taken: dict[str, str],
    *,
    vendor_id: object = None,
    score: int | float | None = None,
    uri_key: str = "source",
    title_key: str = "title",
    left_out: Collection[str] = (),
) -> RetrievalResult | None:
    """One result from a vendor's parts, or None when there is no text in it or it is here already.

    ``taken`` is empty before a response's first result, and keeps the ids of its results apart. ``uri_key`` and
    ``title_key`` name the metadata that become the source; they and ``left_out`` do not stay in the metadata.
    """
    text, where = passage_text(content), metadata.get(uri_key)
    own = result_id(vendor_id, where, text, taken) if text else None
    if own is None:
        return None
    source = source_of(where, metadata.get(title_key))
    plain = plain_metadata(metadata, without=(uri_key, title_key, *left_out))
    return RetrievalResult(id=own, content=text, score=score, source=source, metadata=plain)


def usable(candidates: Iterable[RetrievalResult | None], top_k: int) -> list[RetrievalResult]:
    """The first ``top_k`` that are not None (clause 3.3); no more candidates than that takes are made.

    Raises ``KnowledgeInvalidResponseError`` when there are candidates and all are None.
    """
    results: list[RetrievalResult] = []
    came = False
    for candidate in candidates:
        came = True
        if candidate is not None:
            results.append(candidate)
        if len(results) == top_k:
            break
    # Clause 5.10: an index that is read by a wrong text key must not look like one that found nothing.
    if came and not results:
        raise errors.KnowledgeInvalidResponseError(
            "the back end gave records, and none of them has what a result needs: text, and a finite score if scored"
        )
    return results


def result_id(value: object, where: object, content: str, taken: dict[str, str]) -> str | None:
    """An id that no other result of this response has, or None when this very passage already stands in ``taken``.

    ``value`` is the vendor's id (a string, an int or a UUID; anything else counts as missing), ``where`` the place
    that the content is from. ``taken`` maps the ids given so far to their contents, and gains this one.
    """
    text = _one_line(value)
    safe = place_text(value, limits.URI_MAX)
    # Clause 5.2: an id that is too long or holds a link is not cut, since what tells two of them apart may go with it.
    fits = 0 < len(text) <= limits.RESULT_ID_MAX and safe == text
    made = stable_id(safe, place_text(where, limits.URI_MAX), content)
    # Clause 5.3. A passage twice is one result; two passages under one id are two, and the later gets an id of its own.
    own = text if fits and taken.get(text, content) == content else made
    if own in taken:
        return None
    taken[own] = content
    return own


def passage_text(value: object) -> str:
    """A passage's content by rule N6, "" when it is missing or blank; beyond 4,000 code points cut and marked so."""
    text = content_text(value, limits.CONTENT_MAX + 1)
    # Clause 5.2.
    return text if len(text) <= limits.CONTENT_MAX else text[: limits.CONTENT_MAX - len(_CUT)] + _CUT


def place_text(value: object, limit: int) -> str:
    """A name or place on one line of at most ``limit`` code points, "" when there is none, without any credential.

    A public URI in it stays. Any other loses user-info, query and fragment, and goes altogether where it cannot be
    read. Takes strings, ints, UUIDs and paths.
    """
    text = _one_line(value)
    # Clauses 6.1 and 6.4: before the text is cut, since half a link may no longer look like one.
    return short_text(_URI.sub(_shown_uri, text) if _MAY_HOLD_URI.search(text) else text, limit)


def _one_line(value: object) -> str:
    return short_text(str(value) if isinstance(value, UUID | PurePath) else value, _READ_MAX)


def _shown_uri(found: re.Match[str]) -> str:
    if found.end() == _READ_MAX:
        return ""
    # Rule 2: "#" begins the fragment wherever it stands. A public URI keeps its spelling, for the prose around it.
    return found[0].partition("#")[0] if public_uri(found[0]) else _bare_place(found[0])


def _bare_place(uri: str) -> str:
    try:
        url = Url(uri)
    except ValueError:
        return ""
    bare = _QUERY_AND_AFTER.sub("", _USER_INFO.sub(r"\1", str(url)))
    fault = uri_fault(bare)
    return "" if fault is not None and fault.is_credential else bare


def source_of(where: object, title: object = None) -> Source | None:
    """A result's source from a vendor's path or URI and title, or None when both say nothing.

    A public URI becomes ``uri``. Any other place becomes ``id`` and ``locator`` (clause 6.2), without credentials.
    """
    name = place_text(title, limits.SOURCE_TITLE_MAX) or None
    uri = public_uri(where)
    if uri is not None:
        return Source(title=name, uri=uri)
    place = place_text(where, limits.URI_MAX)
    if not place:
        return Source(title=name) if name else None
    short = place if len(place) <= limits.SOURCE_ID_MAX else stable_id(place)
    return Source(id=short, title=name, locator=short_text(place, limits.SOURCE_LOCATOR_MAX))


def plain_number(value: object) -> int | float | None:
    """A finite number as an exact int or float, NumPy's scalars too; None for anything else, booleans included."""
    return finite_number(_from_numpy(value))


def plain_metadata(values: Mapping[Any, Any], *, without: Collection[str] = ()) -> dict[str, MetadataValue]:
    """At most 16 flat entries of exact types (clauses 5.6, 5.7), in order, leaving out the keys in ``without``.

    Booleans, finite numbers, NumPy's scalars, strings (500 code points, without credentials in their URIs), dates and
    UUIDs stay; whatever is nested, a vector, not finite or None goes.
    """
    plain: dict[str, MetadataValue] = {}
    for key, value in values.items():
        name = short_text(key, limits.METADATA_KEY_MAX) if is_a(key, str) and key not in without else ""
        kept = _plain_value(value) if name else None
        if kept is not None:
            plain[name] = kept
        if len(plain) == limits.METADATA_ENTRIES_MAX:
            break
    return plain


def _plain_value(value: object) -> MetadataValue | None:
    value = _from_numpy(value)
    if type(value) is bool:
        return value
    if is_a(value, date):
        value = value.isoformat()
    if is_a(value, str) or is_a(value, UUID):
        return place_text(value, limits.METADATA_TEXT_MAX)
    return finite_number(value)


def _from_numpy(value: Any) -> object:
    # Read by shape and kind, not by importing NumPy; a date of NumPy's would become a bare number, so it is not one.
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    return value.item() if kind in ("b", "i", "u", "f") and getattr(value, "shape", None) == () else value


def failure(error: Exception, what: str) -> errors.KnowledgeFailedError:
    """The contract's error for a vendor's exception; raise it ``from error``.

    The message is fixed words and the exception's type: a vendor's own text may hold a record, a query or a key.
    An HTTP status in ``status_code`` or ``response.status_code`` decides between the codes, whatever the library.
    ``retry_after`` is a whole number of seconds, below 10**9. Whatever the exception is made of, nothing but a
    ``KeyboardInterrupt`` comes out of reading it.
    """
    message = f"{what} raised {class_name(error)}; its text may hold data, so it is left to __cause__"
    response = errors.read_or_none(lambda: getattr(error, "response", None))
    status = _status(error) or _status(response)
    if status in (401, 403):
        return errors.KnowledgeUnauthorizedError(message)
    if status == 429:
        return errors.KnowledgeRateLimitedError(message, retry_after=_retry_after(response))
    if status in range(500, 600) or is_a(error, ConnectionError):
        return errors.KnowledgeUnavailableError(message)
    if is_a(error, ValidationError):
        return errors.KnowledgeInvalidResponseError(message)
    # Clause 7.6: a vendor's own time-out is an ordinary failure, though another try may help.
    return errors.KnowledgeFailedError(message, retryable=is_a(error, TimeoutError))


def _status(place: object) -> int:
    # A plain number, 0 where there is none: http.HTTPStatus is an int too, and a foreign one compares as it likes.
    number = finite_number(errors.read_or_none(lambda: getattr(place, "status_code", None)))
    return number if is_a(number, int) else 0


def _retry_after(response: Any) -> float | None:
    written = short_text(errors.read_or_none(lambda: response.headers.get("retry-after")), _READ_MAX)
    return float(written) if _SECONDS.fullmatch(written) else None
