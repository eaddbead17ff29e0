"""Where reports are written, and as what. Knows files and their suffixes; what stands in them is made elsewhere."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from knowledge_conformance.markdown import markdown
from knowledge_conformance.page import page
from knowledge_conformance.report import Report

_ALL_IN_ONE: Final = MappingProxyType[str, Callable[[Sequence[Report]], str]](
    {".html": page, ".htm": page, ".md": markdown, ".markdown": markdown}
)
SUFFIXES: Final = (".json", *_ALL_IN_ONE)


class SuffixError(Exception):
    """A report cannot be written as what its path's suffix says; the message is one line."""


def checked(path: Path) -> Path:
    """``path``, where its suffix is that of a report; raises ``SuffixError``, before anything is run."""
    if path.suffix.lower() not in SUFFIXES:
        raise SuffixError(f"{path}: a report is written as what its name ends in: .json, .html or .md")
    return path


def write_reports(path: Path, reports: Sequence[Report]) -> None:
    """Write reports to ``path``, as its suffix says; raises ``OSError``.

    A page or a summary holds all of them. JSON is one report for each file: of several, each is written beside
    ``path`` with its target in its name.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = _ALL_IN_ONE.get(path.suffix.lower())
    if whole is not None:
        path.write_text(whole(reports), encoding="utf-8")
        return
    for place, report in zip(_places(path, reports), reports, strict=True):
        place.write_text(report.to_json(), encoding="utf-8")


def _places(path: Path, reports: Sequence[Report]) -> Iterator[Path]:
    taken: set[Path] = set()
    for report in reports:
        slug = re.sub(r"[^A-Za-z0-9.]+", "-", report.target)
        place = path if len(reports) == 1 else path.with_stem(f"{path.stem}-{slug}")
        # The same name as a provider and as a host, or two names that are spelled alike.
        place = path.with_stem(f"{place.stem}-{report.kind}-{len(taken)}") if place in taken else place
        taken.add(place)
        yield place
