"""What two searches tell that should tell the same; knows answers and errors as trees of values, no rule and no clause.

What differs between two searches that are the same, as a time or a number of its own, tells nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from knowledge_conformance.exchange import Exchange
from knowledge_conformance.plain import DEPTH_MAX, ENTRIES_MAX, Plain, copied, is_exactly, model_fields, plain
from knowledge_conformance.render import show
from knowledge_provider.text import class_name, is_a

_NOTHING: Final = "nothing"


@dataclass(frozen=True, slots=True)
class Told:
    """Each value that came out of a search, by its place in words; ``raised`` where that was an error."""

    leaves: Mapping[str, Plain]
    raised: bool

    def texts(self) -> Iterator[str]:
        """Every text among the places and values."""
        for place, value in self.leaves.items():
            yield place
            if isinstance(value, str):
                yield value


def told_by(exchange: Exchange) -> Told:
    """Everything that a search told, its answer or its error; never runs the answer's own code."""
    error = exchange.error
    held = exchange.response if error is None else _said(error)
    return Told(dict(_leaves(held, "", DEPTH_MAX)), error is not None)


def differences(ones: Sequence[Told], others: Sequence[Told]) -> Iterator[str]:
    """In words, what all of ``others`` tell that all of ``ones`` tell otherwise: ``total: 5, and 2 without them``."""
    for place in dict.fromkeys(place for told in (*others, *ones) for place in told.leaves):
        own, came = ([_at(told, place) for told in many] for many in (ones, others))
        if own[0] != came[0] and all(own[0] == each for each in own) and all(came[0] == each for each in came):
            yield f"{place or 'as the whole'}: {came[0]}, and {own[0]} without them,"


def _at(told: Told, place: str) -> str:
    return show(told.leaves[place]) if place in told.leaves else _NOTHING


def _said(error: BaseException) -> dict[str, Any]:
    fields = getattr(error, "__dict__", None)
    return {
        "type": class_name(error),
        "message": str(error),
        "notes": list(getattr(error, "__notes__", ())),
        **(fields if type(fields) is dict else {}),
    }


def _leaves(held: object, place: str, depth: int) -> Iterator[tuple[str, Plain]]:
    inside = _inside(held) if depth else None
    if inside is None:
        yield place, plain(held, 0) if depth == 0 else plain(held)
        return
    for name, value in inside:
        yield from _leaves(
            value, f"{place}{name}" if name.startswith("[") else f"{place}.{name}".lstrip("."), depth - 1
        )


def _inside(held: object) -> list[tuple[str, Any]] | None:
    # How many there are is told by the places: one more is a place that there is not otherwise.
    if is_exactly(held, list, tuple):
        items: Sequence[Any] = held  # type: ignore[assignment]  # the exact types were just looked at
        return [(f"[{at}]", value) for at, value in enumerate(items[:ENTRIES_MAX])]
    fields = held if is_a(held, dict) else model_fields(held) if is_a(held, BaseModel) else None
    if fields is None:
        return None
    return [(copied(name) or show(name), value) for name, value in list(dict.items(fields))[:ENTRIES_MAX]]
