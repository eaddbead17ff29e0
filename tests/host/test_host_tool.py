"""Clauses 2.1, 8.1, 8.2 and 8.13: what a host says about itself, and the one tool that it offers a model."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from host_scenes import context, run

from knowledge_fakes.scripted import RAISING, SECRET, UNFIT, ScriptedProvider, SyncScriptedProvider
from knowledge_provider import (
    NOTICE,
    Health,
    KnowledgeHost,
    KnowledgeProviderInvalidError,
    KnowledgeQueryRequiredError,
    KnowledgeUnconfiguredError,
    limits,
)

FOUND = [{"id": "a", "content": "one"}]

each_kind = pytest.mark.parametrize("kind", [ScriptedProvider, SyncScriptedProvider])


@pytest.mark.parametrize("name", sorted(UNFIT))
def test_an_incompatible_provider_is_refused_when_the_host_is_made(name: str) -> None:
    """Clause 8.1: never at the first turn."""
    if (provider := UNFIT[name]()) is not None:
        with pytest.raises(KnowledgeProviderInvalidError, match=r"clause 1\.[1-6]"):
            KnowledgeHost(provider)


# Without a provider


def test_without_a_provider_there_is_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clause 8.2: no capability, no tool, nothing on disk, and a search raises."""
    monkeypatch.chdir(tmp_path)
    host = KnowledgeHost(None, knowledge_bases=["hr"])
    assert (host.configured, host.describe()) == (False, {"configured": False})
    assert (host.capabilities(), host.tool_definition(), host.abandoned) == ([], None, 0)
    assert run(host.health()) == {"status": "unconfigured"}
    with pytest.raises(KnowledgeUnconfiguredError):
        run(host.search("policy", context=context()))
    with pytest.raises(KnowledgeUnconfiguredError):
        run(host.call_tool({"query": "policy"}, context()))
    run(host.close())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", [None, "nobody"])
def test_that_there_is_no_provider_is_said_first(wrong: Any) -> None:
    """Whatever else is wrong with the search."""
    with pytest.raises(KnowledgeUnconfiguredError):
        run(KnowledgeHost(None).search("", context=wrong))


# With one


def test_a_host_describes_itself_in_plain_data() -> None:
    """New at each call, on one line, and bounded, whatever the provider says."""
    provider = ScriptedProvider(
        key="handbook",
        label=" Hand\nbook " + "x" * 200,
        capabilities={"scores": True, "filters": False, "own\nword": True, "knowledge": True},
    )
    host = KnowledgeHost(provider)
    assert host.configured
    assert host.describe() == {
        "configured": True,
        "key": "handbook",
        "label": ("Hand book " + "x" * 200)[:120],
        "protocol_version": 1,
        "capabilities": {"scores": True, "filters": False, "own word": True, "knowledge": True},
    }
    host.describe()["capabilities"].clear()
    assert host.capabilities() == ["knowledge", "own word", "scores"]


@pytest.mark.parametrize("bases", [[], ["hr", "it"]])
def test_disclosed_bases_are_described(bases: list[str]) -> None:
    """Clause 8.4: also that there is none; undisclosed ones are not spoken of."""
    assert KnowledgeHost(ScriptedProvider(), knowledge_bases=bases).describe()["knowledge_bases"] == bases
    assert "knowledge_bases" not in KnowledgeHost(ScriptedProvider()).describe()


def test_a_description_that_changes_later_changes_nothing() -> None:
    """Clause 1.7: what was composed is what was checked."""
    provider = ScriptedProvider(key="first")
    host = KnowledgeHost(provider)
    provider.describe = lambda: {"protocolVersion": 2}  # type: ignore[method-assign]  # the provider's mistake
    assert host.describe()["key"] == "first"


# Health


@each_kind
@pytest.mark.parametrize(
    ("answer", "read"),
    [
        ({"status": "ready"}, {"status": "ready"}),
        ({"status": "degraded", "message": " slow\nindex "}, {"status": "degraded", "message": "slow index"}),
        ({"status": "unconfigured", "message": None}, {"status": "unconfigured"}),
        (Health(status="unavailable", message="x" * 900), {"status": "unavailable", "message": "x" * 500}),
    ],
    ids=str,
)
def test_health_is_the_providers(kind: type[Any], answer: object, read: dict[str, str]) -> None:
    """Clause 2.1: a mapping or the model; the message on one line of at most 500."""
    assert run(KnowledgeHost(kind(health=answer)).health()) == read


@each_kind
@pytest.mark.parametrize(
    "answer", [True, "ready", {}, {"status": "ok"}, {"status": "READY"}, {"status": ["ready"]}, [("status", "ready")]]
)
def test_health_that_is_none_of_the_words_is_unavailable(kind: type[Any], answer: object) -> None:
    """Clause 2.1: nonsense is no good news."""
    health = run(KnowledgeHost(kind(health=lambda *_: answer)).health())
    assert health == {"status": "unavailable", "message": "health() gave none of the four statuses"}


@each_kind
@pytest.mark.parametrize("name", sorted(RAISING))
def test_health_that_raises_is_unavailable(kind: type[Any], name: str) -> None:
    """Clauses 2.1 and 6.4: an exception is an answer, and its text stays out."""
    health = run(KnowledgeHost(kind(health=RAISING[name]())).health())
    assert health["status"] == "unavailable"
    assert health["message"].startswith("health() raised ")
    assert SECRET not in health["message"]


def test_health_that_hangs_is_unavailable_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clause 2.1: within five seconds, which are shorter here."""
    monkeypatch.setattr(limits, "HEALTH_SECONDS", 0.02)

    async def hang(*_: object) -> None:
        await asyncio.Event().wait()

    health = run(KnowledgeHost(ScriptedProvider(health=hang)).health())
    assert health == {"status": "unavailable", "message": "health() did not end in time"}


def test_a_provider_without_health_is_ready() -> None:
    """Clause 2.1."""
    assert run(KnowledgeHost(ScriptedProvider()).health()) == {"status": "ready"}


# The tool


def test_the_tool_is_there_with_a_provider() -> None:
    """Clause 8.13: with the bases where they are disclosed."""
    definition = KnowledgeHost(ScriptedProvider(), knowledge_bases=["hr"]).tool_definition()
    assert definition is not None
    assert definition["name"] == "knowledge"
    assert set(definition["parameters"]["properties"]) == {"query", "top_k", "knowledge_base_ids"}


def test_a_tool_call_reads_three_names_and_nothing_else() -> None:
    """Clause 8.13, field case 81: no model chooses an owner or a filter, however it spells them."""
    provider = ScriptedProvider([FOUND])
    arguments = {
        "query": "policy",
        "top_k": "3",
        "knowledge_base_ids": ["hr", "legal"],
        "filters": {"owner": "bob"},
        "owner_id": "bob",
        "ownerId": "bob",
        "context": {"owner_id": "bob"},
        "topK": 8,
        "knowledgeBaseIds": ["legal"],
    }
    host = KnowledgeHost(provider, knowledge_bases=["hr"])
    assert run(host.call_tool(arguments, context())).status == "ok"
    ((request, given),) = provider.calls
    assert (request.query, request.top_k, request.knowledge_base_ids, request.filters) == ("policy", 3, ("hr",), {})
    assert given.owner_id == "alice"


def test_a_base_that_is_not_disclosed_is_as_one_that_does_not_exist() -> None:
    """Field case 81: the answer to a guess is the same to the byte, and the provider never hears of it."""
    provider = ScriptedProvider([FOUND])
    host = KnowledgeHost(provider, knowledge_bases=["hr"])
    there, made_up = (
        run(host.call_tool({"query": "policy", "knowledge_base_ids": [base]}, context())).to_dict()
        for base in ("legal", "zq-made-up")
    )
    assert there == made_up
    assert (there["status"], there["results"], provider.calls) == ("not_found", [], [])


def test_what_was_left_out_of_an_answer_is_not_told() -> None:
    """Field case 85: counts and names beside the results are nothing that a host reads, so no model hears of them."""
    found = {
        "results": [],
        "failures": [{"source": "hr-private", "dropped": 17}],
        "total": 17,
        "hidden": ["hr-private"],
    }
    outcome = run(KnowledgeHost(ScriptedProvider([found])).call_tool({"query": "policy"}, context()))
    assert outcome.to_dict() == {
        "status": "not_found",
        "query": "policy",
        "results": [],
        "citations": [],
        "notice": NOTICE,
    }


def test_a_tool_call_may_leave_out_all_but_the_query() -> None:
    """Clause 8.13."""
    provider = ScriptedProvider()
    run(KnowledgeHost(provider).call_tool({"query": "policy"}, context()))
    assert provider.calls[0].request.top_k == 5
    assert provider.calls[0].request.knowledge_base_ids == ()


@pytest.mark.parametrize("arguments", [None, "policy", '{"query": "policy"}', ["policy"], {}, {"Query": "policy"}, 7])
def test_arguments_without_a_query_are_refused(arguments: object) -> None:
    """Clauses 8.3 and 8.13: as any search for nothing."""
    with pytest.raises(KnowledgeQueryRequiredError):
        run(KnowledgeHost(ScriptedProvider()).call_tool(arguments, context()))
