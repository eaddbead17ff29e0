"""Markdown for a pull request: what it says, and that nothing of a provider's becomes live in it."""

import re
from html import unescape

import pytest
from markdown_it import MarkdownIt
from sample_reports import HOSTILE, PROOF, hostile_report, sample

from knowledge_conformance.catalogue import CHECKS
from knowledge_conformance.markdown import ROWS_MAX, inert, markdown, prose
from knowledge_conformance.render import visible
from knowledge_conformance.results import CheckOutcome

OURS = {"code", "br", "sub", "details", "summary"}


def rendered(text: str) -> str:
    """As a renderer with tables and raw HTML, which GitHub's is, makes HTML of it."""
    return str(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text))


def outside_code(html: str) -> str:
    return re.sub(r"<code>.*?</code>", "", html, flags=re.DOTALL)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("write", [inert, prose])
def test_nothing_becomes_live(write: object, text: str) -> None:
    """Alone in a paragraph, in a list, and in a cell of a table: it is text, and all of it."""
    written = inert(text, 10_000) if write is inert else prose(text)
    for frame in ("{}", "- {}", "| a | b |\n| --- | --- |\n| {} | x |"):
        html = rendered(frame.format(written))
        tags = set(re.findall(r"<(\w+)", re.sub("<!--.*?-->", "", html)))
        assert tags <= {"p", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "code"}
        assert html.count("<td>") in (0, 2)
        assert visible(text) in unescape(re.sub("<[^>]*>", "", html))
        assert not re.search(r"@|#\d|https?:|www\.|[0-9a-f]{7,40}", outside_code(unescape(html)))


def test_a_hostile_report_keeps_its_shape() -> None:
    """Four cells in each row, and no tag but ours."""
    html = rendered(markdown([hostile_report()]))
    rows = re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)
    assert {len(re.findall("<t[dh]", row)) for row in rows} == {2, 4}
    assert "<a " not in html
    assert "<img" not in html
    assert "<script" not in html
    assert set(re.findall(r"<(\w+)", outside_code(html))) <= {
        *OURS, "h2", "p", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "strong",
    }  # fmt: skip


def test_the_verdict_stands_first_then_counts_then_what_failed() -> None:
    """And at the end what it does not establish."""
    report = sample({"KP-304": CheckOutcome.FAILED, "KP-305": CheckOutcome.ADVISORY})
    text = markdown([report])
    parts = [
        "## ✗ not conformant",
        "not conformant&#58; core",
        "| ✗ failed | 1 |",
        "| ✗ failed<br><code>KP-304</code>",
        "| ! advisory<br><code>KP-305</code>",
        "**What this does not establish**",
        "- owners&#58; not exercised<br>",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_a_sound_report_has_no_table_of_failures() -> None:
    """Only counts, and what is not established."""
    text = markdown([sample()])
    assert text.startswith("## ✓ conformant")
    assert "what to do" not in text
    assert "**What this does not establish**" in text


def test_a_comment_stays_small() -> None:
    """As many rows as fit, and the count of the others: GitHub takes 65,536 characters."""
    report = sample(
        {check.id: CheckOutcome.FAILED for check in CHECKS}, saw="|" * 600, hint="<" * 600, replay="x" * 5000
    )
    text = markdown([report])
    assert len(text) < 65_536
    assert text.count("<code>KP-") == ROWS_MAX
    assert f"{len(CHECKS) - ROWS_MAX} more are in the full report." in text


def test_several_reports_are_several_sections() -> None:
    """And a proof is told."""
    text = markdown([sample(proof=PROOF), sample(target="acme:b")])
    assert text.count("## ✓ conformant") == 2
    assert "2 faults injected, 1 caught, 1 missed" in text
