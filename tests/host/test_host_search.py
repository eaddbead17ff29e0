"""What goes into a search: the request and the context as the provider gets them, or a refusal."""

from typing import Any

import pytest
from host_scenes import context, run

from knowledge_fakes.scripted import ScriptedProvider, SyncScriptedProvider
from knowledge_provider import (
    KnowledgeHost,
    KnowledgeOwnerRequiredError,
    KnowledgeQueryRequiredError,
    Outcome,
    RetrievalContext,
    RetrievalRequest,
    normalize_response,
)

FOUND = [{"id": "a", "content": "one", "source": {"title": "First", "uri": "https://example.com/a"}}]

each_kind = pytest.mark.parametrize("kind", [ScriptedProvider, SyncScriptedProvider])


def search(
    provider: object, query: object = "release policy", *, host: dict[str, Any] | None = None, **asked: Any
) -> Outcome:
    """One search with a host of its own."""
    return run(KnowledgeHost(provider, **(host or {})).search(query, context=context(), **asked))


def asked_of(provider: ScriptedProvider) -> RetrievalRequest:
    """The one request that came."""
    (call,) = provider.calls
    return call.request


@pytest.mark.parametrize(
    ("asked", "top_k", "ids"),
    [
        ({"top_k": "5"}, 5, ()),
        ({"top_k": 5.0}, 5, ()),
        ({"top_k": True}, 5, ()),
        ({"top_k": 0}, 1, ()),
        ({"top_k": -1}, 1, ()),
        ({"top_k": 9}, 8, ()),
        ({"top_k": "nan"}, 5, ()),
        ({"top_k": None}, 5, ()),
        ({"knowledge_base_ids": ["a"] * 20}, 5, ("a",)),
        ({"knowledge_base_ids": None}, 5, ()),
    ],
    ids=str,
)
def test_whatever_a_model_sends_the_provider_gets_a_count_and_ids(
    asked: dict[str, Any], top_k: int, ids: tuple[str, ...]
) -> None:
    """Numbers in strings, True, null, too many ids: the provider always gets an int from 1 to 8 and unique ids."""
    provider = ScriptedProvider()
    search(provider, **asked)
    request = asked_of(provider)
    assert (request.top_k, request.knowledge_base_ids) == (top_k, ids)
    assert type(request.top_k) is int


@pytest.mark.parametrize("ids", ["None", '["a"]', 7, ["x" * 121]])
def test_bases_that_cannot_be_read_are_not_found(ids: object) -> None:
    """A model sends "None" or a JSON string for a list: that neither fails at random nor searches everything."""
    provider = ScriptedProvider([FOUND])
    assert search(provider, knowledge_base_ids=ids).status == "not_found"
    assert provider.calls == []


@pytest.mark.parametrize("query", ["", "   ", "\u200b", None])
def test_a_blank_query_is_refused(query: object) -> None:
    """Clause 8.3."""
    provider = ScriptedProvider()
    with pytest.raises(KnowledgeQueryRequiredError):
        search(provider, query)
    assert provider.calls == []


def test_a_huge_query_is_cut_for_the_provider_and_the_outcome() -> None:
    """Clause 8.3: one normalisation, seen by both."""
    provider = ScriptedProvider()
    outcome = search(provider, " x" * 100_000)
    assert asked_of(provider).query == outcome.query == ("x " * 250).strip()


@pytest.mark.parametrize("filters", ["{}", "[]", 1])
def test_filters_in_a_string_are_refused(filters: object) -> None:
    """They are an agent's, not a model's: what cannot be read is a mistake to tell, not one to guess about."""
    provider = ScriptedProvider()
    with pytest.raises(TypeError, match="filters must be a JSON object"):
        search(provider, filters=filters)
    assert provider.calls == []


@pytest.mark.parametrize("owner", ["", "  ", "\u200b", None])
def test_a_blank_owner_is_refused_before_anything_else(owner: Any) -> None:
    """Clause 8.3: also in a context that was made without validation."""
    provider = ScriptedProvider()
    blank = RetrievalContext.model_construct(owner_id=owner)
    with pytest.raises(KnowledgeOwnerRequiredError):
        run(KnowledgeHost(provider).search("", context=blank))
    assert provider.calls == []


@pytest.mark.parametrize("wrong", [None, {"owner_id": "alice"}, "alice"])
def test_identity_comes_from_a_context_alone(wrong: Any) -> None:
    """Clause 4.1: a mapping with an owner in it is not one."""
    with pytest.raises(TypeError, match="context must be a RetrievalContext"):
        run(KnowledgeHost(ScriptedProvider()).search("x", context=wrong))


@pytest.mark.parametrize("wrong", [None, 7, ["s"]])
@pytest.mark.parametrize("field", ["session_id", "turn_id", "trace_id", "signal"])
def test_a_context_that_nobody_validated_is_refused_by_the_field(field: str, wrong: Any) -> None:
    """Not mended: turns whose ids cannot be read would share citations, and nobody could cancel the search."""
    provider = ScriptedProvider()
    unread = RetrievalContext.model_construct(owner_id="alice", **{field: wrong})
    with pytest.raises(
        TypeError, match=rf"context\.{field} must be a (str|CancelSignal); got {type(wrong).__name__}: make"
    ):
        run(KnowledgeHost(provider).search("x", context=unread))
    assert provider.calls == []


def test_filters_reach_a_provider_that_claims_none() -> None:
    """Clause 3.5: to refuse them is the provider's part, since what it claims is not what it can do with these."""
    provider = ScriptedProvider(capabilities={"filters": False})
    search(provider, filters={"department": "hr"})
    assert asked_of(provider).filters == {"department": "hr"}


class Richer(RetrievalContext):
    api_key: str = "sk-invented"


@each_kind
def test_the_provider_gets_the_four_fields_and_the_context(kind: type[Any]) -> None:
    """Clause 8.5: by position, and of the context what the contract knows, with a signal of this call."""
    provider = kind()
    given = Richer(owner_id="alice", session_id="s", turn_id="t", trace_id="x")
    run(KnowledgeHost(provider).search("policy", context=given, filters={"a": [1]}, knowledge_base_ids=["hr"], top_k=2))
    (call,) = provider.calls
    assert vars(call.request) == {
        "query": "policy",
        "top_k": 2,
        "knowledge_base_ids": ("hr",),
        "filters": {"a": [1]},
    }
    assert {name: value for name, value in vars(call.context).items() if name != "signal"} == {
        "owner_id": "alice",
        "session_id": "s",
        "turn_id": "t",
        "trace_id": "x",
    }
    assert type(call.context) is RetrievalContext
    assert call.context.signal is not given.signal


def test_a_provider_that_changes_its_request_changes_nothing_else() -> None:
    """Clause 3.8: neither the outcome, nor the caller's filters and context, nor the next search."""

    def change(request: Any, given: Any) -> object:
        vars(request).update(query="something else", top_k=1)
        request.filters["department"].append("all")
        vars(given).update(owner_id="bob")
        return [{"id": f"{at}", "content": "text"} for at in range(5)]

    filters, own, provider = {"department": ["hr"]}, context(), ScriptedProvider([change])
    host = KnowledgeHost(provider)
    for _ in range(2):
        outcome = run(host.search("policy", context=own, filters=filters))
        assert (outcome.query, len(outcome.results)) == ("policy", 5)
    assert filters == {"department": ["hr"]}
    assert own.owner_id == "alice"
    assert provider.calls[1].context.owner_id == "bob"
    assert provider.calls[1].context is not own


# Knowledge bases


@pytest.mark.parametrize(
    ("asked", "given"), [((), ()), (["it"], ("it",)), (["legal", "hr", "it"], ("hr", "it")), (["it", "it"], ("it",))]
)
def test_only_disclosed_bases_reach_the_provider(asked: Any, given: tuple[str, ...]) -> None:
    """Clause 8.4."""
    provider = ScriptedProvider()
    search(provider, knowledge_base_ids=asked, host={"knowledge_bases": ["hr", "it"]})
    assert asked_of(provider).knowledge_base_ids == given


@pytest.mark.parametrize("disclosed", [[], ["hr"]])
def test_bases_that_are_not_disclosed_are_not_found(disclosed: list[str]) -> None:
    """Clause 8.4: the provider is not called, and the outcome is an ordinary one."""
    provider = ScriptedProvider([FOUND])
    outcome = search(provider, knowledge_base_ids=["legal"], host={"knowledge_bases": disclosed})
    assert outcome.to_dict() == normalize_response([], query="release policy").to_dict()
    assert provider.calls == []
