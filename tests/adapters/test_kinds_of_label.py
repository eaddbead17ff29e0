"""Labels that no other metadata would survive as, behind each of the six adapters (clause 11.3)."""

import asyncio
from typing import Any

import pytest
from faulty import each_adapter
from llama_index_subjects import Answering, node, over, scored
from six_vendors import Record, answering

from knowledge_provider import KnowledgeHost, RetrievalContext
from knowledge_provider.access import AccessMode, AccessScope, ScopedProvider, allows

ALICE = AccessScope(AccessMode.PERMISSIVE, user_id="alice")
MANY: dict[str, Any] = {f"entry {place}": place for place in range(200)}
LONG = ", ".join(f"user-{place}" for place in range(200))
LABELLED: dict[str, tuple[dict[str, Any], bool]] = {
    "a list": ({"visibility": "public", "allowed_users": ["bob"]}, False),
    "an object": ({"visibility": "public", "tenant_id": {"id": "other"}}, False),
    "behind many": ({"visibility": "public", **MANY, "user_id": "bob"}, False),
    "cut into another": ({"allowed_users": ",".join(["u" * 99] * 4 + ["x" * 94, "alicemont"])}, False),
    "in a long list": ({"allowed_users": f"{LONG}, alice"}, True),
    "not in a long list": ({"allowed_users": LONG}, False),
    "with an invisible letter": ({"user_id": "ali\u202ece"}, False),
    "under a name with a mark": ({"visibility": "public", "\ufeffuser_id": "bob"}, False),
    "under two names": ({"user_id": "alice", "user_id ": "bob"}, False),
    "a link": ({"user_id": "https://id.example.org/bob#1", "visibility": "public"}, False),
    "mine": ({**MANY, "user_id": " alice "}, True),
}


async def seen(provider: Any) -> list[str]:
    host = KnowledgeHost(ScopedProvider(provider, ALICE))
    try:
        outcome = await host.search("q", context=RetrievalContext(owner_id="alice"), top_k=8)
        return [result.content for result in outcome.results]
    finally:
        await host.close()


@each_adapter
@pytest.mark.parametrize("label", LABELLED)
def test_what_a_label_forbids_is_shown_behind_no_adapter(name: str, label: str) -> None:
    """And what it allows is, as by the rule on the record's own metadata."""
    metadata, visible = LABELLED[label]
    records = [Record(label, "1", metadata=metadata), Record("public", "2", metadata={"visibility": "public"})]
    assert asyncio.run(seen(answering(name, records))) == ([label, "public"] if visible else ["public"])
    assert allows(metadata, ALICE) is visible


def test_what_llama_index_keeps_from_the_model_still_says_who_may_read_it() -> None:
    """Who excludes a label from the model's eyes does not share it with everybody."""
    bobs = node("b", metadata={"user_id": "bob", "page": 3}, excluded_llm_metadata_keys=["user_id", "page"])
    provider = over(Answering(scored(bobs), scored(node("a", text="mine", metadata={"user_id": "alice"}))))
    assert asyncio.run(seen(provider)) == ["mine"]
