"""Rule N12 and clause 8.9: citations that stay the same for the turn."""

from threading import Lock
from typing import Any

import pytest

from knowledge_provider.citations import CitationLedger
from knowledge_provider.models import Source
from knowledge_provider.normalize import normalize_response
from knowledge_provider.outcome import Citation, Outcome
from knowledge_provider.text import short_text


def passage(name: str, uri: str, **fields: Any) -> dict[str, Any]:
    return {"id": name, "content": f"text of {name}", "source": {"uri": uri, "title": f"title of {name}"}, **fields}


def search(ledger: CitationLedger | None, *passages: dict[str, Any]) -> Outcome:
    return normalize_response(list(passages), query="q", limit=8, citations=ledger)


def cite(url: str = "https://example.com/a", *, content: str = "text", provider: str = "", **source: str) -> Citation:
    return CitationLedger().cite(url, source=Source(**source), content=content, provider=provider)


def test_one_uri_has_one_citation_for_the_turn() -> None:
    """Clause 8.9: id, title and snippet are those first seen, also in a later search of the turn."""
    ledger = CitationLedger()
    (first,) = search(ledger, passage("a", "https://example.com/x")).citations
    later = search(ledger, passage("b", "https://EXAMPLE.com/x#part"), passage("c", "https://example.com/z"))
    assert later.citations == (
        first,
        Citation(id="source_2", title="title of c", url="https://example.com/z", snippet="text of c"),
    )
    assert [(result.url, result.citation_id) for result in later.results] == [
        ("https://example.com/x", "source_1"),
        ("https://example.com/z", "source_2"),
    ]
    assert later.results[0].source == Source(uri="https://example.com/x", title="title of b")


def test_an_outcome_lists_its_own_citations_once_in_the_order_of_its_results() -> None:
    """N13: what an earlier search cited is not repeated, and the ids need not count up."""
    ledger = CitationLedger()
    search(ledger, *(passage(name, f"https://example.com/{name}") for name in "abc"))
    again = search(ledger, *(passage(f"{name}2", f"https://example.com/{name}") for name in "cac"))
    assert [citation.id for citation in again.citations] == ["source_3", "source_1"]


def test_another_turn_starts_again() -> None:
    """Clause 8.9: ids count from `source_1` in each ledger, and without one in each outcome."""
    other = passage("o", "https://example.com/o")
    search(ledger := CitationLedger(), passage("a", "https://example.com/a"))
    assert search(ledger, other).citations[0].id == "source_2"
    assert search(CitationLedger(), other).citations[0].id == search(None, other).citations[0].id == "source_1"


def test_a_turn_keeps_the_links_that_it_cited_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clause 8.9: bounded; the least recently cited go first, and no number is given twice."""
    monkeypatch.setattr("knowledge_provider.citations._LINKS_MAX", 3)
    ledger = CitationLedger()

    def ids(names: str) -> list[str]:
        found = [passage(name, f"https://example.com/{name}") for name in names]
        return [citation.id for each in found for citation in search(ledger, each).citations]

    assert ids("abcad") == ["source_1", "source_2", "source_3", "source_1", "source_4"]
    assert ids("acdb") == ["source_1", "source_3", "source_4", "source_5"]


def test_a_turn_that_never_ends_does_not_grow_for_ever() -> None:
    """4,096 links, and not one more."""
    ledger, source = CitationLedger(), Source()
    cited = [ledger.cite(f"https://example.com/{at}", source=source, content="x").id for at in range(5000)]
    again = [ledger.cite(f"https://example.com/{at}", source=source, content="x").id for at in range(904, 5000)]
    assert again == cited[904:]
    assert ledger.cite("https://example.com/903", source=source, content="x").id == "source_5001"


def test_only_results_with_a_kept_uri_are_cited() -> None:
    """N7 and N10: neither a dropped duplicate nor a private place takes an id."""
    outcome = search(
        None,
        passage("a", "http://10.0.0.1/"),
        passage("a", "https://example.com/duplicate"),
        passage("b", "https://example.com/b"),
    )
    assert [(citation.id, citation.url) for citation in outcome.citations] == [("source_1", "https://example.com/b")]
    assert (outcome.results[0].url, outcome.results[0].citation_id) == (None, None)


@pytest.mark.parametrize(
    ("source", "url", "title"),
    [
        ({"title": "T", "id": "d"}, "https://example.com/a", "T"),
        ({"id": "d"}, "https://example.com/a", "d"),
        ({}, "https://xn--bcher-kva.example.com/x", "xn--bcher-kva.example.com"),
        ({}, "https://example.com:8443/a:9", "example.com"),
        ({}, "https://[2606:4700::1111]:8443/", "[2606:4700::1111]"),
        ({}, "https://[2606:4700::1111]/", "[2606:4700::1111]"),
    ],
)
def test_title_is_the_sources_or_its_id_or_the_host(source: dict[str, str], url: str, title: str) -> None:
    """N12: the host name as the URI writes it, without the port."""
    assert cite(url, **source).title == title


def test_snippet_is_the_content_on_one_line() -> None:
    """N12: at most 1,200 characters, by N5."""
    assert cite(content="one\n\n two\tthree").snippet == "one two three"
    assert cite(content="word\n" * 2000).snippet == ("word " * 240).strip()


def test_source_is_the_provider_name_where_there_is_one() -> None:
    """N12 and N4: the passage's own name goes before its source's."""
    outer = passage("a", "https://example.com/a", provider=" docs ")
    inner = {"id": "b", "content": "text", "source": {"uri": "https://example.com/b", "provider": "wiki"}}
    plain = search(None, outer, inner, passage("c", "https://example.com/c")).to_dict()["citations"]
    assert [citation.get("source") for citation in plain] == ["docs", "wiki", None]
    assert "source" not in plain[2]


def test_counting_and_adding_is_one_step_between_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads that counted at the same time would give one id to two URIs."""
    lock, held = Lock(), list[bool]()

    def watched_text(value: object, limit: int) -> str:
        held.append(lock.locked())
        return short_text(value, limit)

    monkeypatch.setattr("knowledge_provider.citations.Lock", lambda: lock)
    monkeypatch.setattr("knowledge_provider.citations.short_text", watched_text)
    search(CitationLedger(), passage("a", "https://example.com/a"), passage("b", "https://example.com/b"))
    assert held == [True, True]
    assert not lock.locked()
