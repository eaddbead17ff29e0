"""Outcomes of which every field stands between marks of its own, to be found again; knows outcomes, no block of text.

Each field begins and ends with a word of its own, of letters and digits alone, which no renderer has to change.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from knowledge_provider import limits
from knowledge_provider.normalize import normalize_response
from knowledge_provider.outcome import Citation, Outcome, OutcomeResult, SourceReport
from knowledge_provider.text import short_text

FIELDS: Final = ("id", "title", "source", "locator", "uri", "mime", "provider", "key", "metadata", "content")
"""The fields of a result that are marked.

``source`` is the source's id, ``provider`` what its citation names as one, ``key`` a key in the metadata.
"""
BESIDES: Final = ("query", "report", "reason", "status")
"""What else in an outcome is marked: the query, and of each source that is reported its key, its reason and status."""
UNNORMALISED: Final = ("citation", "notice")
"""What only who makes an outcome without a host can write: a citation's id and the notice."""
PROVENANCE: Final = frozenset({"id", "title", "source", "locator", "uri"})
"""Those that say where a result is from."""

MARK: Final = re.compile(rf"zq({'|'.join((*FIELDS, *BESIDES, *UNNORMALISED))})(\d)(begins|ends)")
"""A mark: the field's name, the place of its result or report, and which end it is."""

_FAILED: Final = 2
_NAMES: Final = {
    "source": "source's id",
    "uri": "address",
    "mime": "MIME type",
    "provider": "citation's source",
    "key": "metadata key",
    "report": "key",
    "citation": "citation's id",
}

Texts = Mapping[str, str]


def marked(field: str, place: int, text: str = "") -> str:
    """A field's text between its marks."""
    return f"zq{field}{place}begins{text}zq{field}{place}ends"


def place_of(field: str, place: int) -> str:
    """In words, which field it is."""
    name = _NAMES.get(field, field)
    if field in FIELDS:
        return f"{name} of result {place}"
    return f"{name} of report {place}" if field in ("report", "reason", "status") else name


def unmarked(text: str) -> str:
    """A text without the marks in it, as a reader may be shown it."""
    return MARK.sub("", text).strip()


def has_marks(text: str) -> bool:
    """Whether something of a field stands in a text."""
    return MARK.search(text) is not None


def item(place: int, texts: Texts) -> dict[str, Any]:
    """A result of which each field is marked, and has the text of its name in it, if there is one."""
    each = {field: marked(field, place, texts.get(field, "")) for field in FIELDS}
    source = {
        "id": each["source"],
        "title": each["title"],
        "locator": each["locator"],
        "uri": f"https://docs.example.com/{each['uri']}",
        "mime_type": each["mime"],
    }
    return {
        "id": each["id"],
        "content": each["content"],
        "source": source,
        "metadata": {"note": each["metadata"], each["key"]: "yes"},
        "provider": each["provider"],
    }


def outcome_of(*texts: Texts) -> Outcome:
    """Results of marked fields, as a host gives them."""
    items = [item(place, each) for place, each in enumerate(texts)]
    return normalize_response(items, query="release policy", limit=8, max_content_chars=20_000)


def raw_outcome_of(*texts: Texts) -> Outcome:
    """The same as nobody has normalised it, with a citation's id and a notice of anybody's making."""
    results, citations = [], []
    for place, each in enumerate(texts):
        fields = item(place, each)
        id_, url = marked("citation", place, each.get("citation", "")), fields["source"]["uri"]
        results.append(OutcomeResult(**fields, url=url, citation_id=id_))
        citations.append(
            Citation(
                id=id_, title=fields["source"]["title"], url=url, snippet=fields["content"], source=fields["provider"]
            )
        )
    return Outcome(
        status="ok",
        query="release policy",
        results=tuple(results),
        citations=tuple(citations),
        notice=marked("notice", 0, next((each["notice"] for each in texts if "notice" in each), "")),
    )


def reported_outcome_of(*texts: Texts) -> Outcome:
    """Results of marked fields, as a host gives them, with all besides marked, too; that has the first one's texts."""
    return _with_besides(outcome_of(*texts), texts[0], lambda text: short_text(text, limits.QUERY_MAX))


def raw_reported_outcome_of(*texts: Texts) -> Outcome:
    """The same as nobody has normalised it."""
    return _with_besides(raw_outcome_of(*texts), texts[0], str)


def _with_besides(outcome: Outcome, texts: Texts, clean: Callable[[str], str]) -> Outcome:
    def written(field: str, place: int) -> str:
        return clean(marked(field, place, texts.get(field, "")))

    # Two that failed, since a renderer may name those alone, and one of a status that none has.
    reports = [
        SourceReport(
            key=written("report", place),
            reason=written("reason", place),
            status="failed" if place < _FAILED else written("status", place),
        )
        for place in range(_FAILED + 1)
    ]
    return outcome.model_copy(update={"query": written("query", 0), "sources": tuple(reports)})
