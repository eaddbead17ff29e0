"""What stands in the references that a source gives out: any field is looked at, and what a reference has is none."""

from collections.abc import Callable
from typing import Any

import pytest

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.kinds import SOURCE
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import Target
from knowledge_fakes.sources import HandbookSource, ScriptedSource, reference
from knowledge_provider.sources import ExternalKnowledgeRef

SETTINGS = Settings(references=({"id": "engineering"}, {"id": "people"}), queries=("release policy",))
Entry = dict[str, Any]


def result_of(make: Callable[[], Any], id_: str) -> CheckResult:
    """What one check, and those that it needs, say of what this makes."""
    run = Run(Target("made", make, instance=False), SETTINGS, kind=SOURCE)
    result = run.result(BY_ID[id_])
    run.close()
    return result


def listed(change: Callable[[Entry], object], id_: str = "KP-1026") -> CheckResult:
    """What a check says of a source whose entries are changed so."""

    class Changed(HandbookSource):
        async def list_documents(self, *asked: Any) -> Any:
            return [change(entry) for entry in await super().list_documents(*asked)]

    return result_of(Changed, id_)


CAMEL_CASE = {"id": "id", "document_id": "documentId", "target_name": "targetName"}


@pytest.mark.parametrize("id_", ["KP-1017", "KP-1018", "KP-1026", "KP-1027"])
@pytest.mark.parametrize(
    "change",
    [
        lambda entry: {CAMEL_CASE[name]: value for name, value in entry.items()},
        lambda entry: reference("handbook", entry.pop("id"), target_type="document", **entry),
        lambda entry: {**entry, "scope": "people:read", "node_id": "wiki:page/7", "parent_id": None},
    ],
    ids=["camelCase", "references", "more of its fields"],
)
def test_what_a_reference_has_is_no_finding(change: Callable[[Entry], object], id_: str) -> None:
    """However it is spelled, as a mapping or as the model; a source's own scheme is no raw URL."""
    assert listed(change, id_).outcome is CheckOutcome.PASSED


@pytest.mark.parametrize(
    ("field", "value", "saw"),
    [
        ("scope", "https://wiki.example.com/people", "a raw URL"),
        ("links", [{"rel": "self", "href": "https://wiki.example.com/7"}], "a raw URL"),
        ("https://wiki.example.com/7", True, "a raw URL"),
        ("access_token", "k-12345678", "a credential"),
        ("auth", {"headers": {"api_key": "k-12345678"}}, "a credential"),
    ],
)
def test_a_link_or_a_key_is_found_in_any_field(field: str, value: object, saw: str) -> None:
    """Known or not, at any depth, in a name and by the name; and the text is not repeated."""
    result = listed(lambda entry: {**entry, field: value})
    assert (result.outcome, result.saw) == (CheckOutcome.FAILED, saw)
    assert str(result.where).startswith("documents[0][")
    assert "k-12345678" not in result.model_dump_json()


def test_a_bad_place_is_said_where_it_belongs() -> None:
    """An address as the document's id is a raw URL, and the list is one that can be paged."""

    def placed(entry: Entry) -> Entry:
        return {**entry, "document_id": f"https://wiki.example.com/{entry['document_id']}"}

    assert {id_: listed(placed, id_).outcome for id_ in ("KP-1017", "KP-1018", "KP-1026", "KP-1020")} == {
        "KP-1017": CheckOutcome.PASSED,
        "KP-1018": CheckOutcome.PASSED,
        "KP-1026": CheckOutcome.FAILED,
        "KP-1020": CheckOutcome.BLOCKED,
    }


def test_other_fields_are_named_and_counted() -> None:
    """As advice: a host drops them."""
    result = listed(lambda entry: {**entry, "size": 7, "changed": "2026-01-01", "page": None}, "KP-1027")
    assert (result.outcome, result.saw) == (CheckOutcome.ADVISORY, "'changed' and 1 more")


def test_a_source_that_gives_out_none_is_not_looked_at() -> None:
    """Listing, validating and the mode are optional (clauses 10.1 and 10.7)."""

    class Least(ScriptedSource):
        def validate_refs(self, refs: Any, level: str) -> Any:
            return [ref for ref in refs if ref.mode == "explicit"]

    found = [{"id": "1", "content": "one", "source_id": "people"}]
    outcomes = {id_: result_of(lambda: Least("least", [found]), id_).outcome for id_ in ("KP-1026", "KP-1027")}
    assert set(outcomes.values()) == {CheckOutcome.INAPPLICABLE}
    assert result_of(lambda: ScriptedSource("least", [found]), "KP-1028").outcome is CheckOutcome.INAPPLICABLE
    assert result_of(lambda: Least("least", [found]), "KP-1029").outcome is CheckOutcome.INAPPLICABLE


def test_a_name_that_stands_may_be_another() -> None:
    """A source knows better what it is called; that is no other field and no secret."""

    class Naming(HandbookSource):
        def validate_refs(self, refs: Any, level: str, /) -> tuple[ExternalKnowledgeRef, ...]:
            return tuple(ref.model_copy(update={"name": "Handbook"}) for ref in super().validate_refs(refs, level))

    assert result_of(Naming, "KP-1028").outcome is CheckOutcome.PASSED


@pytest.mark.parametrize("said", ["https://wiki.example.com/people", "x" * 161, None])
def test_a_source_that_no_reference_could_name_is_found(said: str | None) -> None:
    """Where it is said under the record's own source, too."""

    class Named(HandbookSource):
        async def retrieve(self, query: str, refs: Any, context: Any, /) -> Any:
            found = await super().retrieve(query, refs, context)
            if all(ref.mode == "explicit" for ref in refs):
                return found
            other = {"source_id": said} if said else {"source_id": None, "source": {"id": "https://wiki.example.com"}}
            return [{**record, **other} for record in found]

    result = result_of(Named, "KP-1029")
    assert result.outcome is CheckOutcome.FAILED
    assert str(result.saw).startswith("id: wanted ")
