"""The plain access rule does what clause 11 says, seen without the kit."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from knowledge_fakes.plain_access import factory
from knowledge_fakes.scripted import ScriptedProvider
from knowledge_provider import (
    CancelSignal,
    KnowledgeInvalidResponseError,
    KnowledgeSourcesIncompleteError,
    RetrievalContext,
    RetrievalRequest,
)
from knowledge_provider.access import AccessMode, AccessScope

CONFIGURED = AccessScope(tenant_id="acme", user_id="service", roles=frozenset({"reader"}))


def row(id_: str, **labels: object) -> dict[str, Any]:
    return {"id": id_, "content": id_, "metadata": labels}


def ask(provider: Any, run: Mapping[str, Any], scope: AccessScope | None = CONFIGURED, top_k: int = 8) -> list[str]:
    made = factory(provider, scope, identity=lambda _: run)
    context = RetrievalContext(owner_id="x", signal=CancelSignal())
    answer = asyncio.run(made.retrieve(RetrievalRequest(query="q", top_k=top_k), context))
    return [each["id"] for each in answer["results"]]


ROWS = [
    row("public", visibility="public"),
    row("bobs", user_id="bob"),
    row("services", user_id="service"),
    row("bob-or-carol", allowed_users="carol, bob"),
    row("readers", allowed_roles="reader"),
    row("private", public="false"),
    row("number", user_id=4711),
    row("nobodys"),
]


@pytest.mark.parametrize(
    ("run", "seen"),
    [
        ({"user_id": "bob"}, ["public", "bobs", "bob-or-carol"]),
        ({}, ["public", "services", "readers"]),
        ({"tenant_id": "other", "roles": ["reader"]}, ["public", "readers"]),
    ],
)
def test_each_reader_sees_their_own(run: Mapping[str, Any], seen: list[str]) -> None:
    """The run's identity, or the configured one; roles go with whichever it is."""
    assert ask(ScriptedProvider([ROWS]), run) == seen


def test_a_label_counts_by_the_name_that_it_is_shown_under() -> None:
    """Behind a byte order mark, too; and of two of one name nobody knows which was meant."""
    rows = [
        row("bobs", **{"\ufeffuser_id": "bob"}),
        row("alices", visibility="public", **{"\ufeffuser_id": "alice"}),
        row("either", user_id="alice", **{"user_id ": "bob"}),
        row("null", user_id="bob", **{"user_id ": None}),
    ]
    assert ask(ScriptedProvider([rows]), {"user_id": "bob"}) == ["bobs", "null"]


@pytest.mark.parametrize(
    ("mode", "seen"),
    [
        (AccessMode.PERMISSIVE, ["public", "bobs", "bob-or-carol", "nobodys"]),
        (AccessMode.PUBLIC_ONLY, ["public"]),
        (AccessMode.USER_REQUIRED, ["bobs", "bob-or-carol"]),
        (AccessMode.TENANT_REQUIRED, []),
    ],
)
def test_a_mode_wants_its_label(mode: AccessMode, seen: list[str]) -> None:
    """Beyond labels that match."""
    assert ask(ScriptedProvider([ROWS]), {"user_id": "bob"}, AccessScope(mode)) == seen


def test_more_is_asked_for_once() -> None:
    """For eight, where too few are left of a full answer."""
    provider = ScriptedProvider([ROWS[2:4], [*ROWS]])
    assert ask(provider, {"user_id": "bob"}, top_k=2) == ["public", "bobs"]
    assert [call.request.top_k for call in provider.calls] == [2, 8]


def test_a_failure_is_no_empty_answer() -> None:
    """The provider's own, an answer that is none, and a source that failed where nothing may be shown."""
    with pytest.raises(ConnectionError):
        ask(ScriptedProvider([ConnectionError("down")]), {})
    with pytest.raises(KnowledgeInvalidResponseError):
        ask(ScriptedProvider([{"error": "down"}]), {})
    reports = [{"key": "wiki", "status": "failed"}]
    with pytest.raises(KnowledgeSourcesIncompleteError):
        ask(ScriptedProvider([{"results": [row("nobodys")], "sources": reports}]), {})


def test_closing_closes_the_provider() -> None:
    """Once, and the description is the provider's."""
    provider = ScriptedProvider(key="inner")
    made = factory(provider, None, identity=lambda _: {})
    asyncio.run(made.close())
    assert (provider.closed, made.describe()["key"]) == (1, "inner")
