"""Labels among metadata, on the way to who judges them (clause 11.3); knows names and texts, no scope, result or call.

An entry is a label where a host would show its key as a label's name. Whatever bounds the other metadata, a label
stays as it was, or becomes what authorises nobody: it is never cut, dropped or changed without that.
"""

from collections.abc import Callable, Iterable
from typing import Final

from knowledge_provider import limits
from knowledge_provider.models import MetadataValue
from knowledge_provider.text import is_a, is_blank, short_text

LABELS: Final = ("visibility", "public", "tenant_id", "user_id", "allowed_users", "allowed_roles")
"""The names of the labels (clause 11.2)."""

LABEL_CHARS_MAX: Final = 10_000
"""Code points of a label that is kept whole, far beyond the 500 of other metadata: a list names many people."""

UNREADABLE: Final = 0
"""What stands for a label that could not be kept: plain data by clause 5.6, and no value that any label may have."""

UNREADABLE_METADATA: Final[dict[str, MetadataValue]] = {"visibility": UNREADABLE}
"""What stands for metadata of which nobody knows what they say."""

_NAMES: Final = frozenset(LABELS)
_LISTS: Final = frozenset({"allowed_users", "allowed_roles"})


def label_name(key: object) -> str | None:
    """The label that an entry of this ``key`` is shown as by rule N11, or None."""
    name = _shown_name(key)
    return name if name in _NAMES else None


def labels_in(entries: Iterable[tuple[object, object]]) -> dict[str, object]:
    """The labels by their names, as they came but for those that are null; two of one name are ``UNREADABLE``."""
    found: dict[str, object] = {}
    for key, value in entries:
        name = _shown_name(key)
        if name in _NAMES and value is not None:
            # Which of the two is shown is a matter of their order, and which one was meant is not known.
            found[name] = UNREADABLE if name in found else value
    return found


def _shown_name(key: object) -> str:
    # Of all that rule N5 changes, the plain space alone is ASCII and printable, and no label's name has one.
    if type(key) is str and key.isascii() and key.isprintable():
        return key.strip(" ")
    return short_text(key, limits.METADATA_KEY_MAX) if is_a(key, str) else ""


def kept_labels(
    entries: Iterable[tuple[object, object]], plain: Callable[[object, int], MetadataValue | None]
) -> dict[str, MetadataValue]:
    """The labels as ``plain`` writes values of at most so many code points, and ``UNREADABLE`` where that says less."""
    return {name: _kept(name, value, plain(value, LABEL_CHARS_MAX)) for name, value in labels_in(entries).items()}


def stripped(text: str) -> str | None:
    """An id without the white space around it; None where nothing is visible in it."""
    # Not by rule N5: two ids that it makes equal are two.
    kept = str.strip(text)
    if kept.isascii() and kept.isprintable():
        return kept or None
    return None if is_blank(kept) else kept


def listed(text: str) -> frozenset[str] | None:
    """The ids in a list with commas; None where there is none."""
    return frozenset(each for each in map(stripped, str.split(text, ",")) if each) or None


def _kept(name: str, value: object, plain: MetadataValue | None) -> MetadataValue:
    if plain is None or not _says_the_same(name, value, plain):
        return UNREADABLE
    return plain


def _says_the_same(name: str, value: object, plain: MetadataValue) -> bool:
    # What is no text is a vendor's id or truth, and what became of it is all that there is to read.
    if not is_a(value, str) or not is_a(plain, str):
        return True
    read = listed if name in _LISTS else stripped
    return read(str.__str__(value)) == read(plain)
