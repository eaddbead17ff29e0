"""The contract's models: what they take in either spelling, what they refuse, and that no message repeats an input."""

from collections import OrderedDict
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel, ValidationError

from knowledge_provider.cancel import CancelSignal
from knowledge_provider.models import (
    Health,
    ProviderDescription,
    RetrievalContext,
    RetrievalRequest,
    RetrievalResult,
    Source,
)

DESCRIPTION = {"protocolVersion": 1, "key": "docs", "label": "Documents"}
RESULT = {"id": "a", "content": "text"}
SECRET = "sk-EXAMPLE-5f0c"  # an invented key, to be looked for in messages


def description(**changes: object) -> ProviderDescription:
    return ProviderDescription.model_validate({**DESCRIPTION, **changes})


def request(**changes: object) -> RetrievalRequest:
    return RetrievalRequest.model_validate({"query": "q", **changes})


def result(**changes: object) -> RetrievalResult:
    return RetrievalResult.model_validate({**RESULT, **changes})


@pytest.mark.parametrize("version", [1, 1.0])
def test_version_one_is_the_only_version(version: object) -> None:
    """Clause 1.3: 1.0 is the same number, and what is kept is the int."""
    assert type(description(protocolVersion=version).protocol_version) is int


@pytest.mark.parametrize("version", [True, "1", 1.5, 2, 0, None, float("nan"), 10**400, [1], np.float64(1)])
def test_another_version_is_refused(version: object) -> None:
    """Clause 1.3: what only looks like 1 is not 1."""
    with pytest.raises(ValidationError, match="rotocol"):
        description(protocolVersion=version)


@pytest.mark.parametrize("key", ["a", "0", "docs-2", "a-", "k" * 65])
def test_keys(key: str) -> None:
    """Clause 1.4: the length is advice, which a constructor does not enforce."""
    assert description(key=key).key == key


@pytest.mark.parametrize("key", ["", "-a", "A", "a_b", "a b", "a\n", "é", "а", "１", 5, None, b"a"])
def test_other_keys_are_refused(key: object) -> None:
    """Clause 1.4: lowercase ASCII letters, digits and hyphens, from a letter or digit to the very end."""
    with pytest.raises(ValidationError, match="key"):
        description(key=key)


@pytest.mark.parametrize("label", ["", " \t", "\u200b", "\0", "\ud800", 5, None])
def test_a_label_is_visible_text(label: object) -> None:
    """Clauses 1.5 and 5.8."""
    with pytest.raises(ValidationError, match="label"):
        description(label=label)


def test_capabilities_are_booleans_by_name() -> None:
    """Clause 1.6: unknown names are kept, null is absent, and 1 is not true. Field case 53: a model is no mapping."""
    assert description(capabilities={"filters": True, "own": False}).capabilities == {"filters": True, "own": False}
    assert description(capabilities=None).capabilities == description().capabilities == {}
    model = Health(status="ready")
    for wrong in ({"filters": 1}, {"filters": "true"}, {"filters": None}, {5: True}, ["filters"], "filters", model):
        with pytest.raises(ValidationError, match="capabilities"):
            description(capabilities=wrong)


@pytest.mark.parametrize("wrap", [dict, OrderedDict, MappingProxyType])
def test_both_spellings_make_the_same_model(wrap: Any) -> None:
    """Field case 53: wire names and Python names; unknown ones mean nothing; a model passes as it is."""
    wire = {"protocolVersion": 1, "key": "docs", "label": "Documents", "capabilities": {"scores": True}, "extra": 1}
    python = {"protocol_version": 1, **{name: wire[name] for name in ("key", "label", "capabilities")}}
    model = ProviderDescription.model_validate(wrap(wire))
    assert model == ProviderDescription.model_validate(wrap(python)) == ProviderDescription.model_validate(model)
    assert model.model_dump(by_alias=True) == {name: wire[name] for name in wire if name != "extra"}


@pytest.mark.parametrize("owner", ["", " ", "\0", "\u200b", "\ud800", None, 5])
def test_a_context_names_an_owner(owner: object) -> None:
    """Clause 4.1."""
    with pytest.raises(ValidationError, match="ownerId"):
        RetrievalContext.model_validate({"ownerId": owner})


def test_a_context_has_a_signal_of_its_own_that_is_never_written() -> None:
    """Clause 4.1: each context can be cancelled alone, and the signal stays out of dumps and `repr`."""
    first, second = RetrievalContext(owner_id="alice"), RetrievalContext(owner_id="alice")
    first.signal.cancel()
    assert not second.signal.cancelled
    assert first.model_dump() == {"owner_id": "alice", "session_id": "", "turn_id": "", "trace_id": ""}
    assert "signal" not in repr(first)
    signal = CancelSignal()
    assert RetrievalContext(owner_id="alice", signal=signal).signal is signal
    with pytest.raises(ValidationError, match="signal"):
        RetrievalContext.model_validate({"owner_id": "alice", "signal": object()})


@pytest.mark.parametrize("field", ["id", "content"])
@pytest.mark.parametrize("text", ["", " \n", "\u200b", "\0", "\ud800", "a\udfff", None, 5, b"a"])
def test_a_result_has_an_id_and_content(field: str, text: object) -> None:
    """Clauses 5.2 and 5.8."""
    with pytest.raises(ValidationError, match=field):
        result(**{field: text})


def test_limits_of_a_result_are_advice() -> None:
    """Clause 5.2: the host cuts and the kit tells; a constructor that refused would hide the rest of an answer."""
    assert len(result(id="i" * 161, content="c" * 4001).content) == 4001


@pytest.mark.parametrize("score", [0, -1, 0.5, np.float64(0.5), None])
def test_scores(score: Any) -> None:
    """Clause 5.4: a finite real number, kept as a plain float, or absent."""
    assert result(score=score).score == score
    assert type(result(score=score).score) in (float, type(None))


@pytest.mark.parametrize(
    "score",
    [True, "0.9", float("nan"), -float("inf"), 10**400, 1j, Decimal("0.5"), np.float32(0.5), [0.5]],
)
def test_other_scores_are_refused(score: object) -> None:
    """Clause 5.4."""
    with pytest.raises(ValidationError, match="score"):
        result(score=score)


@pytest.mark.parametrize("base", [int, float])
def test_a_score_of_a_hostile_number_is_read_as_the_number(base: Any) -> None:
    """Clause 5.4: nothing that a subclass raises comes out; `model_validate` promises a `ValidationError` at most."""

    def refuse(*_: object) -> Any:
        raise RuntimeError("foreign code ran")

    hostile = type("Hostile", (base,), dict.fromkeys(("__float__", "__int__", "__eq__", "__lt__", "__index__"), refuse))
    assert type(result(score=hostile(1)).score) is float
    assert result(score=hostile(1)).score == 1.0
    with pytest.raises(ValidationError, match="score"):
        result(score=hostile("inf") if base is float else hostile(10**400))


def test_optional_fields_may_be_null() -> None:
    """Clause 5.1: null is absent."""
    assert result(score=None, source=None, metadata=None) == result()
    assert result(source={"id": None, "mimeType": None}).source == Source()


@pytest.mark.parametrize("value", [True, 1, -0.5, "text", ""])
def test_metadata_values_keep_their_type(value: object) -> None:
    """Clause 5.6: True does not become 1, nor "1" a number."""
    (kept,) = result(metadata={"k": value}).metadata.values()
    assert (kept, type(kept)) == (value, type(value))


@pytest.mark.parametrize(
    "metadata",
    [{"k": [1]}, {"k": {}}, {"k": None}, {"k": object()}, {5: 1}, ["k"], "k"],
)
def test_metadata_is_flat(metadata: object) -> None:
    """Clause 5.6."""
    with pytest.raises(ValidationError, match="metadata"):
        result(metadata=metadata)


@pytest.mark.parametrize("value", [Decimal("1.5"), b"1", float("nan"), float("inf")])
def test_metadata_is_not_coerced(value: object) -> None:
    """Clauses 5.6 and 5.7: what is not plain data is refused where it is made, not turned into another value."""
    with pytest.raises(ValidationError, match="metadata"):
        result(metadata={"k": value})


@pytest.mark.parametrize(
    "fields",
    [{"metadata": {"k": "\ud800"}}, {"metadata": {"\ud800": 1}}, {"source": {"title": "\ud800"}}],
)
def test_no_text_of_a_result_has_a_lone_surrogate(fields: dict[str, object]) -> None:
    """Clause 5.8 is a MUST for every text."""
    with pytest.raises(ValidationError, match="surrogate"):
        result(**fields)


@pytest.mark.parametrize("source", [{"id": 5}, {"uri": b"x"}, "doc", ["doc"], {"mimeType": 1}])
def test_a_source_is_a_mapping_of_strings(source: object) -> None:
    """Clause 5.5."""
    with pytest.raises(ValidationError, match="source"):
        result(source=source)


@pytest.mark.parametrize("status", ["ready", "unconfigured", "degraded", "unavailable"])
def test_health(status: str) -> None:
    """Clause 2.1: one of four, with or without a message."""
    assert Health.model_validate({"status": status}).message is None
    assert Health.model_validate({"status": status, "message": "m" * 501}).status == status


@pytest.mark.parametrize("health", [{}, {"status": "ok"}, {"status": True}, {"status": "ready", "message": 5}, "ready"])
def test_other_health_is_refused(health: object) -> None:
    """Clause 2.1."""
    with pytest.raises(ValidationError):
        Health.model_validate(health)


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (ProviderDescription, {**DESCRIPTION, "key": SECRET, "label": [SECRET], "protocolVersion": SECRET}),
        (ProviderDescription, {**DESCRIPTION, "capabilities": {"filters": SECRET}}),
        (RetrievalRequest, {"query": [SECRET], "topK": SECRET, "knowledgeBaseIds": SECRET, "filters": SECRET}),
        (RetrievalRequest, {"query": SECRET, "knowledgeBaseIds": [SECRET * 20], "filters": {"a": {SECRET}}}),
        (RetrievalRequest, {"query": SECRET, "filters": {"a": f"{SECRET}\ud800"}}),
        (RetrievalRequest, {"query": "\0", "filters": {"a": SECRET}}),
        (RetrievalContext, {"ownerId": [SECRET], "sessionId": [SECRET], "signal": SECRET}),
        (RetrievalResult, {"id": [SECRET], "content": f"{SECRET}\ud800", "score": SECRET, "source": SECRET}),
        (RetrievalResult, {**RESULT, "metadata": {"k": [SECRET]}, "source": {"uri": [SECRET]}}),
        (Health, {"status": SECRET, "message": [SECRET]}),
        (Health, SECRET),
    ],
)
def test_no_message_repeats_an_input_value(model: type[BaseModel], data: object) -> None:
    """Clause 6.4: a key or a document in a wrong place must not reach a log by way of the refusal."""
    with pytest.raises(ValidationError) as refused:
        model.model_validate(data)
    assert SECRET not in str(refused.value) + repr(refused.value)


@pytest.mark.parametrize(
    "value",
    [description(), request(), RetrievalContext(owner_id="alice"), result(source={}), Source(), Health(status="ready")],
    ids=lambda value: type(value).__name__,
)
def test_models_are_frozen(value: BaseModel) -> None:
    """Clauses 1.7 and 3.8: what one side holds, the other cannot change."""
    name = next(iter(type(value).model_fields))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(value, name, "changed")
