"""Labelled rows, and who sees which of them: the finding says which labels, in which mode."""

import asyncio
from typing import Any

import pytest

from knowledge_conformance.access_subject import AccessSubject
from knowledge_conformance.check import Violation
from knowledge_conformance.checks.access_rows import DENY, PERMISSIVE, REQUEST, index, look_at_cases, row, seen
from knowledge_conformance.settings import Settings
from knowledge_fakes.plain_access import PlainAccess, Reader
from knowledge_provider import RetrievalContext
from knowledge_provider.access import AccessMode

CASES = [seen(None, PERMISSIVE), *[seen({"allowed_roles": "editor"}, PERMISSIVE, DENY)] * 9]


def look(make: Any, *, hint: str = "h") -> AccessSubject:
    subject = AccessSubject(make, Settings(), announce=lambda *_: None)
    asyncio.run(look_at_cases(subject, CASES, hint=hint))
    return subject


def test_every_case_is_looked_at_in_every_mode() -> None:
    """Also those that have no place in one search."""
    assert look(PlainAccess).observations == len(CASES) * len(AccessMode)


@pytest.mark.parametrize(
    ("visible", "finding"),
    [
        (True, r"a result withheld: no labels in public_only; saw it was shown"),
        (False, r"a result shown: no labels in permissive; saw it was withheld"),
    ],
)
def test_a_finding_names_labels_and_mode(visible: bool, finding: str) -> None:
    """Whether too much is shown or too little."""

    class Always(PlainAccess):
        def may_see(self, labels: Any, reader: Reader) -> bool:
            return visible

    with pytest.raises(Violation, match=finding) as caught:
        look(Always, hint="read the labels")
    assert caught.value.hint == "read the labels"


def test_a_back_end_gives_fresh_rows_as_many_as_asked_for() -> None:
    """What a rule does to one stays its own."""
    answer = index([row("a"), row("b", {"user_id": "x"}), row("c")])
    asked = REQUEST.model_copy(update={"top_k": 2})
    first = answer(asked, RetrievalContext(owner_id="x"))
    first[0]["id"] = "changed"
    assert [each["id"] for each in answer(asked, RetrievalContext(owner_id="x"))] == ["a", "b"]
    assert "metadata" not in first[0]
