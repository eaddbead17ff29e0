"""The catalogue of faulty hosts: well declared, reachable, and each sound but for its mistake.

That each is caught is proved by the kit's own matrix.
"""

import asyncio
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from knowledge_fakes import faulty_hosts, plain_host
from knowledge_fakes.host_faults import HOST_FAULTS
from knowledge_fakes.host_faults._host_fault import host_fault
from knowledge_fakes.making import MakerFault
from knowledge_fakes.plain_host import PlainHost
from knowledge_fakes.scripted import (
    ScriptedProvider,
)
from knowledge_provider import CancelSignal, RetrievalContext

RESULTS = [
    {"id": "a", "content": "one", "score": 0.5, "source": {"title": "A", "uri": "https://example.com/a"}},
    {"id": "b", "content": "two", "score": 0.4, "source": {"title": "B", "uri": "https://example.com/b"}},
]
SOON = 0.05

# Those whose mistake shows in the plainest search of all, and where.
PLAINEST = {
    "answers_own_list": {"outcome"},
    "any_base_in_the_tool": {"told"},
    "arguments_by_name": {"asked"},
    "bases_not_in_the_tool": {"told"},
    "cited_from_zero": {"outcome"},
    "context_without_its_ids": {"asked"},
    "fields_beside_the_four": {"asked"},
    "filters_in_the_tool": {"told"},
    "never_closes": {"closed"},
    "notice_with_the_query": {"outcome"},
    "owner_in_the_filters": {"asked"},
    "owner_in_the_tool": {"told"},
    "request_as_a_dictionary": {"asked"},
    "service_owner": {"asked"},
    "tool_of_the_providers_name": {"told"},
    "tool_without_top_k": {"told"},
    "without_a_notice": {"outcome"},
    "without_health_unavailable": {"told"},
}

each_fault = pytest.mark.parametrize("fault", HOST_FAULTS.values(), ids=HOST_FAULTS)


def context(**fields: Any) -> RetrievalContext:
    given = {"owner_id": "owner", "session_id": "session", "turn_id": "turn", "signal": CancelSignal(), **fields}
    return RetrievalContext.model_construct(**given)


# The catalogue itself.


@each_fault
def test_a_fault_says_what_it_is(fault: MakerFault) -> None:
    """A sentence in one line, the checks that it trips, and a piece of what they say."""
    assert fault.summary.endswith(".")
    assert "\n" not in fault.summary
    assert fault.trips
    assert all(trip.startswith("KP-8") and len(trip) == 6 for trip in fault.trips)
    assert len(set(fault.trips)) == len(fault.trips)
    assert fault.fragment
    assert issubclass(cast("type", fault.make), PlainHost)


def test_names_and_summaries_are_unique() -> None:
    """Two faults that read the same would be one."""
    assert len({fault.summary for fault in HOST_FAULTS.values()}) == len(HOST_FAULTS)
    assert all(name == fault.name for name, fault in HOST_FAULTS.items())


def test_the_catalogue_cannot_be_changed() -> None:
    """One run must not change what the next one sees."""
    with pytest.raises(TypeError):
        cast("dict[str, Any]", HOST_FAULTS)["another"] = None


def test_names_are_those_of_the_classes() -> None:
    """In snake case, each word apart."""

    @host_fault("KP-801", fragment="x")
    class ThisIsAFault(PlainHost):
        """It says so."""

    assert vars(ThisIsAFault)["fault"].name == "this_is_a_fault"


def test_a_fault_without_a_check_or_a_sentence_is_refused() -> None:
    """Nobody would know what is wrong, or see it caught."""
    with pytest.raises(TypeError, match="a docstring of one line"):

        @host_fault("KP-801", fragment="x")
        class WithoutASentence(PlainHost):
            __doc__ = ""

    with pytest.raises(TypeError, match="needs a check"):

        @host_fault(fragment="x")
        class WithoutACheck(PlainHost):
            """A mistake that nobody sees."""


# As targets.


@each_fault
def test_each_fault_is_a_target(fault: MakerFault) -> None:
    """``knowledge_fakes.faulty_hosts:name`` takes what the small host's factory takes."""
    factory = getattr(faulty_hosts, fault.name)
    assert factory is getattr(faulty_hosts, fault.name)
    assert (factory.__module__, factory.__qualname__) == ("knowledge_fakes.faulty_hosts", fault.name)
    assert factory.__doc__ == fault.summary
    assert inspect.signature(factory) == inspect.signature(plain_host.factory)


def test_a_target_makes_faulty_hosts() -> None:
    """A fresh one each time, with the settings that it is given."""
    provider = ScriptedProvider()
    host = faulty_hosts.citations_per_search(provider, timeout=1.5, knowledge_bases=["a"], turns=3)
    assert type(host) is HOST_FAULTS["citations_per_search"].make
    assert (host.provider, host.timeout, host.bases, host.turns) == (provider, 1.5, ("a",), 3)


def test_the_targets_can_be_listed() -> None:
    """dir() names every fault, and nothing else; a misspelt name is an AttributeError, as of any module."""
    assert dir(faulty_hosts) == sorted(HOST_FAULTS)
    with pytest.raises(AttributeError, match="'no_deadlime': there is no fault"):
        _ = faulty_hosts.no_deadlime


def test_the_faults_do_not_load_the_kit() -> None:
    """They are for authors of hosts too."""
    script = "import sys, knowledge_fakes.faulty_hosts; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"knowledge_conformance", "pytest", "hypothesis"} & set(loaded)


# What a fault leaves alone.


def fields(value: Any) -> Any:
    return {**vars(value), "signal": None} if hasattr(value, "__dict__") else value


class Taking(ScriptedProvider):
    """Takes arguments by name too, and counts them."""

    async def retrieve(self, *arguments: Any, **named: Any) -> Any:
        self.named = len(named)
        return await super().retrieve(*arguments, *named.values())


async def plainest(make: Any) -> dict[str, Any]:
    """A host over a sound provider: composed, asked once, looked at, closed."""
    provider = Taking([RESULTS], capabilities={"scores": True})
    host = make(provider, timeout=5.0, knowledge_bases=["docs"])
    outcome = await host.search("release policy", context=context(), top_k=2, knowledge_base_ids=["docs"])
    told = host.describe(), host.capabilities(), host.tool_definition(), await host.health()
    await host.close()
    request, given = provider.calls[0]
    return {
        "outcome": outcome,
        "told": told,
        "asked": (fields(request), fields(given), provider.named, len(provider.calls)),
        "closed": provider.closed > 0,
    }


@each_fault
def test_a_faulty_host_is_a_host(fault: MakerFault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has nothing to do with the mistake is as it is without it."""
    monkeypatch.chdir(tmp_path)
    wanted, came = asyncio.run(plainest(plain_host.factory)), asyncio.run(plainest(fault.make))
    different = {name for name in wanted if wanted[name] != came[name]}
    assert different == PLAINEST.get(fault.name, set())
