"""``ServiceError``: what a remote store's client raises, whichever library stands over it; knows no vendor."""

from collections.abc import Mapping
from types import SimpleNamespace


class ServiceError(Exception):
    """What a client of a remote store raises: with the HTTP status, and a response with headers."""

    def __init__(self, message: str, status: int, headers: Mapping[str, str]) -> None:
        super().__init__(message)
        self.status_code = status
        self.response: SimpleNamespace = SimpleNamespace(status_code=status, headers=headers)
