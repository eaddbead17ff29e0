"""Owners, bases, filters and claims: what is not configured, what is too little, and what a control is for."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.checks.filtering import contradicts
from knowledge_conformance.engine import run_check
from knowledge_conformance.exclusions import reads_as_exclusion
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.settings import Settings
from knowledge_conformance.subject import Subject
from knowledge_conformance.survey import Survey
from knowledge_fakes.faults import FAULTS
from knowledge_fakes.faults._expected import BASES, EVERYTHING, FILTERS, OWNERS
from knowledge_fakes.handbook import HandbookProvider
from knowledge_provider.errors import KnowledgeBaseUnknownError, KnowledgeUnavailableError

ASKED = ("KP-309", "KP-310", "KP-311", "KP-312", "KP-401", "KP-402", "KP-403", "KP-404", "KP-405", "KP-406", "KP-408")
OWNERS_ASKED = ASKED[4:]
INCONCLUSIVE = CheckOutcome.INCONCLUSIVE


def result(check_id: str, settings: Mapping[str, Any], provider: Any = None) -> CheckResult:
    """The check's result alone, over a fresh handbook unless another provider is given."""
    subject = Subject(
        HandbookProvider() if provider is None else provider,
        Settings.model_validate(dict(settings)),
        allowed=400,
        announce=lambda _shown, _seconds: None,
        surveyor=Survey(),
    )
    return asyncio.run(run_check(BY_ID[check_id], subject))


def with_owners(**named: Any) -> dict[str, Any]:
    return {"owners": {**OWNERS["owners"], **named}}


@pytest.mark.parametrize("check_id", ASKED)
def test_what_is_not_configured_does_not_apply(check_id: str) -> None:
    """And the text says what to write into the settings."""
    found = result(check_id, {})
    assert found.outcome is CheckOutcome.INAPPLICABLE
    assert found.saw is not None
    assert "[" in found.saw


@pytest.mark.parametrize("check_id", ASKED)
def test_the_handbook_passes_with_all_of_it(check_id: str) -> None:
    """With the settings that show each mistake."""
    found = result(check_id, EVERYTHING)
    assert found.outcome is CheckOutcome.PASSED
    assert found.calls <= BY_ID[check_id].calls_allowed(Settings.model_validate(EVERYTHING)) + found_survey()


def found_survey() -> int:
    """The most calls of a survey, which each of these makes for itself."""
    from knowledge_conformance.survey import SURVEY_CALLS

    return SURVEY_CALLS


@pytest.mark.parametrize("check_id", OWNERS_ASKED)
def test_owners_who_do_not_get_their_own_prove_nothing(check_id: str) -> None:
    """A provider that answers nobody keeps every secret, and a misspelt id is never reached."""
    misspelt = with_owners(tomas={"query": "salary letter", "sees": ["notes-tomas#celery"]})
    if check_id == "KP-406":
        misspelt = with_owners(mara={"query": "dentist", "sees": ["notes-mara#artist"]})
    assert result(check_id, misspelt).outcome is INCONCLUSIVE


def test_who_refuses_an_owner_whose_id_only_looks_known_keeps_apart() -> None:
    """Nothing is handed over, and those who are known are served."""

    class Directory(HandbookProvider):
        async def retrieve(self, request: Any, context: Any) -> Any:
            if context.owner_id not in OWNERS["owners"]:
                raise PermissionError("unknown")
            return await super().retrieve(request, context)

    assert result("KP-408", OWNERS, Directory()).outcome is CheckOutcome.PASSED


def test_an_owner_of_the_settings_is_none_who_only_looks_alike() -> None:
    """Whose is what they say themselves: two spellings may be one account."""
    settings = with_owners(TOMAS={"query": "salary letter", "sees": ["notes-tomas#salary"]})
    fault = FAULTS["owner_in_any_case"]
    found = result("KP-408", settings, fault.wrap(HandbookProvider()))
    assert found.outcome is CheckOutcome.ADVISORY
    assert "'mara'" in str(found.wanted)


@pytest.mark.parametrize("check_id", OWNERS_ASKED)
def test_one_owner_is_too_few(check_id: str) -> None:
    """The hint asks for a second one."""
    found = result(check_id, {"owners": {"mara": OWNERS["owners"]["mara"]}})
    assert found.outcome is INCONCLUSIVE
    assert found.hint is not None
    assert "two owners" in found.hint


def test_a_third_owner_is_asked_as_well() -> None:
    """One who has nothing of its own may see nothing of the others' either."""
    three = with_owners(lena={"query": "release policy", "never": ["release-handbook#approvals"]})
    assert result("KP-401", with_owners(lena={"query": "dentist"})).outcome is CheckOutcome.PASSED
    found = result("KP-401", three)
    assert found.outcome is CheckOutcome.FAILED
    assert found.saw == "the result 'release-handbook#approvals', which is another's, in an answer to the owner 'lena'"


def refusing(error: Callable[[], BaseException], when: Callable[[Any, Any], bool]) -> Any:
    class Refusing(HandbookProvider):
        async def retrieve(self, request: Any, context: Any) -> Any:
            if when(request, context):
                raise error()
            return await super().retrieve(request, context)

    return Refusing()


def test_a_provider_that_refuses_every_impersonation_passes() -> None:
    """Refused is as good as not reached; the control shows that it does not refuse everything."""
    provider = refusing(lambda: ValueError("no"), lambda request, _: bool(request.filters or "wner" in request.query))
    assert result("KP-402", OWNERS, provider).outcome is CheckOutcome.PASSED


def plain_queries(request: Any) -> bool:
    return request.query in ("dentist appointment", "salary letter") and not (
        request.filters or request.knowledge_base_ids
    )


FAILING: dict[str, Callable[[Any, Any], bool]] = {
    "KP-310": lambda request, _: bool({*request.knowledge_base_ids} - {*BASES["bases"]}),
    "KP-311": lambda request, _: bool({*request.knowledge_base_ids} - {*BASES["bases"]}),
    "KP-312": lambda request, _: "no-such-value" in str(request.filters),
    "KP-402": lambda request, _: not plain_queries(request),
    "KP-403": lambda request, _: not plain_queries(request),
}


@pytest.mark.parametrize("check_id", FAILING)
def test_requests_that_all_fail_prove_nothing(check_id: str) -> None:
    """A provider that raises for whatever it might answer wrongly was not seen to answer it rightly."""
    found = result(check_id, EVERYTHING, refusing(lambda: ValueError("no"), FAILING[check_id]))
    assert found.outcome is INCONCLUSIVE
    assert found.saw is not None
    assert "failed" in found.saw


@pytest.mark.parametrize("check_id", ["KP-310", "KP-311"])
def test_a_base_that_is_refused_by_its_own_code_counts(check_id: str) -> None:
    """The contract has that code for it."""
    provider = refusing(lambda: KnowledgeBaseUnknownError("no such base"), FAILING[check_id])
    assert result(check_id, EVERYTHING, provider).outcome is CheckOutcome.PASSED


def dies_after(calls: int) -> Any:
    """A handbook whose back end is gone after so many calls."""
    seen = iter(range(1000))
    return refusing(lambda: KnowledgeUnavailableError("gone"), lambda *_: next(seen) >= calls)


@pytest.mark.parametrize("check_id", ["KP-310", "KP-311", "KP-312", "KP-402", "KP-403", "KP-405", "KP-406"])
def test_a_provider_that_is_gone_by_the_end_proves_nothing(check_id: str) -> None:
    """The control is asked after everything else."""
    asked: list[Any] = []

    class Counted(HandbookProvider):
        async def retrieve(self, request: Any, context: Any) -> Any:
            asked.append(request)
            return await super().retrieve(request, context)

    assert result(check_id, EVERYTHING, Counted()).outcome is CheckOutcome.PASSED
    found = result(check_id, EVERYTHING, dies_after(len(asked) - 1))
    assert found.outcome is INCONCLUSIVE
    assert found.saw is not None
    assert "at the end" in found.saw


def test_owners_who_never_ask_the_same_at_once_have_not_met() -> None:
    """A provider that fails for whoever asks for another's at the same time was not seen to keep it apart."""

    def crosses(request: Any, context: Any) -> bool:
        return (context.owner_id, request.query) == ("mara", "salary letter")

    found = result("KP-405", OWNERS, refusing(lambda: ValueError("another time"), crosses))
    assert found.outcome is INCONCLUSIVE
    assert found.saw is not None
    assert "never both answered" in found.saw


def test_calls_that_all_fail_at_once_prove_nothing() -> None:
    """They reach nothing, and are no evidence."""

    class Busy(HandbookProvider):
        running = 0

        async def retrieve(self, request: Any, context: Any) -> Any:
            self.running += 1
            try:
                for _ in range(20):
                    await asyncio.sleep(0)
                    if self.running > 1:
                        raise KnowledgeUnavailableError("one at a time")
                return await super().retrieve(request, context)
            finally:
                self.running -= 1

    assert result("KP-405", OWNERS, Busy()).outcome is INCONCLUSIVE


def test_a_base_that_finds_nothing_proves_nothing() -> None:
    """Without documents of each base, nothing could be kept out."""
    found = result(
        "KP-309", {**BASES, "bases": {"engineering": ["release-handbook#approvals"], "people": ["holidays#no-such"]}}
    )
    assert found.outcome is INCONCLUSIVE
    assert found.saw == "nothing that the settings place in 'people' came to any of 3 queries"


def test_a_base_of_the_settings_that_is_refused_fails() -> None:
    """The settings promise it, so one of the two is wrong."""
    provider = refusing(lambda: KeyError("people"), lambda request, _: "people" in request.knowledge_base_ids)
    found = result("KP-309", BASES, provider)
    assert found.outcome is CheckOutcome.FAILED
    assert found.saw is not None
    assert "KeyError" in found.saw


@pytest.mark.parametrize(
    "bases",
    [
        {"people": ["holidays#sick-leave"]},
        {"people": ["holidays#sick-leave"], "also-people": ["holidays#sick-leave"]},
        {"people": [], "support": []},
    ],
)
def test_bases_with_nothing_to_keep_out_prove_nothing(bases: dict[str, list[str]]) -> None:
    """One alone, two that hold the same, and two of which nothing is said; that unknown ids give nothing is seen."""
    both = {name: "people" for name in bases if name.endswith("people")}

    class Aliased(HandbookProvider):
        async def retrieve(self, request: Any, context: Any) -> Any:
            named = tuple(both.get(name, name) for name in request.knowledge_base_ids)
            return await super().retrieve(request.model_copy(update={"knowledge_base_ids": named}), context)

    found = result("KP-309", {**BASES, "bases": bases}, Aliased())
    assert found.outcome is INCONCLUSIVE
    assert "nothing to keep out" in str(found.saw)
    assert result("KP-310", {**BASES, "bases": bases}, Aliased()).outcome is CheckOutcome.PASSED


def test_a_base_of_which_nothing_is_said_has_to_keep_out_what_another_holds() -> None:
    """It is asked what finds that."""
    bases = {"people": [], "engineering": ["release-handbook#approvals"]}
    assert result("KP-309", {**BASES, "bases": bases}).outcome is CheckOutcome.PASSED
    faulty = FAULTS["bases_are_ignored"].wrap(HandbookProvider())
    assert result("KP-309", {**BASES, "bases": bases}, faulty).outcome is CheckOutcome.FAILED


def test_filters_that_are_named_and_not_claimed_are_open() -> None:
    """Whether the settings or the description is wrong cannot be seen."""
    provider = FAULTS["filters_without_a_claim"].wrap(HandbookProvider())
    found = result("KP-312", FILTERS, provider)
    assert found.outcome is INCONCLUSIVE
    assert found.saw == "the settings name filters, and capabilities.filters is not claimed"


def test_a_filter_that_selects_nothing_proves_nothing() -> None:
    """Nor one that does not select what it should."""
    nobody = {"query": "release policy", "filter": {"department": "nobody"}}
    other = {"query": "release policy", "filter": {"department": "engineering"}, "selects": ["holidays#sick-leave"]}
    for each in (nobody, other):
        assert result("KP-312", {"filters": [each]}).outcome is INCONCLUSIVE


def in_a_language(filters: dict[str, Any], keeps: Callable[[dict[str, Any], Any], bool]) -> CheckResult:
    """What comes of a handbook with a filter language of its own; ``keeps`` tells for a passage and what was asked."""

    class Language(HandbookProvider):
        async def retrieve(self, request: Any, context: Any) -> Any:
            whole = request.model_copy(update={"filters": {}})
            rows = (await super().retrieve(whole, context))["results"]
            return [row for row in rows if not request.filters or keeps(row["metadata"], request.filters)]

    return result("KP-312", {"filters": [{"query": "training holidays release", "filter": filters}]}, Language())


Keeps = Callable[[dict[str, Any], Any], bool]
CONDITIONS: dict[str, tuple[dict[str, Any], Keeps]] = {
    "a lower bound": ({"revision": {"$gte": 7}}, lambda row, asked: row["revision"] >= asked["revision"]["$gte"]),
    "an upper bound": ({"revision": {"<=": 7}}, lambda row, asked: row["revision"] <= asked["revision"]["<="]),
    "both": (
        {"revision": {"from": 6, "to": 7}},
        lambda row, asked: asked["revision"]["from"] <= row["revision"] <= asked["revision"]["to"],
    ),
    "equality": (
        {"department": {"$eq": "engineering"}},
        lambda row, asked: row["department"] == asked["department"]["$eq"],
    ),
    "one of several": (
        {"department": {"$in": ["engineering", "people"]}},
        lambda row, asked: row["department"] in asked["department"]["$in"],
    ),
    "a bare list": (
        {"department": ["engineering", "people"]},
        lambda row, asked: row["department"] in asked["department"],
    ),
    "none of several": ({"hide": ["people"]}, lambda row, asked: row["department"] not in asked["hide"]),
    "none of several by an operator": (
        {"department": {"$nin": ["people"]}},
        lambda row, asked: row["department"] not in asked["department"]["$nin"],
    ),
    "an operator that nobody knows": (
        {"department": {"$unless": "people"}},
        lambda row, asked: row["department"] != asked["department"]["$unless"],
    ),
}
UNREAD = ("none of several by an operator", "an operator that nobody knows")


@pytest.mark.parametrize(("filters", "keeps"), CONDITIONS.values(), ids=CONDITIONS)
def test_a_filter_language_is_no_false_alarm(filters: dict[str, Any], keeps: Keeps) -> None:
    """An operator is asked for what no document has where its name says what to expect, and else as it is."""
    found = in_a_language(filters, keeps)
    assert found.outcome is CheckOutcome.PASSED, found


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_condition_that_is_dropped_is_caught_where_its_operator_is_known(name: str) -> None:
    """What is asked as it is passes: more came than was selected, and the settings say nothing of the rest."""
    found = in_a_language(CONDITIONS[name][0], lambda *_: True)
    assert found.outcome is (CheckOutcome.PASSED if name in UNREAD else CheckOutcome.FAILED), found
    assert name in UNREAD or found.wanted == "nothing for a value that no document has"


def test_a_bound_by_an_operator_says_nothing_of_equality_on_the_same_field() -> None:
    """A field may be asked in several shapes, each with a meaning of its own."""

    def keeps(row: dict[str, Any], asked: Any) -> bool:
        bound = asked["revision"]
        return bool(row["revision"] >= bound["$gte"] if isinstance(bound, dict) else abs(row["revision"] - bound) < 2)

    class Near(HandbookProvider):
        async def retrieve(self, request: Any, context: Any) -> Any:
            rows = (await super().retrieve(request.model_copy(update={"filters": {}}), context))["results"]
            return [row for row in rows if not request.filters or keeps(row["metadata"], request.filters)]

    shapes: list[Any] = [{"$gte": 5}, 6]
    filters = [{"query": "release policy", "filter": {"revision": each}} for each in shapes]
    found = result("KP-312", {"filters": filters}, Near())
    assert found.outcome is CheckOutcome.FAILED
    assert "'revision'" in str(found.where)


def since(key: str, *, at_least: bool, refuses: bool = False) -> Any:
    """A handbook whose passages have a day, and a filter ``key`` that is a bound of it."""
    days = {"release-handbook": "2026-03-01", "incident-response": "2026-05-01"}

    class Dated(HandbookProvider):
        async def retrieve(self, request: Any, context: Any) -> Any:
            bound = request.filters.get(key)
            if refuses and bound is not None and not bound.startswith("20"):
                raise ValueError("that is no day of ours")
            rest = {name: value for name, value in request.filters.items() if name != key}
            answer = await super().retrieve(request.model_copy(update={"filters": rest}), context)
            rows = [
                {**row, "metadata": {"day": days.get(row["source"]["id"], "2026-01-01")}} for row in answer["results"]
            ]
            kept = (row for row in rows if bound is None or (row["metadata"]["day"] >= bound) == at_least)
            return list(kept)

    return Dated()


@pytest.mark.parametrize("refuses", [False, True])
@pytest.mark.parametrize("key", ["day", "bound"])
def test_a_bound_on_a_day_is_no_false_alarm(key: str, refuses: bool) -> None:
    """Whether it has the name of what results show or not, and whether what is no day of theirs is refused."""
    filters = [
        {"query": "release policy", "filter": {key: "2026-03-01"}, "selects": ["release-handbook#approvals"]},
        {"query": "release policy", "filter": {key: "2026-02-01"}, "selects": ["release-handbook#approvals"]},
    ]
    found = result("KP-312", {"filters": filters}, since(key, at_least=True, refuses=refuses))
    # Where each value beyond was refused, nothing is known of what a bound keeps out.
    assert found.outcome is (INCONCLUSIVE if refuses else CheckOutcome.PASSED), found


class Dropping(HandbookProvider):
    """Claims filters, and drops them."""

    async def retrieve(self, request: Any, context: Any) -> Any:
        return await super().retrieve(request.model_copy(update={"filters": {}}), context)


def test_an_answer_beyond_both_ends_is_no_bound() -> None:
    """A filter that is dropped is told by that, though no result shows the field."""
    filters = [{"query": "release policy", "filter": {"min_revision": 7}, "selects": ["release-handbook#approvals"]}]
    found = result("KP-312", {"filters": filters}, Dropping())
    assert found.outcome is CheckOutcome.FAILED
    assert found.wanted == "nothing for a value that no document has"
    assert str(found.saw).endswith("at the other end, where a bound gives nothing")


def all_but(key: str, field: str = "department", *, metadata: bool = True, mark: str = "", **changed: bool) -> Any:
    """A handbook whose filter ``key`` leaves out what has the value; ``changed`` is what it does wrong."""

    class Excluding(HandbookProvider):
        async def retrieve(self, request: Any, context: Any) -> Any:
            rest = {name: value for name, value in request.filters.items() if name != key}
            answer = await super().retrieve(request.model_copy(update={"filters": rest}), context)
            value = request.filters.get(key)
            left_out = value.removeprefix(mark) if isinstance(value, str) else value
            rows = answer["results"]
            if value is not None and not changed.get("drops"):
                rows = [row for row in rows if row["metadata"][field] != left_out]
            if changed.get("drops_unknown") and "no-such" not in str(value) and value is not None:
                rows = [row for row in answer["results"] if row["metadata"][field] == left_out]
            return rows if metadata else [{**row, "metadata": {}} for row in rows]

    return Excluding()


def excluding(filters: dict[str, Any], query: str = "release policy") -> dict[str, Any]:
    return {"filters": [{"query": query, "filter": filters}]}


EXCLUDING: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "an operator behind the name": ({"department!": "people"}, {}),
    "the same, and nothing shown": ({"department!": "people"}, {"metadata": False}),
    "a name without an operator": ({"hide": "people"}, {}),
    "a word in the name": ({"notDepartment": "people"}, {"metadata": False}),
    "an operator before the value": ({"department": "!people"}, {"mark": "!"}),
    "a number": ({"revision!": 5}, {"field": "revision"}),
}


@pytest.mark.parametrize(("filters", "made"), EXCLUDING.values(), ids=EXCLUDING)
def test_a_filter_that_leaves_out_is_no_false_alarm(filters: dict[str, Any], made: dict[str, Any]) -> None:
    """It leaves nothing out for a value that is nowhere, and that is no filter that was dropped."""
    (key,) = filters
    found = result("KP-312", excluding(filters, "training holidays release"), all_but(key, **made))
    assert found.outcome is CheckOutcome.PASSED, found


@pytest.mark.parametrize(
    ("key", "made"),
    [
        ("department!", {"drops": True}),
        ("hide", {"drops": True}),
        ("hide", {"drops": True, "metadata": False}),
        ("team", {"drops_unknown": True}),
    ],
)
def test_one_that_leaves_nothing_out_is_caught(key: str, made: dict[str, Any]) -> None:
    """What is dropped leaves nothing out; and of equality that is dropped for unknown values, the rest is left out."""
    found = result("KP-312", excluding({key: "people"}, "training holidays release"), all_but(key, **made))
    assert found.outcome is CheckOutcome.FAILED, found
    assert found.wanted == "nothing for a value that no document has"


def test_an_exclusion_is_not_known_to_work_where_nothing_could_be_left_out() -> None:
    """Neither a pass nor an alarm: another query may tell."""
    provider = all_but("department!", metadata=False, drops=True)
    found = result("KP-312", excluding({"department!": "people"}, "training holidays release"), provider)
    assert found.outcome is INCONCLUSIVE
    assert "leaves nothing out" in str(found.saw)


def test_two_exclusions_may_select_the_same() -> None:
    """What is neither of two teams' comes with both filters."""
    query = "training holidays release incident"
    two = [{"query": query, "filter": {"department!": each}} for each in ("people", "nobody")]
    both = result("KP-312", {"filters": two}, all_but("department!"))
    assert both.outcome is CheckOutcome.PASSED, both


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("team!", "x", True), ("team!=", "x", True), ("!team", "x", True), ("-team", "x", True),
        ("not_team", "x", True),
        ("notTeam", "x", True), ("team__ne", "x", True), ("team.neq", "x", True), ("teamNot", "x", True),
        ("teamNe", "x", True), ("exclude_team", "x", True), ("team_not_in", "x", True), ("without", "x", True),
        ("team", "!x", True), ("team", "!= x", True), ("team", "not:x", True), ("team", "<>x", True),
        ("team", "x", False), ("note", "x", False), ("notebook", "x", False), ("zone", "x", False),
        ("none", "x", False),
        ("scene", "x", False), ("knot", "x", False), ("team", "!", False), ("team", "nothing", False),
        ("team", 7, False),
    ],
)  # fmt: skip
def test_what_reads_as_an_exclusion(name: str, value: object, expected: bool) -> None:
    """An operator, or a word of its own; not a part of a word."""
    assert reads_as_exclusion(name, value) is expected


@pytest.mark.parametrize(
    ("held", "wanted", "expected"),
    [
        ("people", "engineering", True),
        ("people", "people", False),
        ("People", "people", False),
        ("people, engineering", "people", False),
        (7, 8, True),
        (7, 7.0, False),
        (True, False, True),
        (True, 1, False),
        ("7", 7, False),
        (None, "people", False),
        (["people"], "engineering", False),
    ],
)
def test_what_contradicts_a_filter(held: object, wanted: object, expected: bool) -> None:
    """Another value of the same kind; of another kind nothing is known."""
    assert contradicts(held, wanted) is expected


def rows_without(*fields: str, **put: Any) -> Any:
    class Reshaped(HandbookProvider):
        def describe(self) -> Any:
            return {**super().describe(), "capabilities": {}}

        async def retrieve(self, request: Any, context: Any) -> Any:
            answer = await super().retrieve(request, context)
            rows = ({name: value for name, value in row.items() if name not in fields} for row in answer["results"])
            return [{**row, **put} for row in rows]

    return Reshaped()


def test_what_is_not_always_shown_needs_no_claim() -> None:
    """Without scores and links, with one score for all, and with scores that rise, nothing has to be said."""
    for provider in (rows_without("score", "source"), rows_without("source", score=1.0)):
        assert result("KP-115", {}, provider).outcome is CheckOutcome.PASSED
    for provider, name in ((rows_without("source"), "scores"), (rows_without("score"), "citations")):
        found = result("KP-115", {}, provider)
        assert found.outcome is CheckOutcome.ADVISORY
        assert found.wanted is not None
        assert name in found.wanted


@pytest.mark.parametrize("name", ["base_cache_without_the_owner", "one_flight_into_a_base"])
def test_who_is_narrowed_is_asked_only_where_there_is_something_to_narrow(name: str) -> None:
    """Without bases in the settings nobody knows one that holds an owner's own, and plain requests stand alone."""
    fault = FAULTS[name]
    found = result(fault.trips[0], OWNERS, fault.wrap(HandbookProvider()))
    assert found.outcome is CheckOutcome.PASSED
    narrowed = result(fault.trips[0], {**OWNERS, **BASES}, fault.wrap(HandbookProvider()))
    assert narrowed.outcome is CheckOutcome.FAILED
    assert "knowledge_base_ids=" in str(narrowed.where)


@pytest.mark.parametrize("check_id", ["KP-404", "KP-405"])
def test_bases_that_are_refused_or_hold_nothing_of_an_owner_are_no_evidence(check_id: str) -> None:
    """The plain requests were answered, and stand."""
    elsewhere = {**OWNERS, "bases": {"support": ("support-hours#hours",)}}
    assert result(check_id, elsewhere).outcome is CheckOutcome.PASSED
    provider = refusing(KnowledgeBaseUnknownError, lambda request, _context: bool(request.knowledge_base_ids))
    assert result(check_id, {**OWNERS, **BASES}, provider).outcome is CheckOutcome.PASSED


class LooksAnywhere(HandbookProvider):
    """Where several bases are asked for, one of them its own, and nothing is found there, it looks in all."""

    async def retrieve(self, request: Any, context: Any) -> Any:
        """What the handbook answers, or what it answers without bases."""
        answer = await super().retrieve(request, context)
        bases = {*request.knowledge_base_ids}
        if answer["results"] or len(bases) < 2 or not bases & {*BASES["bases"]}:
            return answer
        return await super().retrieve(request.model_copy(update={"knowledge_base_ids": ()}), context)


def test_a_base_beside_an_unknown_one_is_asked_for_what_only_another_holds() -> None:
    """What it finds itself is found there, whatever else is open."""
    found = result("KP-311", BASES, LooksAnywhere())
    assert found.outcome is CheckOutcome.FAILED
    assert found.saw is not None
    assert "in another base" in found.saw
