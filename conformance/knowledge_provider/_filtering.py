"""Which items of an answer a scope may see (clause 11.3), as pure functions; knows no provider, call or clock.

An answer is foreign: it is read as ``normalize`` reads it, through the base types' own methods, and what is kept of it
is handed on as it came, with all of its labels.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from knowledge_provider import limits
from knowledge_provider._labels import AccessScope, Denial, denial
from knowledge_provider.errors import KnowledgeInvalidResponseError, KnowledgeSourcesIncompleteError
from knowledge_provider.models import RetrievalResult
from knowledge_provider.normalize import normalize_response, result_key
from knowledge_provider.outcome import Outcome
from knowledge_provider.text import class_name, is_a

_DICT: Final[type[dict[object, object]]] = dict
_LIST: Final[type[list[object]]] = list
_TUPLE: Final[type[tuple[object, ...]]] = tuple
# A model's fields, also where a subclass has put something else in the way.
_MODEL_FIELDS: Final = BaseModel.__dict__["__dict__"]


@dataclass(frozen=True, slots=True)
class Filtered:
    """What is left of an answer: the items as they came, the reports of failed sources, and why others are not there.

    ``came`` counts the items of the answer as it was, which tells whether there may be more.
    """

    kept: tuple[object, ...]
    failed: tuple[dict[str, Any], ...]
    withheld: Counter[Denial]
    came: int

    def response(self, provider_key: str) -> dict[str, Any]:
        """The answer to give on; raises ``KnowledgeSourcesIncompleteError`` for none where a source failed (9.4)."""
        if self.failed and not self.kept:
            raise KnowledgeSourcesIncompleteError(
                "Wanted results that may be shown; there is none, and not every source could be asked. An empty answer "
                "would read as if nothing was known. Ask again later.",
                provider_key=provider_key,
                retryable=True,
            )
        sources = {"sources": list(self.failed)} if self.failed else {}
        return {"results": list(self.kept), **sources}


def filtered(response: object, scope: AccessScope, top_k: int) -> Filtered:
    """What ``scope`` may see of ``response``: at most ``top_k`` items, of the first eight times as many (rule N2).

    An item that is no dict or ``RetrievalResult`` is left out, as a host does, and what it would drop takes no room: no
    id, no content, or an id that was there before (rule N7). Raises ``KnowledgeInvalidResponseError``
    when the response is none by rule N1, or holds items and not one that could be read.
    """
    items = _items(response)
    looked_at = items[: top_k * limits.CANDIDATES_PER_RESULT]
    read = [(item, fields) for item in looked_at if (fields := _fields(item, RetrievalResult)) is not None]
    # Clause 5.10.
    if looked_at and not read:
        raise _invalid("results", "items that are no results")
    found = [(item, denial(_entry(fields, "metadata"), scope)) for item, fields in read]
    kept = _usable([item for item, why_not in found if why_not is None], top_k)
    withheld = Counter(why_not for _, why_not in found if why_not is not None)
    return Filtered(kept, _failed(response), withheld, len(items))


def _usable(allowed: Sequence[object], top_k: int) -> tuple[object, ...]:
    usable: dict[str, object] = {}
    for item in allowed:
        if key := result_key(item, len(usable) + 1):
            usable.setdefault(key, item)
        if len(usable) == top_k:
            break
    # Clause 5.10: an answer of which nothing is left is for whoever asked to judge, and not an empty one.
    return tuple(usable.values()) or tuple(allowed[:top_k])


def _items(response: object) -> tuple[object, ...]:
    # Rule N1.
    fields = _fields(response, Outcome)
    listed = response if fields is None else _entry(fields, "results")
    if is_a(listed, _LIST):
        return tuple(_LIST.__getitem__(listed, slice(None)))
    if not is_a(listed, _TUPLE):
        raise _invalid("a list of results", class_name(listed))
    return _TUPLE.__getitem__(listed, slice(None))


def _failed(response: object) -> tuple[dict[str, Any], ...]:
    # Clause 5.11, without what the others found: how many were there for somebody else is nobody's business.
    if _fields(response, Outcome) is None:
        return ()
    reports = normalize_response({"sources": _entry(_fields(response, Outcome) or {}, "sources")}, query="").sources
    return tuple(
        report.model_dump(exclude_none=True, exclude={"count"}) for report in reports if report.status == "failed"
    )


def _fields(value: object, model: type[BaseModel]) -> dict[object, object] | None:
    if is_a(value, _DICT):
        return value
    return _MODEL_FIELDS.__get__(value) if is_a(value, model) else None


def _entry(fields: dict[object, object], name: str) -> object:
    # One that cannot be looked up is no dict, list or None, so that it neither shows nor holds anything.
    try:
        return _DICT.get(fields, name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return error


def _invalid(wanted: str, came: str) -> KnowledgeInvalidResponseError:
    return KnowledgeInvalidResponseError(
        f"Wanted {wanted} from the provider, and {came} came: what is in it cannot be filtered, so none of it is shown "
        "and nothing is known. Mend the provider; the kit's checks say where."
    )
