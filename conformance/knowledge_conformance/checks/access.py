"""The checks of clause 11 in the order in which they run, prerequisites first; knows none of them."""

from typing import Final

from knowledge_conformance.check import Check
from knowledge_conformance.checks import (
    access_answering,
    access_asking,
    access_identity,
    access_keys,
    access_labels,
    access_shapes,
)

CHECKS: Final[tuple[Check, ...]] = (
    *access_labels.CHECKS,
    *access_keys.CHECKS,
    *access_shapes.CHECKS,
    *access_identity.CHECKS,
    *access_asking.CHECKS,
    *access_answering.CHECKS,
)
