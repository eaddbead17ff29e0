"""Clauses 5.7 and 5.8: plain data and clean text, all the way down. Runs no code of what it looks at."""

import re
from itertools import islice
from typing import Final

from knowledge_conformance.check import Check, Level, Violation, answer_check
from knowledge_conformance.exchange import Exchange, place
from knowledge_conformance.parts import MODELS, parts_of, show_path
from knowledge_conformance.plain import copied, is_exactly
from knowledge_conformance.render import show
from knowledge_provider.text import has_surrogate

_VECTOR_MIN: Final = 64
"""The length from which a list of numbers is taken for a vector: embeddings are longer, and little else is."""
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_PLAIN: Final = (str, int, float, bool, type(None), list, tuple, dict, *MODELS)


# Clause 5.7
@answer_check("KP-513", clause="5.7", level=Level.MUST, needs=("KP-501",))
def answer_is_plain_data(exchange: Exchange) -> int:
    """An answer is plain data by exact type, all the way down, without embedding vectors.

    JSON types and the contract's models only. A vendor's object, a subclass such as numpy.float64, Decimal, datetime,
    bytes or a generator breaks the first host that logs, caches or serialises the answer. A list of 64 numbers or more
    is taken for a vector: it costs more than the whole rest of an answer, and nobody reads it.
    """
    for path, part in parts_of(exchange.response):
        if not is_exactly(part, *_PLAIN):
            raise Violation(
                wanted="plain data: dict, list, str, int, float, bool and None, of exactly these types",
                saw=show(part),
                hint="convert at the boundary: float(score), str(id), value.isoformat()",
                where=place(exchange, show_path(path)),
            )
        if _is_vector(part):
            raise Violation(
                wanted="no embedding vector",
                saw=f"a list of numbers: {show(part)}",
                hint="ask the back end for no vectors, or drop them where its records are translated",
                where=place(exchange, show_path(path)),
            )
    return max(1, len(exchange.items))


def _is_vector(part: object) -> bool:
    # By its beginning, so that the longest one takes no time.
    if not is_exactly(part, list, tuple):
        return False
    head = tuple(islice(part, _VECTOR_MIN))  # type: ignore[call-overload] # the exact types were just looked at
    return len(head) == _VECTOR_MIN and all(is_exactly(item, int, float) for item in head)


# Clause 5.8
@answer_check("KP-514", clause="5.8", level=Level.MUST, needs=("KP-501",))
def no_lone_surrogate(exchange: Exchange) -> int:
    """No string holds a lone surrogate.

    It cannot be written as UTF-8, so the whole answer is lost where it is sent or stored.
    """
    for path, part in parts_of(exchange.response):
        if has_surrogate(part):
            raise Violation(
                wanted="text that can be written as UTF-8",
                saw="a lone surrogate (half of a character outside the basic plane)",
                hint="cut text between code points, and decode with errors='replace'",
                where=place(exchange, show_path(path)),
            )
    return max(1, len(exchange.items))


# Clause 5.8
@answer_check("KP-515", clause="5.8", level=Level.SHOULD, needs=("KP-501",))
def no_control_character(exchange: Exchange) -> int:
    """No string holds a control character but tab and newline.

    NUL breaks databases, escape sequences rewrite terminals; a host turns them into spaces.
    """
    for path, part in parts_of(exchange.response):
        bad = _CONTROL.search(copied(part) or "")
        if bad is not None:
            raise Violation(
                wanted="no control character but tab and newline",
                saw=f"U+{ord(bad.group()):04X}",
                hint="replace control characters by spaces where the text is extracted",
                where=place(exchange, show_path(path)),
            )
    return max(1, len(exchange.items))


CHECKS: Final[tuple[Check, ...]] = (
    answer_is_plain_data,
    no_lone_surrogate,
    no_control_character,
)
