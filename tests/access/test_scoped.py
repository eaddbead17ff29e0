"""A provider of which each caller sees their own: filtering before normalising, asking for more, and failing."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

import pytest

from knowledge_conformance.report import Report
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import load
from knowledge_conformance.verdict import Verdict
from knowledge_fakes.handbook import HandbookProvider, SyncHandbookProvider
from knowledge_fakes.scripted import HeldProvider, ScriptedProvider, returning
from knowledge_provider import (
    CancelSignal,
    CompositeProvider,
    KnowledgeError,
    KnowledgeHost,
    KnowledgeProviderInvalidError,
    Outcome,
    RetrievalContext,
    RetrievalRequest,
    RetrievalResult,
)
from knowledge_provider.access import AccessMode, AccessScope, ScopedProvider
from knowledge_provider.errors import KnowledgeOwnerRequiredError, KnowledgeUnauthorizedError

ALICE = RetrievalContext(owner_id="alice", session_id="s", turn_id="t")
BOB = RetrievalContext(owner_id="bob")


def item(place: int, **labels: object) -> dict[str, Any]:
    return {"id": f"r{place}", "content": f"content {place}", "metadata": labels}


def records(*users: str) -> Callable[[RetrievalRequest, RetrievalContext], list[dict[str, Any]]]:
    """A back end that knows no access: the first of its records, each with a user."""
    return lambda request, _: [item(place, user_id=user) for place, user in enumerate(users)][: request.top_k]


def ids(provider: Any, context: RetrievalContext = ALICE, top_k: int = 2) -> list[str]:
    request = RetrievalRequest(query="q", top_k=top_k)
    answer = asyncio.run(ScopedProvider(provider).retrieve(request, context))
    return [result["id"] for result in answer["results"]]


def failing(provider: Any, scope: Any = None, **options: Any) -> KnowledgeError:
    scoped = ScopedProvider(provider) if scope is None else ScopedProvider(provider, scope)
    with pytest.raises(KnowledgeError) as caught:
        asyncio.run(scoped.retrieve(RetrievalRequest(query="q", **options), ALICE))
    return caught.value


def test_each_owner_sees_their_own() -> None:
    """By default the context's owner is the user; order stays."""
    provider = ScriptedProvider([records("alice", "bob", "alice")])
    assert (ids(provider, ALICE), ids(provider, BOB)) == (["r0", "r2"], ["r1"])


@pytest.mark.parametrize(
    ("users", "top_k", "asked", "seen"),
    [
        # Enough at once: nothing more is asked.
        (["alice"] * 4, 2, [2], ["r0", "r1"]),
        # Too few, and perhaps more.
        (["bob", "bob", "alice", "bob", "alice", "alice"], 2, [2, 8], ["r2", "r4"]),
        (["bob"] * 9, 2, [2, 8], []),
        # Fewer than asked for: that was all.
        (["bob", "alice"], 3, [3], ["r1"]),
        # Eight is the most that can be asked for.
        (["bob"] * 8 + ["alice"], 8, [8], []),
    ],
)
def test_more_is_asked_for_once_where_too_few_are_left(
    users: list[str], top_k: int, asked: list[int], seen: list[str]
) -> None:
    """Bounded: two calls at most, and never more than ``top_k`` results."""
    provider = ScriptedProvider([records(*users)])
    assert ids(provider, top_k=top_k) == seen
    assert [call.request.top_k for call in provider.calls] == asked


def test_what_was_found_stays_when_asking_for_more_fails() -> None:
    """With something to show, the second failure costs nothing; with nothing, it is no empty answer (5.10)."""
    down = ConnectionError("down")
    assert ids(ScriptedProvider([records("alice", "bob"), down])) == ["r0"]
    with pytest.raises(ConnectionError):
        ids(ScriptedProvider([records("bob", "bob"), down]))


def test_a_source_that_failed_the_second_time_is_not_nothing_known() -> None:
    """Clause 5.10: whichever answer is given on."""
    wiki = [{"key": "wiki", "status": "failed", "reason": "timeout"}]
    bobs = [item(place, user_id="bob") for place in range(8)]
    mine = item(9, user_id="alice")
    assert failing(ScriptedProvider([bobs[:2], {"results": bobs, "sources": wiki}]), top_k=2).code == (
        "knowledge_sources_incomplete"
    )
    provider = ScopedProvider(ScriptedProvider([[mine, bobs[0]], {"results": [mine, *bobs], "sources": wiki}]))
    answer = asyncio.run(provider.retrieve(RetrievalRequest(query="q", top_k=2), ALICE))
    assert (answer["results"], answer["sources"]) == ([mine], wiki)


def test_without_a_deadline_what_was_found_does_not_hang_with_the_second_question() -> None:
    """The provider's own time bounds it."""

    async def scene() -> Any:
        with HeldProvider([]) as slow:
            inner = ScriptedProvider([records("alice", "bob"), slow.retrieve])
            return await ScopedProvider(inner, timeout=0.05).retrieve(RetrievalRequest(query="q", top_k=2), ALICE)

    assert [result["id"] for result in asyncio.run(scene())["results"]] == ["r0"]


@pytest.mark.parametrize("blank", [{"content": " "}, {"content": ""}, {"id": ""}, {"id": "r0"}, {"content": None}])
def test_what_a_host_drops_takes_no_room(blank: dict[str, Any]) -> None:
    """Rule N7: no id, no content, or one that was there; the reader's own stand behind it."""
    first, second = item(0, user_id="alice"), item(1, user_id="alice")
    dropped = {**first, "id": "r9", **blank}
    assert ids(ScriptedProvider([[first, dropped, dropped, second]])) == ["r0", "r1"]
    unnamed = {"content": "c", "source": {"id": "doc"}, "metadata": {"user_id": "alice"}}
    answer = ScopedProvider(ScriptedProvider([[unnamed, unnamed]])).retrieve(RetrievalRequest(query="q"), ALICE)
    assert asyncio.run(answer)["results"] == [unnamed, unnamed]


def test_an_answer_of_which_nothing_is_left_is_given_on() -> None:
    """Clause 5.10: for a composite around it, that is no empty answer."""
    blank = {**item(0, user_id="alice"), "content": ""}
    answer = ScopedProvider(ScriptedProvider([[blank]])).retrieve(RetrievalRequest(query="q"), ALICE)
    assert asyncio.run(answer)["results"] == [blank]


def test_asking_for_more_ends_before_the_callers_deadline() -> None:
    """What the first question found is given on in time."""

    async def scene() -> list[str]:
        with HeldProvider([]) as slow:

            async def second(request: RetrievalRequest, context: RetrievalContext) -> Any:
                return await slow.retrieve(request, context)

            host = KnowledgeHost(ScopedProvider(ScriptedProvider([records("alice", "bob"), second])), timeout=0.4)
            outcome = await host.search("q", context=ALICE, top_k=2)
            return [result.id for result in outcome.results]

    began = time.monotonic()
    assert asyncio.run(scene()) == ["r0"]
    assert time.monotonic() - began < 3


def test_a_label_is_read_before_metadata_is_bounded() -> None:
    """Clause 11.3: behind a host, the seventeenth entry still counts, though nobody sees it."""
    hidden = {"id": "a", "content": "b", "metadata": {**{f"e{n}": n for n in range(16)}, "user_id": "bob"}}
    host = KnowledgeHost(ScopedProvider(ScriptedProvider([[hidden]])))
    assert asyncio.run(host.search("q", context=ALICE)).status == "not_found"
    assert asyncio.run(host.search("q", context=BOB)).results[0].id == "a"


@pytest.mark.parametrize(
    "wrap", [list, tuple, lambda items: {"results": items}, lambda items: {"results": tuple(items)}]
)
@pytest.mark.parametrize("write", [dict, RetrievalResult.model_validate])
def test_every_shape_of_an_answer_is_filtered(wrap: Any, write: Any) -> None:
    """As rule N1 reads it; what is neither dict nor model is left out."""
    answer = wrap([write(item(0, user_id="bob")), write(item(1, user_id="alice"))])
    outcome = asyncio.run(
        KnowledgeHost(ScopedProvider(ScriptedProvider([returning(answer)]))).search("q", context=ALICE)
    )
    assert [result.id for result in outcome.results] == ["r1"]


def test_nothing_of_what_is_withheld_reaches_the_model(caplog: pytest.LogCaptureFixture) -> None:
    """Field case 85: no count and no name; the log has the reason, the label and the count, and no value."""
    reports = [
        {"key": "hr-private", "status": "hit", "count": 17},
        {"key": "wiki", "status": "failed", "reason": "timeout", "count": 0},
    ]
    items = [item(0, user_id="bob"), item(1, user_id=4711), item(2, user_id="alice")]
    provider = ScopedProvider(ScriptedProvider([{"results": items, "sources": reports}]))
    with caplog.at_level(logging.INFO, "knowledge_provider"):
        outcome = asyncio.run(KnowledgeHost(provider).search("q", context=ALICE))
    shown = outcome.to_dict()
    assert [result["id"] for result in shown["results"]] == ["r2"]
    assert shown["sources"] == [{"key": "wiki", "status": "failed", "reason": "timeout"}]
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", "scripted: withheld 1 results: label_mismatch (user_id)"),
        ("WARNING", "scripted: withheld 1 results: label_invalid (user_id)"),
    ]


def test_nothing_to_show_beside_a_failed_source_is_not_nothing_known() -> None:
    """Clause 9.4."""
    children = {"a": ScriptedProvider([[item(0, user_id="bob")]]), "b": ScriptedProvider([ConnectionError("down")])}
    assert failing(CompositeProvider(children)).code == "knowledge_sources_incomplete"


@pytest.mark.parametrize("answer", ["text", None, 5, {"documents": []}, {"results": "text"}, ["text"], [None, 5]])
def test_what_cannot_be_filtered_is_not_shown(answer: object) -> None:
    """Clause 5.10: nor does it look like nothing found."""
    assert failing(ScriptedProvider([returning(answer)])).code == "knowledge_invalid_response"


def test_the_inner_providers_error_comes_through() -> None:
    """With its code; what would end the caller's task is wrapped."""
    assert failing(ScriptedProvider([KnowledgeUnauthorizedError("no")])).code == "knowledge_unauthorized"
    for ends in (SystemExit(1), asyncio.CancelledError()):
        error = failing(ScriptedProvider([ends]))
        assert (error.code, error.__cause__) == ("knowledge_provider_failed", ends)


def test_a_deadline_ends_the_wait() -> None:
    """A time-out with the contract's code, and not an empty answer."""

    async def scene() -> None:
        with HeldProvider() as hanging:
            signal = CancelSignal(deadline=time.monotonic() + 0.05)
            context = RetrievalContext(owner_id="alice", signal=signal)
            await ScopedProvider(hanging).retrieve(RetrievalRequest(query="q"), context)

    with pytest.raises(KnowledgeError) as caught:
        asyncio.run(scene())
    assert caught.value.code == "knowledge_timeout"


def test_a_callers_cancellation_reaches_the_inner_provider() -> None:
    """Clause 7.1: through the signal, and out as what it is."""

    async def scene() -> tuple[bool, bool]:
        with HeldProvider() as inner:
            context = RetrievalContext(owner_id="alice")
            task = asyncio.create_task(ScopedProvider(inner).retrieve(RetrievalRequest(query="q"), context))
            await inner.started.wait()
            context.signal.cancel()
            await asyncio.wait({task})
            return task.cancelled(), inner.cancelled.is_set()

    assert asyncio.run(scene()) == (True, True)


def test_the_scope_may_be_fixed_or_depend_on_the_context() -> None:
    """A deployment's own, or what a login knows; the request has no part in it (4.2)."""
    provider = ScriptedProvider([[item(0, tenant_id="acme"), item(1)]])
    request = RetrievalRequest(query="q", filters={"tenant_id": "acme", "mode": "permissive"})
    fixed = ScopedProvider(provider, AccessScope(tenant_id="acme"))
    read = ScopedProvider(provider, lambda context: AccessScope(AccessMode.PERMISSIVE, user_id=context.owner_id))
    shown = [asyncio.run(each.retrieve(request, ALICE))["results"] for each in (fixed, read, ScopedProvider(provider))]
    assert [[result["id"] for result in results] for results in shown] == [["r0"], ["r1"], []]


def test_a_model_cannot_ask_as_somebody_else() -> None:
    """Field case 81, clause 11.5: whatever identity it writes into a tool's arguments."""
    written = {
        "query": "salary",
        "user_id": "bob",
        "owner_id": "bob",
        "filters": {"user_id": "bob"},
        "roles": ["admin"],
    }
    host = KnowledgeHost(ScopedProvider(ScriptedProvider([records("bob", "alice")])))
    outcome = asyncio.run(host.call_tool({**written, "context": written}, ALICE))
    assert [result.id for result in outcome.results] == ["r1"]


@pytest.mark.parametrize(
    ("scope", "code"),
    [
        (lambda _: None, "knowledge_provider_failed"),
        (lambda _: 1 / 0, "knowledge_provider_failed"),
    ],
)
def test_without_a_scope_nobody_is_asked(scope: Any, code: str) -> None:
    """A function that fails to give one must not become permissive."""
    provider = ScriptedProvider([records("alice")])
    assert failing(provider, scope).code == code
    assert provider.calls == []


def test_a_scope_function_may_refuse() -> None:
    """With an error of the contract, which comes through."""

    def refuse(context: RetrievalContext) -> AccessScope:
        raise KnowledgeOwnerRequiredError("no login")

    assert failing(ScriptedProvider([records("alice")]), refuse).code == "knowledge_owner_required"


def test_it_is_described_asked_for_health_and_closed_as_the_inner_one() -> None:
    """A search after closing raises (2.2)."""

    async def scene() -> tuple[Any, ...]:
        inner = ScriptedProvider(key="wiki", capabilities={"filters": True}, health={"status": "degraded"})
        scoped = ScopedProvider(inner)
        before = await scoped.health(CancelSignal())
        await scoped.close()
        with pytest.raises(KnowledgeError, match="closed"):
            await scoped.retrieve(RetrievalRequest(query="q"), ALICE)
        return scoped.describe(), before, await scoped.health(CancelSignal()), inner.closed, scoped.abandoned

    described, before, after, closed, abandoned = asyncio.run(scene())
    assert (described["key"], described["capabilities"]) == ("wiki", {"filters": True})
    assert (before["status"], after["status"], closed, abandoned) == ("degraded", "unavailable", 1, 0)


def test_a_provider_that_cannot_be_closed_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """By what it raised, and where, without its text (10.8)."""

    def closing() -> None:
        raise ValueError("key 4711")

    asyncio.run(ScopedProvider(ScriptedProvider(closing=closing)).close())
    (said,) = (record.getMessage() for record in caplog.records)
    assert said.startswith("close() of the knowledge provider scripted raised ValueError at test_scoped.py:")
    assert said.endswith(" in closing")


def test_it_composes() -> None:
    """Around a composite, inside one, and around itself."""
    inner = ScriptedProvider([records("alice", "bob")])
    nested = ScopedProvider(ScopedProvider(inner))
    assert ids(nested) == ["r0"]
    assert ids(CompositeProvider({"a": inner, "b": ScopedProvider(inner)}), top_k=4) == ["a:r0", "b:r0"]


async def async_scope(_: RetrievalContext) -> AccessScope:
    return AccessScope()


class AsyncScope:
    async def __call__(self, _: RetrievalContext) -> AccessScope:
        return AccessScope()


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: ScopedProvider(ScriptedProvider(), async_scope), TypeError, "got an async one"),  # type: ignore[arg-type]  # wrong
        (lambda: ScopedProvider(ScriptedProvider(), AsyncScope()), TypeError, "got an async one"),  # type: ignore[arg-type]  # wrong
        (lambda: ScopedProvider(object()), KnowledgeProviderInvalidError, "retrieve"),
        (lambda: ScopedProvider(ScriptedProvider(), None), TypeError, "scope must be an AccessScope or"),  # type: ignore[arg-type]  # wrong
        (lambda: ScopedProvider(ScriptedProvider(), timeout=0), ValueError, "timeout"),
    ],
)
def test_mistakes_are_refused_when_it_is_made(make: Callable[[], object], error: type[Exception], says: str) -> None:
    """Never at the first turn."""
    with pytest.raises(error, match=says):
        make()


def open_handbook() -> ScopedProvider:
    """The handbook for whoever asks: it has no labels."""
    return ScopedProvider(HandbookProvider(), AccessScope(AccessMode.PERMISSIVE))


def open_sync_handbook() -> ScopedProvider:
    return ScopedProvider(SyncHandbookProvider(), AccessScope(AccessMode.PERMISSIVE))


@pytest.mark.parametrize("name", ["open_handbook", "open_sync_handbook"])
def test_it_keeps_the_contract_of_a_provider(name: str) -> None:
    """Every check of the kit that a fresh provider can be put to."""
    report: Report = Run(load(f"{__name__}:{name}"), Settings(queries=("release policy", "lost laptop"))).all()
    assert report.verdict is Verdict.CONFORMANT, [check for check in report.checks if check.saw]


def test_an_outcome_is_an_answer_too() -> None:
    """Rule N1 reads the contract's own model."""
    given = Outcome.model_validate({"status": "ok", "query": "q", "results": [item(0, user_id="alice"), item(1)]})
    provider = ScriptedProvider([returning(given)])
    answer = asyncio.run(ScopedProvider(provider).retrieve(RetrievalRequest(query="q"), ALICE))
    assert [result.id for result in answer["results"]] == ["r0"]
