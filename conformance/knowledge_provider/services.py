"""What an adapter of a remote service needs: limits in time and size, redirects, statuses; knows no client library.

Beside ``adapting``, which every adapter needs, for vendors that are reached over a network. ``refusal`` is for a status
in hand, and ``failure``, the very function of ``adapting``, for an exception.
"""

import asyncio
import zlib
from collections.abc import AsyncGenerator, AsyncIterable, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic_core import Url

from knowledge_provider import errors
from knowledge_provider._failures import failure, log_without_tracebacks, refusal
from knowledge_provider.cancel import CancelSignal
from knowledge_provider.uris import UriFault, uri_fault

__all__ = [
    "failure",
    "log_without_tracebacks",
    "plain_url",
    "read_body",
    "refusal",
    "sendable",
    "stays_at_origin",
    "time_limit",
]

_NO_URL: Final = frozenset(
    {
        UriFault.NOT_A_STRING,
        UriFault.LONE_SURROGATE,
        UriFault.OVERLONG,
        UriFault.NOT_ABSOLUTE,
        UriFault.PARSE_ERROR,
        UriFault.SCHEME,
    }
)


@asynccontextmanager
async def time_limit(signal: CancelSignal, seconds: float | None = None) -> AsyncGenerator[CancelSignal]:
    """Ends the block at the signal's deadline, or ``seconds`` from now where that is earlier; gives a signal of both.

    Raises ``KnowledgeTimeoutError`` at the host's deadline, and a retryable ``KnowledgeFailedError`` at the other: a
    time-out inside the provider is told apart (clause 7.6). A ``TimeoutError`` of the block's own comes out as it is.
    """
    ends = signal.within(seconds)
    limit = asyncio.timeout(ends.remaining())
    try:
        async with limit:
            yield ends
    except TimeoutError:
        if not limit.expired():
            raise
        if ends.deadline == signal.deadline:
            raise errors.KnowledgeTimeoutError("the deadline passed before the answer was there") from None
        words = f"no whole answer came within {seconds} s, the provider's own limit. Raise it if the service is slow"
        raise errors.KnowledgeFailedError(words, retryable=True) from None


def stays_at_origin(here: str, there: str, allow_hosts: Collection[str] = ()) -> bool:
    """Whether a redirect from one absolute HTTP URL to another keeps to scheme, host and port, and so to credentials.

    ``allow_hosts`` are names or addresses, without port, that it may lead to besides, without any credential. Raises
    ``KnowledgeFailedError`` for every other place, and always from HTTPS to HTTP.
    """
    first, then = urlsplit(here), urlsplit(there)
    if (first.scheme, first.netloc) == (then.scheme, then.netloc):
        return True
    # What a service names may be a machine that only this one can reach, and its answer would be shown.
    if then.hostname not in allow_hosts or then.scheme not in ("https", first.scheme):
        raise errors.KnowledgeFailedError(
            "the service redirects to where the question may not go. Give the service's last URL, or allow the host"
        )
    return False


def plain_url(url: str) -> str:
    """An absolute HTTP URL, as browsers read it, private or public.

    Raises ``ValueError`` for anything else, and for one with a credential in it, which logs would repeat (clause 6.4).
    """
    fault = uri_fault(url)
    if fault in _NO_URL or (fault is not None and fault.is_credential):
        raise ValueError(
            "wanted an absolute HTTP URL without user name, password or key, since clients log URLs, and this one is "
            f"refused: {fault}. Give credentials by headers or auth"
        )
    return str(Url(url))


def sendable(headers: Mapping[str, Any]) -> dict[str, str]:
    """The headers, with their names in lower case.

    Raises ``ValueError`` for one that HTTP cannot carry. A client would raise that too, but may repeat the value in its
    error, and that may be a key (clause 6.4).
    """
    if not all(_is_sendable(text) for header in headers.items() for text in header):
        raise ValueError(
            "wanted names and values of headers in printable ASCII without white space around them, as HTTP carries no "
            "others, and one is not. Encode it, for example with urllib.parse.quote"
        )
    return {name.lower(): value for name, value in headers.items()}


async def read_body(chunks: AsyncIterable[bytes], most: int, *, gzip: bool = False) -> bytes:
    """All of ``chunks``, unpacked if they are gzip.

    Raises ``KnowledgeInvalidResponseError`` as soon as there are more than ``most`` bytes, and for what is no gzip.
    """
    body, unpacker = bytearray(), zlib.decompressobj(zlib.MAX_WBITS | 16) if gzip else None
    try:
        async for chunk in chunks:
            # A chunk may hold a thousand times its size, so no more is unpacked than shows that it is too much.
            body += unpacker.decompress(chunk, most + 1 - len(body)) if unpacker else chunk
            if len(body) > most:
                raise errors.KnowledgeInvalidResponseError(f"wanted at most {most} bytes; the answer has more")
    except zlib.error as error:
        raise errors.KnowledgeInvalidResponseError("wanted gzip, as the answer's headers say; it is none") from error
    if unpacker and not unpacker.eof:
        raise errors.KnowledgeInvalidResponseError("wanted gzip, as the answer's headers say; it is cut off")
    return bytes(body)


def _is_sendable(text: object) -> bool:
    return isinstance(text, str) and text.isascii() and text.isprintable() and text == text.strip()
