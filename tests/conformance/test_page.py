"""The page: one document that needs nothing else, says everything, and lets nothing that a provider says act."""

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest
from sample_reports import HOSTILE, PROOF, TARGET, hostile_report, sample

from knowledge_conformance.catalogue import CHECKS
from knowledge_conformance.check import Facet
from knowledge_conformance.page import page
from knowledge_conformance.reading import CHAPTERS
from knowledge_conformance.render import visible
from knowledge_conformance.results import CheckOutcome

EMPTY = {"meta", "br", "wbr"}
BROKEN = {"KP-304": CheckOutcome.FAILED, "KP-503": CheckOutcome.INCONCLUSIVE}


class Document(HTMLParser):
    """A page as its tags, in order, and its text; refuses what is not well-formed."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.comments: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] != "style":
            self.text += data

    def values(self, attribute: str) -> list[str]:
        return [str(attrs[attribute]) for _, attrs in self.tags if attribute in attrs]

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


PAGES = {
    "sound": page([sample()]),
    "broken": page([sample(BROKEN, proof=PROOF)]),
    "hostile": page([hostile_report()]),
    "several": page([sample(), sample(BROKEN, target="acme.other:provider"), hostile_report()]),
}
each_page = pytest.mark.parametrize("text", PAGES.values(), ids=PAGES)


@each_page
def test_a_page_is_well_formed_and_loads_nothing(text: str) -> None:
    """No script, no picture, no frame, no style but its own, no link that leaves it, nothing that acts."""
    document = Document(text)
    assert {tag for tag, _ in document.tags} <= {
        "html", "head", "meta", "title", "style", "body", "header", "main", "section", "nav", "h1", "h2", "h3", "p",
        "a", "ul", "ol", "li", "b", "span", "div", "table", "caption", "thead", "tbody", "tr", "th", "td", "br", "wbr",
        "details", "summary", "dl", "dt", "dd", "code",
    }  # fmt: skip
    attributes = {name for _, attrs in document.tags for name in attrs}
    assert not {name for name in attributes if name.startswith("on") or name in ("style", "src", "srcdoc", "action")}
    assert all(link.startswith("#") for link in document.values("href"))
    assert document.comments == []
    assert not re.search(r"url\(|@import", text[text.index("<style>") : text.index("</style>")])


@each_page
def test_the_policy_allows_this_style_and_nothing_else(text: str) -> None:
    """By its hash: a style that somebody smuggled in would not be used, either."""
    (policy,) = [str(meta["content"]) for meta in Document(text).named("meta") if "http-equiv" in meta]
    style = text[text.index("<style>") + 7 : text.index("</style>")]
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@each_page
def test_every_link_of_a_page_leads_to_one_place(text: str) -> None:
    """An id stands once."""
    document = Document(text)
    ids = document.values("id")
    assert len(ids) == len(set(ids))
    assert {link.removeprefix("#") for link in document.values("href")} <= set(ids)
    assert {name for names in document.values("aria-labelledby") for name in names.split()} <= set(ids)


@each_page
def test_a_page_can_be_heard(text: str) -> None:
    """One first heading, none left out, landmarks with names, table headers with a scope, a language, a title."""
    document = Document(text)
    levels = [int(tag[1]) for tag, _ in document.tags if re.fullmatch(r"h\d", tag)]
    assert (levels[0], levels.count(1)) == (1, 1)
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
    assert len(document.named("main")) == len(document.named("header")) == 1
    assert all("aria-label" in nav for nav in document.named("nav"))
    assert all(head["scope"] in ("col", "row", "rowgroup") for head in document.named("th"))
    assert document.named("html")[0]["lang"] == "en"
    assert "<title>" in text
    # A part that scrolls by itself can be reached by keys, and has a name.
    regions = [attrs for attrs in document.named("div") if attrs.get("role") == "region"]
    assert all(region["tabindex"] == "0" and region["aria-labelledby"] for region in regions)


def test_the_verdict_stands_first() -> None:
    """Before anything else under the target's name, with a mark beside its colour."""
    document = Document(PAGES["broken"])
    tags = [tag for tag, _ in document.tags]
    assert tags[tags.index("main") + 1] == "section"
    assert str(document.tags[tags.index("main") + 1][1]["class"]) == "verdict bad"
    assert "✗ not conformant" in document.text
    assert "✓ conformant" in Document(PAGES["sound"]).text


def test_every_check_stands_in_its_chapter() -> None:
    """With its id, its title, its rule and why it matters; what did not pass is open."""
    document = Document(PAGES["broken"])
    for check in CHECKS:
        assert f"{check.id} {check.title}" in document.text
        assert " ".join(check.rationale.split("\n\n")[0].split()) in document.text
    opened = [attrs["id"] for attrs in document.named("details") if "open" in attrs]
    assert opened == list(BROKEN)
    assert all(f"{number} {name}" in document.text for number, name in CHAPTERS.items() if int(number) <= 7)


def test_a_failure_shows_its_evidence_and_its_calls() -> None:
    """Wanted, saw, call, hint, known, how to see it again, and the calls in order."""
    evidence: dict[str, Any] = {
        "wanted": "few",
        "saw": "many",
        "where": "retrieve(…)",
        "hint": "cut",
        "known": "vendor's bug",
    }
    text = Document(page([sample(BROKEN, **evidence, transcript=("describe()", "retrieve(…) -> 8 results"))])).text
    for shown in (*evidence.values(), "retrieve(…) -> 8 results", f"pytest --provider={TARGET} provider::KP-304"):
        assert shown in text


def test_a_facet_that_was_not_exercised_says_what_to_set() -> None:
    """In a row of its own; and what the verdict leaves open is said line by line."""
    report = sample()
    text = Document(page([report])).text
    for facet in (Facet.OWNERS, Facet.FILTERS, Facet.BASES, Facet.SECRETS, Facet.BACK_END):
        first = next(check for check in report.checks if check.facet is facet)
        assert f"{facet}not exercised" in text
        assert f"saw: {first.id}" in text
    for line in report.not_established:
        assert line in text


def test_a_proof_stands_in_the_page() -> None:
    """What was caught, what was missed, and what could not show."""
    text = Document(PAGES["broken"]).text
    assert PROOF.sentence in text
    assert "duplicate_ids" in text
    assert "the settings name no owners" in text


def test_several_reports_are_a_table_of_checks_and_targets() -> None:
    """A column for each target, a row for each check, the verdicts first, each cell a link to the evidence."""
    document = Document(page([sample(), sample(BROKEN, target="acme.other:provider")]))
    assert len([head for head in document.named("th") if head["scope"] == "col"]) == 3 + 2 * 3
    cells = [attrs for attrs in document.named("td") if str(attrs.get("class")) in ("good", "bad", "open", "none")]
    assert len(cells) == 2 * (len(CHECKS) + 1)
    assert {"#r1-KP-304", "#r2-KP-304"} <= set(document.values("href"))


def test_a_check_that_only_one_report_has_is_not_run_in_the_other() -> None:
    """Two versions of the kit, or a selection."""
    short = sample().model_copy(update={"checks": sample().checks[1:]})
    assert Document(page([sample(), short])).text.count("not run") == 1


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_provider_says_is_text(text: str) -> None:
    """As it is, but for what nobody would see, or what would reorder the line."""
    assert visible(text) in Document(PAGES["hostile"]).text
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\x00\x1b]", PAGES["hostile"])


def test_the_same_reports_give_the_same_page() -> None:
    """No time, no path, no chance."""
    assert page([sample(BROKEN)]) == page([sample(BROKEN)])


# Colours.


def schemes() -> Iterator[dict[str, str]]:
    style = PAGES["sound"][: PAGES["sound"].index("* {")]
    light, dark = style.split("@media (prefers-color-scheme: dark)")
    for part in (light, dark):
        yield dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", part))


def luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("colours", [*schemes()], ids=("light", "dark"))
def test_every_colour_can_be_read_on_every_ground(colours: dict[str, str]) -> None:
    """4.5 to 1 in the light and in the dark (WCAG 1.4.3)."""
    tones = ("good", "bad", "open", "none")
    pairs = [(ink, ground) for ink in ("ink", "soft", "link", *tones) for ground in ("ground", "card")]
    pairs += [(ink, f"{tone}-wash") for tone in tones for ink in ("ink", *tones)]
    assert {pair for pair in pairs if contrast(colours[pair[0]], colours[pair[1]]) < 4.5} == set()


def test_a_check_that_this_kit_does_not_know_is_shown_too() -> None:
    """A report of a newer one, in a chapter that has no name here yet."""
    report = sample({"KP-304": CheckOutcome.FAILED})
    newer = report.checks[0].model_copy(update={"id": "KP-1401", "clause": "14.3", "title": "Something new."})
    document = Document(page([report.model_copy(update={"checks": (*report.checks, newer)})]))
    assert "KP-1401 Something new." in document.text
    assert "14" in document.values("id")
