"""The network as a provider under a check meets it: watched as it is, or cut in a named way; judges nothing.

Knows calls, replies and ways to break as values, and which client libraries have hooks. None of them is imported for
it, and no hook stays when a check is over. What the libraries call things is known to ``_network_*`` alone.
"""

import asyncio
import contextlib
import gzip
import sys
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import urlsplit

LIBRARIES: Final[Mapping[str, str]] = MappingProxyType(
    {"aiohttp": "aiohttp", "httpx": "httpx", "httpx2": "httpx", "urllib3": "urllib3"}
)
"""The client libraries with hooks, each with the module ``_network_…`` that has them; requests stands on urllib3."""
PAUSE_SECONDS: Final = 0.002
"""How long a call that fails takes at least: over a real connection others run meanwhile."""
DRIP_SECONDS: Final = 0.05
OVER_TIME_SECONDS: Final = 0.5
CALLS_MAX: Final = 256
EVENTS: Final = "text/event-stream"
_POLL_SECONDS: Final = 0.02
BODY_MAX: Final = 1 << 20
"""How many bytes of a body are kept."""


class Break(Enum):
    """How a call fails without a reply."""

    REFUSED = "refused"
    NO_SUCH_NAME = "no such name"
    LATE = "late"
    RESET = "reset"
    SILENT = "silent"
    UNRECORDED = "no answer in the recording"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a back end sends. A ``broken`` one ends in the middle of its body, a ``slow`` one comes a byte at a time."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    way: Literal["whole", "broken", "slow"] = "whole"

    @property
    def fields(self) -> dict[str, str]:
        """The headers as they are sent."""
        return {**self.headers, "content-length": str(len(self.body))}

    @property
    def sent(self) -> bytes:
        """The part of the body that arrives."""
        return self.body[: len(self.body) // 2] if self.way == "broken" else self.body


Fate = Break | Reply


@dataclass(slots=True, eq=False)
class Call:
    """A call of a client's: what it asked, and its ``fate``, or None when it went through to the back end.

    ``heard`` gives the reply of one that went through, as far as the client has read it, and ``complete`` says whether
    that is all of it; ``over`` is set when the network is no longer cut. ``body`` is empty where it is not known before
    it is sent.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""
    fate: Fate | None = None
    over: threading.Event = field(default_factory=threading.Event)
    heard: Callable[[], Reply | None] = lambda: None
    complete: bool = True

    @property
    def step(self) -> tuple[str, str]:
        """What of a provider's work the call is: its method and the address, without the query."""
        return self.method, self.url.partition("?")[0]

    def asks_on(self, before: Iterable["Call"]) -> bool:
        """Whether it asks something else where one of those ``before`` had an answer, as for a second page.

        The same question again is another try, and what is asked before there is an answer goes on beside it.
        """
        same = (each for each in before if each.step == self.step and each.fate is None)
        return any((each.url, each.body) != (self.url, self.body) and each.heard() is not None for each in same)

    @property
    def host(self) -> str:
        """The name of the host."""
        with contextlib.suppress(ValueError):
            return urlsplit(self.url).hostname or "localhost"
        return "localhost"

    async def held(self) -> None:
        """Wait until the network is no longer cut, as for an answer that never comes."""
        while not self.over.is_set():  # noqa: ASYNC110 - it is set from any thread
            await asyncio.sleep(_POLL_SECONDS)


class _Cut(NamedTuple):
    fate: Fate
    step: tuple[str, str] | None
    later: bool
    over: threading.Event


class Network:
    """What hooks ask what becomes of a call. ``patience`` is how many seconds a caller waits for an answer at most.

    ``calls`` are the first ``most`` of them.
    """

    def __init__(self, patience: float, most: int = CALLS_MAX) -> None:
        self.calls: list[Call] = []
        self.patience: float = patience
        self._most = most
        self._left = patience
        self._cut: _Cut | None = None

    @contextlib.contextmanager
    def cut(
        self,
        fate: Fate,
        step: tuple[str, str] | None = None,
        *,
        later: bool = False,
        patience: float | None = None,
    ) -> Iterator[None]:
        """Let every call meet ``fate`` in the block, or those of one ``step`` only.

        ``later``: only those that ask on where one of ``calls`` had an answer. ``patience`` is another one for the
        block.
        """
        usual, over = self.patience, threading.Event()
        self._left = self.patience = usual if patience is None else patience
        self._cut = _Cut(fate, step, later, over)
        try:
            yield
        finally:
            self._cut, self.patience = None, usual
            over.set()

    def met(self, method: str, url: str, headers: Mapping[str, str], body: object = None) -> Call:
        """The call that a client makes now, with its fate; written down."""
        named = {_text(name).lower(): _text(text) for name, text in headers.items()}
        call = Call(method, url, named, _bytes(body))
        self.decide(call)
        if len(self.calls) < self._most:
            self.calls.append(call)
        return call

    def decide(self, call: Call) -> None:
        """Give a call its fate, or none."""
        cut = self._cut
        if cut is not None and cut.step in (None, call.step) and (not cut.later or call.asks_on(self.calls)):
            call.fate, call.over = cut.fate, cut.over

    def skips(self, seconds: float | None) -> bool:
        """Whether a client's own time-out of ``seconds`` would end its wait in time; nobody waits for it here.

        What was skipped is taken off the patience that is left, so that a client which tries again and again is as
        late as it would be.
        """
        if seconds is None or seconds > self._left:
            return False
        self._left -= seconds
        return True

    def hold(self, call: Call) -> None:
        """``Call.held`` for a thread; never for much longer than a caller waits, since it may hold the event loop."""
        call.over.wait(self.patience + OVER_TIME_SECONDS)


class Hook(NamedTuple):
    """A method of a client library's, and what makes its replacement of it."""

    owner: Any
    name: str
    replace: Callable[[Any], Any]


_watching: Final = threading.Lock()
_laying: Final = threading.Lock()


@contextlib.contextmanager
def watched(patience: float) -> Iterator[Network | None]:
    """The network of this process, hooks installed in each library that was imported by now; None when it is taken.

    One check of a process has it at a time: the hooks are in the libraries, not in one client.
    """
    network = Network(patience)
    with _hooked(network, _watching) as taken:
        yield network if taken else None


@contextlib.contextmanager
def laid_under(network: Network) -> Iterator[bool]:
    """Let what nobody cuts meet ``network`` in the block, as if that were the real one; False when it is taken.

    What is ``watched`` is watched above it. The libraries are imported here, so that none is used before its hooks are
    there.
    """
    for library in LIBRARIES:
        with contextlib.suppress(ImportError):
            import_module(library)
    with _hooked(network, _laying) as taken:
        yield taken


@contextlib.contextmanager
def _hooked(network: Network, lock: threading.Lock) -> Iterator[bool]:
    if not lock.acquire(blocking=False):
        yield False
        return
    try:
        with contextlib.ExitStack() as stack:
            for hook in _hooks(network):
                _install(hook, stack)
            yield True
    finally:
        lock.release()


def _hooks(network: Network) -> Iterator[Hook]:
    for library, module in LIBRARIES.items():
        if library in sys.modules:
            found = import_module(f"knowledge_conformance._network_{module}")
            yield from found.hooks(sys.modules[library], network)


def _install(hook: Hook, stack: contextlib.ExitStack) -> None:
    original = getattr(hook.owner, "__dict__", {}).get(hook.name)
    if original is not None:  # else another version of the library
        setattr(hook.owner, hook.name, hook.replace(original))
        stack.callback(setattr, hook.owner, hook.name, original)


def heard(status: int, headers: Mapping[str, str], body: bytes | bytearray) -> Reply:
    """A reply as it was read from a client, unpacked, without the headers that say how it was packed.

    A ``broken`` one has more bytes than are kept, or is packed in a way that is not known here.
    """
    named = {name.lower(): text for name, text in headers.items()}
    packed = named.pop("content-encoding", "")
    for name in ("content-length", "transfer-encoding", "connection"):
        named.pop(name, None)
    kept = bytes(body[:BODY_MAX])
    unpacked = _unpacked(kept, packed)
    whole = unpacked is not None and len(body) <= BODY_MAX
    return Reply(status, named, kept if unpacked is None else unpacked, "whole" if whole else "broken")


def _bytes(body: object) -> bytes:
    if isinstance(body, str):
        return body.encode("utf-8", "surrogatepass")
    return bytes(body) if isinstance(body, bytes | bytearray) else b""


def _text(value: object) -> str:
    # A client may be given bytes.
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _unpacked(body: bytes, packed: str) -> bytes | None:
    if packed in ("", "identity"):
        return body
    with contextlib.suppress(OSError, EOFError, zlib.error):
        if packed == "gzip":
            return gzip.decompress(body)
        if packed == "deflate":
            return zlib.decompress(body)
    return None
