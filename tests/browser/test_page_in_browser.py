"""The page as a browser shows it: narrow, in the dark, on paper, without scripts, and asking nobody for anything."""

import struct
from pathlib import Path

import pytest
from sample_reports import HOSTILE, PROOF, hostile_report, sample

from browser import Browser
from knowledge_conformance.page import page
from knowledge_conformance.render import visible
from knowledge_conformance.results import CheckOutcome

BROKEN = {"KP-304": CheckOutcome.FAILED, "KP-503": CheckOutcome.INCONCLUSIVE}
REPORTS = {
    "sound": [sample()],
    "broken": [sample(BROKEN, proof=PROOF)],
    "hostile": [hostile_report()],
    "several": [sample(), sample(BROKEN, target="acme.other:provider"), hostile_report()],
}
each_page = pytest.mark.parametrize("name", REPORTS)
SHUT = "[...document.querySelectorAll('details:not([open]) .inside')].filter(each => each.checkVisibility()).length"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    for name, reports in REPORTS.items():
        (folder / f"{name}.html").write_text(page(reports), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in REPORTS}


@each_page
@pytest.mark.parametrize("scripts", [False, True])
def test_a_page_asks_for_nothing_and_complains_of_nothing(
    name: str, scripts: bool, chromium: Browser, pages: dict[str, Path]
) -> None:
    """One file is read; nothing is logged, nothing is run, nothing is refused; also where scripts may run."""
    chromium.open(pages[name], width=1000, scripts=scripts)
    assert [told["request"]["url"] for told in chromium.told("Network.requestWillBeSent")] == [pages[name].as_uri()]
    assert chromium.told("Log.entryAdded") == []
    assert chromium.told("Runtime.consoleAPICalled") == []
    assert chromium.told("Runtime.exceptionThrown") == []
    assert chromium.told("Page.javascriptDialogOpening") == []


@each_page
@pytest.mark.parametrize("width", [320, 400, 768, 1280])
def test_a_page_is_as_wide_as_its_window(name: str, width: int, chromium: Browser, pages: dict[str, Path]) -> None:
    """Nothing is cut off or has to be scrolled sideways, but a table in its own frame."""
    chromium.open(pages[name], width=width)
    assert chromium.value("document.documentElement.scrollWidth") <= width
    assert chromium.value("document.documentElement.clientWidth") == width
    outside = (
        "[...document.querySelectorAll('body *')].filter(each => !each.closest('.wide') && each.checkVisibility() "
        f"&& each.getBoundingClientRect().right > {width} + 0.5).map(each => each.outerHTML.slice(0, 80))"
    )
    assert chromium.value(outside) == []


def test_a_table_of_targets_scrolls_in_its_own_frame(chromium: Browser, pages: dict[str, Path]) -> None:
    """Where it is wider than the window."""
    chromium.open(pages["several"], width=320)
    assert chromium.value("(each => each.scrollWidth > each.clientWidth)(document.querySelector('.wide'))") is True


@pytest.mark.parametrize(("dark", "light_text"), [(False, False), (True, True)])
def test_a_page_is_dark_in_the_dark(dark: bool, light_text: bool, chromium: Browser, pages: dict[str, Path]) -> None:
    """Light on dark where the reader's system is dark, dark on light elsewhere; also what is drawn."""
    chromium.open(pages["broken"], width=800, dark=dark)
    read = "(name => getComputedStyle(document.body)[name].match(/\\d+/g).map(Number).reduce((a, b) => a + b))"
    assert (chromium.value(f"{read}('color')") > chromium.value(f"{read}('backgroundColor')")) is light_text
    width, height = struct.unpack(">II", chromium.picture()[16:24])
    assert (width, height) == (800, 900)


def test_the_verdict_is_seen_without_scrolling(chromium: Browser, pages: dict[str, Path]) -> None:
    """In a narrow window, too."""
    chromium.open(pages["broken"], width=320)
    bottom = chromium.value("document.querySelector('.verdict').getBoundingClientRect().bottom")
    assert 0 < bottom < 900
    assert chromium.value("document.querySelector('.verdict h2').innerText") == "✗ not conformant"


def test_what_failed_is_open_and_the_rest_opens_without_scripts(chromium: Browser, pages: dict[str, Path]) -> None:
    """By a click, which the browser itself understands."""
    chromium.open(pages["broken"], width=800)
    assert chromium.value("[...document.querySelectorAll('details[open]')].map(each => each.id)") == [*BROKEN]
    assert "saw: KP-304" in chromium.value("document.getElementById('KP-304').innerText")
    assert chromium.value(SHUT) == 0
    place = chromium.value(
        "(each => { each.scrollIntoView(); const box = each.querySelector('summary').getBoundingClientRect();"
        " return [box.x + 5, box.y + 5] })(document.getElementById('KP-101'))"
    )
    for kind in ("mousePressed", "mouseReleased"):
        chromium.ask("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)
    assert chromium.value("document.getElementById('KP-101').open") is True


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_provider_says_is_read_as_it_is(text: str, chromium: Browser, pages: dict[str, Path]) -> None:
    """With scripts allowed: none of it becomes an element."""
    chromium.open(pages["hostile"], width=800, scripts=True)
    assert visible(text) in chromium.value("document.body.textContent")
    assert chromium.value("document.querySelectorAll('script, img, iframe, a[href]:not([href^=\"#\"])').length") == 0


def test_a_page_can_be_printed(chromium: Browser, pages: dict[str, Path]) -> None:
    """Black on white, also for a reader in the dark, as wide as the paper."""
    chromium.open(pages["broken"], width=700, dark=True, media="print")
    assert chromium.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert chromium.value("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert chromium.value("document.documentElement.scrollWidth") <= 700
    assert chromium.ask("Page.printToPDF")["data"]


def test_the_parts_of_a_page_have_roles_and_names(chromium: Browser, pages: dict[str, Path]) -> None:
    """As assistive technology gets them."""
    chromium.open(pages["several"], width=800)
    tree = chromium.ask("Accessibility.getFullAXTree")["nodes"]
    seen = {(node["role"]["value"], node.get("name", {}).get("value", "")) for node in tree if "role" in node}
    assert ("region", "Every provider by every check") in seen
    assert ("navigation", "Chapters of acme.other:provider") in seen
    assert {"main", "banner", "table", "rowheader", "columnheader"} <= {role for role, _ in seen}
