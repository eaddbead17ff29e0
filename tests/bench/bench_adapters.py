"""What adapters cost beside their vendors' own calls, in normalisings of the same answer, and what many calls leave.

``python tests/bench/bench_adapters.py`` prints both for every adapter and exits with 1 when one is over its bound; with
names of adapters after it, for those alone. The first is of long passages and of short ones, where what there is once
for each result weighs more.
"""

import asyncio
import gc
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Final

from adapter_subjects import REQUEST, SUBJECTS, Answer, Subject
from bench_normalize import CONTENT_CHARS, METADATA_ENTRIES, RESULTS, TEXTS, answer, report

from knowledge_provider import RetrievalContext, normalize_response

NORMALIZINGS_MAX = 1.0
RUNS = 200
CALLS, WARM_UP = 10_000, 500
CALLS_BYTES_MAX = 2_000_000
SHORT_CHARS = 300

CONTEXT: Final = RetrievalContext(owner_id="bench")
# Text with white space and other scripts in it, as most is; and short passages, all of them plain.
ANSWERS: Final = {"long": answer(TEXTS["mixed"], CONTENT_CHARS), "short": answer(TEXTS["ascii"], SHORT_CHARS)}


async def seconds(call: Callable[[], Awaitable[object]]) -> float:
    """How long one call takes."""
    began = time.perf_counter()
    await call()
    return time.perf_counter() - began


async def normalizing(body: str) -> Callable[[], Awaitable[object]]:
    """One normalising of the answer as it is when it has just come: read anew, outside the clock."""
    response = json.loads(body)

    async def call() -> object:
        return normalize_response(response, query=REQUEST.query, limit=RESULTS)

    return call


async def normalizings(subject: Subject, body: str) -> tuple[float, float]:
    """What the adapter adds to its vendor's call, in normalisings: by medians of calls in turn, and by the least."""
    adapter, vendor = partial(subject.retrieve, REQUEST, CONTEXT), subject.vendor
    taken = [
        (await seconds(adapter), await seconds(vendor), await seconds(await normalizing(body))) for _ in range(RUNS)
    ]
    columns = list(zip(*taken, strict=True))
    (median, least) = ([of(column) for column in columns] for of in (statistics.median, min))
    return _added(*median), _added(*least)


def _added(adapter: float, vendor: float, normalized: float) -> float:
    return (adapter - vendor) / normalized


async def left_behind(subject: Subject) -> int:
    """How many bytes larger the process is after many calls than after the first few; the loop turns in between."""

    async def calls(count: int) -> int:
        for _ in range(count):
            await subject.retrieve(REQUEST, CONTEXT)
            await asyncio.sleep(0)
        gc.collect()
        return _resident_bytes()

    before = await calls(WARM_UP)
    return await calls(CALLS) - before


def _resident_bytes() -> int:
    # What the process holds now, where the system says so: imports have held more than they left.
    now = Path("/proc/self/statm")
    if now.exists():
        return int(now.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


async def costs_too_much(name: str, size: str) -> bool:
    """Whether the adapter adds more than it may to an answer of that size."""
    wanted: Answer = ANSWERS[size]
    async with SUBJECTS[name](wanted) as subject:
        # An answer that is no answer would be cheap.
        found = normalize_response(await subject.retrieve(REQUEST, CONTEXT), query=REQUEST.query, limit=RESULTS).results
        if len(found) != RESULTS or not all(len(each.metadata) >= METADATA_ENTRIES - 2 for each in found):
            raise RuntimeError(f"{name} has lost results or metadata, so its time would mean nothing")
        ratios = await normalizings(subject, json.dumps(wanted))
    return report(f"{name}, {size}", ratios, NORMALIZINGS_MAX, "normalisings")


async def leaves_too_much(name: str) -> bool:
    """Whether the process is larger after many calls than it may be."""
    async with SUBJECTS[name](ANSWERS["long"]) as subject:
        left = await left_behind(subject)
    print(f"{name:<22} {left / 1e6:5.2f} MB more after {CALLS:,} calls (at most {CALLS_BYTES_MAX / 1e6:g})", flush=True)
    return left > CALLS_BYTES_MAX


async def measured(name: str) -> bool:
    """Measure one adapter and compare; whether something is over its bound."""
    over = [await costs_too_much(name, size) for size in ANSWERS]
    return await leaves_too_much(name) or any(over)


def main(names: list[str]) -> int:
    """One adapter here; several in a process each, since what one has left is room for another."""
    if len(names) == 1:
        return int(asyncio.run(measured(names[0])))
    return max(subprocess.run([sys.executable, __file__, name], check=False).returncode for name in names)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(SUBJECTS)))
