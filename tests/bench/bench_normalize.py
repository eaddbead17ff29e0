"""What normalising an answer costs: a bounded multiple of writing and reading the same answer as JSON.

``python tests/bench/bench_normalize.py`` prints the ratios and exits with 1 when one is over its bound.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from knowledge_provider.normalize import normalize_response
from knowledge_provider.text import content_text

ROUND_TRIPS_MAX = 3.0
RESULTS, CONTENT_CHARS, METADATA_ENTRIES = 8, 4000, 16
# Linear: content that is eight times as long may take eight times as long, and a half for memory and noise.
LONGER = 8
GROWTH_MAX = LONGER * 1.5
RUNS = 200

TEXTS = {
    "ascii": "Every release needs two approvals, and one of them from an owner of it.\n\nExceptions are recorded. ",
    "chinese": "每次发布需要两个批准，其中一个来自服务的负责人。例外情况必须记录在案，并由值班工程师在当天确认。",
    "mixed": "Release “2.0” 需要两个批准 (see §4) – naïve rollbacks\n\tdon’t count ✅ 例外情况必须记录。 ",
}


def answer(text: str, content_chars: int) -> dict[str, Any]:
    """An answer of 8 results with 16 metadata entries and 4 source fields each."""
    prose = text * (content_chars // len(text) + 1)
    return {
        "results": [
            {
                "id": f"handbook#{place}",
                "content": prose[:content_chars],
                "score": 0.9 - place / 100,
                "source": {
                    "id": f"handbook-{place}",
                    "title": text[:30],
                    "uri": f"https://docs.example.com/handbook/{place}?lang=en",
                    "mime_type": "text/markdown",
                },
                "metadata": {f"label {entry}": prose[entry : entry + 30] for entry in range(METADATA_ENTRIES)},
            }
            for place in range(RESULTS)
        ]
    }


def normalize(response: dict[str, Any], content_chars: int) -> Callable[[], object]:
    """Normalising the answer with all of its content kept."""
    return partial(normalize_response, response, query="release", limit=RESULTS, max_content_chars=content_chars)


def round_trip(response: dict[str, Any]) -> object:
    """Writing and reading the answer as JSON."""
    return json.loads(json.dumps(response))


def seconds(call: Callable[[], object]) -> float:
    """How long one call takes."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def interleaved(call: Callable[[], object], measure: Callable[[], object]) -> tuple[float, float]:
    """The median of ``call / measure`` over pairs taken in turn, and the ratio of the least of each."""
    pairs = [(seconds(call), seconds(measure)) for _ in range(RUNS)]
    calls, measures = zip(*pairs, strict=True)
    return statistics.median(one / other for one, other in pairs), min(calls) / min(measures)


def report(name: str, ratios: tuple[float, float], bound: float, unit: str) -> bool:
    """Print one line; True when the smaller of the two ratios, the one with less noise in it, is over the bound."""
    median, least = ratios
    print(f"{name:<18} {median:5.2f} {unit} (of the least: {least:.2f}; at most {bound:g})")
    return min(ratios) > bound


def round_trips(text: str) -> tuple[float, float]:
    """Normalising the contract's largest content, in JSON round trips of the same answer."""
    response = answer(text, CONTENT_CHARS)
    return interleaved(normalize(response, CONTENT_CHARS), partial(round_trip, response))


def growth(text: str) -> tuple[float, float]:
    """Reading content eight times as long, in times of reading the contract's largest.

    Content alone: what is paid once for each result would hide how the rest grows.
    """
    longer, usual = CONTENT_CHARS * LONGER, CONTENT_CHARS
    prose = text * (longer // len(text) + 1)
    return interleaved(partial(content_text, prose[:longer], longer), partial(content_text, prose[:usual], usual))


def main() -> int:
    """Measure and compare."""
    over = False
    for name, text in TEXTS.items():
        over |= report(name, round_trips(text), ROUND_TRIPS_MAX, "JSON round trips")
        over |= report(f"{name}, longer", growth(text), GROWTH_MAX, "times as slow")
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
