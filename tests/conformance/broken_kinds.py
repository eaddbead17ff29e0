"""What conforms, and in which ways results and responses are broken; judges values alone and knows no strategy.

Written down a second time, apart from the package, as plainly as can be: a strategy must not be its own witness.
"""

import math
import re
from collections import deque
from collections.abc import Callable
from functools import partial
from types import GeneratorType
from typing import Any

from knowledge_provider import RetrievalResult
from knowledge_provider.text import finite_number, has_surrogate, is_blank, short_text
from knowledge_provider.uris import UriFault, uri_fault


def holds(*parts: str) -> Callable[[str], bool]:
    return lambda text: any(part in text for part in parts)


def is_plain(value: object) -> bool:
    """Clause 5.7, for values of this file: JSON types by exact type, all the way down; no vector of numbers."""
    if type(value) is dict:
        return all(type(key) is str and is_plain(entry) for key, entry in value.items())
    if type(value) is list:
        return not value or not all(type(entry) is float for entry in value)
    return type(value) in (str, int, bool, type(None)) or (type(value) is float and math.isfinite(value))


def is_number(value: object) -> bool:
    return type(value) in (int, float) and finite_number(value) is not None


def is_text(value: object, limit: int) -> bool:
    """Clauses 5.2, 5.5 and 5.8."""
    return (
        type(value) is str
        and len(value) <= limit
        and not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", value)
    )


def is_source(source: dict[str, Any]) -> bool:
    """Clauses 5.5 and 6.2."""
    sizes = {"id": 120, "title": 300, "uri": 2000, "mimeType": 120, "mime_type": 120, "locator": 300}
    texts = {name: text for name, text in source.items() if text is not None}
    return all(is_text(text, sizes[name]) for name, text in texts.items()) and not uri_fault(
        texts.get("uri", "https://a.com")
    )


def is_metadata(metadata: dict[Any, Any]) -> bool:
    """Clause 5.6 and rule N11."""
    keys = {short_text(key, 80) for key in metadata if is_text(key, 80)}
    return (
        len(metadata) <= 16
        and len(keys - {""}) == len(metadata)
        and all(type(entry) is bool or is_number(entry) or is_text(entry, 500) for entry in metadata.values())
    )


def conforms(result: object) -> bool:
    """Sections 5 and 6 for one result, written down a second time, as plainly as can be."""
    if type(result) is RetrievalResult:
        if not isinstance(result.__dict__.get("metadata"), dict):
            return False
        result = result.model_dump(by_alias=True)
    if type(result) is not dict:
        return False
    named: dict[Any, Any] = {name: value for name, value in result.items() if value is not None}
    source, metadata = named.get("source", {}), named.get("metadata", {})
    return (
        is_text(named.get("id"), 160)
        and is_text(named.get("content"), 4000)
        and not is_blank(named["id"])
        and not is_blank(named["content"])
        and ("score" not in named or is_number(named["score"]))
        and (type(source) is dict and is_source(source))
        and (type(metadata) is dict and is_metadata(metadata))
        and is_plain(named)
    )


def field(path: str) -> Callable[[Any], Any]:
    def read(result: Any) -> Any:
        for name in path.split("."):
            result = result.get(name) if type(result) is dict else None
        return result

    return read


def where(read: Callable[[Any], Any], holds: Callable[[Any], object]) -> Callable[[Any], object]:
    return lambda result: type(result) is dict and holds(read(result))


def is_subclass_of(base: type) -> Callable[[Any], bool]:
    return lambda value: type(value) is not base and base in type(value).__mro__


TEXT_PLACES = {
    "id": 160,
    "content": 4000,
    "source.id": 120,
    "source.title": 300,
    "source.mimeType": 120,
    "source.locator": 300,
}


def some_text(is_broken: Callable[[Any, int], object]) -> Callable[[Any], object]:
    return lambda result: any(is_broken(field(place)(result), size) for place, size in TEXT_PLACES.items())


def _is_no_text(size: int, value: Any) -> bool:
    return value is not None and not is_text(value, size)


def some_string(is_broken: Callable[[str, int], object]) -> Callable[[Any], object]:
    return some_text(lambda value, size: type(value) is str and is_broken(value, size))


def some_entry(is_broken: Callable[[Any, Any], object]) -> Callable[[Any], object]:
    return where(
        field("metadata"), lambda value: type(value) is dict and any(is_broken(*entry) for entry in value.items())
    )


def score(is_broken: Callable[[Any], object]) -> Callable[[Any], object]:
    return where(field("score"), is_broken)


def fault_of_uri(fault: UriFault) -> Callable[[Any], object]:
    return where(field("source.uri"), lambda uri: type(uri) is str and uri_fault(uri) is fault)


BROKEN_RESULTS: dict[str, Callable[[Any], object]] = {
    **{f"{place} is broken": where(field(place), partial(_is_no_text, size)) for place, size in TEXT_PLACES.items()},
    "a text is a number": some_text(lambda value, _: type(value) in (int, float)),
    "a text is of another type": some_text(lambda value, _: type(value) in (list, dict, bytes)),
    "a text is a subclass": some_text(lambda value, _: is_subclass_of(str)(value)),
    "a text has a surrogate": some_string(lambda value, _: has_surrogate(value)),
    "a text has a control": some_string(lambda value, _: holds("\x00", "\x1b")(value)),
    "a text is too long": some_string(lambda value, size: len(value) > size),
    "id is null": lambda result: type(result) is dict and result.get("id", 0) is None,
    "content is null": lambda result: type(result) is dict and result.get("content", 0) is None,
    "id is empty": where(field("id"), lambda value: type(value) is str and value == ""),
    "id is invisible": where(field("id"), lambda value: type(value) is str and value.strip() and is_blank(value)),
    "score is NaN": score(lambda value: type(value) is float and math.isnan(value)),
    "score is infinite": score(lambda value: type(value) is float and math.isinf(value)),
    "score is a bool": score(lambda value: type(value) is bool),
    "score is text": score(lambda value: type(value) is str),
    "score is more than a float holds": score(lambda value: type(value) is int and value > 10**309),
    "score is a subclass": score(is_subclass_of(float)),
    "source is text": where(field("source"), lambda value: type(value) is str),
    "source is a subclass": where(field("source"), is_subclass_of(dict)),
    "uri is private": fault_of_uri(UriFault.SPECIAL_USE_DOMAIN),
    "uri has a credential": fault_of_uri(UriFault.USERINFO),
    "metadata is no mapping": where(field("metadata"), lambda value: type(value) not in (dict, type(None))),
    "metadata is too much": where(field("metadata"), lambda value: type(value) is dict and len(value) > 16),
    "metadata has a long key": some_entry(lambda key, _: type(key) is str and len(key) > 80),
    "metadata has a long text": some_entry(lambda _, value: type(value) is str and len(value) > 500),
    "metadata has a number as key": some_entry(lambda key, _: type(key) is int),
    "metadata has a blank key": some_entry(lambda key, _: type(key) is str and not key.strip()),
    "metadata has equal keys": some_entry(lambda key, _: type(key) is str and key in (" 0", "a  b")),
    "metadata is nested": some_entry(lambda _, value: type(value) in (dict, list)),
    "metadata has an object": some_entry(lambda _, value: "vendor" in repr(type(value)).lower()),
    "a field of any type": lambda result: type(result) is dict and "raw" in result and not is_plain(result["raw"]),
    "other names": lambda result: type(result) is dict and "chunkId" in result,
    "a subclass of dict": is_subclass_of(dict),
    "a subclass of the model": is_subclass_of(RetrievalResult),
    "an unchecked model": lambda result: type(result) is RetrievalResult,
    "JSON text": lambda result: type(result) is str,
    "null": lambda result: result is None,
    "a list": lambda result: type(result) is list,
}


def listed(response: Any) -> list[Any]:
    found: Any = response.get("results") if type(response) is dict else response
    return list(found) if type(found) in (list, tuple) else []


def ids(response: Any) -> list[Any]:
    return [item["id"] for item in listed(response) if type(item) is dict and type(item.get("id")) is str]


def scores(response: Any) -> list[float]:
    items = listed(response)
    drawn: list[Any] = [item.get("score") if type(item) is dict else getattr(item, "score", None) for item in items]
    return [score for score in drawn if is_number(score)]


def all_conform(response: Any) -> bool:
    return bool(listed(response)) and all(map(conforms, listed(response)))


def normal_ids(response: Any) -> list[str]:
    return [short_text(each, 160) for each in ids(response)]


def is_a(kind: type) -> Callable[[Any], bool]:
    return lambda value: type(value) is kind


RESPONSES: dict[str, Callable[[Any], object]] = {
    "a list that conforms": lambda response: type(response) is list and all_conform(response),
    "a tuple that conforms": lambda response: type(response) is tuple and all_conform(response),
    "a mapping that conforms": lambda response: type(response) is dict and all_conform(response),
    "models": lambda response: any(type(item) is RetrievalResult for item in listed(response)),
    "nothing found": lambda response: type(response) is list and not response,
    "many": lambda response: len(listed(response)) >= 5 and all_conform(response),
    "one broken among others": lambda response: (
        [*map(conforms, listed(response))].count(False) == 1 < len(listed(response))
    ),
    "an id twice": lambda response: len({*ids(response)}) < len(ids(response)),
    "an id twice, once normalised": lambda response: len({*normal_ids(response)}) < len({*ids(response)}),
    "scores that rise": lambda response: scores(response) != sorted(scores(response), reverse=True),
    "more than top_k": lambda response: len(ids(response)) > 8,
    "more than anyone looks at": lambda response: len(listed(response)) > 64,
    "null": lambda response: response is None,
    "a bare result": conforms,
    "no results": lambda response: type(response) is dict and "results" not in response,
    "no list under results": lambda response: (
        type(response) is dict and type(response.get("results", [])) in (dict, type(None))
    ),
    "itself": lambda response: any(item is field("results")(response) for item in listed(response)),
    "an iterator": lambda response: type(response) in (GeneratorType, type(iter([]))),
    "another container": lambda response: type(response) in (deque, set),
    "a subclass of a container": lambda response: any(is_subclass_of(base)(response) for base in (list, tuple, dict)),
    "text or bytes": lambda response: type(response) in (str, bytes),
    "an error": lambda response: isinstance(response, Exception) or (type(response) is dict and "error" in response),
    "reports": lambda response: type(field("sources")(response)) is list,
}
