"""What crosses the boundary, as frozen models: description, request, context, result, health.

Knows shapes and MUST rules. Knows no provider, no host and no normalisation: what a host makes of a response is in
``normalize``, and SHOULD limits are the kit's to report, not a constructor's to refuse.
"""

import re
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
    StrictStr,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel

from knowledge_provider import limits
from knowledge_provider.cancel import CancelSignal
from knowledge_provider.text import finite_number, has_surrogate, is_a, is_blank, short_text

_KEY: Final = re.compile(r"[a-z0-9][a-z0-9-]*")


class _Wire(BaseModel):
    # Wire names are camelCase, Python names snake_case, and a provider may use either. Inputs stay out of error
    # messages: they may hold a query, a document or a key.
    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        extra="ignore",
        hide_input_in_errors=True,
    )


def _writable(text: str) -> str:
    # Clause 5.8.
    if has_surrogate(text):
        raise ValueError("holds a lone surrogate, which cannot be written as UTF-8")
    return text


def _not_blank(text: str) -> str:
    if is_blank(text):
        raise ValueError("is blank: it needs at least one visible character")
    return _writable(text)


def _query(value: object) -> object:
    # Clause 3.1. In a validator of the field, so that no mapping type or str subclass leads past rule N5.
    if not is_a(value, str):
        raise ValueError("is not a string")
    query = short_text(value, limits.QUERY_MAX)
    if not query:
        raise ValueError("is blank: it needs at least one visible character")
    return query


def _protocol_version(value: object) -> object:
    # Clause 1.3: 1.0 is the same number; True, "1" and 1.5 are not.
    if type(value) not in (int, float) or value != limits.PROTOCOL_VERSION:
        raise ValueError(f"is not {limits.PROTOCOL_VERSION}, the only protocol version")
    return limits.PROTOCOL_VERSION


def _key(value: str) -> str:
    # Clause 1.4. fullmatch: "$" would let a trailing newline through.
    if not _KEY.fullmatch(value):
        raise ValueError("is not lowercase ASCII letters, digits and hyphens that begin with a letter or digit")
    return value


def _finite_number(value: object) -> object:
    # Clause 5.4: a bool is an int and "0.9" coerces, so both are refused before coercion.
    number = finite_number(value)
    if number is None:
        raise ValueError("is not a finite real number that a float can hold")
    return float(number)


def _metadata_value(value: object) -> object:
    # Clauses 5.6 and 5.7: looked at before coercion, which would turn b"1" into 1 and Decimal("1.5") into 1.5.
    if is_a(value, str):
        return _writable(str.__str__(value))
    if is_a(value, bool) or finite_number(value) is not None:
        return value
    raise ValueError("is not a boolean, a finite number or a string")


_Writable = Annotated[StrictStr, AfterValidator(_writable)]
_Text = Annotated[StrictStr, AfterValidator(_not_blank)]
_Score = Annotated[float, BeforeValidator(_finite_number)]
MetadataValue = StrictBool | int | float | StrictStr
"""What a metadata entry may hold (clause 5.6)."""


class ProviderDescription(_Wire):
    """What ``describe()`` answers (clauses 1.2 to 1.6). Raises ``pydantic.ValidationError`` on a MUST that is broken.

    ``capabilities`` maps names to booleans; ``filters``, ``scores`` and ``citations`` are known, others are kept.
    """

    protocol_version: Annotated[Literal[1], BeforeValidator(_protocol_version)]
    key: Annotated[StrictStr, AfterValidator(_key)]
    label: _Text
    capabilities: dict[StrictStr, StrictBool] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _absent_capabilities(cls, data: Any) -> Any:
        return _without_nulls(data)


class RetrievalRequest(_Wire):
    """What the model may choose (clause 3.1). Raises ``pydantic.ValidationError``.

    ``query``: normalised by rule N5, 1 to 500 code points. ``top_k``: 1 to 8. ``knowledge_base_ids``: at most 8, each
    at most 120 code points and not blank. ``filters``: a JSON object, empty unless the provider claims ``filters``.
    """

    query: Annotated[str, BeforeValidator(_query)]
    top_k: int = Field(default=limits.TOP_K_DEFAULT, ge=limits.TOP_K_MIN, le=limits.TOP_K_MAX, strict=True)
    knowledge_base_ids: tuple[Annotated[_Text, Field(max_length=limits.BASE_ID_MAX)], ...] = Field(
        default=(), max_length=limits.BASES_MAX
    )
    filters: dict[str, JsonValue] = Field(default_factory=dict)

    @field_validator("filters")
    @classmethod
    def _writable_filters(cls, filters: dict[str, JsonValue]) -> dict[str, JsonValue]:
        # Clause 3.1: or a provider's JSON encoder fails on a "valid" request.
        for leaf in _leaves(filters):
            if has_surrogate(leaf):
                raise ValueError("hold a lone surrogate, which cannot be written as UTF-8")
            if isinstance(leaf, int | float) and not isinstance(leaf, bool) and finite_number(leaf) is None:
                raise ValueError("hold a number that JSON has no form for, or that no float holds")
        return filters


class RetrievalContext(_Wire):
    """What only the host knows (clause 4.1). Raises ``pydantic.ValidationError`` when the owner is blank.

    Identity comes from here alone, never from the request.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(arbitrary_types_allowed=True)

    owner_id: _Text
    session_id: StrictStr = ""
    turn_id: StrictStr = ""
    trace_id: StrictStr = ""
    signal: CancelSignal = Field(default_factory=CancelSignal, exclude=True, repr=False)


class Source(_Wire):
    """Where a result comes from (clause 5.5); all of it optional. Limits: 120, 300, 2,000, 120, 300 code points.

    ``uri`` is public HTTP(S) or absent; a private place goes into ``id`` and ``locator`` (clause 6.2).
    """

    id: _Writable | None = None
    title: _Writable | None = None
    uri: _Writable | None = None
    mime_type: _Writable | None = None
    locator: _Writable | None = None


class RetrievalResult(_Wire):
    """One passage (clauses 5.2 to 5.6). Raises ``pydantic.ValidationError`` on a MUST that is broken.

    ``score`` is finite, and higher is better. ``metadata`` is flat.
    """

    id: _Text
    content: _Text
    score: _Score | None = None
    source: Source | None = None
    metadata: dict[_Writable, Annotated[MetadataValue, BeforeValidator(_metadata_value)]] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _absent_metadata(cls, data: Any) -> Any:
        return _without_nulls(data)


class Health(_Wire):
    """What ``health()`` answers (clause 2.1); ``message`` at most 500 code points."""

    status: Literal["ready", "unconfigured", "degraded", "unavailable"]
    message: StrictStr | None = None


def _without_nulls(data: Any) -> Any:
    # Clause 5.1: an optional field may be null, which is absent.
    return {name: value for name, value in data.items() if value is not None} if type(data) is dict else data


def _leaves(value: JsonValue) -> list[JsonValue]:
    """Every scalar in a JSON value, keys included; iterative, since depth is the caller's choice."""
    found: list[JsonValue] = []
    waiting: list[JsonValue] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting.extend(item)
        elif isinstance(item, dict):
            waiting.extend(item.keys())
            waiting.extend(item.values())
        else:
            found.append(item)
    return found
