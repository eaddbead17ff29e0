"""Labels and scopes: who sees what in which mode, and whose identity counts (clauses 11.1, 11.2, 11.4, 11.5)."""

from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_provider.access import (
    LABELS,
    AccessMode,
    AccessScope,
    Denial,
    allows,
    denial,
    project_identity,
    with_arguments,
)

P, PUBLIC, TENANT, USER, DENY = (
    AccessMode.PERMISSIVE,
    AccessMode.PUBLIC_ONLY,
    AccessMode.TENANT_REQUIRED,
    AccessMode.USER_REQUIRED,
    AccessMode.DENY_IF_UNLABELED,
)
ALICE = AccessScope(tenant_id="acme", user_id="alice", roles=frozenset({"editor"}))
NOBODY = AccessScope()
quick = settings(deadline=None, max_examples=300)


@pytest.mark.parametrize(
    ("labels", "modes"),
    [
        ({}, {P}),
        (None, {P}),
        ({"author": "alice"}, {P}),
        ({"visibility": "public"}, {P, PUBLIC, DENY}),
        ({"visibility": " Public "}, {P, PUBLIC, DENY}),
        ({"public": True}, {P, PUBLIC, DENY}),
        ({"public": "true"}, {P, PUBLIC, DENY}),
        ({"visibility": "private"}, set()),
        ({"public": False}, set()),
        ({"visibility": "private", "user_id": "alice"}, {P, USER, DENY}),
        ({"tenant_id": "acme"}, {P, TENANT, DENY}),
        ({"tenant_id": " acme "}, {P, TENANT, DENY}),
        ({"tenant_id": "ACME"}, set()),
        ({"tenant_id": "other"}, set()),
        ({"user_id": "alice"}, {P, USER, DENY}),
        ({"user_id": "ali\u200bce"}, set()),
        ({"user_id": "bob"}, set()),
        ({"allowed_users": "bob, alice ,"}, {P, USER, DENY}),
        ({"allowed_users": "bob"}, set()),
        ({"allowed_users": "malice,alice2"}, set()),
        ({"allowed_roles": "reader,editor"}, {P, DENY}),
        ({"allowed_roles": "reader"}, set()),
        # A label that is there must match, also beside one that does.
        ({"visibility": "public", "tenant_id": "other"}, set()),
        ({"visibility": "public", "tenant_id": "acme"}, {P, PUBLIC, TENANT, DENY}),
        ({"tenant_id": "acme", "user_id": "bob"}, set()),
        ({"user_id": "alice", "allowed_roles": "reader"}, set()),
        # An empty label is no label, and authorises nobody.
        ({"tenant_id": "", "user_id": " ", "allowed_users": ", ,", "allowed_roles": "\u200b", "visibility": ""}, {P}),
    ],
)
def test_who_sees_what(labels: Any, modes: set[AccessMode]) -> None:
    """Alice of acme, an editor, in each mode."""
    assert {mode for mode in AccessMode if allows(labels, replace(ALICE, mode=mode))} == modes


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        ({"tenant_id": 4711}, Denial("label_invalid", "tenant_id")),
        ({"allowed_users": ["alice"]}, Denial("label_invalid", "allowed_users")),
        ({"visibility": True}, Denial("label_invalid", "visibility")),
        ({"public": 1}, Denial("label_invalid", "public")),
        ({"public": "yes"}, Denial("label_invalid", "public")),
        ({"public": False, "visibility": "public"}, Denial("label_invalid", "public")),
        ([("visibility", "public")], Denial("label_invalid", "metadata")),
        ({"user_id": "bob"}, Denial("label_mismatch", "user_id")),
        ({}, Denial("unlabeled", "visibility")),
        ({"visibility": "internal"}, Denial("not_authorized", "visibility")),
    ],
)
def test_why_not_is_said_without_a_value(labels: Any, why: Denial) -> None:
    """The reason and the label, in permissive mode as well but for the unlabeled."""
    assert denial(labels, ALICE) == why
    assert (denial(labels, replace(ALICE, mode=P)) is None) is (why.reason == "unlabeled")


@pytest.mark.parametrize(
    "labels", [{"tenant_id": "None"}, {"user_id": "None"}, {"allowed_users": "None"}, {"tenant_id": ""}]
)
def test_a_scope_without_an_id_matches_no_label(labels: dict[str, str]) -> None:
    """Not by a word for nothing, and not by an empty one."""
    assert not allows(labels, NOBODY)


class Raising(str):
    """A foreign key with the hash of a label."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash("tenant_id")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")


def test_a_key_is_read_and_never_compared() -> None:
    """One that raises then is what is written in it, which is what a host shows."""
    assert denial({Raising("x"): 1, "visibility": "public"}, ALICE) is None
    assert denial({Raising("user_id"): "bob", "visibility": "public"}, ALICE) == Denial("label_mismatch", "user_id")


def test_a_label_behind_many_others_is_read() -> None:
    """Clause 11.3: rule N11 keeps 16 entries."""
    many: dict[str, Any] = {f"entry {number}": number for number in range(10_000)}
    assert not allows({**many, "visibility": "public", "tenant_id": "other"}, replace(ALICE, mode=P))


words = st.sampled_from(["acme", "alice", "bob", "editor", "public", "true", "", " ", "alice,bob", "\u200b", "None"])
labelings = st.dictionaries(st.sampled_from(LABELS), words | st.booleans() | st.none(), max_size=6)
scopes = st.builds(
    AccessScope, st.sampled_from(AccessMode), st.none() | words, st.none() | words, st.frozensets(words, max_size=2)
)
anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text() | st.binary(), lambda inner: st.lists(inner) | st.tuples(inner)
)


@quick
@given(labels=st.dictionaries(st.sampled_from(LABELS) | st.text(), anything, max_size=4) | anything, scope=scopes)
def test_judging_is_total(labels: object, scope: AccessScope) -> None:
    """For whatever stands where metadata should, the answer is a bool."""
    assert type(allows(labels, scope)) is bool


@quick
@given(labels=labelings, scope=scopes)
def test_permissive_shows_most(labels: Any, scope: AccessScope) -> None:
    """What another mode shows, permissive shows; nothing that names somebody is shown to nobody."""
    if allows(labels, scope):
        assert allows(labels, replace(scope, mode=P))
    if allows(labels, replace(NOBODY, mode=scope.mode)):
        assert allows(labels, replace(scope, mode=P))


@quick
@given(labels=labelings, name=st.sampled_from(LABELS[2:]), value=words, scope=scopes)
def test_a_further_label_shows_nobody_more(labels: Any, name: str, value: str, scope: AccessScope) -> None:
    """In permissive mode, one that is added where it was not only ever narrows, unless nobody was named at all."""
    before = {**labels, name: ""}
    permissive = replace(scope, mode=P)
    if denial(before, permissive) not in (None, Denial("not_authorized", "visibility")):
        assert not allows({**before, name: value}, permissive)


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ({}, ("acme", "alice", {"editor"})),
        ({"roles": ["admin"]}, ("acme", "alice", {"editor"})),
        ({"tenant_id": " ", "user_id": ""}, ("acme", "alice", {"editor"})),
        ({"tenant_id": "other"}, ("other", None, set())),
        ({"user_id": "bob"}, (None, "bob", set())),
        ({"user_id": "bob", "roles": ["admin"]}, (None, "bob", {"admin"})),
        ({"tenant_id": "other", "user_id": "bob"}, ("other", "bob", set())),
    ],
)
def test_identities_are_never_mixed(run: Any, expected: Any) -> None:
    """Clause 11.4: once the run has a tenant or a user, all of the subject is the run's, and the mode stays."""
    scope = project_identity(replace(ALICE, mode=TENANT), **run)
    assert (scope.tenant_id, scope.user_id, scope.roles) == expected
    assert scope.mode is TENANT


@pytest.mark.parametrize("arguments", [{"tenant_id": "evil", "user_id": "eve", "roles": ["admin"]}, None, "eve", {}])
@pytest.mark.parametrize("allowed", [False, "true", 1])
def test_a_models_identity_is_ignored(arguments: object, allowed: Any) -> None:
    """Clause 11.5: unless the host asks for exactly that."""
    assert with_arguments(ALICE, arguments, allow_model_supplied_access=allowed) is ALICE


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"user_id": "eve", "roles": ["admin"]}, AccessScope(user_id="eve", roles=frozenset({"admin"}))),
        ({"query": "x"}, ALICE),
        (None, ALICE),
        ({"user_id": 5}, NOBODY),
        ({"user_id": "eve", "roles": "admin"}, NOBODY),
        ({"user_id": "eve", "roles": [1]}, NOBODY),
    ],
)
def test_a_models_identity_counts_where_the_host_asks_for_it(arguments: object, expected: AccessScope) -> None:
    """All of it and nothing else; what cannot be read names nobody."""
    assert with_arguments(ALICE, arguments, allow_model_supplied_access=True) == expected


def test_a_scope_is_frozen_and_strips() -> None:
    """Blank ids are none, and any iterable of roles is a set."""
    roles: Any = [" editor ", "", "editor"]
    scope = AccessScope(tenant_id=" acme ", user_id="\u200b", roles=roles)
    assert scope == AccessScope(tenant_id="acme", roles=frozenset({"editor"}))
    assert scope.mode is DENY
    with pytest.raises(FrozenInstanceError):
        scope.user_id = "bob"  # type: ignore[misc]  # that is the point


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: AccessScope(tenant_id=5), TypeError, "tenant_id must be a string"),  # type: ignore[arg-type]  # wrong
        (lambda: AccessScope(roles="admin"), TypeError, "roles must be several strings"),  # type: ignore[arg-type]  # wrong
        (lambda: AccessScope(roles={"admin": False}), TypeError, "roles must be several strings"),  # type: ignore[arg-type]  # wrong
        (lambda: AccessScope(roles=[5]), TypeError, "roles must be several strings"),  # type: ignore[arg-type]  # wrong
        (lambda: AccessScope("strict"), ValueError, "mode must be one of permissive, "),  # type: ignore[arg-type]  # wrong
        (lambda: allows({}, None), TypeError, "scope must be an AccessScope"),  # type: ignore[arg-type]  # wrong
        (lambda: project_identity(ALICE, user_id=5), TypeError, "user_id must be"),  # type: ignore[arg-type]  # wrong
    ],
)
def test_an_identity_that_cannot_be_read_is_refused(
    make: Callable[[], object], error: type[Exception], says: str
) -> None:
    """It must not become nobody, or somebody else, without a word."""
    with pytest.raises(error, match=says):
        make()
