"""Who may read what (clause 11), in one place to import from; knows names only, and leaves each to its own module.

``allows`` and what stands beside it are pure functions, out of ``_labels``; ``ScopedProvider`` awaits, in ``scoped``.
"""

from knowledge_provider._labelled import LABELS
from knowledge_provider._labels import (
    AccessMode,
    AccessScope,
    Denial,
    allows,
    denial,
    project_identity,
    with_arguments,
)
from knowledge_provider.scoped import ScopedProvider

__all__ = [
    "LABELS",
    "AccessMode",
    "AccessScope",
    "Denial",
    "ScopedProvider",
    "allows",
    "denial",
    "project_identity",
    "with_arguments",
]
