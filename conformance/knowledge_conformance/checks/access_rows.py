"""Labelled rows that checks hand to an access rule, and who sees which of them; knows clause 11, no rule's code.

What should be shown is written down row by row, so that no reading of labels stands behind it, ours included.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final, NamedTuple

from knowledge_conformance.access_subject import AccessSubject, Identity, nobody, shown_ids
from knowledge_conformance.check import Violation
from knowledge_conformance.exchange import Exchange
from knowledge_conformance.render import show
from knowledge_fakes.scripted import ScriptedProvider
from knowledge_provider import RetrievalContext, RetrievalRequest, limits
from knowledge_provider.access import AccessMode, AccessScope

ALICE: Final = AccessScope(tenant_id="acme", user_id="alice", roles=frozenset({"editor"}))
REQUEST: Final = RetrievalRequest(query="release policy", top_k=limits.TOP_K_MAX)

PERMISSIVE, PUBLIC, TENANT, USER, DENY = (
    AccessMode.PERMISSIVE,
    AccessMode.PUBLIC_ONLY,
    AccessMode.TENANT_REQUIRED,
    AccessMode.USER_REQUIRED,
    AccessMode.DENY_IF_UNLABELED,
)
EVERY_MODE: Final = frozenset(AccessMode)


class Case(NamedTuple):
    """Labels, and the modes in which Alice of acme, an editor, sees what has them."""

    labels: object
    modes: frozenset[AccessMode]


def seen(labels: object, *modes: AccessMode) -> Case:
    """Labels that Alice sees in these modes, and in no other."""
    return Case(labels, frozenset(modes))


def row(name: str, labels: object = None, **fields: Any) -> dict[str, Any]:
    """A result of this id with these labels."""
    held = {} if labels is None else {"metadata": labels}
    return {"id": name, "content": f"What {name} says.", **fields, **held}


def index(
    rows: Sequence[Mapping[str, Any]],
) -> Callable[[RetrievalRequest, RetrievalContext], list[dict[str, Any]]]:
    """A back end that knows no access: the first of its rows, fresh each time."""
    return lambda request, _context: [dict(each) for each in rows[: request.top_k]]


def knowing(rows: Sequence[Mapping[str, Any]], **described: Any) -> ScriptedProvider:
    """A provider over such a back end."""
    return ScriptedProvider([index(rows)], **described)


async def look_at_cases(
    subject: AccessSubject, cases: Sequence[Case], *, hint: str, scope: AccessScope = ALICE
) -> None:
    """Raise ``Violation`` unless in every mode exactly the rows are shown that should be."""
    for mode in AccessMode:
        for batch in _batches(cases):
            rows = [row(f"row-{place}", case.labels) for place, case in enumerate(batch)]
            async with subject.scoped(knowing(rows), replace(scope, mode=mode)) as scoped:
                exchange = await scoped.answer(REQUEST)
            for place, case in enumerate(batch):
                require(exchange, f"row-{place}", mode in case.modes, f"{_shown(case.labels)} in {mode}", hint)
                subject.observe()


def require(exchange: Exchange, name: str, visible: bool, why: str, hint: str) -> None:
    """Raise ``Violation`` unless the result of this id is there, or is not there, as it should be."""
    if (name in shown_ids(exchange)) is not visible:
        raise Violation(
            wanted=f"a result {'shown' if visible else 'withheld'}: {why}",
            saw="it was withheld" if visible else "it was shown",
            hint=hint,
        )


async def answer_of(
    subject: AccessSubject,
    rows: Sequence[Mapping[str, Any]],
    scope: AccessScope | None,
    identity: Identity = nobody,
    request: RetrievalRequest = REQUEST,
) -> Exchange:
    """What one search over these rows answers."""
    async with subject.scoped(knowing(rows), scope, identity) as scoped:
        return await scoped.answer(request)


def _batches(cases: Sequence[Case]) -> Iterator[list[Case]]:
    waiting = iter(cases)
    # As many as one search can give, so that nothing depends on asking for more.
    while batch := list(islice(waiting, limits.TOP_K_MAX)):
        yield batch


def _shown(labels: object) -> str:
    return "no labels" if labels in (None, {}) else f"labels {show(labels, limit=120)}"
