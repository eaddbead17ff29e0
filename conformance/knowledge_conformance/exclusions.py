"""Filters that leave out what has a value, told by how they are spelled or by what they leave out. Pure; asks nobody.

``{"team!": "people"}`` selects all but one team, so that a value which no document has leaves out nothing at all: the
answer is the one without the filter. That is also the answer of a provider that drops it, which leaves out nothing for
any value.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from knowledge_conformance.plain import copied, is_exactly

_NAME: Final = re.compile(
    r"^[!-]|^(?i:no|not|non)(?=[_. -]|[A-Z])|(?i:exclu|except|without|omit)|(?:!=?|<>|≠)$"
    r"|(?:[_.$ -]|(?<=[a-z])(?=[NI]))(?i:neq?|nin|not|isnt|is_?not|not_?(?:eq|equals?|in))$"
)
_VALUE: Final = re.compile(r"(?:!=?|<>|≠|(?i:not|ne)[: ]) *(?=\S)")


def reads_as_exclusion(name: str, value: object) -> bool:
    """Whether a filter is spelled as one that leaves out what has the value."""
    return _NAME.search(name) is not None or excluded_value(value) is not None


def excluded_value(value: object) -> str | None:
    """What ``"!people"`` leaves out, or None for a text that is not spelled so, and for anything else."""
    text = copied(value)
    mark = None if text is None else _VALUE.match(text)
    return None if text is None or mark is None else text[mark.end() :]


def fields_with(rows: Iterable[Mapping[str, Any]], value: object) -> set[str]:
    """The fields in which results show what a filter leaves out, if it is one that does: its value, or one of them."""
    wanted = [(type(each), each) for each in _left_out(value)]
    return {name for row in rows for name, held in row.items() if (type(held), held) in wanted}


def _left_out(value: object) -> Iterator[object]:
    if is_exactly(value, dict, list, tuple):
        several: Any = value.values() if type(value) is dict else value
        for each in several:
            yield from _left_out(each)
        return
    left_out = excluded_value(value)
    yield value if left_out is None else left_out
