"""Spans and counters for whoever has OpenTelemetry, without a word of what was asked or answered; else nothing."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from host_scenes import context, run
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from knowledge_fakes.scripted import RAISING, SECRET, HeldProvider, ScriptedProvider
from knowledge_provider import KnowledgeError, KnowledgeHost, KnowledgeTimeoutError, telemetry

FOUND = [{"id": "secret-id", "content": "secret content", "url": "https://example.com/secret"}]


class Heard(NamedTuple):
    """What an application exports."""

    spans: InMemorySpanExporter
    reader: InMemoryMetricReader

    def span(self) -> Any:
        """The one span."""
        (span,) = self.spans.get_finished_spans()
        return span

    def points(self) -> dict[str, Any]:
        """The one point of each metric."""
        data: Any = self.reader.get_metrics_data()
        if data is None:
            return {}
        found = [metric for each in data.resource_metrics for scope in each.scope_metrics for metric in scope.metrics]
        return {metric.name: metric.data.data_points[0] for metric in found}

    def text(self) -> str:
        """All of it, as it is exported."""
        return f"{self.span().to_json()} {self.points()}"


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Heard]:
    """An application that has set up the SDK, which can be done only once in a process, so it is put in the way."""
    heard = Heard(InMemorySpanExporter(), InMemoryMetricReader())
    tracers, meters = TracerProvider(), MeterProvider(metric_readers=[heard.reader])
    tracers.add_span_processor(SimpleSpanProcessor(heard.spans))
    monkeypatch.setattr(trace, "get_tracer", tracers.get_tracer)
    monkeypatch.setattr(metrics, "get_meter", meters.get_meter)
    telemetry.load.cache_clear()
    yield heard
    telemetry.load.cache_clear()
    meters.shutdown()
    tracers.shutdown()


def search(provider: object, *, ends_in: type[BaseException] | None = None) -> None:
    """One search, which may have to fail."""

    async def scene() -> None:
        # A moment, where it is to be over before the answer; any other answer may take longer on a busy machine.
        host = KnowledgeHost(provider, timeout=0.05 if ends_in is KnowledgeTimeoutError else 5)
        if ends_in is None:
            await host.search("secret query", context=context(owner_id="secret-owner"), top_k=3)
            return
        with pytest.raises(ends_in):
            await host.search("secret query", context=context(owner_id="secret-owner"), top_k=3)

    run(scene())


def test_a_search_is_a_span(heard: Heard) -> None:
    """Named by OpenTelemetry's conventions for retrieval."""
    search(ScriptedProvider([FOUND], key="handbook"))
    span = heard.span()
    assert (span.name, span.kind, span.status.status_code) == ("retrieval", SpanKind.INTERNAL, StatusCode.UNSET)
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.data_source.id": "handbook",
        "gen_ai.retrieval.top_k": 3,
    }


def test_a_search_is_counted_and_timed(heard: Heard) -> None:
    """How long, and how many results."""
    search(ScriptedProvider([FOUND], key="handbook"))
    points = heard.points()
    about = {"gen_ai.operation.name": "retrieval", "gen_ai.data_source.id": "handbook"}
    assert dict(points["gen_ai.retrieval.duration"].attributes) == about
    assert points["gen_ai.retrieval.duration"].count == 1
    assert 0 < points["gen_ai.retrieval.duration"].sum < 5
    assert (points["knowledge_provider.results"].value, dict(points["knowledge_provider.results"].attributes)) == (
        1,
        about,
    )


@pytest.mark.parametrize("name", sorted(RAISING))
def test_a_failure_is_named_by_its_code_alone(heard: Heard, name: str) -> None:
    """Clause 6.4: no text, no stack and no causes, which the API would record by itself."""
    search(ScriptedProvider([RAISING[name]()]), ends_in=KnowledgeError)
    span = heard.span()
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, None)
    assert span.attributes["error.type"].startswith("knowledge_")
    assert span.events == ()
    assert heard.points()["gen_ai.retrieval.duration"].attributes["error.type"] == span.attributes["error.type"]
    assert SECRET not in heard.text()


def test_a_deadline_is_an_error_of_its_own(heard: Heard) -> None:
    """Told apart from a provider's failure."""
    with HeldProvider() as provider:
        search(provider, ends_in=KnowledgeTimeoutError)
    assert heard.span().attributes["error.type"] == "knowledge_timeout"


def test_a_cancelled_search_is_no_error(heard: Heard) -> None:
    """Its caller wanted it so; that it was cancelled is still to be seen."""

    async def scene() -> None:
        with HeldProvider() as provider:
            task = asyncio.create_task(KnowledgeHost(provider).search("x", context=context()))
            await provider.started.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    run(scene())
    assert heard.span().status.status_code is StatusCode.UNSET
    assert heard.span().attributes["error.type"] == "CancelledError"


def test_nothing_of_a_request_or_an_answer_goes_in(heard: Heard) -> None:
    """No query, no content, no id of an owner or a result."""
    search(ScriptedProvider([FOUND]))
    assert "secret" not in heard.text()


def test_what_a_provider_does_stands_below_the_search(heard: Heard) -> None:
    """A client's own spans are part of the search's."""
    seen: list[Any] = []

    async def retrieve(*_: object) -> object:
        seen.append(trace.get_current_span().get_span_context().span_id)
        return []

    search(ScriptedProvider([retrieve]))
    assert seen == [heard.span().context.span_id]


def test_what_is_refused_before_the_provider_is_called_is_no_retrieval(heard: Heard) -> None:
    """A request that can be mended, and bases that nobody disclosed."""

    async def scene() -> None:
        host = KnowledgeHost(ScriptedProvider(), knowledge_bases=[])
        await host.search("x", context=context(), knowledge_base_ids=["hr"])
        with pytest.raises(KnowledgeError):
            await host.search("", context=context())

    run(scene())
    assert (heard.spans.get_finished_spans(), heard.points()) == ((), {})


@pytest.mark.parametrize("error", [ImportError("no such module"), RuntimeError("a broken installation")])
def test_without_the_api_a_search_is_the_same(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked for once."""
    looked: list[str] = []

    class Missing:
        def find_spec(self, name: str, *_: object) -> None:
            if name.startswith("opentelemetry"):
                looked.append(name)
                raise error

    for name in [name for name in sys.modules if name.partition(".")[0] == "opentelemetry"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Missing(), *sys.meta_path])
    telemetry.load.cache_clear()
    try:
        for _ in range(3):
            search(ScriptedProvider([FOUND]))
    finally:
        telemetry.load.cache_clear()
    assert looked == ["opentelemetry"]


def _loaded(code: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; import json, sys; print(json.dumps(sorted(sys.modules)))"],
        capture_output=True,
        text=True,
        check=True,
    )
    names: list[str] = json.loads(done.stdout)
    return [name for name in names if name.partition(".")[0] == "opentelemetry"]


def test_the_api_is_loaded_by_a_host_and_not_by_the_import() -> None:
    """Who needs the contract alone pays nothing for it, and no search waits for it."""
    assert _loaded("import knowledge_provider") == []
    assert _loaded("import knowledge_provider as it; it.KnowledgeHost(None)") != []
