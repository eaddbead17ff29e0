"""What every scripted retriever can be told alike: to give one answer, to raise, to fail as a remote store's client.

Knows no vendor.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NoReturn

from knowledge_fakes.vendors.service_error import ServiceError

Told = Callable[[Any, str], Any]
"""What a retriever makes of its hits; gets its API key too, which some back ends repeat. May raise."""


def always(answer: Any) -> Told:
    """This, whatever was found."""
    return lambda _hits, _key: answer


def raising(make: Callable[[str], BaseException]) -> Told:
    """Raise what ``make`` gives for the API key."""

    def answer(_: Any, key: str) -> NoReturn:
        raise make(key)

    return answer


def _refusal(status: int, words: str, **headers: str) -> Told:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return raising(lambda key: ServiceError(f"{words} {key}", status, named))


FAILURES: Final[Mapping[str, Told]] = MappingProxyType(
    {
        "unauthorized": _refusal(401, "Incorrect API key provided:"),
        "forbidden": _refusal(403, "This key may not read the collection:"),
        "rate limited": _refusal(429, "Rate limit reached for", retry_after="7"),
        "server error": _refusal(500, "The server had an error."),
        "unavailable": _refusal(503, "The engine is overloaded."),
        "refused": raising(lambda key: ConnectionRefusedError(f"no connection to https://{key}@db.internal")),
        "time-out": raising(lambda key: TimeoutError(f"no answer to {key} within 5 s")),
        "bug": raising(lambda key: RuntimeError(f"unexpected {key}")),
        "stop": raising(StopIteration),
    }
)
"""Refusals and failures, as clients of remote stores and models raise them; all but the last repeat the API key."""
