"""Who of the settings sees what, and what of another's an answer holds."""

from typing import Any

import pytest

from knowledge_conformance.check import Inapplicable, Inconclusive
from knowledge_conformance.exchange import Exchange
from knowledge_conformance.ownership import (
    Secret,
    alone_of,
    crossed,
    ids_of,
    owners_of,
    pair_of,
    reached,
    require_own,
    secret_of,
)
from knowledge_conformance.settings import Settings
from knowledge_provider import RetrievalContext, RetrievalRequest

LONG = "The letter asks for the higher band from July on."
SETTINGS = Settings.model_validate(
    {
        "owners": {
            "mara": {"query": "dentist", "sees": ["m-1", "shared"], "never": ["x-9"]},
            "tomas": {"query": "salary", "sees": ["t-1", "shared"]},
        }
    }
)
MARA, TOMAS = owners_of(SETTINGS)


def answer(*rows: dict[str, Any], owner: str = "mara") -> Exchange:
    context = RetrievalContext(owner_id=owner)
    return Exchange(RetrievalRequest(query="salary"), context, {"results": list(rows)})


def row(name: str, content: str = "text", **fields: Any) -> dict[str, Any]:
    return {"id": name, "content": content, **fields}


def test_what_only_another_sees_is_foreign() -> None:
    """With what the settings say never comes; what both see is neither's secret."""
    assert MARA.foreign == {"t-1", "x-9"}
    assert TOMAS.foreign == {"m-1"}
    assert pair_of([MARA, TOMAS]) == (MARA, TOMAS)


def test_without_owners_it_does_not_apply() -> None:
    """And the text says what to set."""
    with pytest.raises(Inapplicable, match=r"\[owners\]"):
        owners_of(Settings())


@pytest.mark.parametrize(
    "owners",
    [
        {"mara": {"query": "q", "sees": ["a"], "never": ["b"]}},
        {"mara": {"query": "q", "sees": ["a"]}, "tomas": {"query": "q", "sees": ["a"]}},
        {"mara": {"query": "q"}, "tomas": {"query": "q"}},
    ],
    ids=["one", "the same", "nothing"],
)
def test_owners_that_nothing_tells_apart_are_inconclusive(owners: Any) -> None:
    """What never comes to the only owner may be missing because it is nowhere."""
    with pytest.raises(Inconclusive, match="no two owners apart") as found:
        owners_of(Settings.model_validate({"owners": owners}))
    assert "two owners" in found.value.hint


def test_a_foreign_id_is_reached() -> None:
    """As a host reads ids: without the white space around them, and under an alias."""
    secret = secret_of(MARA, [])
    assert reached(answer(row("m-1"), row("shared")), secret) is None
    assert reached(answer(row("m-1"), row("t-1")), secret) == "the result 't-1'"
    assert reached(answer(row(" t-1\n")), secret) == "the result 't-1'"
    assert reached(answer({"chunkId": "t-1", "content": "x"}), secret) == "the result 't-1'"


@pytest.mark.parametrize(
    "held",
    [row("m-7", LONG), row("m-7", f"before {LONG} after"), row("m-7", metadata={"summary": LONG})],
    ids=["content", "within it", "metadata"],
)
def test_a_foreign_content_is_reached_under_any_id(held: dict[str, Any]) -> None:
    """A provider that numbers its results gives each caller the same ids."""
    secret = secret_of(MARA, [answer(row("t-1", LONG), owner="tomas")])
    assert reached(answer(held), secret) == "the content of a document under another id"


def test_a_short_content_proves_nothing() -> None:
    """Many documents hold the same few words."""
    secret = secret_of(MARA, [answer(row("t-1", "Yes."), owner="tomas")])
    assert secret == Secret(MARA.foreign)
    assert reached(answer(row("m-1", "Yes.")), secret) is None


def test_without_its_own_nothing_follows() -> None:
    """An owner who gets nothing gets nothing of another's either."""
    require_own(MARA, answer(row("shared"), row("m-1")))
    with pytest.raises(Inconclusive, match="'m-1', which the settings promise to the owner 'mara'"):
        require_own(MARA, answer(row("shared")))


def test_ids_in_their_order() -> None:
    """What has none counts as an empty one."""
    assert ids_of(answer(row("b"), {"content": "x"}, row("a"))) == ["b", "", "a"]


def test_the_finding_names_who_got_it() -> None:
    """And the call."""
    found = crossed(answer(row("t-1")), "the result 't-1'", wanted="nothing", hint="look")
    assert found.saw == "the result 't-1', which is another's, in an answer to the owner 'mara'"
    assert found.where is not None
    assert "'salary'" in found.where


def test_what_an_owner_sees_alone_no_other_sees() -> None:
    """Not even one of several."""
    assert alone_of(MARA, [MARA, TOMAS]) == {"m-1"}
    assert alone_of(TOMAS, [MARA, TOMAS]) == {"t-1"}
    also = MARA._replace(name="MARA", foreign=frozenset({"t-1"}))
    assert alone_of(MARA, [MARA, TOMAS, also]) == frozenset()
