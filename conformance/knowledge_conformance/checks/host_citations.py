"""Clause 8.9: the citations of a turn. Knows links that the URI policy keeps, and no other rule of normalising."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from knowledge_conformance.check import Check, Inconclusive, Level, Violation, check
from knowledge_conformance.host_subject import DrivenHost, HostSubject
from knowledge_conformance.outcomes import entries
from knowledge_conformance.render import show
from knowledge_fakes.scripted import ScriptedProvider

_TURNS: Final = 4
# Beyond what a host keeps by default; one whose factory takes no ``turns`` is asked so many.
_MANY_TURNS: Final = 2048
_AT_ONCE: Final = 8
_ANOTHER: Final[tuple[dict[str, str], ...]] = (
    {"turn_id": "another turn"},
    {"session_id": "another session"},
)


def _page(name: str, words: str = "text", **source: str) -> dict[str, Any]:
    return {"id": f"id of {name}", "content": words, "source": {"uri": f"https://example.org/{name}", **source}}


def _cited(outcome: Mapping[str, Any]) -> dict[str, str]:
    """The citation of each page, by the page's name."""
    return {str(each.get("url")).rpartition("/")[2]: str(each.get("id")) for each in entries(outcome, "citations")}


# Clause 8.9
@check("KP-817", clause="8.9", level=Level.MUST, needs=("KP-854",))
async def citations_hold_for_the_turn(subject: HostSubject) -> None:
    """In one turn the same link has the same citation in every search, with the title and snippet first seen.

    An answer that an agent has spoken says [source_1]; a later search must not make that another page, nor another
    name for it. Ids count from source_1 in the order in which links are first seen.
    """
    first = [_page("a", "first words", title="First title"), {"id": "no link", "content": "text"}, _page("b")]
    later = [_page("c"), _page("a", "other words", title="Other title")]
    provider = ScriptedProvider([first, later, first])
    async with subject.host(provider) as host:
        outcomes = [await host.search(query) for query in ("one question", "another", "the first again")]
    for outcome, wanted in zip(outcomes, ({"a": 1, "b": 2}, {"c": 3, "a": 1}, {"a": 1, "b": 2}), strict=True):
        _is_cited(outcome, {name: f"source_{number}" for name, number in wanted.items()})
        _first_seen(outcome)
        subject.observe()


def _is_cited(outcome: Mapping[str, Any], wanted: Mapping[str, str]) -> None:
    cited = _cited(outcome)
    named = [each.get("citation_id") for each in entries(outcome, "results") if each.get("url")]
    if cited != wanted or named != [*wanted.values()]:
        raise Violation(
            wanted=f"the citations {show(dict(wanted))} of the turn so far",
            saw=f"{show(cited)}, and results that name {show(named)}",
            hint="keep one CitationLedger for each turn, and hand it to normalize_response",
        )


def _first_seen(outcome: Mapping[str, Any]) -> None:
    for citation in entries(outcome, "citations"):
        came = citation.get("title"), citation.get("snippet")
        if citation.get("id") == "source_1" and came != ("First title", "first words"):
            raise Violation(
                wanted="the title and the snippet that the turn saw first",
                saw=f"{show(came[0])} and {show(came[1])}",
                hint="a link that the turn has cited already keeps its citation as it is",
            )


# Clause 8.9
@check("KP-852", clause="8.9", level=Level.MUST, needs=("KP-817",))
async def searches_at_once_share_the_turn(subject: HostSubject) -> None:
    """Searches of one turn that run at the same time do not give one citation to two links.

    An agent that asks several questions at once would mix up its sources.
    """
    provider = ScriptedProvider([_later([_page(f"page-{place}")]) for place in range(_AT_ONCE)])
    async with subject.host(provider) as host:
        outcomes = await asyncio.gather(*(host.search(f"question {place}") for place in range(_AT_ONCE)))
    ids = sorted(number for outcome in outcomes for number in _cited(outcome).values())
    if ids != sorted(f"source_{place}" for place in range(1, _AT_ONCE + 1)):
        raise Violation(
            wanted=f"the citations source_1 to source_{_AT_ONCE} for {_AT_ONCE} links",
            saw=show(ids, limit=200),
            hint="take the ledger of the turn where the answer is normalised, and not before the provider is asked",
        )
    subject.observe()


def _later(answer: Sequence[object]) -> Any:
    async def answered(*_: object) -> Sequence[object]:
        await asyncio.sleep(0)
        return answer

    return answered


# Clause 8.9
@check("KP-818", clause="8.9", level=Level.MUST, needs=("KP-817",))
async def another_turn_starts_again(subject: HostSubject) -> None:
    """Another turn, or another session's with the same id: citations start again, and know nothing of the first.

    Turns are counted from one in each session, so the id of a turn alone is not one turn.
    """
    await _starts_again(subject, _ANOTHER)


# Clause 8.9
@check("KP-865", clause="8.9", level=Level.SHOULD, needs=("KP-818",))
async def another_owner_starts_again(subject: HostSubject) -> None:
    """Another owner's citations start again, also when session and turn have the same ids.

    Such ids collide where each client counts for itself, and a title that one owner's search has seen must not reach
    another. The contract names session and turn alone, so a host may trust that they are unique.
    """
    await _starts_again(subject, ({"owner_id": "another owner"},))


async def _starts_again(subject: HostSubject, others: Sequence[Mapping[str, str]]) -> None:
    provider = ScriptedProvider([[_page("z"), _page("a", title="Of one"), _page("b")], [_page("a", title="Of two")]])
    async with subject.host(provider) as host:
        await host.search()
        for other in others:
            outcome = await host.search(context=subject.context(**other))
            _is_cited(outcome, {"a": "source_1"})
            titles = [citation.get("title") for citation in entries(outcome, "citations")]
            if titles != ["Of two"]:
                raise Violation(
                    wanted=f"the title that this search saw, for {show(next(iter(other.values())))}",
                    saw=show(titles),
                    hint="keep the ledgers by owner, session and turn",
                )
            subject.observe()


# Clause 8.9
@check("KP-842", clause="8.9", level=Level.MUST, needs=("KP-818",))
async def turns_are_forgotten(subject: HostSubject) -> None:
    """What a host remembers of turns is bounded, and the turn that was used least recently goes first.

    A host lives for months. A factory that takes ``turns`` is asked for four; another is asked for more turns than any
    user has open.
    """
    provider = ScriptedProvider([[_page("old"), _page("new")], [_page("new")]])
    if subject.takes("turns"):
        async with subject.host(provider, turns=_TURNS) as host:
            await _forgets_in_order(subject, host)
    else:
        async with subject.host(provider) as host:
            await _number(subject, host, "first")
            await _others(subject, host, _MANY_TURNS, "after it")
            await _forgot(subject, host)
    subject.observe()


async def _forgets_in_order(subject: HostSubject, host: DrivenHost) -> None:
    numbers = [await _number(subject, host, "first")]
    for others in (_TURNS - 1, _TURNS - 1, _TURNS):
        await _others(subject, host, others, f"after {len(numbers)}")
        numbers.append(await _number(subject, host, "first"))
    # The first link of an answer with two is the old one; alone, the new one is the second while the turn is known.
    if numbers != ["source_2", "source_2", "source_2", "source_1"]:
        raise Violation(
            wanted=f"a turn to be known as long as fewer than {_TURNS} others were used after it, and no longer",
            saw=f"a link of it cited as {', '.join(numbers)}, the last after {_TURNS} others",
            hint="keep the ledgers in an OrderedDict: move_to_end at each use, popitem(last=False) when there are more",
        )


async def _forgot(subject: HostSubject, host: DrivenHost) -> None:
    if await _number(subject, host, "first") != "source_1":
        raise Inconclusive(
            f"the host still knew a turn after {_MANY_TURNS} others, so it keeps more than that, or all",
            hint="let the factory take a keyword turns, and keep at most so many: a few are tried then",
        )


async def _others(subject: HostSubject, host: DrivenHost, count: int, when: str) -> None:
    for place in range(count):
        await host.search(context=subject.context(turn_id=f"turn {place} {when}"))


async def _number(subject: HostSubject, host: DrivenHost, turn: str) -> str:
    return _cited(await host.search(context=subject.context(turn_id=turn))).get("new", "nothing")


CHECKS: Final[tuple[Check, ...]] = (
    citations_hold_for_the_turn,
    searches_at_once_share_the_turn,
    another_turn_starts_again,
    another_owner_starts_again,
    turns_are_forgotten,
)
