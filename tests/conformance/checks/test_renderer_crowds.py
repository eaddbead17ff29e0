"""Fields that have to be cut: whichever comes out of it as it came is named, and what is escaped passes."""

import asyncio
import html
from collections.abc import Callable
from typing import Any

import pytest

from knowledge_conformance.check import Violation
from knowledge_conformance.checks.renderer_crowds import ATTACK_CHARS, CROWDS, leads, require_fields_kept_in
from knowledge_conformance.frames import read_frame
from knowledge_conformance.marking import outcome_of, raw_outcome_of
from knowledge_conformance.renderer_subject import RendererSubject
from knowledge_conformance.settings import Settings
from knowledge_provider import Outcome, OutcomeResult

READ: dict[str, Callable[[OutcomeResult], str | None]] = {
    "id": lambda result: result.id,
    "title": lambda result: result.source.title if result.source else None,
    "source": lambda result: result.source.id if result.source else None,
    "locator": lambda result: result.source.locator if result.source else None,
    "uri": lambda result: result.url,
    "citation": lambda result: result.citation_id,
}


class Cutting:
    """A line for each field, cut to a third of a result's room; ``careless`` are cut out of the text as it came."""

    def __init__(self, *careless: str) -> None:
        self.careless = careless

    def render_block(self, outcome: Outcome, *, max_chars: int = 8000) -> str:
        room = max_chars // len(outcome.results) - 100
        return "".join(self.passage(result, room) for result in outcome.results)

    def passage(self, result: OutcomeResult, room: int) -> str:
        lines = [self.line(name, read(result) or "", room // 3) for name, read in READ.items()]
        return "\n".join(["<passage>", *lines, html.escape(result.content)[: room // 4], "</passage>\n"])

    def line(self, name: str, text: str, room: int) -> str:
        written = html.escape(text)
        return written if len(written) <= room else (text if name in self.careless else written)[:room]

    def inject(self, messages: Any, block: str) -> list[Any]:
        return [*messages, block]


def require(make: Callable[..., Outcome], fields: list[str], *careless: str) -> int:
    """How often it was looked; raises what the check would."""
    renderer = Cutting(*careless)
    subject = RendererSubject(lambda: renderer, Settings(), announce=lambda *_: None)
    usual = read_frame(renderer.render_block(make({}, {}, {}), max_chars=100_000))
    assert usual is not None
    asyncio.run(require_fields_kept_in(subject, usual, make, fields))
    return subject.observations


@pytest.mark.parametrize("field", READ)
def test_a_field_that_is_cut_as_it_came_is_named(field: str) -> None:
    """Each alone, so that none is hidden behind another that takes the room; addresses of a host have no brackets."""
    with pytest.raises(Violation) as found:
        require(raw_outcome_of if field in ("citation", "uri") else outcome_of, [*READ], field)
    assert "'<passage>', which is the frame's own," in found.value.saw


def test_what_is_escaped_before_it_is_cut_passes() -> None:
    """In each crowd, for each piece and each place of the cut."""
    assert require(raw_outcome_of, [*READ]) >= len(CROWDS) * len(READ) * 2


def test_a_row_of_pieces_is_moved_along_the_cut() -> None:
    """By a part of a piece each time, and never by more than one."""
    assert [*leads("</passage>")] == ["", "xx", "xxxx", "xxxxxx", "xxxxxxxx", "xxxxxxxxxx"]
    assert [*leads("|")] == ["", "x"]
    assert max(map(len, leads("x" * 80))) <= ATTACK_CHARS
