"""The published inputs ship with the kit, whole, and each reader gets its own."""

from collections import Counter

from knowledge_conformance import corpora


def test_they_are_whole() -> None:
    """A file cut short would pass by having less to say."""
    assert len(corpora.vectors()) == 487
    assert len(corpora.uris()) == 653
    assert Counter(row["tier"] for row in corpora.uris()) == {"must": 490, "should": 163}
    assert len(corpora.no_uris()) >= 12


def test_changing_one_changes_no_other() -> None:
    """A host may change the answer that it gets."""
    first, second = corpora.vectors()[0], corpora.vectors()[0]
    first["response"].clear()
    assert second["response"]
