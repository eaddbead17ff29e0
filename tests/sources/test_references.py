"""References to external sources: what is kept, what is refused by name, and what makes two of them the same."""

import json
import pickle
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_provider import KnowledgeReferenceInvalidError
from knowledge_provider.sources import ExternalKnowledgeRef, read_reference, target_key
from knowledge_provider.sources.references import excludes, refuse_unknown_fields

DOCUMENT = {
    "provider": "ap",
    "mode": "explicit",
    "id": "kb-1",
    "target_type": "document",
    "node_id": "document:node-1",
    "document_id": "node-1",
}
SECRETS = [
    "https://files.example.com/kb",
    "HTTPS:\\\\files.example.com",
    "ｈｔｔｐｓ：//files.example.com",
    "see http://files.example.com/kb",
    "//files.example.com/kb",
    "www.files.example.com",
    "file:///etc/passwd",
    "s3://bucket/key",
    "postgres://user:pw@db/x",
    "ap://user:pw@kb-1",
    "sk-4eC39HqLyjWDarjtT1zdp7dc",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "AKIAIOSFODNN7EXAMPLE",
    "Bearer 8f14e45fceea167a5a36",
    "api_key=12345",
    "password: hunter2hunter2",
    "kb-1?access_token=abc",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc",
]
FIELDS = ["id", "name", "scope", "node_id", "document_id", "parent_id", "target_name"]


def refused(fields: object) -> str:
    with pytest.raises(KnowledgeReferenceInvalidError) as caught:
        read_reference(fields)
    assert caught.value.__cause__ is None
    return str(caught.value)


def test_the_example_of_the_document_is_a_reference() -> None:
    """It is read, frozen, and written as it came."""
    ref = read_reference(DOCUMENT)
    assert ref.model_dump(exclude_none=True) == DOCUMENT
    assert (read_reference(ref), pickle.loads(pickle.dumps(ref))) == (ref, ref)
    with pytest.raises(Exception, match="frozen"):
        ref.id = "kb-2"  # type: ignore[misc] # that it cannot be set is the test


def test_what_is_left_out_has_a_meaning() -> None:
    """No mode is explicit, no target is the whole source; null and blank are left out, too."""
    short = read_reference({"provider": "ap", "id": " kb-1\n"})
    assert (short.mode, short.target_type, short.id, short.is_whole) == ("explicit", "knowledge_base", "kb-1", True)
    assert read_reference({"provider": "ap", "id": "kb-1", "mode": None, "target_type": None, "name": " "}) == short
    assert read_reference({"provider": "ap", "mode": "all_accessible", "scope": "group"}).id is None


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"provider": None}, "provider"),
        ({"provider": "AP"}, "provider"),
        ({"provider": "a" * 65}, "provider"),
        ({"provider": "ap\n:x"}, "provider"),
        ({"id": None}, "id"),
        ({"id": " \u200b"}, "id"),
        ({"id": 7}, "id"),
        ({"id": ["kb-1"]}, "id"),
        ({"id": "x" * 161}, "id"),
        ({"id": "\ud800"}, "id"),
        ({"mode": "everything"}, "mode"),
        ({"mode": "all_accessible"}, "id"),
        ({"mode": "all_accessible", "id": None}, "target_type"),
        ({"target_type": "page"}, "target_type"),
        ({"target_type": "folder", "node_id": None}, "node_id"),
        ({"node_id": None, "document_id": None}, "document_id"),
        ({"name": "x" * 301}, "name"),
        ({"target_name": b"x"}, "target_name"),
    ],
)
def test_a_field_that_is_wrong_is_named(change: dict[str, Any], field: str) -> None:
    """The message begins with the field, says what was wanted and what to do, and repeats no value."""
    message = refused({**DOCUMENT, **change})
    assert message.startswith(f"{field}: wanted ")
    assert "Nothing was stored" in message
    assert not any(str(value) in message for value in change.values() if isinstance(value, str) and len(value) > 20)


@pytest.mark.parametrize("value", [None, "ap", 7, [DOCUMENT], object()])
def test_what_is_no_mapping_is_refused(value: object) -> None:
    """With an error of the contract, whatever came."""
    assert refused(value).startswith("reference: wanted a mapping")


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("secret", SECRETS)
def test_no_field_holds_a_raw_url_or_a_credential(field: str, secret: str) -> None:
    """The field is named, and what was in it is not."""
    message = refused({**DOCUMENT, field: secret})
    assert message.startswith(f"{field}: wanted no URL and no credential")
    assert secret not in message


@pytest.mark.parametrize(
    "name",
    [
        "document:node-1",
        "Basic Introduction to tokens",
        "Password: how to choose one",
        "sk-learn handbook of everything",
        "Der Schlüssel = das Geheimnis",
        "ap:kb-1/doc 7",
        "C:\\shared\\wiki",
        "mailto and http explained",
        "发布流程",
        "AT&T / R&D",
    ],
)
def test_ordinary_names_are_kept(name: str) -> None:
    """What only sounds like a link or a secret is a name."""
    assert read_reference({**DOCUMENT, "target_name": name}).target_name == name


def test_both_spellings_are_read() -> None:
    """In camelCase a document is that document, and not its whole source; what is written is snake_case."""
    camel = {re.sub("_(.)", lambda letter: letter[1].upper(), name): value for name, value in DOCUMENT.items()}
    assert {"targetType", "nodeId", "documentId"} < set(camel)
    assert read_reference(camel) == read_reference(DOCUMENT)
    assert read_reference({**camel, "target_type": None}).model_dump(exclude_none=True) == DOCUMENT
    assert refused({**camel, "nodeId": 7}).startswith("node_id: wanted a string; something else came")


@pytest.mark.parametrize("value", ["document", "folder"])
def test_a_field_in_both_spellings_is_refused(value: str) -> None:
    """Also when they agree: which of them is meant is not guessed."""
    assert refused({**DOCUMENT, "targetType": value}).startswith("target_type: wanted the field once")


@pytest.mark.parametrize("field", ["target", "targettype", "folder_id", "Target_Type", "apiKey"])
def test_a_field_that_is_not_known_is_dropped_with_a_warning(field: str, caplog: pytest.LogCaptureFixture) -> None:
    """The log names it, and never its value; null is no value."""
    assert read_reference({**DOCUMENT, field: None}) == read_reference(DOCUMENT)
    assert not caplog.records
    assert read_reference({field: "s3cr3t", **DOCUMENT}) == read_reference(DOCUMENT)
    (record,) = caplog.records
    assert record.getMessage() == f"an external knowledge reference has fields that are not stored: {field}"


@pytest.mark.parametrize("field", ["target", "targettype", "folder_id", "Target_Type", "apiKey"])
def test_a_client_may_be_refused_a_field_that_is_not_known(field: str) -> None:
    """It may be what made the reference narrower."""
    refuse_unknown_fields(DOCUMENT | {"targetType": "document", field: None})
    with pytest.raises(
        KnowledgeReferenceInvalidError, match=f"^{field}: wanted no field but provider, mode, id, "
    ) as caught:
        refuse_unknown_fields({field: "s3cr3t", **DOCUMENT})
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["api_key=12345", "AKIAIOSFODNN7EXAMPLE", "https://files.example.com", 7, "x\ny", "x" * 81]
)
def test_a_name_that_may_be_anything_is_not_repeated(name: object, caplog: pytest.LogCaptureFixture) -> None:
    """A key may stand in the place of a name."""
    with pytest.raises(KnowledgeReferenceInvalidError, match=r"^reference: wanted no field but ") as caught:
        refuse_unknown_fields({name: 1} | DOCUMENT)
    assert read_reference({name: 1, "other": 2} | DOCUMENT) == read_reference(DOCUMENT)
    (record,) = caplog.records
    assert record.getMessage().endswith("not stored: other, 1 more")
    assert not isinstance(name, str) or name not in str(caught.value)


def test_the_error_has_the_field() -> None:
    """For whoever answers with it."""
    with pytest.raises(KnowledgeReferenceInvalidError) as caught:
        read_reference({**DOCUMENT, "documentId": None, "document_id": 7})
    assert caught.value.field == "document_id"
    assert pickle.loads(pickle.dumps(caught.value)).field == "document_id"


def test_the_constructor_raises_the_same_error() -> None:
    """Whichever way a reference is made, the code is the contract's."""
    ways: list[Callable[[], object]] = [
        lambda: ExternalKnowledgeRef(provider="ap"),
        lambda: ExternalKnowledgeRef.model_validate({"provider": "ap"}),
        lambda: ExternalKnowledgeRef.model_validate_json('{"provider": "ap"}'),
    ]
    for make in ways:
        with pytest.raises(KnowledgeReferenceInvalidError, match=r"^id: wanted"):
            make()


def test_one_that_was_made_without_validation_is_validated() -> None:
    """``model_construct`` leads past nothing."""
    assert refused(ExternalKnowledgeRef.model_construct(provider="ap", id="https://x.example.com")).startswith("id: ")


def test_the_key_is_of_the_target_and_not_of_its_names() -> None:
    """Names, and a document's node beside its id, make no difference; another target does."""
    key = target_key(read_reference(DOCUMENT))
    assert key == "ap:explicit:kb-1:document:node-1"
    assert target_key(read_reference({**DOCUMENT, "name": "Wiki", "scope": "group", "node_id": None})) == key
    others: list[dict[str, Any]] = [
        {"id": "kb-2"},
        {"document_id": "node-2"},
        {"target_type": "folder"},
        {"target_type": None},
    ]
    assert len({key, *(target_key(read_reference({**DOCUMENT, **other})) for other in others)}) == 5


def test_no_id_can_pose_as_another_target() -> None:
    """A colon in an id is no end of it."""
    sly = read_reference({"provider": "ap", "id": "kb-1:document:node-1"})
    assert target_key(sly) != target_key(read_reference(DOCUMENT))
    assert not excludes(target_key(sly), target_key(read_reference(DOCUMENT)))


@given(fields=st.dictionaries(st.sampled_from([*ExternalKnowledgeRef.model_fields, "x"]), st.text(max_size=40)))
@settings(deadline=None, max_examples=200)
def test_what_is_kept_stays_as_it_is(fields: dict[str, str]) -> None:
    """A reference that was read is read again the same, from JSON too, with the same key; others are refused."""
    try:
        ref = read_reference({"provider": "ap", "id": "kb-1", **fields})
    except KnowledgeReferenceInvalidError:
        return
    again = read_reference(json.loads(ref.model_dump_json(exclude_none=True)))
    assert (again, target_key(again)) == (ref, target_key(ref))
