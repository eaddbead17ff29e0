"""Clause 11.3: where among metadata labels are found, and under which keys. Knows the tables, no other clause."""

from typing import Any, Final

from knowledge_conformance.access_subject import AccessSubject
from knowledge_conformance.check import Check, Level, check
from knowledge_conformance.checks.access_rows import (
    ALICE,
    DENY,
    PERMISSIVE,
    TENANT,
    USER,
    answer_of,
    look_at_cases,
    require,
    row,
    seen,
)
from knowledge_provider import limits
from knowledge_provider.access import AccessMode, AccessScope

_TO_USERS: Final = (PERMISSIVE, USER, DENY)
_KEYS: Final = (
    *(
        seen({"visibility": "public", "tenant_id": "acme", key: "bob"})
        for key in ("\ufeffuser_id", " user_id", "user_id\n", "\u00a0allowed_users ", "\u202euser_id", "user\u2069_id")
    ),
    seen({"visibility": "public", "tenant_id\u200d": "other", "user_id": "alice"}),
    seen({"\ufeffuser_id": "alice"}, *_TO_USERS),
    # Which of two is shown is a matter of their order, and which one was meant is not known.
    seen({"user_id": "bob", "user_id ": "alice"}),
    seen({"\ufeffuser_id": "alice", "user_id": "bob"}),
    seen({"user_id": "alice", "\ufeffauthor": "bob", " page ": 4}, *_TO_USERS),
)


_MANY: Final[dict[str, Any]] = {f"entry {place}": place for place in range(4 * limits.METADATA_ENTRIES_MAX)}
_BEHIND: Final = f"behind {len(_MANY)} other entries"
_LONG: Final = "x" * (limits.METADATA_TEXT_MAX - len(",alice"))
_BEYOND: Final = f"of more than {limits.METADATA_TEXT_MAX} characters"
_WHOLE: Final = (
    (f"tenant_id {_BEHIND}", seen({**_MANY, "tenant_id": "other"})),
    (f"user_id {_BEHIND}", seen({**_MANY, "user_id": "bob"})),
    (f"visibility {_BEHIND}", seen({**_MANY, "allowed_roles": "reader", "visibility": "public"})),
    (f"tenant_id {_BEHIND}", seen({**_MANY, "tenant_id": "acme"}, PERMISSIVE, TENANT, DENY)),
    # Cut to what a host keeps of other metadata, one ends with alice, and the other before her.
    (f"allowed_users {_BEYOND}, with alice2 at its end", seen({"allowed_users": f"{_LONG},alice2"})),
    (f"allowed_users {_BEYOND}, with alice behind them", seen({"allowed_users": f"{_LONG},bob,alice"}, *_TO_USERS)),
)


# Clause 11.3
@check("KP-1108", clause="11.3", level=Level.MUST, needs=("KP-1101",))
async def labels_are_read_whole(subject: AccessSubject) -> None:
    """A label counts however many entries of metadata stand before it, and to its last character.

    A host keeps sixteen entries, and 500 characters of each. Who reads labels after that has lost the seventeenth, and
    shows what it protects; and a list of many people that is cut within "alice2" ends with Alice.
    """
    for mode in AccessMode:
        scope = AccessScope(mode, tenant_id=ALICE.tenant_id, user_id=ALICE.user_id, roles=ALICE.roles)
        rows = [row(f"row-{place}", case.labels) for place, (_, case) in enumerate(_WHOLE)]
        exchange = await answer_of(subject, rows, scope)
        for place, (named, case) in enumerate(_WHOLE):
            require(
                exchange,
                f"row-{place}",
                mode in case.modes,
                f"{named}, in {mode}",
                "read the labels of the provider's own answer, before anything is normalised or cut",
            )
            subject.observe()


# Clause 11.3
@check("KP-1123", clause="11.3", level=Level.SHOULD, needs=("KP-1103", "KP-1107"))
async def labels_count_by_the_names_they_are_shown_under(subject: AccessSubject) -> None:
    """A label counts under each key that a host shows as its name, and two of one name authorise nobody.

    A spreadsheet writes a byte order mark before its first column, and a hand a space behind a name. By rule N11 the
    host shows the entry as user_id. Who looks for the exact key reads no label there, and shows what it protects.
    """
    await look_at_cases(
        subject,
        _KEYS,
        hint="compare each key, read by rule N5, with the labels' names; withhold two of one name",
    )


CHECKS: Final[tuple[Check, ...]] = (
    labels_are_read_whole,
    labels_count_by_the_names_they_are_shown_under,
)
"""Those of places and keys; what is needed of them runs first."""
