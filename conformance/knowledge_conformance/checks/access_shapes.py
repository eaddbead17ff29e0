"""Clause 11.2 for any answer of a provider: in each shape, and the second as the first. Knows the rows, no rule."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from knowledge_conformance.access_subject import AccessSubject, shown_ids
from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.access_rows import ALICE, REQUEST, row
from knowledge_fakes.scripted import ScriptedProvider, SyncScriptedProvider
from knowledge_provider import RetrievalResult
from knowledge_provider.access import AccessMode, AccessScope

_MINE: Final = {"visibility": "public", "tenant_id": "acme", "user_id": "alice", "allowed_roles": "editor"}
_HIDDEN: Final[Mapping[str, Mapping[str, object]]] = {
    "another tenant's": {**_MINE, "tenant_id": "other"},
    "another user's": {**_MINE, "user_id": "bob"},
    "for other users": {**_MINE, "allowed_users": "bob, carol"},
    "for another role": {**_MINE, "allowed_roles": "reader"},
    "private": {"visibility": "private"},
    "that cannot be read": {**_MINE, "public": "maybe"},
}
_UNLABELLED: Final = {"author": "alice"}

_Rows = Sequence[Mapping[str, Any]]

_WRITTEN: Final[Mapping[str, Callable[[_Rows], Any]]] = {
    "a list of dicts": lambda rows: [dict(each) for each in rows],
    "a tuple of dicts": lambda rows: tuple(dict(each) for each in rows),
    "a mapping with a list of dicts": lambda rows: {"results": [dict(each) for each in rows]},
    "a mapping with a tuple of dicts": lambda rows: {"results": tuple(dict(each) for each in rows)},
    "a list of RetrievalResult": lambda rows: [RetrievalResult.model_validate(each) for each in rows],
    "a mapping with a tuple of RetrievalResult": lambda rows: {
        "results": tuple(RetrievalResult.model_validate(each) for each in rows)
    },
    "a list of both": lambda rows: [
        each if place % 2 else RetrievalResult.model_validate(each) for place, each in enumerate(map(dict, rows))
    ],
}
_HINT: Final = "read a list or tuple, or a mapping with one under results, of dicts and of RetrievalResult (clause 5.1)"


def _rows() -> list[dict[str, Any]]:
    hidden = [row(name, dict(labels)) for name, labels in _HIDDEN.items()]
    return [hidden[0], row("mine", dict(_MINE)), *hidden[1:]]


# Clause 11.2
@check("KP-1122", clause="11.2", level=Level.MUST, needs=("KP-1103", "KP-1104", "KP-1107"))
async def every_answer_is_filtered(subject: AccessSubject) -> None:
    """What may not be seen is withheld from an answer of any shape, and from the second as from the first.

    An adapter answers with the contract's models, and a provider of a few lines with dicts, in a list or a tuple. Some
    are synchronous. What is asked for when too little was left is as much a provider's answer as what came first.
    """
    for name, written in _WRITTEN.items():
        for kind in (ScriptedProvider, SyncScriptedProvider):
            provider = kind([lambda *_, written=written: written(_rows())])
            async with subject.scoped(provider, ALICE) as scoped:
                _require_mine(shown_ids(await scoped.answer(REQUEST)), name, _HINT)
            subject.observe()
    null = [*(dict(each) for each in _rows()), {"id": "unlabelled", "content": "Nobody labelled it.", "metadata": None}]
    async with subject.scoped(ScriptedProvider([null]), ALICE) as scoped:
        _require_mine(shown_ids(await scoped.answer(REQUEST)), "a result whose metadata is null, which is none", _HINT)
    subject.observe()
    for mode in AccessMode:
        await _ask_for_more(subject, mode)


async def _ask_for_more(subject: AccessSubject, mode: AccessMode) -> None:
    bobs = [row(f"bobs-{place}", {"user_id": "bob"}) for place in range(2)]
    unlabelled = [row("unlabelled", dict(_UNLABELLED))] if mode is not AccessMode.PERMISSIVE else []
    second = [*_rows(), *unlabelled][: REQUEST.top_k]
    provider = ScriptedProvider([bobs, lambda *_: [dict(each) for each in second]])
    scope = AccessScope(mode, tenant_id=ALICE.tenant_id, user_id=ALICE.user_id, roles=ALICE.roles)
    async with subject.scoped(provider, scope) as scoped:
        found = shown_ids(await scoped.answer(REQUEST.model_copy(update={"top_k": 2})))
    # Who asks once has nothing to show.
    if found or len(provider.calls) > 1:
        hint = "filter what is asked for additionally with the same function, mode and reader"
        _require_mine(found, f"the answer to asking for more, in {mode}", hint)
    subject.observe()


def _require_mine(found: list[str], what: str, hint: str) -> None:
    if found != ["mine"]:
        others = [name for name in found if name != "mine"]
        raise Violation(
            wanted=f"the reader's own alone, of {what}",
            saw=f"a result {others[0]}" if others else "nothing shown",
            hint=hint,
        )


CHECKS: Final[tuple[Check, ...]] = (every_answer_is_filtered,)
"""That of answers; what is needed of it runs first."""
