"""What the host and a composite cost beside the calls that they make, and what bad providers cost them.

``python tests/bench/bench_host.py`` prints the ratios and exits with 1 when one is over its bound.
"""

import asyncio
import resource
import sys
import time
import tracemalloc
from collections.abc import Awaitable, Callable
from itertools import cycle
from typing import Any

from bench_normalize import answer, report

from knowledge_fakes.scripted import MALFORMED
from knowledge_provider import (
    CompositeProvider,
    KnowledgeHost,
    RetrievalContext,
    RetrievalRequest,
    normalize_response,
)

SEARCH_TIMES_MAX = 4.0
CHILD_SECONDS = 0.05
CHILDREN_TIMES_MAX = {1: 1.1, 10: 1.2, 100: 1.5}
CHILD_BYTES_MAX = 20_000
DEADLINE_SECONDS = 0.4
DEADLINE_TIMES_MAX = 1.05
HOSTILE_RESPONSES = 100_000
HOSTILE_BYTES_MAX = 20_000_000

REQUEST = RetrievalRequest(query="release policy")
SMALL = {
    "results": [{"id": "release-handbook#approvals", "content": "Two approvals.", "source": {"title": "Releases"}}]
}


def context() -> RetrievalContext:
    """As a host makes one."""
    return RetrievalContext(owner_id="bench", session_id="session", turn_id="turn")


class Answering:
    """Answers at once, or after a time, or never."""

    def __init__(self, answer: Callable[[], object], wait: Callable[[], Awaitable[object]] | None = None) -> None:
        self._answer = answer
        self._wait = wait

    def describe(self) -> dict[str, Any]:
        """The least that there is to say."""
        return {"protocolVersion": 1, "key": "bench", "label": "Bench"}

    async def retrieve(self, _request: RetrievalRequest, _context: RetrievalContext) -> Any:
        """The answer."""
        if self._wait is not None:
            await self._wait()
        return self._answer()


def later() -> Answering:
    """A child that takes its time."""
    return Answering(lambda: SMALL, lambda: asyncio.sleep(CHILD_SECONDS))


def never() -> Answering:
    """A child that is waited for in vain."""
    return Answering(lambda: SMALL, lambda: asyncio.Event().wait())


async def seconds(call: Callable[[], Awaitable[object]], times: int) -> float:
    """How long some calls take, one after another."""
    began = time.perf_counter()
    for _ in range(times):
        await call()
    return time.perf_counter() - began


async def ratios(
    call: Callable[[], Awaitable[object]], measure: Callable[[], Awaitable[object]], *, pairs: int, times: int = 1
) -> tuple[float, float]:
    """The median of ``call / measure`` over pairs taken in turn, and the ratio of the least of each."""
    taken = [(await seconds(call, times), await seconds(measure, times)) for _ in range(pairs)]
    calls, measures = zip(*taken, strict=True)
    return sorted(one / other for one, other in taken)[pairs // 2], min(calls) / min(measures)


async def search() -> tuple[float, float]:
    """A search, in bare calls with a time-out of which the answer is normalised."""
    usual = answer("Every release needs two approvals. ", 400)
    provider = Answering(lambda: usual)
    host = KnowledgeHost(provider)

    async def bare() -> object:
        response = await asyncio.wait_for(provider.retrieve(REQUEST, context()), 10)
        return normalize_response(response, query=REQUEST.query)

    return await ratios(lambda: host.search("release policy", context=context()), bare, pairs=30, times=50)


async def children(count: int) -> tuple[float, float]:
    """A composite of slow children, in calls of one of them."""
    composite, alone = CompositeProvider({f"child-{at}": later() for at in range(count)}), later()
    return await ratios(
        lambda: composite.retrieve(REQUEST, context()), lambda: alone.retrieve(REQUEST, context()), pairs=9
    )


async def child_bytes(few: int, many: int) -> float:
    """How much memory each further child takes at the most while all of them are asked."""

    async def peak(count: int) -> int:
        composite = CompositeProvider({f"child-{at}": later() for at in range(count)})
        await composite.retrieve(REQUEST, context())
        tracemalloc.start()
        await composite.retrieve(REQUEST, context())
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    return (await peak(many) - await peak(few)) / (many - few)


async def hung(count: int) -> float:
    """How long an answer takes beside children that never return, in deadlines."""
    hanging = {f"hung-{at}": never() for at in range(count)}
    composite = CompositeProvider({"sound": later(), **hanging}, timeout=DEADLINE_SECONDS)
    return min([await seconds(lambda: composite.retrieve(REQUEST, context()), 1) for _ in range(5)]) / DEADLINE_SECONDS


async def hostile_bytes() -> int:
    """How much larger the process is after many malformed answers than after the first few."""
    malformed = cycle(MALFORMED.values())
    host = KnowledgeHost(Answering(lambda: next(malformed)()))
    await seconds(lambda: host.search("release policy", context=context()), HOSTILE_RESPONSES // 20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await seconds(lambda: host.search("release policy", context=context()), HOSTILE_RESPONSES)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024


def line(name: str, value: float, bound: float, unit: str) -> bool:
    """Print one line; True when the value is over its bound."""
    print(f"{name:<18} {value:5.2f} {unit} (at most {bound:g})")
    return value > bound


async def measured() -> bool:
    """Measure and compare; whether something is over its bound."""
    over = report("search", await search(), SEARCH_TIMES_MAX, "bare calls")
    for count, bound in CHILDREN_TIMES_MAX.items():
        over |= report(f"{count} children", await children(count), bound, "calls of one child")
    print(f"{'1000 children':<18} {(await children(1000))[1]:5.2f} calls of one child (reported)")
    for few, many in ((10, 100), (100, 1000)):
        over |= line(f"{few} to {many}", await child_bytes(few, many) / 1000, CHILD_BYTES_MAX / 1000, "kB a child")
    for count in (1, 100):
        over |= line(f"{count} that hang", await hung(count), DEADLINE_TIMES_MAX, "deadlines")
    return over | line(
        "hostile answers", await hostile_bytes() / 1e6, HOSTILE_BYTES_MAX / 1e6, f"MB more after {HOSTILE_RESPONSES:,}"
    )


if __name__ == "__main__":
    sys.exit(int(asyncio.run(measured())))
