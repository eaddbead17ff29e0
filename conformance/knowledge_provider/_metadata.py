"""What becomes of metadata that came as anything: by rule N11, or with its labels for who filters (clause 11.3).

Knows values, no result, response or scope. Nothing of what came is called, iterated or compared by its own methods.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Final

from knowledge_provider import limits
from knowledge_provider._labelled import LABELS, UNREADABLE_METADATA, kept_labels
from knowledge_provider.models import MetadataValue
from knowledge_provider.text import finite_number, is_a, short_text

_DICT: Final[type[dict[object, object]]] = dict


def bounded_metadata(value: object) -> dict[str, MetadataValue]:
    """Rule N11: of the first 16 entries, those that are flat and named; what is no dict has none."""
    kept: dict[str, MetadataValue] = {}
    for key, entry in _entries(value, limits.METADATA_ENTRIES_MAX):
        name = short_text(key, limits.METADATA_KEY_MAX) if type(key) is str or is_a(key, str) else ""
        plain = _metadata_value(entry, limits.METADATA_TEXT_MAX)
        if name and plain is not None:
            kept[name] = plain
    return kept


def labelled_metadata(value: object) -> dict[str, MetadataValue]:
    """At most 16 entries, labels whole and before the others, which are by rule N11; for a provider to answer with."""
    # Clause 11.3: null has no labels, and what else is no dict may have any.
    if value is None:
        return {}
    if not is_a(value, _DICT):
        return dict(UNREADABLE_METADATA)
    # Labels first, so that whoever bounds this again by rule N11 keeps them too.
    labels = kept_labels(_entries(value, None), _metadata_value)
    others = {name: entry for name, entry in bounded_metadata(value).items() if name not in LABELS}
    return labels | dict(islice(others.items(), limits.METADATA_ENTRIES_MAX - len(labels)))


def _metadata_value(value: object, limit: int) -> MetadataValue | None:
    if type(value) is str or is_a(value, str):
        return short_text(value, limit)
    return value if is_a(value, bool) else finite_number(value)


def _entries(value: object, count: int | None) -> Sequence[tuple[object, object]]:
    return list(islice(_DICT.items(value), count)) if is_a(value, _DICT) else ()
