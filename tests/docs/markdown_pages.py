"""Reads pages of Markdown: their code blocks, links, headings and words. Runs nothing."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped] # it comes with MyST, and its types do not come with it
from markdown_it import MarkdownIt
from markdown_it.token import Token

_NAMED = re.compile(r"# ([\w./-]+\.(?:py|toml|yml))\n")


@dataclass(frozen=True)
class Block:
    """A fenced block; ``line`` is where its text begins in the page, counted from 1."""

    language: str
    text: str
    line: int

    @property
    def file(self) -> str | None:
        """The name of the file that the block is, by its first line: ``# notes.py``."""
        found = _NAMED.match(self.text)
        return found[1] if found else None


def blocks(page: Path) -> list[Block]:
    """Every fenced block of a page, in order."""
    return [
        Block(token.info.strip(), token.content, token.map[0] + 2)
        for token in _tokens(page)
        if token.type == "fence" and token.map is not None
    ]


def links(page: Path) -> list[str]:
    """Where every link and picture of a page leads."""
    inner = [child for token in _tokens(page) for child in token.children or ()]
    return [str(child.attrs[name]) for child in inner for name in ("href", "src") if name in child.attrs]


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors that a page's headings make, as GitHub and MyST spell them; a hundred links may lead to one page."""
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings(page))


def headings(page: Path) -> Iterator[str]:
    """The text of each heading, without markup."""
    tokens = _tokens(page)
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            yield "".join(child.content for child in inline.children or ())


def workflow_steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    """The steps of all jobs of a workflow."""
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def read_yaml(text: str) -> dict[str, Any]:
    """The mapping that a YAML text holds."""
    return dict(yaml.safe_load(text))


def words_before_references(page: Path) -> int:
    """How many words a reader meets before the list of reference links: code included."""
    text = re.split(r"^\[[^\]]+\]: ", page.read_text(encoding="utf-8"), maxsplit=1, flags=re.MULTILINE)[0]
    return len(text.split())


def _tokens(page: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))
