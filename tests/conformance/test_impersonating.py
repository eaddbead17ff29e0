"""Requests in which a model says that it is somebody else."""

from typing import Any

from knowledge_conformance.generate import each_drawn
from knowledge_conformance.impersonating import OWNER_KEYS, Cast, all_keys, cast_of, each_key, generated, impersonations
from knowledge_conformance.ownership import owners_of
from knowledge_conformance.settings import Settings
from knowledge_provider import RetrievalRequest, limits

BARE = Settings.model_validate(
    {"owners": {"attacker": {"query": "mine", "sees": ["a"]}, "victim": {"query": "salary", "sees": ["v"]}}}
)
RICH = BARE.model_copy(
    update={"bases": {"engineering": ("x",), "people": ("y",)}, "filters": Settings.model_validate(
        {"filters": [{"query": "salary", "filter": {"department": "people"}}]}
    ).filters}
)  # fmt: skip


def cast(settings: Settings = BARE) -> Cast:
    asker, victim = owners_of(settings)
    return cast_of(asker, victim, settings)


def drawn(settings: Settings, examples: int = 200, seed: int = 0) -> list[RetrievalRequest]:
    found: list[RetrievalRequest] = []
    each_drawn(generated(cast(settings)), found.append, examples=examples, seed=seed)
    return found


def keys_in(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {*value, *(key for held in value.values() for key in keys_in(held))}
    return {key for held in value for key in keys_in(held)} if isinstance(value, list) else set()


def test_the_arguments_of_the_reports_are_among_them() -> None:
    """ownerId, a nested context, a base of the victim's, and filters that end the back end's own condition."""
    requests = impersonations(cast())
    assert {"ownerId": "victim"} in [request.filters for request in requests]
    assert any(request.filters.get("context") == {"ownerId": "victim"} for request in requests)
    assert any("kb_victim" in request.knowledge_base_ids for request in requests)
    assert any(request.filters == {"user_id": '") or true or ("'} for request in requests)
    assert any('tenant"] != "" or metadata["x' in request.filters for request in requests)
    assert any(request.filters == {"a' OR '1'='1": "x"} for request in requests)
    assert any({*OWNER_KEYS} <= keys_in(request.filters) for request in requests)


def test_each_key_stands_alone() -> None:
    """A provider may refuse all that it does not know, and not ask whose the one is that it knows."""
    alone = each_key(cast())
    assert [request.filters for request in alone] == [{key: "victim"} for key in OWNER_KEYS]
    assert all_keys(cast()) in impersonations(cast())


def test_all_look_for_the_victims_documents() -> None:
    """With the largest answer, and mostly with the query that finds them."""
    for settings, most in ((BARE, 20), (RICH, 24)):
        requests = impersonations(cast(settings))
        assert len(requests) == most
        assert {request.top_k for request in requests} == {limits.TOP_K_MAX}
        assert sum("salary" in request.query for request in requests) == most - 1


def test_what_works_goes_along() -> None:
    """A filter and a base that the settings name, so that a provider does not refuse for those."""
    requests = impersonations(cast(RICH))
    assert any({"department": "people"}.items() < request.filters.items() for request in requests)
    assert any(request.knowledge_base_ids == ("engineering", "victim") for request in requests)
    for base in ("engineering", "people"):
        assert any(request.knowledge_base_ids == (f"{base}/victim",) for request in requests)


def test_long_names_are_cut_where_they_must_be() -> None:
    """A name may be longer than a base id."""
    owners = {"attacker": {"query": "mine", "sees": ["a"]}, "v" * 300: {"query": "q" * 500, "sees": ["v"]}}
    settings = Settings.model_validate({"owners": owners})
    assert impersonations(cast(settings))
    assert drawn(settings, 30)


def test_generated_ones_nest_and_mix() -> None:
    """Keys at several depths, in query, filters and bases, with and without what works."""
    requests = drawn(RICH)
    assert any(request.filters and keys_in(request.filters) - {*request.filters} for request in requests)
    assert any(request.knowledge_base_ids for request in requests)
    assert any(request.filters.get("department") == "people" for request in requests)
    assert any("victim" in request.query for request in requests)
    assert {key for request in requests for key in keys_in(request.filters)} >= {*OWNER_KEYS}
    assert drawn(RICH, 20) == drawn(RICH, 20) != drawn(RICH, 20, seed=1)


def test_a_request_holds_no_mapping_of_somebodys_own() -> None:
    """What the model makes of filters is plain, all the way down, so no method of theirs can say another owner."""

    class Lying(dict[str, Any]):
        def get(self, *_: Any) -> Any:
            return "victim"

    class Text(str):
        __slots__ = ()

    request = RetrievalRequest(query="q", filters=Lying(a=Text("x"), n=Lying(b=[Text("y")])))
    held: Any = request.filters
    assert [type(each) for each in (held, held["a"], held["n"], held["n"]["b"][0])] == [dict, str, dict, str]
