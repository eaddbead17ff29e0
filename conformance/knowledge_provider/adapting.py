"""What every adapter needs to put a vendor's library behind the boundary; knows no vendor, no host and no client.

Vendors' values become plain data, their exceptions the contract's, and their calls keep off the event loop
(``DaemonThreads``) or to the loop that they belong to (``PerLoop``). Two modules stand beside this one, for some
adapters only: ``services`` for what is reached over a network, and ``answers`` for what answers in JSON.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from datetime import date
from functools import lru_cache
from itertools import islice
from typing import Any, Final
from uuid import UUID

from knowledge_provider import errors, limits
from knowledge_provider._calls import DaemonThreads, PerLoop, made
from knowledge_provider._failures import failure
from knowledge_provider._labelled import LABELS, UNREADABLE, kept_labels, label_name
from knowledge_provider._places import one_line, place_text
from knowledge_provider._requests import (
    bases_asked_for,
    equal_filters,
    fits,
    owner_arguments,
    owner_filters,
    refuse_filters,
    refuse_other_bases,
)
from knowledge_provider.models import MetadataValue, RetrievalResult, Source
from knowledge_provider.text import class_name, content_text, finite_number, is_a, short_text
from knowledge_provider.uris import public_uri

__all__ = [
    "DaemonThreads",
    "PerLoop",
    "bases_asked_for",
    "equal_filters",
    "failure",
    "fits",
    "made",
    "owner_arguments",
    "owner_filters",
    "passage_text",
    "place_text",
    "plain_metadata",
    "plain_number",
    "records_of",
    "refuse_filters",
    "refuse_other_bases",
    "result_id",
    "result_of",
    "source_of",
    "stable_id",
    "usable",
]

_CUT: Final = "…"
# As in rule N2: a host keeps 16 entries, so no more than eight times as many are looked at.
_ENTRIES_READ_MAX: Final = limits.METADATA_ENTRIES_MAX * limits.CANDIDATES_PER_RESULT


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
    source_id: object = None,
    left_out: Collection[str] = (),
) -> RetrievalResult | None:
    """One result from a vendor's parts, or None when there is no text in it or it is here already.

    ``taken`` is empty before a response's first result, and keeps the ids of its results apart. ``uri_key`` and
    ``title_key`` name the metadata that become the source; they and ``left_out`` do not stay in the metadata.
    ``source_id`` is the vendor's id of the document that the passage is from, where it has one.
    """
    text, where = passage_text(content), metadata.get(uri_key)
    own = result_id(vendor_id, where, text, taken) if text else None
    if own is None:
        return None
    source = source_of(where, metadata.get(title_key), source_id=source_id)
    plain = plain_metadata(metadata, without=(uri_key, title_key, *left_out))
    # Every value keeps the contract by now, and finding that out again would cost as much as all of the above.
    return RetrievalResult.model_construct(id=own, content=text, score=_score(score), source=source, metadata=plain)


def _score(given: int | float | None) -> float | None:
    number = finite_number(given)
    if number is None and given is not None:
        raise errors.KnowledgeInvalidResponseError(
            f"wanted a finite score or none, since results are ranked by it; got {class_name(given)}. See plain_number"
        )
    return None if number is None else float(number)


def records_of(answer: Any, what: str) -> list[Any] | tuple[Any, ...]:
    """The records that a vendor's answer is a list or tuple of, as they came; ``what`` names the vendor.

    Raises ``KnowledgeInvalidResponseError`` for anything else (clause 5.10).
    """
    # An empty text or object can be gone through as well, and would look like a search that found nothing.
    if is_a(answer, list) or is_a(answer, tuple):
        return answer
    raise errors.KnowledgeInvalidResponseError(
        f"wanted a list of records from {what}, and {class_name(answer)} came: see what the search itself gives"
    )


def usable(candidates: Iterable[RetrievalResult | None], top_k: int) -> list[RetrievalResult]:
    """The first ``top_k`` that are not None (clause 3.3); no more candidates than that takes are made.

    At most eight times ``top_k`` are looked at. Raises ``KnowledgeInvalidResponseError`` when all of them are None.
    """
    results: list[RetrievalResult] = []
    came = False
    # Rule N2, so that a list of a million blanks does not hold the event loop.
    for candidate in islice(candidates, top_k * limits.CANDIDATES_PER_RESULT):
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
    text = one_line(value, limits.URI_MAX)
    # Clause 5.2: an id that is too long or holds a link is not cut, since what tells two of them apart may go with it.
    fits = 0 < len(text) <= limits.RESULT_ID_MAX and place_text(text, limits.RESULT_ID_MAX) == text
    # Clause 5.3. A passage twice is one result; two passages under one id are two, and the later gets an id of its own.
    own = text if fits and taken.get(text, content) == content else _made_id(value, where, content)
    if own in taken:
        return None
    taken[own] = content
    return own


def _made_id(value: object, where: object, content: str) -> str:
    # Not of the links as they came: a signature in one may be another with each call.
    return stable_id(place_text(value, limits.URI_MAX), place_text(where, limits.URI_MAX), content)


def passage_text(value: object) -> str:
    """A passage's content by rule N6, "" when it is missing or blank; beyond 4,000 code points cut and marked so."""
    text = content_text(value, limits.CONTENT_MAX + 1)
    # Clause 5.2.
    return text if len(text) <= limits.CONTENT_MAX else text[: limits.CONTENT_MAX - len(_CUT)] + _CUT


def source_of(
    where: object,
    title: object = None,
    *,
    source_id: object = None,
    mime_type: object = None,
    locator: object = None,
) -> Source | None:
    """A result's source from a vendor's path or URI and what else it says of it, or None when that is nothing.

    A public URI becomes ``uri``. Any other place becomes ``id`` and ``locator`` (clause 6.2) where the vendor gives
    none of its own. All of it is without credentials.
    """
    uri = public_uri(where)
    place = "" if uri else place_text(where, limits.URI_MAX)
    named = {
        "id": place_text(source_id, limits.SOURCE_ID_MAX) or _short_place(place),
        "title": place_text(title, limits.SOURCE_TITLE_MAX),
        "uri": uri,
        # Clause 6.4. Its parameters are a vendor's own, and a type is all that a host looks at.
        "mime_type": place_text(mime_type, limits.SOURCE_MIME_TYPE_MAX).partition(";")[0].rstrip(),
        "locator": place_text(locator, limits.SOURCE_LOCATOR_MAX) or short_text(place, limits.SOURCE_LOCATOR_MAX),
    }
    kept = {name: text for name, text in named.items() if text}
    return Source(**kept) if kept else None


def _short_place(place: str) -> str:
    return place if len(place) <= limits.SOURCE_ID_MAX else stable_id(place)


def plain_number(value: object) -> int | float | None:
    """A finite number as an exact int or float, NumPy's scalars too; None for anything else, booleans included."""
    return finite_number(_from_numpy(value))


def plain_metadata(values: Mapping[Any, Any], *, without: Collection[str] = ()) -> dict[str, MetadataValue]:
    """At most 16 flat entries of exact types (clauses 5.6, 5.7): labels, then the others in order but for ``without``.

    Booleans, finite numbers, NumPy's scalars, strings (500 code points), dates and UUIDs stay; whatever is nested, a
    vector, not finite or None goes. No more than 128 entries are looked at. Keys (80 code points) and strings are
    without credentials in their URIs, and a key with nothing left goes.

    Labels (clause 11.2) are looked for among all entries, and stay wherever they stand, whole up to 10,000 code points,
    and also where they are in ``without``. One that cannot stay as it is becomes 0, which authorises nobody (11.3).
    """
    # Clause 11.3.
    plain = kept_labels(values.items(), _plain_value)
    left = limits.METADATA_ENTRIES_MAX - len(plain)
    for key, value in islice(values.items(), _ENTRIES_READ_MAX):
        name = "" if label_name(key) else _entry_name(key, without)
        kept = _plain_value(value, limits.METADATA_TEXT_MAX) if name else None
        if kept is not None:
            # What only became the name of a label when a link was taken out of it is no label that anybody wrote.
            plain[name] = UNREADABLE if name in LABELS else kept
            left -= 1
        # Clause 7.4: those of one name are counted too, since each of them was read.
        if not left:
            break
    return plain


def _entry_name(key: object, without: Collection[str]) -> str:
    # Clause 6.1: also in a key, since some vendors name an entry by a link.
    if not is_a(key, str) or key in without:
        return ""
    # All results of a back end have the same few keys.
    short = type(key) is str and len(key) <= limits.METADATA_KEY_MAX
    return _known_name(key) if short else place_text(key, limits.METADATA_KEY_MAX)


@lru_cache(maxsize=1_000)
def _known_name(key: str) -> str:
    return place_text(key, limits.METADATA_KEY_MAX)


def _plain_value(value: object, limit: int) -> MetadataValue | None:
    if type(value) is str:
        return place_text(value, limit)
    value = value.isoformat() if is_a(value, date) else _from_numpy(value)
    if is_a(value, str) or is_a(value, UUID):
        return place_text(value, limit)
    return value if type(value) is bool else finite_number(value)


def _from_numpy(value: Any) -> object:
    # Read by shape and kind, not by importing NumPy; a date of NumPy's would become a bare number, so it is not one.
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    return value.item() if kind in ("b", "i", "u", "f") and getattr(value, "shape", None) == () else value
