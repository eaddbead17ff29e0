"""The host as a check sees it: every call bounded, counted and announced, and read the same way whatever answers."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from host_runs import HOLDS, result_of, results_of, subject_of, tripped

from knowledge_conformance import calls, host_subject
from knowledge_conformance.check import Hang, Violation
from knowledge_conformance.checks.hosts import CHECKS
from knowledge_conformance.host_subject import HostSubject, at_once, bases_in, parameters_of
from knowledge_conformance.outcomes import entries
from knowledge_conformance.settings import Settings
from knowledge_fakes.plain_host import PlainHost
from knowledge_fakes.scripted import Flag, ScriptedProvider
from knowledge_provider import Outcome

ANSWER = [{"id": "a", "content": "text", "score": 1, "source": {"uri": "https://example.org/"}}]


class Shim:
    """A foreign host behind the interface: its outcomes are plain mappings, and it has only what checks need."""

    def __init__(self, provider: Any, *, timeout: float) -> None:
        self._host = PlainHost(provider, timeout=timeout)
        self.configured = self._host.configured
        self.tool_definition = self._host.tool_definition
        self.close = self._host.close

    async def search(self, query: Any, **asked: Any) -> dict[str, Any]:
        outcome: Outcome = await self._host.search(query, **asked)
        return outcome.to_dict()

    async def call_tool(self, arguments: Any, context: Any) -> dict[str, Any]:
        outcome: Outcome = await self._host.call_tool(arguments, context)
        return outcome.to_dict()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that hangs is given up sooner than a user's is."""
    monkeypatch.setattr(host_subject, "SLACK", 0.2)
    monkeypatch.setattr(calls, "GRACE_SECONDS", 0.05)


def test_a_foreign_host_needs_a_dozen_lines() -> None:
    """Without describe, capabilities and health only the checks about those do not hold; mappings do as well."""
    results = results_of(Shim)
    assert tripped(results).keys() == {"KP-802", "KP-825", "KP-851"}
    assert "capabilities" in str(results["KP-802"].where)
    blocked = {"KP-850", "KP-860"}
    assert {result.id for result in results.values() if result.outcome not in HOLDS} == {*tripped(results), *blocked}


def test_an_asynchronous_factory_makes_a_host() -> None:
    """What connects first is awaited where it lives."""

    async def factory(provider: Any, **options: Any) -> PlainHost:
        await asyncio.sleep(0)
        return PlainHost(provider, **options)

    assert {result_of(check, factory).outcome for check in CHECKS[:2]} <= HOLDS


def test_an_outcome_and_a_mapping_are_read_the_same_way() -> None:
    """So a check asks once."""

    async def searched(factory: Callable[..., Any]) -> dict[str, Any]:
        async with subject_of(factory).host(ScriptedProvider([ANSWER])) as host:
            return await host.search()

    ours, foreign = asyncio.run(searched(PlainHost)), asyncio.run(searched(Shim))
    assert ours == foreign
    assert [each["id"] for each in entries(ours, "results")] == ["a"]


def test_each_call_is_counted_and_announced_before_it_is_made() -> None:
    """Whoever watches can tell which call took the process away, and how long it may take."""
    announced: list[tuple[str, float]] = []

    async def called() -> HostSubject:
        subject = HostSubject(PlainHost, Settings(), announce=lambda *call: announced.append(call))
        async with subject.host(ScriptedProvider([ANSWER]), deadline=2) as host:
            await host.search("policy", top_k=3)
            await host.call_tool({"query": "policy"})
            await host.told("health")
        return subject

    subject = asyncio.run(called())
    assert [shown for shown, _ in announced] == [
        "factory(<knowledge_fakes.scripted.ScriptedProvider object>, timeout=2)",
        "host.search('policy', top_k=3, context=…)",
        "host.call_tool({'query': 'policy'}, <knowledge_provider.models.RetrievalContext object>)",
        "host.health()",
    ]
    assert all(2 <= seconds <= 10 for _, seconds in announced)
    assert subject.calls == len(announced)
    assert [*subject.transcript] == [shown for shown, _ in announced]


class Stuck:
    """A host that does not end, and will not be cancelled, until the flag is set."""

    flag: Flag

    def __init__(self, provider: object, *, timeout: float) -> None:
        self.flag = Flag()

    async def search(self, query: object, **_: object) -> None:
        while not self.flag.is_set():
            try:
                await self.flag.wait()
            except asyncio.CancelledError:
                continue

    async def close(self) -> None:
        self.flag.set()


@pytest.mark.usefixtures("quick")
def test_a_host_that_hangs_fails_its_check_and_not_the_run() -> None:
    """Also one that ignores its cancellation."""

    async def search() -> None:
        async with subject_of(Stuck).host(ScriptedProvider(), deadline=0.1) as host:
            await host.search()

    with pytest.raises(Hang) as caught:
        asyncio.run(search())
    assert caught.value.where == "host.search('release policy', context=…)"
    assert "cancelled" in caught.value.saw


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(1), asyncio.CancelledError(), GeneratorExit()])
def test_whatever_a_host_raises_is_a_finding(error: BaseException) -> None:
    """It ends neither the check nor the loop; a cancellation that nobody asked for is no exception."""

    class Raising(Stuck):
        async def search(self, query: object, **_: object) -> None:
            raise error

    async def search() -> None:
        async with subject_of(Raising).host(ScriptedProvider()) as host:
            await host.search()

    with pytest.raises(Violation, match=type(error).__name__):
        asyncio.run(search())


def test_a_factory_that_raises_is_a_finding() -> None:
    """Over a sound provider it has no reason to."""

    def factory(provider: object, *, timeout: float) -> None:
        raise RuntimeError("no settings")

    result = result_of(CHECKS[0], factory)
    assert "no settings" in str(result.saw)
    assert "factory(" in str(result.where)


@pytest.mark.parametrize("answer", [None, "text", [], object()])
def test_what_is_no_outcome_is_a_finding(answer: object) -> None:
    """Whatever else an agent might make of it."""

    class Odd(Stuck):
        async def search(self, query: object, **_: object) -> Any:
            return answer

    async def search() -> None:
        async with subject_of(Odd).host(ScriptedProvider()) as host:
            await host.search()

    with pytest.raises(Violation, match="an Outcome"):
        asyncio.run(search())


def test_options_are_seen_by_the_signature() -> None:
    """A factory may take knowledge_bases; what hands on whatever it is given, or hides its signature, is not asked.

    Behind ``**options`` there may be a host that refuses them, which would be blamed for the kit's guess.
    """

    def anything(provider: object, **options: object) -> None:
        raise NotImplementedError

    assert subject_of(PlainHost).takes("knowledge_bases")
    assert not subject_of(Shim).takes("knowledge_bases")
    assert not subject_of(anything).takes("turns")
    assert not subject_of(anything).takes("options")
    assert not subject_of(type("Hidden", (), {"__call__": print, "__signature__": 5})()).takes("turns")


def test_without_a_tool_nothing_is_disclosed() -> None:
    """The tool has checks of its own; those about bases are not in its place."""

    class Toolless(Stuck):
        pass

    class Broken(Stuck):
        @property
        def tool_definition(self) -> None:
            raise ValueError("the tool is broken")

    async def disclosed(factory: Callable[..., Any]) -> list[str] | None:
        async with subject_of(factory).host(ScriptedProvider()) as host:
            return await host.disclosed()

    assert asyncio.run(disclosed(Toolless)) is None
    with pytest.raises(Violation, match="the tool is broken"):
        asyncio.run(disclosed(Broken))


def test_each_way_of_asking_is_shown_as_it_is() -> None:
    """A finding about ``search`` names that call, also where ``call_tool`` is asked the same afterwards."""

    async def shown() -> list[str]:
        async with subject_of(PlainHost).host(ScriptedProvider()) as host:
            return [where async for where, _ in host.attempt_each_way({"query": "x", "knowledge_base_ids": ["a"]})]

    search, tool = asyncio.run(shown())
    assert search == "host.search('x', knowledge_base_ids=['a'], context=…)"
    assert tool.startswith("host.call_tool({'query': 'x', 'knowledge_base_ids': ['a']}")


@pytest.mark.parametrize("name", ["parameters", "input_schema", "inputSchema"])
def test_a_tool_is_read_by_whichever_name_its_schema_goes(name: str) -> None:
    """Frameworks differ in it."""
    bases = {"type": "array", "items": {"type": "string", "enum": ["travel"]}}
    tool = {"name": "knowledge", name: {"properties": {"query": {}, "knowledge_base_ids": bases}}}
    assert parameters_of(tool) == {"query": {}, "knowledge_base_ids": bases}
    assert bases_in(tool) == ["travel"]


@pytest.mark.parametrize("tool", [None, [], {"parameters": None}, {"parameters": {"properties": []}}])
def test_a_tool_without_parameters_takes_none(tool: object) -> None:
    """Whatever it is."""
    assert parameters_of(tool) == {}
    assert bases_in(tool) is None


def test_the_first_finding_of_parts_that_run_together_is_raised() -> None:
    """In their order, not in that of time, so that a report is the same each time."""

    async def found(text: str, turns: int) -> str:
        for _ in range(turns):
            await asyncio.sleep(0)
        if text == "fine":
            return text
        raise ValueError(text)

    with pytest.raises(ValueError, match="first"):
        asyncio.run(at_once([found("fine", 1), found("first", 5), found("second", 1)]))
    assert asyncio.run(at_once([found("fine", 1)])) == ["fine"]
