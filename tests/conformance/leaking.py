"""A provider with every fault at once that lets the key out; for tests of what the kit itself shows."""

from typing import Any

from knowledge_fakes.faults import FAULTS
from knowledge_fakes.handbook import HandbookProvider

LEAKS = {name: fault for name, fault in FAULTS.items() if fault.trips[0] in {"KP-604", "KP-605", "KP-606", "KP-607"}}


def everywhere() -> Any:
    """It tells its key in each way that the catalogue knows."""
    provider: Any = HandbookProvider()
    for fault in LEAKS.values():
        provider = fault.wrap(provider)
    return provider
