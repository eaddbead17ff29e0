"""The small search: what counts as a word, what matches, and in which order."""

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_fakes.search import Hit, build_index, index_terms, query_terms, search

TEXTS = {
    "long": "A release is approved by two reviewers, and a release that nobody reviewed waits for the next week.",
    "short": "Releases need approval.",
    "other": "Lunch is at noon.",
    "chinese": "报销政策：出差费用可以报销。",
}


def ids(query: str, texts: dict[str, str] = TEXTS) -> list[str]:
    return [hit.id for hit in search(build_index(texts), query)]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Releases, APPROVALS & policies!", ("release", "approval", "policy")),
        ("class status heroes", ("class", "status", "heroes")),
        ("snake_case v2.0", ("snake", "case", "v2", "0")),
        ("ＦＵＬＬ width", ("full", "width")),
        ("How is the company's?", ("company",)),
        ("", ()),
        ("🚢 — ?!", ()),
    ],
)
def test_words_are_folded_and_lose_their_plural(text: str, terms: tuple[str, ...]) -> None:
    """Case, width and plural do not matter; punctuation parts words; very common words do not count."""
    assert index_terms(text) == terms
    assert query_terms(text) == terms


def test_a_passage_in_chinese_is_found_by_characters_and_pairs() -> None:
    """There are no spaces to part words at, so every character and every pair stands for one."""
    assert index_terms("报销单") == ("报", "销", "单", "报销", "销单")


def test_a_query_in_chinese_asks_for_pairs() -> None:
    """A single character inside a run would match nearly everything."""
    assert query_terms("报销单") == ("报销", "销单")
    assert query_terms("报") == ("报",)


def test_latin_and_chinese_may_touch() -> None:
    """A change of script parts words, with or without a space."""
    assert query_terms("VPN报销policy") == ("vpn", "报销", "policy")


def test_a_repeated_query_word_counts_once() -> None:
    """Saying a word twice asks for no more."""
    assert query_terms("release releases Release") == ("release",)
    assert search(build_index(TEXTS), "release release") == search(build_index(TEXTS), "release")


@pytest.mark.parametrize(
    "query", ["how", "the", "What is it?", "是什么", "zzqx nonsense 9731", "'; DROP TABLE --", "🚢"]
)
def test_nothing_matches_nothing(query: str) -> None:
    """A query without a word that a passage holds finds nothing: there is no filler."""
    assert ids(query) == []


def test_an_empty_index_finds_nothing() -> None:
    """No passages, or passages without words, are not an error."""
    assert ids("release", {}) == []
    assert ids("release", {"empty": "…"}) == []


def test_only_passages_with_a_word_of_the_query_are_found() -> None:
    """The short passage says the same in fewer words and stands first; the others are left out."""
    assert ids("release approval") == ["short", "long"]
    assert ids("报销政策是什么") == ["chinese"]


def test_a_rarer_word_weighs_more() -> None:
    """Of two passages that hold one word of the query each, the one with the rarer word stands first."""
    texts = {"a": "common one", "b": "common two", "c": "common three", "d": "scarce four"}
    assert ids("common scarce", texts)[0] == "d"


def test_more_of_the_query_weighs_more() -> None:
    """A passage with both words stands before one that repeats the first of them."""
    texts = {"repeats": "laptop laptop laptop disk", "both": "lost laptop under the table"}
    assert ids("lost laptop", texts) == ["both", "repeats"]


def test_a_shorter_passage_weighs_more() -> None:
    """The same word says more about a passage that says little else."""
    texts = {"long": "ship, harbour, rope, tide, lantern, pier, anchor and gangway", "short": "ship, sea"}
    assert ids("ship", texts) == ["short", "long"]


def test_equal_scores_stand_in_the_order_of_their_ids() -> None:
    """The order of a tie does not depend on the order in which passages were indexed."""
    assert ids("same", {"b": "same text", "a": "same text", "c": "same text"}) == ["a", "b", "c"]


@settings(deadline=None, max_examples=100)
@given(
    st.dictionaries(st.sampled_from("abcdef"), st.text(st.sampled_from("ship 报销政 the port")), max_size=6), st.text()
)
def test_scores_are_finite_positive_and_fall(texts: dict[str, str], query: str) -> None:
    """Whatever is indexed and asked, scores are finite and above zero and never rise down the list."""
    hits = search(build_index(texts), f"{query} ship 报销")
    assert all(math.isfinite(hit.score) and hit.score > 0 for hit in hits)
    assert all((-one.score, one.id) < (-two.score, two.id) for one, two in pairwise(hits))
    assert {hit.id for hit in hits} >= {key for key, text in texts.items() if "ship" in text.split()}


def test_an_index_cannot_be_changed() -> None:
    """An index is shared between concurrent calls, so nobody may write to it."""
    index = build_index(TEXTS)
    with pytest.raises(TypeError):
        index.weights["lunch"]["other"] = 9.0  # type: ignore[index] # the point of this test
    assert search(index, "lunch") == (Hit("other", search(index, "lunch")[0].score),)
