"""Reads out of a failed check, and the settings, who got whose document. Pure; writes nothing."""

from typing import Final, NamedTuple

from knowledge_conformance.check import Inapplicable, Inconclusive
from knowledge_conformance.ownership import owners_of
from knowledge_conformance.render import show
from knowledge_conformance.report import CheckReport
from knowledge_conformance.settings import Settings

CROSSINGS: Final = ("KP-401", "KP-402", "KP-403")
"""The checks in which one request of one owner brings what is another's."""


class Crossing(NamedTuple):
    """The owner ``asker`` got a result with the id ``another``, which is another's."""

    asker: str
    another: str


def crossing_of(check: CheckReport, settings: Settings) -> Crossing | None:
    """What crossed; None where the evidence names no id, or none of the settings: its content alone tells no test."""
    saw = check.saw or ""
    try:
        owners = owners_of(settings)
    except (Inapplicable, Inconclusive):
        return None
    return next(
        (
            Crossing(owner.name, name)
            for owner in owners
            for name in sorted(owner.foreign)
            # As ``ownership`` says it; a name that is shown in another way than it is would be another in the test.
            if saw.startswith(f"the result {show(name)}, ") and saw.endswith(f" to the owner {show(owner.name)}")
        ),
        None,
    )
