"""A span and two metrics for each search where OpenTelemetry's API is installed; knows no query, owner or result.

Names are those of OpenTelemetry's conventions for retrieval by generative AI, as they stand: they are not stable yet.
Nothing of a request, a context, an answer or an error's text goes in: the provider's key, numbers, and an error's code.
"""

import asyncio
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_provider.errors import error_code
from knowledge_provider.text import class_name

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram
    from opentelemetry.trace import SpanKind, StatusCode, Tracer

Found = Callable[[int], None]
"""Told how many results a search found."""

_NAME: Final = "knowledge_provider"
_RETRIEVAL: Final = "retrieval"


class _Instruments(NamedTuple):
    tracer: "Tracer"
    duration: "Histogram"
    results: "Counter"
    internal: "SpanKind"
    failed: "StatusCode"


def observed(provider_key: str, top_k: int) -> AbstractContextManager[Found]:
    """Observe one search, from the call of the provider to the outcome; call what it gives with the count of results.

    An exception that leaves the ``with`` block is noted by its code, and goes on.
    """
    instruments = load()
    return _NOTHING if instruments is None else _observed(instruments, provider_key, top_k)


@cache
def load() -> _Instruments | None:
    """The tracer and the meters, or None without the API; a host loads them when it is made, so that no search waits.

    Looked for once in a process. What an application sets up later is used all the same.
    """
    try:
        from opentelemetry import metrics, trace
    except Exception:  # an installation may be broken in any way, and a search must not fail by it
        return None
    meter = metrics.get_meter(_NAME)
    return _Instruments(
        tracer=trace.get_tracer(_NAME),
        duration=meter.create_histogram(
            "gen_ai.retrieval.duration", unit="s", description="How long searches took, failed ones too."
        ),
        results=meter.create_counter(
            "knowledge_provider.results", unit="{result}", description="How many results searches found."
        ),
        internal=trace.SpanKind.INTERNAL,
        failed=trace.StatusCode.ERROR,
    )


def _ignore(_: int) -> None:
    return


_NOTHING: Final = nullcontext[Found](_ignore)


@contextmanager
def _observed(instruments: _Instruments, provider_key: str, top_k: int) -> Generator[Found, None, None]:
    about: dict[str, str | int] = {"gen_ai.operation.name": _RETRIEVAL, "gen_ai.data_source.id": provider_key}
    began = time.perf_counter()
    # Clause 6.4: the API would record an exception with its text and its causes, which hold the provider's words.
    with instruments.tracer.start_as_current_span(
        _RETRIEVAL,
        kind=instruments.internal,
        attributes={**about, "gen_ai.retrieval.top_k": top_k},
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield lambda count: instruments.results.add(count, about)
        except BaseException as error:
            about["error.type"] = error_code(error) or class_name(error)
            span.set_attribute("error.type", about["error.type"])
            # A cancelled search is what its caller asked for.
            if not isinstance(error, asyncio.CancelledError):
                span.set_status(instruments.failed)
            raise
        finally:
            instruments.duration.record(time.perf_counter() - began, about)
