"""Clause 9.5: what becomes of the children's results and claims. Knows ids, order and capabilities, no failure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any, Final

from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.composite_children import (
    REQUEST,
    Order,
    finding,
    in_order,
    names_in,
    passage,
    text,
)
from knowledge_conformance.composite_subject import CompositeSubject
from knowledge_conformance.exchange import text_of
from knowledge_conformance.render import show
from knowledge_fakes.scripted import ScriptedProvider
from knowledge_provider import RetrievalRequest, RetrievalResult, limits, normalize_response
from knowledge_provider.text import short_text

_LONG: Final = ("handbook/chapter/" * 10)[: limits.RESULT_ID_MAX - 1]
# Joined with a hyphen, or with nothing, some of these would be the same; some are as long as an id may be.
_IDS: Final[Mapping[str, tuple[str, ...]]] = {
    "a": ("same", "b-1", "b1", f"{_LONG}1", f"{_LONG}2"),
    "a-b": ("1",),
    "ab": ("1", "same"),
}
_BY_ORIGIN: Final = "make an id of the child's key and its own id, with a separator that no key has; hash what is long"

# By score they would stand in neither of the two orders.
_SCORES: Final[Mapping[str, Mapping[str, float]]] = {
    "a": {"a1": 0.9, "a2": 0.2, "a3": 0.1},
    "b": {"b1": 0.95},
    "c": {"c1": 0.5, "c2": 0.4},
}
_NAMES: Final = tuple(name for names in _SCORES.values() for name in names)


# Clause 9.5
@check("KP-909", clause="9.5", level=Level.MUST)
async def ids_are_unique_and_stable(subject: CompositeSubject) -> None:
    """A result's id is unique among all children's, and always the same for the same result of the same child.

    A host drops the later of two equal ids (it reads 160 characters), and an agent that comes back to an id must find
    the same passage: whoever answered first, whatever failed, wherever in the list or the configuration it stands.
    """
    everyone = tuple(_IDS)
    first = await _ids(subject, everyone)
    expected = [text(f"{key} {own}") for key, ids in _IDS.items() for own in ids]
    ids = [first.get(content) for content in expected]
    if None in ids or len(set(ids)) < len(ids):
        raise _collision(expected, first)
    subject.observe(len(ids))
    for how, again in (
        ("asked again", await _ids(subject, everyone)),
        ("when the children answer the other way round", await _ids(subject, everyone, arriving=everyone[::-1])),
        ("when another child fails", await _ids(subject, everyone, failing="a")),
        ("when a child lists its results the other way round", await _ids(subject, everyone, step=-1)),
        ("when the children are given the other way round", await _ids(subject, everyone[::-1])),
    ):
        _require_same(first, again, how)
        subject.observe()


async def _ids(
    subject: CompositeSubject, keys: Sequence[str], *, arriving: Sequence[str] = (), step: int = 1, failing: str = ""
) -> dict[str, str]:
    """The id of each content, as a host reads it, in the answer of a composite over the children in this order."""
    order = Order(arriving or keys)

    def child(key: str) -> ScriptedProvider:
        return in_order(order, key, lambda *_: _rows(key, step, fails=key == failing))

    async with subject.composed({key: child(key) for key in keys}) as composite:
        exchange = await composite.ask(REQUEST)
    read = {short_text(text_of(entry, "id"), limits.RESULT_ID_MAX): entry for _, entry in reversed(exchange.entries)}
    return {str(text_of(entry, "content")): read_id for read_id, entry in read.items()}


def _rows(key: str, step: int, *, fails: bool) -> dict[str, Any]:
    if fails:
        raise ConnectionError("the back end is down")
    return {"results": [{"id": own, "content": text(f"{key} {own}")} for own in _IDS[key][::step]]}


def _collision(expected: Sequence[str], found: Mapping[str, str]) -> Violation:
    lost = next(content for content in expected if content not in found)
    return Violation(
        wanted=f"a different id for each of {len(expected)} results of {len(_IDS)} children, as a host reads it",
        saw=f"{len(found)} of them, without {show(lost[:60])}",
        hint=_BY_ORIGIN,
    )


def _require_same(first: Mapping[str, str], again: Mapping[str, str], how: str) -> None:
    for content, found in again.items():
        if content in first and found != first[content]:
            raise Violation(
                wanted=f"the id {show(first[content])} for the same result {how}",
                saw=show(found),
                hint=_BY_ORIGIN,
            )


# Clause 9.5
@check("KP-910", clause="9.5", level=Level.MUST)
async def results_are_taken_in_turn(subject: CompositeSubject) -> None:
    """Results stand in turn from each child in its own order, or one child's after another's, up to top_k.

    Scores of different stores cannot be compared, and who answers first is chance. More than top_k is more than the
    host has room for.
    """
    orders: list[Callable[[int], list[str]]] = [_in_turn, _concatenated]
    for top_k in (8, 4):
        for arriving in (tuple(_SCORES), tuple(_SCORES)[::-1]):
            found = await _ordered(subject, top_k, arriving)
            orders = [order for order in orders if order(top_k) == found]
            if not orders:
                raise _disorder(found, top_k)
            subject.observe()
    await _bounded(subject)


async def _ordered(subject: CompositeSubject, top_k: int, arriving: Sequence[str]) -> list[str]:
    order = Order(arriving)

    def child(key: str) -> ScriptedProvider:
        rows = [passage(name, score=score) for name, score in _SCORES[key].items()]
        return in_order(order, key, lambda *_: {"results": rows}, capabilities={"scores": True})

    async with subject.composed({key: child(key) for key in _SCORES}) as composite:
        return names_in(await composite.answer(RetrievalRequest(query="release policy", top_k=top_k)), _NAMES)


async def _bounded(subject: CompositeSubject) -> None:
    """A child that gives more than it was asked for does not make the whole exceed ``top_k`` either."""
    names = [f"more-{number}" for number in range(limits.TOP_K_MAX)]
    children = {"many": finding("many", *names), "few": finding("few", "one")}
    async with subject.composed(children) as composite:
        exchange = await composite.answer(RetrievalRequest(query="release policy", top_k=3))
    if exchange.count > exchange.request.top_k:
        raise _disorder(names_in(exchange, [*names, "one"]), exchange.request.top_k)
    subject.observe()


def _in_turn(top_k: int) -> list[str]:
    rounds: Iterator[tuple[str | None, ...]] = zip_longest(*_SCORES.values())
    return [name for name in chain.from_iterable(rounds) if name is not None][:top_k]


def _concatenated(top_k: int) -> list[str]:
    return list(_NAMES[:top_k])


def _disorder(found: Sequence[str], top_k: int) -> Violation:
    return Violation(
        wanted=f"{', '.join(_in_turn(top_k))} with top_k = {top_k} (or {', '.join(_concatenated(top_k))})"
        if set(found) <= set(_NAMES)
        else f"at most top_k = {top_k} results",
        saw=f"{len(found)} results: {', '.join(found)}",
        hint="take one of each child in turn, in the order in which the children were given, and stop at top_k",
    )


# Clause 9.5
@check("KP-926", clause="9.5", level=Level.MUST)
async def results_stay_what_they_are(subject: CompositeSubject) -> None:
    """A child's result keeps its content, its source and its metadata.

    Without its source a passage cannot be cited, and who relies on metadata relies on the child's. Only what a host
    would change anyway may change: rules N1 to N11.
    """
    children = {
        "full": ScriptedProvider([lambda *_: {"results": _full()}], key="full"),
        "other": finding("other", "one"),
    }
    async with subject.composed(children) as composite:
        exchange = await composite.answer(REQUEST)
    found = {result.content: _rest(result) for result in _normalized(exchange.response)}
    for wanted in _normalized({"results": _full()}):
        _require_same_fields(_rest(wanted), found.get(wanted.content))
        subject.observe()


def _require_same_fields(wanted: Mapping[str, Any], found: Mapping[str, Any] | None) -> None:
    for name, held in wanted.items():
        if found is None or found[name] != held:
            raise Violation(
                wanted=f"a result with its content, and with the {name} {show(held)}",
                saw="no result with its content" if found is None else f"the {name} {show(found[name])}",
                hint="hand on a result as it is, but for its id and its score",
            )


def _full() -> list[dict[str, Any]]:
    source = {
        "id": "d",
        "title": "Approvals",
        "uri": "https://a.example.com/d",
        "mimeType": "text/plain",
        "locator": "p 3",
    }
    metadata = {"department": "people", "revision": 3, "binding": True, "weight": 0.5, "note": ""}
    return [
        {"id": "f1", "content": "First line\n\tand a second one, 审批 🚢", "source": source, "metadata": metadata},
        {"id": "f2", "content": "word " * 799 + "word", "source": {"title": "Only a title"}},
        {"id": "f3", "content": "Nothing but metadata", "metadata": {"department": "finance"}},
    ]


def _normalized(response: object) -> Sequence[RetrievalResult]:
    return normalize_response(response, query=REQUEST.query, limit=limits.TOP_K_MAX).results


def _rest(result: RetrievalResult) -> dict[str, Any]:
    source = {} if result.source is None else result.source.model_dump(exclude_none=True)
    return {"source": source, "metadata": result.metadata}


# Clause 9.5
@check("KP-911", clause="9.5", level=Level.MUST)
async def capabilities_are_those_of_all(subject: CompositeSubject) -> None:
    """A composite claims scores never, filters when every child does, and citations when any does.

    Filters that one child ignores would let through what they exclude. Scores of different stores make no ranking.
    """
    every = {"filters": True, "scores": True, "citations": True}
    for claims, filters, citations in (
        ((every, every), True, True),
        ((every, {}), False, True),
        (({}, every), False, True),
        (({"scores": True}, {"filters": True, "citations": False}), False, False),
    ):
        children = {key: finding(key, capabilities=claimed) for key, claimed in zip("ab", claims, strict=True)}
        async with subject.composed(children) as composite:
            said = (await composite.describe()).capabilities
        for name, wanted in (("scores", False), ("filters", filters), ("citations", citations)):
            if said.get(name, False) is not wanted:
                raise Violation(
                    wanted=f"{name} {'claimed' if wanted else 'not claimed'} where the children claim "
                    f"{' and '.join(map(_claimed, claims))}",
                    saw=show(said),
                    hint="scores: False, filters: all(...), citations: any(...) over the children's descriptions",
                )
        subject.observe()


def _claimed(claims: Mapping[str, bool]) -> str:
    return "+".join(name for name, claimed in claims.items() if claimed) or "nothing"


CHECKS: Final[tuple[Check, ...]] = (
    ids_are_unique_and_stable,
    results_are_taken_in_turn,
    results_stay_what_they_are,
    capabilities_are_those_of_all,
)
