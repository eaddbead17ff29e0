"""Everything that an answer holds, with the way to it; knows containers and models, judges nothing of what it finds.

Runs no code of what it walks through: subclasses are read through the methods of the builtin types themselves.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from knowledge_conformance.check import Inconclusive
from knowledge_conformance.plain import is_exactly, model_fields
from knowledge_conformance.render import show
from knowledge_provider import RetrievalResult, Source, SourceReport
from knowledge_provider.text import is_a

PARTS_MAX: Final = 20_000
"""How many values of one answer are looked at; the fields of the contract are some hundreds."""
_STEPS_MAX: Final = 8

Path = tuple[Any, object] | None
"""The way to a value: the way to what holds it, and its key or place in there. A key's own place is ``KEY``."""
KEY: Final = "key"
MODELS: Final = (RetrievalResult, Source, SourceReport)
"""The contract's models that an answer may consist of."""


def parts_of(root: object) -> Iterator[tuple[Path, object]]:
    """Every value in an answer, keys too, with its path; safe for cycles.

    Raises ``Inconclusive`` after ``PARTS_MAX`` of them: what was not looked at must not count as sound.
    """
    waiting: list[tuple[Path, object]] = [(None, root)]
    seen: set[int] = set()
    for _ in range(PARTS_MAX):
        if not waiting:
            return
        path, part = waiting.pop()
        yield path, part
        if id(part) not in seen:
            seen.add(id(part))
            waiting.extend(reversed(list(_inside(path, part))))
    if waiting:
        raise Inconclusive(
            f"an answer holds more than {PARTS_MAX:,} values, too many to look at the whole of it",
            hint="return what a host reads: id, content, score, source and flat metadata",
        )


def _inside(path: Path, part: object) -> Iterator[tuple[Path, object]]:
    # One more than are looked at, so that a cut container shows.
    if is_exactly(part, *MODELS):
        part = {name: value for name, value in model_fields(part).items() if value is not None}
    if is_a(part, dict):
        for key, value in islice(list(dict.items(part)), PARTS_MAX + 1):
            yield (path, KEY), key
            yield (path, key), value
    elif is_a(part, list):
        yield from (((path, at), item) for at, item in enumerate(list.__getitem__(part, slice(PARTS_MAX + 1))))
    elif is_a(part, tuple):
        yield from (((path, at), item) for at, item in enumerate(tuple.__getitem__(part, slice(PARTS_MAX + 1))))


def show_path(path: Path) -> str:
    """The way to a value on one line, as an author would write it: ``answer['results'][0]['id']``."""
    # Only for the one place that is shown: there are thousands in a large answer.
    steps: list[str] = []
    while path is not None:
        path, step = path
        steps.append(f"[{show(step, limit=40)}]")
    outer = steps[::-1]
    return "answer" + "".join(outer[:_STEPS_MAX]) + ("…" if len(outer) > _STEPS_MAX else "")
