"""How a provider's ``close`` went wrong, in words for a log; knows how a call ended, no host and no log."""

from knowledge_provider._origins import origin
from knowledge_provider.provider_calls import Ending


def unclosed(ending: Ending) -> str | None:
    """What became of a call of ``close`` that did not go well; None where it did.

    Of what it raised the class and the place alone (clause 10.8): it may say anything.
    """
    if ending.timed_out:
        return "did not end in time"
    return None if ending.error is None else f"raised {origin(ending.error)}"
