"""What the embedded provider holds for whom, as the settings that a run needs for a fault to show; data only."""

from types import MappingProxyType
from typing import Any, Final

OWNERS: Final = MappingProxyType(
    {
        "owners": {
            "mara": {"query": "dentist appointment", "sees": ("notes-mara#dentist",)},
            "tomas": {"query": "salary letter", "sees": ("notes-tomas#salary",)},
        }
    }
)
"""Two owners with a private note each."""

BASES: Final = MappingProxyType(
    {
        "queries": ("release policy", "sick leave", "support hours"),
        "bases": {
            "engineering": ("release-handbook#approvals",),
            "people": ("holidays#sick-leave",),
            "support": ("support-hours#hours",),
        },
    }
)
"""The three knowledge bases, and queries that find something in each."""

FILTERS: Final = MappingProxyType(
    {
        "filters": (
            {
                "query": "release policy",
                "filter": {"department": "engineering"},
                "selects": ("release-handbook#approvals",),
            },
            {"query": "sick leave", "filter": {"department": "people"}, "selects": ("holidays#sick-leave",)},
            {"query": "release policy", "filter": {"language": "en"}, "selects": ("release-handbook#approvals",)},
        )
    }
)
"""Filters on two fields, and what they select."""

EVERYTHING: Final[MappingProxyType[str, Any]] = MappingProxyType({**OWNERS, **BASES, **FILTERS})
"""All of it: with these settings a run exercises owners, bases and filters beside the core."""
