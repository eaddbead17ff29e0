"""Reads out of a failed check, and the settings, who got whose document. Pure; writes nothing."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from pydantic import JsonValue

from knowledge_conformance.check import Inapplicable, Inconclusive
from knowledge_conformance.literals import literal
from knowledge_conformance.ownership import owners_of
from knowledge_conformance.render import show
from knowledge_conformance.report import CheckReport
from knowledge_conformance.settings import Settings
from knowledge_provider import limits

CROSSINGS: Final = ("KP-401", "KP-402", "KP-403", "KP-404")
"""The checks in which one request of one owner brings what is another's, who may have asked before."""


class Crossing(NamedTuple):
    """The owner ``asker`` got a result with the id ``another``, which ``holder`` gets to the request ``own``."""

    asker: str
    another: str
    holder: str
    own: Mapping[str, JsonValue]

    def said(self, request: Mapping[str, JsonValue]) -> dict[str, str]:
        """What a body of ``repro_bodies`` says of it, where ``request`` is what the asker asks.

        Before that the holder asks the same, and what finds its own: a cache, or what was answered last, is filled
        by an owner who has something there.
        """
        names = {"another": self.another, "holder": self.holder, "asker": self.asker}
        own = "" if self.own == request else "(holder, OWN), "
        crossing = f"[(holder, REQUEST), {own}(asker, REQUEST)]"
        return {**{name: literal(value) for name, value in names.items()}, "crossing": crossing}


def crossing_of(check: CheckReport, settings: Settings) -> Crossing | None:
    """What crossed; None where the evidence names no id, or none of the settings: its content alone tells no test."""
    saw = check.saw or ""
    try:
        owners = owners_of(settings)
    except (Inapplicable, Inconclusive):
        return None
    return next(
        (
            Crossing(owner.name, name, holder.name, {"query": holder.query, "top_k": limits.TOP_K_MAX})
            for owner in owners
            for name in sorted(owner.foreign)
            # Where nobody is promised it, whoever else may ask.
            for holder in sorted(owners, key=lambda each: (name not in each.sees, each == owner))
            # As ``ownership`` says it; a name that is shown in another way than it is would be another in the test.
            if saw.startswith(f"the result {show(name)}, ") and saw.endswith(f" to the owner {show(owner.name)}")
        ),
        None,
    )
