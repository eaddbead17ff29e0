"""Providers that keep the contract, each in another way that it leaves open; knows the handbook, no kit and no fault.

A kit that accepts only the usual shape would refuse good providers. Each entry of ``CONFORMANT`` is a target for which
every clause of sections 1 to 7 that applies holds.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from knowledge_fakes._variants import (
    Bounds,
    Minimal,
    Models,
    Reshaped,
    Results,
    Slots,
    Slow,
    SnakeCase,
    StrictBases,
    Threaded,
)
from knowledge_fakes.handbook import HandbookProvider, SyncHandbookProvider
from knowledge_fakes.loopback import LoopbackProvider
from knowledge_provider import KnowledgeProvider, RetrievalResult


def synchronous() -> KnowledgeProvider:
    """Every method is synchronous, and health takes no signal."""
    return SyncHandbookProvider()


async def async_factory() -> KnowledgeProvider:
    """The factory has to be awaited."""
    await asyncio.sleep(0)
    return HandbookProvider()


@asynccontextmanager
async def context_manager() -> AsyncGenerator[KnowledgeProvider]:
    """An async context manager that yields the provider and closes it too."""
    provider = HandbookProvider()
    try:
        yield provider
    finally:
        await provider.close()


@contextmanager
def sync_context_manager() -> Generator[KnowledgeProvider]:
    """A context manager that yields the provider and closes it too."""
    provider = SyncHandbookProvider()
    try:
        yield provider
    finally:
        provider.close()


def one_document() -> KnowledgeProvider:
    """Little to find: six passages of one document."""
    return Reshaped("one-document", documents=("release-handbook",))


def chinese_only() -> KnowledgeProvider:
    """Nothing in English to find."""
    return Reshaped("chinese-only", documents=("expenses-zh", "release-approval-zh"))


def no_scores() -> KnowledgeProvider:
    """Results in order, without a score, and none claimed."""
    return Reshaped("no-scores", lambda results: _without("score", results), claims=("filters", "citations"))


def no_sources() -> KnowledgeProvider:
    """Results without a source, and no citations claimed."""
    return Reshaped("no-sources", lambda results: _without("source", results), claims=("filters", "scores"))


def negative_scores() -> KnowledgeProvider:
    """Scores that fall, all of them below zero."""
    return Reshaped("negative-scores", _below_zero)


def plain_lists() -> KnowledgeProvider:
    """A bare tuple in snake_case, and a description in snake_case."""
    return SnakeCase("plain-lists", _snake_case)


def models() -> KnowledgeProvider:
    """Answers with the contract's own models throughout."""
    return Models("models", lambda results: tuple(map(RetrievalResult.model_validate, results)))


def strict_bases() -> KnowledgeProvider:
    """An unknown knowledge base is refused, with an exception of its own that has the contract's code."""
    return StrictBases("strict-bases")


def range_filters() -> KnowledgeProvider:
    """A filter on a number is a bound, below or above, and not equality."""
    return Bounds("range-filters")


def slow_cancellable() -> KnowledgeProvider:
    """Each call waits 50 ms and can be cancelled meanwhile."""
    return Slow("slow-cancellable")


def socket_io() -> KnowledgeProvider:
    """Each call is a real exchange over TCP with a server that starts when first needed."""
    return LoopbackProvider()


def threaded() -> KnowledgeProvider:
    """Asynchronous outside, a worker thread inside; close is synchronous, health is not."""
    return Threaded()


def slots() -> KnowledgeProvider:
    """An object without __dict__ and __weakref__, with close and without health."""
    return Slots()


def minimal() -> KnowledgeProvider:
    """Only describe and retrieve, id and content; no capabilities, and filters refused."""
    return Minimal()


def _without(field: str, results: Results) -> Results:
    return [{name: value for name, value in result.items() if name != field} for result in results]


def _below_zero(results: Results) -> Results:
    return [{**result, "score": result["score"] - 1000.0} for result in results]


def _snake_case(results: Results) -> tuple[dict[str, Any], ...]:
    return tuple({**found, "source": _snake_case_source(found["source"])} for found in results)


def _snake_case_source(source: dict[str, str]) -> dict[str, str]:
    return {"mime_type" if name == "mimeType" else name: value for name, value in source.items()}


_ENGLISH: Final = ("release policy", "lost laptop", "expense receipts", "sick leave")
_QUERIES: Final[Mapping[str, tuple[str, ...]]] = {
    "one_document": ("approvals", "freeze", "rollback"),
    "chinese_only": ("报销政策", "发布审批", "发票要求", "冻结期"),
}


_SETTINGS: Final[Mapping[str, Mapping[str, Any]]] = {
    "range_filters": {
        "filters": (
            {"query": "release policy", "filter": {"revision": 7}, "selects": ("release-handbook#approvals",)},
            {"query": "sick leave", "filter": {"revision": 9}, "selects": ("holidays#sick-leave",)},
            {"query": "release policy", "filter": {"max_revision": 7}, "selects": ("release-handbook#approvals",)},
            {"query": "support hours", "filter": {"max_revision": 3}, "selects": ("support-hours#hours",)},
        )
    }
}


@dataclass(frozen=True, slots=True)
class Conformant:
    """A provider that keeps the contract: ``case`` says in one line what it is a case of.

    Each of ``queries`` returns something, and no two the same. ``settings`` are those, by Python name, without which a
    run does not look at what it is a case of.
    """

    name: str
    target: str
    case: str
    queries: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


def _conformant(factory: Callable[[], object]) -> Conformant:
    name = factory.__name__
    settings = MappingProxyType(dict(_SETTINGS.get(name, {})))
    return Conformant(name, f"{__name__}:{name}", factory.__doc__ or "", _QUERIES.get(name, _ENGLISH), settings)


_FACTORIES: Final[tuple[Callable[[], object], ...]] = (
    synchronous,
    async_factory,
    context_manager,
    sync_context_manager,
    one_document,
    chinese_only,
    no_scores,
    no_sources,
    negative_scores,
    plain_lists,
    models,
    strict_bases,
    range_filters,
    slow_cancellable,
    socket_io,
    threaded,
    slots,
    minimal,
)

CONFORMANT: Final[Mapping[str, Conformant]] = MappingProxyType(
    {factory.__name__: _conformant(factory) for factory in _FACTORIES}
)
"""Every provider of this module by its name."""
