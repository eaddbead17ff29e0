"""Who may read what, from labels and a scope (clauses 11.1, 11.2, 11.4, 11.5); knows no result, call or provider.

Public through ``access``. A label that says for whom only ever narrows, with one exception: what is not public and
names nobody is for nobody, and with such a label it is for those. What cannot be read authorises nobody.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final, Literal, NamedTuple

from knowledge_provider._labelled import LABELS, labels_in, listed, stripped
from knowledge_provider.text import class_name, is_a

_DICT: Final[type[dict[object, object]]] = dict
_TRUTHS: Final = {"true": True, "false": False}


class AccessMode(StrEnum):
    """What a result must be labelled with to be shown (clause 11.1).

    Whatever the mode, each label that is there must match. Beyond that ``permissive`` wants nothing,
    ``deny_if_unlabeled`` a label that authorises, ``public_only`` one that says public, ``tenant_required`` the scope's
    own tenant, and ``user_required`` the scope's own user, alone or among others.
    """

    PERMISSIVE = "permissive"
    PUBLIC_ONLY = "public_only"
    TENANT_REQUIRED = "tenant_required"
    USER_REQUIRED = "user_required"
    DENY_IF_UNLABELED = "deny_if_unlabeled"


@dataclass(frozen=True, slots=True)
class AccessScope:
    """As whom something is read, and how strictly; ids without white space around them, and blank ones as None.

    ``roles`` takes any iterable of strings but a mapping. Raises ``TypeError`` for a value of another type, which must
    not become somebody else, and ``ValueError`` for a ``mode`` that is none of ``AccessMode``.
    """

    mode: AccessMode = AccessMode.DENY_IF_UNLABELED
    tenant_id: str | None = None
    user_id: str | None = None
    roles: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        # Frozen, so set past the dataclass's own guard; once, before anybody has seen it.
        object.__setattr__(self, "mode", _mode(self.mode))
        object.__setattr__(self, "tenant_id", _own_id("tenant_id", self.tenant_id))
        object.__setattr__(self, "user_id", _own_id("user_id", self.user_id))
        object.__setattr__(self, "roles", _own_roles(self.roles))


class Denial(NamedTuple):
    """Why something is not shown, and the ``label`` that it turns on; holds no value, so it can be logged."""

    reason: Literal["label_invalid", "label_mismatch", "unlabeled", "not_authorized", "not_public", "label_missing"]
    label: str


class _Labels(NamedTuple):
    """Labels as read: None where there is none."""

    public: bool | None
    tenant_id: str | None
    user_id: str | None
    allowed_users: frozenset[str] | None
    allowed_roles: frozenset[str] | None


_NONE: Final = _Labels(None, None, None, None, None)


def allows(labels: object, scope: AccessScope) -> bool:
    """Whether what has these ``labels``, a result's metadata, may be shown to ``scope``; total for any ``labels``.

    Raises ``TypeError`` when ``scope`` is none.
    """
    return denial(labels, scope) is None


def denial(labels: object, scope: AccessScope) -> Denial | None:
    """The first reason why not, or None where ``allows`` is true; total and raising as that."""
    if not is_a(scope, AccessScope):
        raise TypeError(f"scope must be an AccessScope, or nobody knows who reads; got {class_name(scope)}: make one")
    read = _read(labels)
    if isinstance(read, Denial):
        return read
    return _mismatch(read, scope) or _unauthorised(read) or _lacking(read, scope)


def project_identity(
    configured: AccessScope, *, tenant_id: str | None = None, user_id: str | None = None, roles: Iterable[str] = ()
) -> AccessScope:
    """The scope of one run: once the run has a tenant or a user, all of its identity, and else the configured one.

    The mode is the configured one. Blank ids count as none, and roles alone are no identity. Raises as
    ``AccessScope``: an id that cannot be read must not fall back to the configured one.
    """
    run = replace(configured, tenant_id=tenant_id, user_id=user_id, roles=_own_roles(roles))
    # Clause 11.4: never a configured tenant with the user of a run, nor the configured roles with either.
    return run if run.tenant_id or run.user_id else configured


def with_arguments(scope: AccessScope, arguments: object, *, allow_model_supplied_access: bool = False) -> AccessScope:
    """``scope`` as it is, whatever identity a model wrote into a tool's ``arguments``; never raises for those.

    With ``allow_model_supplied_access`` its ``tenant_id``, ``user_id`` and ``roles`` count as a run's, which makes of
    every label a wish: only for a search in what anybody may read. What has another type then names nobody.
    """
    # Clause 11.5. "Exactly that" is True alone: a truthy setting read from a file is a mistake.
    if allow_model_supplied_access is not True or not is_a(arguments, _DICT):
        return scope
    named: dict[str, Any] = {name: value for name, value in _DICT.items(arguments) if type(name) is str}
    roles = named.get("roles")
    listed: Any = () if roles is None else roles if type(roles) in (list, tuple) else ""
    try:
        return project_identity(scope, tenant_id=named.get("tenant_id"), user_id=named.get("user_id"), roles=listed)
    except TypeError:
        return AccessScope(scope.mode)


def _mode(value: object) -> AccessMode:
    try:
        return AccessMode(value)  # type: ignore[arg-type]  # whatever came, it is looked up
    except ValueError:
        names = ", ".join(AccessMode)
        raise ValueError(f"mode must be one of {names}, since it says what is shown; another came: name one") from None


def _own_id(name: str, value: object) -> str | None:
    if value is None:
        return None
    if not is_a(value, str):
        raise TypeError(
            f"{name} must be a string or None, since labels are compared with it; got {class_name(value)}: pass the "
            "id as text"
        )
    return stripped(value)


def _own_roles(value: object) -> frozenset[str]:
    # A string is iterable, too, and would become roles of one letter each; a mapping would be all of its keys, those
    # that it maps to False included.
    one = is_a(value, str) or isinstance(value, Mapping)
    roles = list(value) if isinstance(value, Iterable) and not one else None
    if roles is None or not all(is_a(role, str) for role in roles):
        raise TypeError(
            f"roles must be several strings, since labels are compared with them; got {class_name(value)}: pass a set"
        )
    return frozenset(role for role in map(stripped, roles) if role)


def _mismatch(labels: _Labels, scope: AccessScope) -> Denial | None:
    # Clause 11.2: a label that is there must match.
    if labels.tenant_id is not None and labels.tenant_id != scope.tenant_id:
        return Denial("label_mismatch", "tenant_id")
    if labels.user_id is not None and labels.user_id != scope.user_id:
        return Denial("label_mismatch", "user_id")
    if labels.allowed_users is not None and scope.user_id not in labels.allowed_users:
        return Denial("label_mismatch", "allowed_users")
    if labels.allowed_roles is not None and scope.roles.isdisjoint(labels.allowed_roles):
        return Denial("label_mismatch", "allowed_roles")
    return None


def _unauthorised(labels: _Labels) -> Denial | None:
    # What says that it is not public, and not for whom it is, is for nobody.
    if labels.public is False and labels[1:] == _NONE[1:]:
        return Denial("not_authorized", "visibility")
    return None


def _lacking(labels: _Labels, scope: AccessScope) -> Denial | None:
    # Clause 11.1. Those that are there match by now.
    mode = scope.mode
    if mode is AccessMode.DENY_IF_UNLABELED and labels == _NONE:
        return Denial("unlabeled", "visibility")
    if mode is AccessMode.PUBLIC_ONLY and not labels.public:
        return Denial("not_public", "visibility")
    if mode is AccessMode.TENANT_REQUIRED and labels.tenant_id is None:
        return Denial("label_missing", "tenant_id")
    if mode is AccessMode.USER_REQUIRED and labels.user_id is None and labels.allowed_users is None:
        return Denial("label_missing", "user_id")
    return None


def _read(labels: object) -> _Labels | Denial:
    if labels is None:
        return _NONE
    values = _values(labels) if is_a(labels, _DICT) else None
    if values is None:
        return Denial("label_invalid", "metadata")
    for name, value in zip(LABELS, values, strict=True):
        if value is not None and not is_a(value, str) and not (name == "public" and is_a(value, bool)):
            return Denial("label_invalid", name)
    visibility, public, tenant_id, user_id, users, roles = map(_text, values)
    # Two that contradict each other, or a word that is neither, say nothing that could be relied on.
    said = {None if visibility is None else visibility.lower() == "public", _truth(public)} - {None}
    if len(said) > 1 or "" in said:
        return Denial("label_invalid", "public")
    return _Labels(said == {True} if said else None, tenant_id, user_id, _listed(users), _listed(roles))


def _values(labels: dict[object, object]) -> list[object] | None:
    # Clause 11.3: all entries are looked at, and by the names that a host will show them under. Keys are read and never
    # compared, so no foreign code runs; but another thread may change the entries meanwhile.
    try:
        found = labels_in(_DICT.items(labels))
    except RuntimeError:
        return None
    return [found.get(name) for name in LABELS]


def _truth(text: str | None) -> object:
    return None if text is None else _TRUTHS.get(text.lower(), "")


def _text(value: object) -> str | None:
    # Clause 11.2: an empty label is no label.
    if value is None:
        return None
    return stripped(str.__str__(value)) if is_a(value, str) else str(value)


def _listed(text: str | None) -> frozenset[str] | None:
    return None if text is None else listed(text)
