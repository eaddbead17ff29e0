"""Clauses 5.7 and 5.8: plain data and clean text, all the way down. Runs no code of what it looks at."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from knowledge_conformance.check import Check, Level, Violation, answer_check
from knowledge_conformance.exchange import Exchange, place
from knowledge_conformance.render import show
from knowledge_provider import RetrievalResult, Source
from knowledge_provider.text import has_surrogate

_NODES_MAX: Final = 20_000
_STEPS_MAX: Final = 8
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_Path = tuple[Any, object] | None
"""How to get to a value: the path of what holds it, and its key or place in there."""
_PLAIN: Final = (str, int, float, bool, type(None))


# Clause 5.7
@answer_check("KP-513", clause="5.7", level=Level.MUST, needs=("KP-501",))
def answer_is_plain_data(exchange: Exchange) -> int:
    """An answer is plain data by exact type, all the way down.

    JSON types and the contract's models only. A vendor's object, a subclass such as numpy.float64, Decimal, datetime,
    bytes or a generator breaks the first host that logs, caches or serialises the answer.
    """
    for path, node in _nodes(exchange.response):
        if type(node) not in (*_PLAIN, list, tuple, dict, RetrievalResult, Source):
            raise Violation(
                wanted="plain data: dict, list, str, int, float, bool and None, of exactly these types",
                saw=show(node),
                hint="convert at the boundary: float(score), str(id), value.isoformat()",
                where=place(exchange, _shown(path)),
            )
    return max(1, len(exchange.items))


def _nodes(root: object) -> Iterator[tuple[_Path, object]]:
    """Every value in an answer with its path, without the values' own code; bounded, and safe for cycles."""
    waiting: list[tuple[_Path, object]] = [(None, root)]
    seen: set[int] = set()
    for _ in range(_NODES_MAX):
        if not waiting:
            return
        path, node = waiting.pop()
        yield path, node
        if id(node) not in seen:
            seen.add(id(node))
            waiting.extend(reversed(list(_parts(path, node))))


def _parts(path: _Path, node: object) -> Iterator[tuple[_Path, object]]:
    if type(node) in (RetrievalResult, Source):
        node = {name: value for name, value in node.__dict__.items() if value is not None}
    if type(node) is dict:
        for key, value in islice(node.items(), _NODES_MAX):
            yield (path, "key"), key
            yield (path, key), value
    elif type(node) in (list, tuple):
        yield from (((path, at), item) for at, item in enumerate(islice(node, _NODES_MAX)))  # type: ignore[call-overload] # exact type


def _shown(path: _Path) -> str:
    # Only for the one place that is shown: there are thousands in a large answer.
    steps: list[str] = []
    while path is not None:
        path, step = path
        steps.append(f"[{show(step, limit=40)}]")
    outer = steps[::-1]
    return "answer" + "".join(outer[:_STEPS_MAX]) + ("…" if len(outer) > _STEPS_MAX else "")


# Clause 5.8
@answer_check("KP-514", clause="5.8", level=Level.MUST, needs=("KP-501",))
def no_lone_surrogate(exchange: Exchange) -> int:
    """No string holds a lone surrogate.

    It cannot be written as UTF-8, so the whole answer is lost where it is sent or stored.
    """
    for path, node in _nodes(exchange.response):
        if isinstance(node, str) and has_surrogate(node):
            raise Violation(
                wanted="text that can be written as UTF-8",
                saw="a lone surrogate (half of a character outside the basic plane)",
                hint="cut text between code points, and decode with errors='replace'",
                where=place(exchange, _shown(path)),
            )
    return max(1, len(exchange.items))


# Clause 5.8
@answer_check("KP-515", clause="5.8", level=Level.SHOULD, needs=("KP-501",))
def no_control_character(exchange: Exchange) -> int:
    """No string holds a control character but tab and newline.

    NUL breaks databases, escape sequences rewrite terminals; a host turns them into spaces.
    """
    for path, node in _nodes(exchange.response):
        bad = _control(node) if isinstance(node, str) else None
        if bad is not None:
            raise Violation(
                wanted="no control character but tab and newline",
                saw=f"U+{ord(bad):04X}",
                hint="replace control characters by spaces where the text is extracted",
                where=place(exchange, _shown(path)),
            )
    return max(1, len(exchange.items))


def _control(text: str) -> str | None:
    found = _CONTROL.search(text)
    return found.group() if found else None


CHECKS: Final[tuple[Check, ...]] = (
    answer_is_plain_data,
    no_lone_surrogate,
    no_control_character,
)
