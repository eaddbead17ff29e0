"""``ExternalKnowledgeRef``: what a task has bound (clause 10.2), and the keys by which it is told apart.

Knows fields and their rules; no provider, registry, storage or call. What came is never repeated in a message: a field
that should hold an id may hold a key.
"""

import logging
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal, Self
from urllib.parse import quote

from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel

from knowledge_provider import limits
from knowledge_provider.errors import KnowledgeReferenceInvalidError
from knowledge_provider.sources import screening
from knowledge_provider.text import class_name, has_surrogate, is_a, short_text

_LOG: Final = logging.getLogger(__name__)

WHOLE: Final = "knowledge_base"
"""The ``target_type`` of a whole source, which a missing one is, too."""

REFERENCE_NAME_MAX: Final = 300
"""Code points of ``name`` and ``target_name``."""

_PROVIDER: Final = re.compile(r"[a-z0-9][a-z0-9-]*")
_MODES: Final = ("explicit", "all_accessible")
_TARGETS: Final = (WHOLE, "folder", "document")
_NAMES: Final = frozenset({"name", "target_name"})
_DEFAULTS: Final = {"mode": "explicit", "target_type": WHOLE}
# A client may send any number of fields.
_FIELDS_SAID_MAX: Final = 8
# Others may be text of any kind, a key included, where a name should be.
_SHOWN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,79}")
_OUR_WORDS: Final = "Value error, "


class ExternalKnowledgeRef(BaseModel):
    """One external source of a task, or a folder or document of it; provider-neutral, and nothing else is stored.

    Fields are read in snake_case, as they are written, and in camelCase.

    ``provider``: lowercase letters, digits and hyphens, at most 64. ``mode``: ``explicit``, which needs an ``id``, or
    ``all_accessible``, which has none. ``id``, ``scope``, ``node_id``, ``document_id`` and ``parent_id``: one line by
    rule N5, at most 160 code points. ``name`` is the source's and ``target_name`` that of the folder or document, at
    most 300. A missing ``target_type`` is the whole source. Null and blank are missing. A folder needs a ``node_id``,
    and a document a ``document_id`` or a ``node_id``.

    Fields that are not known are dropped, and the log names them. Raises ``KnowledgeReferenceInvalidError``, which
    names the field and never its value: also for one that comes in both spellings, and for a raw URL or a credential.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    provider: str
    mode: Literal["explicit", "all_accessible"] = "explicit"
    id: str | None = None
    name: str | None = None
    scope: str | None = None
    target_type: Literal["knowledge_base", "folder", "document"] = "knowledge_base"
    node_id: str | None = None
    document_id: str | None = None
    parent_id: str | None = None
    target_name: str | None = None

    @model_validator(mode="wrap")
    @classmethod
    def _named_errors(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            made = handler(_named(data) if isinstance(data, Mapping) else data)
        except ValidationError as error:
            # `from None`: pydantic's own words may name what came.
            raise _refusal(error, data) from None
        if misfit := _misfit(made):
            field, wanted = misfit
            raise _invalid(field, wanted, "none came" if getattr(made, field) is None else "another came")
        return made

    @field_validator("*", mode="before")
    @classmethod
    def _clean(cls, value: object, info: ValidationInfo) -> object:
        name = str(info.field_name)
        if value is None:
            return _DEFAULTS.get(name)
        return _text(value, REFERENCE_NAME_MAX if name in _NAMES else limits.RESULT_ID_MAX) or _DEFAULTS.get(name)

    @field_validator("provider")
    @classmethod
    def _provider(cls, value: str) -> str:
        if len(value) > limits.KEY_MAX or not _PROVIDER.fullmatch(value):
            raise ValueError(f"lowercase letters, digits and hyphens, at most {limits.KEY_MAX}")
        return value

    @property
    def is_whole(self) -> bool:
        """Whether it is a whole source, and not a folder or document of one."""
        return self.target_type == WHOLE


SPELLINGS: Final[Mapping[Any, str]] = MappingProxyType(
    {spelled: name for name in ExternalKnowledgeRef.model_fields for spelled in (name, to_camel(name))}
)
"""The field that each spelling names."""


def read_reference(value: object) -> ExternalKnowledgeRef:
    """The reference that a mapping holds, or ``value`` itself where it is one.

    Raises ``KnowledgeReferenceInvalidError`` that names the field.
    """
    if is_a(value, ExternalKnowledgeRef):
        # Made again: one that was made without validation may hold anything.
        return ExternalKnowledgeRef(**ExternalKnowledgeRef.model_dump(value, exclude_unset=True))
    if not isinstance(value, Mapping):
        raise _invalid("reference", "a mapping of fields", f"a {class_name(value)} came")
    return ExternalKnowledgeRef.model_validate(value)


def refuse_unknown_fields(value: object) -> None:
    """Raise ``KnowledgeReferenceInvalidError`` for a mapping with a field that no reference has, null aside.

    For whoever takes references from a client: without a field that was meant to make it narrower, a reference may
    name more than was meant.
    """
    if isinstance(value, Mapping) and (unknown := _unknown(value)):
        wanted = f"no field but {', '.join(ExternalKnowledgeRef.model_fields)}"
        raise _invalid(shown_name(unknown[0]) or "reference", wanted, "another came, which may have made it narrower")


def shown_name(name: object) -> str | None:
    """A field's name for a message, or None where it may be anything else, such as a credential."""
    text = str.__str__(name) if is_a(name, str) else ""
    return text if _SHOWN.fullmatch(text) and screening.fault(text) is None else None


def source_key(ref: ExternalKnowledgeRef) -> str:
    """What names the source: provider, mode, and the id, or for everything that is accessible the scope."""
    own = ref.id if ref.mode == "explicit" else ref.scope
    return ":".join((ref.provider, ref.mode, _quoted(own)))


def target_key(ref: ExternalKnowledgeRef) -> str:
    """What names the binding (clause 10.4), the same for whatever it is called: the source's key, type and place.

    A document's place is its ``document_id``, or its ``node_id`` where it has none; a folder's is its ``node_id``.
    """
    place = {WHOLE: None, "folder": ref.node_id, "document": ref.document_id or ref.node_id}[ref.target_type]
    return ":".join((source_key(ref), ref.target_type, _quoted(place)))


def source_of_key(key: str) -> tuple[str, bool] | None:
    """The source's key in a target key, and whether the target is the whole source; None for a key of another shape."""
    source, *rest = key.rsplit(":", 2)
    return (source, rest[0] == WHOLE) if len(rest) == 2 else None


def excludes(key: str, other: str) -> bool:
    """Whether a binding of target key ``key`` replaces one of ``other``: itself, its parts or its whole (10.4)."""
    own, others = source_of_key(key), source_of_key(other)
    return key == other or (own is not None and others is not None and own[0] == others[0] and own[1] is not others[1])


def _quoted(text: str | None) -> str:
    return quote(text or "", safe="")


def _named(data: Mapping[Any, Any]) -> dict[str, Any]:
    """The known fields by their names, whichever way they are spelled; those that are null are missing."""
    # Clause 10.2: nothing else is stored, and what is left out is said, without its value.
    if unknown := _unknown(data):
        shown = [name for name in map(shown_name, unknown[:_FIELDS_SAID_MAX]) if name]
        more = [f"{len(unknown) - len(shown)} more"] if len(unknown) > len(shown) else []
        _LOG.warning("an external knowledge reference has fields that are not stored: %s", ", ".join(shown + more))
    named: dict[str, Any] = {}
    for spelled, value in data.items():
        name = SPELLINGS.get(spelled)
        if value is None or name is None:
            continue
        if name in named:
            raise _invalid(name, "the field once", "it came in both spellings")
        named[name] = value
    return named


def _unknown(data: Mapping[Any, Any]) -> list[object]:
    return [name for name, value in data.items() if value is not None and name not in SPELLINGS]


def _text(value: object, limit: int) -> str:
    if not is_a(value, str):
        raise ValueError("a string")
    text = str.__str__(value)
    if has_surrogate(text):
        raise ValueError("text that can be written as UTF-8")
    # Not cut: a part of an id would be another's.
    if len(read := short_text(text, limit + 1)) > limit:
        raise ValueError(f"at most {limit} characters")
    # Clause 10.2.
    if found := screening.fault(text[: screening.TEXT_MAX]):
        raise ValueError(f"no URL and no credential, and {found} came")
    return read


def _misfit(ref: ExternalKnowledgeRef) -> tuple[str, str] | None:
    """The field that does not go with the others, and what was wanted of it, or None."""
    if ref.mode == "explicit" and ref.id is None:
        return "id", "the id of the source, which mode explicit needs"
    if ref.mode == "all_accessible" and ref.id is not None:
        return "id", "none, since mode all_accessible names everything, and not one source"
    if ref.mode == "all_accessible" and not ref.is_whole:
        return "target_type", "no folder or document, since mode all_accessible names no source that it could be in"
    if ref.target_type == "folder" and ref.node_id is None:
        return "node_id", "the id of the folder"
    if ref.target_type == "document" and ref.document_id is None and ref.node_id is None:
        return "document_id", "the id of the document, or its node_id"
    return None


def _refusal(error: ValidationError, data: object) -> KnowledgeReferenceInvalidError:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    field = str(first["loc"][0]) if first["loc"] else "reference"
    if first["msg"].startswith(_OUR_WORDS):
        wanted, _, came = first["msg"].removeprefix(_OUR_WORDS).partition(", and ")
        return _invalid(field, wanted, came or "something else came")
    words = {"mode": f"one of {', '.join(_MODES)}", "target_type": f"one of {', '.join(_TARGETS)}"}
    given = isinstance(data, Mapping) and any(data.get(each) is not None for each in (field, to_camel(field)))
    return _invalid(
        field, words.get(field, "a string that is not blank"), "something else came" if given else "none came"
    )


def _invalid(field: str, wanted: str, came: str) -> KnowledgeReferenceInvalidError:
    error = KnowledgeReferenceInvalidError(
        f"{field}: wanted {wanted}; {came}. A task keeps references that its sources can read, and nothing that is "
        "secret or private to one of them. Nothing was stored. Send the reference as it should be."
    )
    error.field = field
    return error
