"""Clauses 11.1 and 11.2: which labels show a result to whom. Knows the tables, nothing of runs or of asking."""

from typing import Final

from knowledge_conformance.access_subject import AccessSubject
from knowledge_conformance.check import Check, Level, check
from knowledge_conformance.checks.access_rows import (
    ALICE,
    DENY,
    EVERY_MODE,
    PERMISSIVE,
    PUBLIC,
    REQUEST,
    TENANT,
    USER,
    answer_of,
    knowing,
    look_at_cases,
    require,
    row,
    seen,
)
from knowledge_conformance.render import show
from knowledge_provider.access import AccessMode, AccessScope

_MODES: Final = (
    seen(None, PERMISSIVE),
    seen({}, PERMISSIVE),
    seen({"author": "alice", "department": "people"}, PERMISSIVE),
    seen({"visibility": "public"}, PERMISSIVE, PUBLIC, DENY),
    seen({"tenant_id": "acme"}, PERMISSIVE, TENANT, DENY),
    seen({"user_id": "alice"}, PERMISSIVE, USER, DENY),
    seen({"tenant_id": "acme", "user_id": "alice"}, PERMISSIVE, TENANT, USER, DENY),
    seen({"visibility": "public", "tenant_id": "acme"}, PERMISSIVE, PUBLIC, TENANT, DENY),
    seen({"visibility": "public", "tenant_id": "acme", "user_id": "alice"}, *EVERY_MODE),
)

_MATCHING: Final = (
    seen({"tenant_id": "other"}),
    seen({"user_id": "bob"}),
    seen({"visibility": "public", "tenant_id": "other"}),
    seen({"visibility": "public", "user_id": "bob"}),
    seen({"tenant_id": "acme", "user_id": "bob"}),
    seen({"tenant_id": "other", "user_id": "alice"}),
    seen({"user_id": "alice", "allowed_users": "bob"}),
    seen({"user_id": "alice", "allowed_roles": "reader"}),
    seen({"visibility": "public", "allowed_users": "bob"}),
    # Two ids that look alike are two.
    seen({"tenant_id": "acme-2"}),
    seen({"user_id": "alic"}),
    seen({"user_id": "ali\u200bce"}),
    seen({"user_id": "editor"}),
    seen({"user_id": "Alice"}),
    seen({"tenant_id": "ACME"}),
    seen({"user_id": "ａｌｉｃｅ"}),
    seen({"allowed_users": "ALICE"}),
    seen({"allowed_roles": "Editor"}),
    # Nor is any of them a pattern.
    *(seen({name: "*"}) for name in ("tenant_id", "user_id", "allowed_users", "allowed_roles")),
    seen({"tenant_id": "ac*"}),
    seen({"allowed_users": "al*,ali.e,ali?e"}),
    seen({"allowed_roles": "ed*,%"}),
)

_PUBLIC: Final = (
    seen({"visibility": "public"}, PERMISSIVE, PUBLIC, DENY),
    seen({"public": True}, PERMISSIVE, PUBLIC, DENY),
    seen({"public": "true"}, PERMISSIVE, PUBLIC, DENY),
    seen({"visibility": "private"}),
    seen({"public": False}),
    seen({"public": "false"}),
    seen({"visibility": "internal"}),
    seen({"visibility": "public-ish"}),
    seen({"visibility": "private", "user_id": "alice"}, PERMISSIVE, USER, DENY),
)

_EMPTY: Final = (
    *(
        seen({name: blank}, PERMISSIVE)
        for name in ("visibility", "tenant_id", "user_id", "allowed_users", "allowed_roles", "public")
        for blank in ("", "  ")
    ),
    seen({"allowed_users": " , ,"}, PERMISSIVE),
    seen({"allowed_roles": ","}, PERMISSIVE),
    seen({"user_id": None, "tenant_id": None}, PERMISSIVE),
    seen({"tenant_id": "", "visibility": "public"}, PERMISSIVE, PUBLIC, DENY),
    seen({"allowed_users": "", "user_id": "alice"}, PERMISSIVE, USER, DENY),
)
_NOBODYS: Final = (
    seen({"tenant_id": ""}, PERMISSIVE),
    seen({"user_id": ""}, PERMISSIVE),
    seen({"allowed_users": ","}, PERMISSIVE),
    seen({"tenant_id": "None"}),
    seen({"user_id": "None"}),
    seen({"allowed_users": "None,null"}),
)

_LISTS: Final = (
    seen({"allowed_users": "alice"}, PERMISSIVE, USER, DENY),
    seen({"allowed_users": "bob,alice"}, PERMISSIVE, USER, DENY),
    seen({"allowed_users": " bob , alice ,"}, PERMISSIVE, USER, DENY),
    seen({"allowed_users": "bob, carol"}),
    seen({"allowed_users": "malice,alice2,bob alice"}),
    # A name may have any other mark in it, as a directory's have: only a comma ends one.
    seen({"allowed_users": "bob;alice"}),
    seen({"allowed_users": "bob|alice,team/alice"}),
    seen({"allowed_roles": "reader;editor"}),
    seen({"allowed_roles": "reader, editor"}, PERMISSIVE, DENY),
    seen({"allowed_roles": "reader,admin"}),
    seen({"allowed_roles": "editors,coeditor"}),
    seen({"allowed_roles": "alice"}),
    seen({"allowed_users": "editor"}),
    seen({"allowed_users": "acme"}),
    seen({"allowed_roles": "editor", "tenant_id": "acme"}, PERMISSIVE, TENANT, DENY),
)


_SEVERAL: Final = (
    seen({"allowed_roles": "auditor"}, PERMISSIVE, DENY),
    seen({"allowed_roles": "editor"}, PERMISSIVE, DENY),
    seen({"allowed_roles": "reader, writer"}, PERMISSIVE, DENY),
    seen({"allowed_roles": "reader"}),
)


class _Liar(str):
    """Equal to everything."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, _other: object) -> bool:
        return True

    def __ne__(self, _other: object) -> bool:
        return False


class _Raising:
    """Whatever it is asked, it raises."""

    def __eq__(self, _other: object) -> bool:
        raise RuntimeError("compared")

    __hash__ = object.__hash__

    def __str__(self) -> str:
        raise RuntimeError("written")

    __repr__ = __str__

    def __bool__(self) -> bool:
        raise RuntimeError("asked whether it is true")


_FALSE: Final[tuple[object, ...]] = (0, False, [], {})
_WORD_HINT: Final = (
    "of public, read True, False and these words; of visibility, the word public; withhold what else it says"
)


def _hostile() -> dict[str, tuple[object, str]]:
    """Labels by what is wrong with them, and what to do about it."""
    compared = "compare exact strings through str's own methods, and withhold what has anything else for a label"
    typed = "a label whose value is no str, a false one and an empty one too, is there and says nothing: withhold it"
    kept = "read the labels of a dict, and withhold what has anything else for metadata"
    mine = {"visibility": "public", "tenant_id": "acme", "user_id": "alice"}
    return {
        "a user who is equal to everybody": ({"user_id": _Liar("bob")}, compared),
        "a tenant who is equal to every other": ({"tenant_id": _Liar("other")}, compared),
        "a label that raises": ({"user_id": _Raising()}, compared),
        "a number for a user": ({"user_id": 4711}, typed),
        "a boolean for a tenant": ({"tenant_id": True}, typed),
        "a mapping for a label": ({"user_id": {"alice": "alice"}, "tenant_id": {}}, typed),
        "bytes": ({"user_id": b"alice"}, typed),
        "a list for a list of users": ({**mine, "allowed_users": ["bob"]}, typed),
        "a list with the reader for a list of users": ({**mine, "allowed_users": ["alice"]}, typed),
        "a set for a list of roles": ({**mine, "allowed_roles": {"admin"}}, typed),
        **{
            f"{show(value)} for the label {name}": ({**mine, name: value}, typed)
            for name in ("tenant_id", "user_id", "allowed_users", "allowed_roles")
            for value in _FALSE
        },
        "a list for visibility": ({**mine, "visibility": ["public"]}, typed),
        "1 for public": ({**mine, "public": 1}, typed),
        "a word that is neither true nor false": ({"public": "maybe"}, _WORD_HINT),
        "labels that contradict each other": ({"visibility": "public", "public": False}, _WORD_HINT),
        "text for metadata": ("visibility=public", kept),
        "pairs for metadata": ([("visibility", "public")], kept),
    }


# Clause 11.2
@check("KP-1121", clause="11.2", level=Level.MUST)
async def a_reader_sees_what_is_theirs(subject: AccessSubject) -> None:
    """A reader is shown what is labelled with their id, and not what is labelled with another's.

    The least that a rule about access does; while it does not, nothing else can be told of it. The reader is the
    configured one here, and the mode is deny_if_unlabeled.
    """
    rows = [row("alices", {"user_id": "alice"}), row("bobs", {"user_id": "bob"})]
    exchange = await answer_of(subject, rows, ALICE)
    hint = "compare the label user_id of each result's metadata with the user of the scope"
    for name, visible in (("alices", True), ("bobs", False)):
        require(exchange, name, visible, f"{name}, labelled with a user, for alice", hint)
        subject.observe()


# Clause 11.1
@check("KP-1101", clause="11.1", level=Level.MUST, needs=("KP-1121",))
async def each_mode_shows_what_it_should(subject: AccessSubject) -> None:
    """Each of the five modes shows what it should, and nothing else.

    permissive wants no label, public_only one that says public, tenant_required the reader's tenant, user_required the
    reader's user, and deny_if_unlabeled any label that authorises. A mode that shows too little is seen at once; one
    that shows too much only by those who should not.
    """
    await look_at_cases(subject, _MODES, hint="beyond labels that must match: what does this mode need of a result?")


# Clause 11.1
@check("KP-1102", clause="11.1", level=Level.MUST, needs=("KP-1101",))
async def what_nobody_labelled_is_shown_to_nobody_by_default(subject: AccessSubject) -> None:
    """Without a scope of its own, the rule is deny_if_unlabeled.

    Somebody will forget a label. Then a document that nobody finds is a question, and one that everybody reads is a
    leak. The factory is given None for its scope, and the run's user.
    """
    rows = [row("unlabelled"), row("mine", {"user_id": "alice"}), row("for-everybody", {"visibility": "public"})]
    exchange = await answer_of(subject, rows, None, lambda _context: {"user_id": "alice"})
    hint = "where no mode is configured, take deny_if_unlabeled"
    for name, visible in (("unlabelled", False), ("mine", True), ("for-everybody", True)):
        require(exchange, name, visible, f"{name}, where nothing is configured", hint)
        subject.observe()


# Clause 11.2
@check("KP-1103", clause="11.2", level=Level.MUST, needs=("KP-1101",))
async def a_label_that_is_there_must_match(subject: AccessSubject) -> None:
    """Every label that a result has must match the reader, in any mode, letter for letter.

    A public document of another tenant is that tenant's. One label that fits does not make up for another that does
    not, and ids that only look or begin alike are different people.
    """
    await look_at_cases(subject, _MATCHING, hint="withhold what has a label that does not match, before any mode")


# Clause 11.2
@check("KP-1104", clause="11.2", level=Level.MUST, needs=("KP-1101",))
async def both_ways_to_say_public_are_read(subject: AccessSubject) -> None:
    """visibility=public and public=true say the same, and what says that it is not public is for those it names.

    Stores differ in which of the two they can hold. A private document that names nobody is for nobody.
    """
    await look_at_cases(subject, _PUBLIC, hint="read visibility and public, a boolean or its word")


# Clause 11.2
@check("KP-1105", clause="11.2", level=Level.MUST, needs=("KP-1101",))
async def an_empty_label_is_no_label(subject: AccessSubject) -> None:
    """An empty label counts as none: it authorises nobody, and it keeps nobody out.

    A store writes "" where it knows nothing. Compared with a reader whose tenant is not known either, it would match.
    """
    hint = "strip labels and the entries of their lists, and treat what is empty then as not there"
    await look_at_cases(subject, _EMPTY, hint=hint)
    await look_at_cases(subject, _NOBODYS, hint=hint, scope=AccessScope())


# Clause 11.2
@check("KP-1106", clause="11.2", level=Level.MUST, needs=("KP-1101",))
async def lists_hold_whole_names(subject: AccessSubject) -> None:
    """allowed_users and allowed_roles are lists with commas, whose entries are compared as wholes.

    "alice" is part of "malice" and of "alice2". Who has one of the roles may read it, and a role is not a user's name.
    """
    hint = "split at commas, strip each entry, and look the whole name up"
    await look_at_cases(subject, _LISTS, hint=hint)
    several = AccessScope(tenant_id="acme", user_id="alice", roles=frozenset({"auditor", "editor", "writer"}))
    await look_at_cases(
        subject, _SEVERAL, hint="look for any of the reader's roles among those of the list", scope=several
    )


# Clause 11.2
@check("KP-1107", clause="11.2", level=Level.MUST, needs=("KP-1101",))
async def what_cannot_be_read_authorises_nobody(subject: AccessSubject) -> None:
    """Labels of another type, that raise, lie or contradict each other authorise nobody, and cost no other result.

    Metadata come from files and services that many can write. What a label says is known only where it is text.
    """
    for name, (labels, hint) in _hostile().items():
        for mode in AccessMode:
            scope = AccessScope(mode, tenant_id=ALICE.tenant_id, user_id=ALICE.user_id, roles=ALICE.roles)
            good = {"visibility": "public", "tenant_id": "acme", "user_id": "alice"}
            rows = [row("hostile", labels), row("good", good)]
            async with subject.scoped(knowing(rows), scope) as scoped:
                exchange = await scoped.answer(REQUEST)
            require(exchange, "hostile", False, f"{name}, in {mode}", hint)
            require(exchange, "good", True, f"the one beside {name}, in {mode}", hint)
            subject.observe()


CHECKS: Final[tuple[Check, ...]] = (
    a_reader_sees_what_is_theirs,
    each_mode_shows_what_it_should,
    what_nobody_labelled_is_shown_to_nobody_by_default,
    a_label_that_is_there_must_match,
    both_ways_to_say_public_are_read,
    an_empty_label_is_no_label,
    lists_hold_whole_names,
    what_cannot_be_read_authorises_nobody,
)
"""Those of labels; what is needed of them runs first."""
