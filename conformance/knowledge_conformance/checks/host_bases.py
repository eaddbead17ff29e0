"""Clauses 8.3 and 8.4: the knowledge bases that a search names. Knows no answer."""

from collections.abc import Sequence
from typing import Any, Final

from knowledge_conformance.check import Check, Inapplicable, Level, Violation, check
from knowledge_conformance.checks.host_handing import bases_of, fields_of, request_of
from knowledge_conformance.host_subject import QUERY, DrivenHost, HostSubject
from knowledge_conformance.outcomes import is_not_found, read_outcome
from knowledge_conformance.render import show
from knowledge_fakes.scripted import ScriptedProvider
from knowledge_provider import limits

_ANSWER: Final = [{"id": "approvals", "content": "Releases are approved by two people."}]


# Clause 8.3
@check("KP-806", clause="8.3", level=Level.MUST, needs=("KP-854",))
async def normalises_base_ids(subject: HostSubject) -> None:
    """Knowledge base ids reach the provider as rule N5 writes them, each once, at most 8, none that is too long.

    A provider compares them with the ids that it knows.
    """
    provider = ScriptedProvider()
    async with subject.host(provider) as host:
        disclosed = await host.disclosed()
        for asked, wanted in _base_ids(disclosed or ()):
            await host.search(knowledge_base_ids=asked)
            came = bases_of(request_of(provider))
            if came != wanted:
                raise Violation(
                    wanted=f"the provider to be asked for the bases {show(wanted)}",
                    saw=show(came),
                    hint="write each id by rule N5, drop those over 120 characters and blank ones, then repetitions",
                )
            subject.observe()


def _base_ids(disclosed: Sequence[str]) -> list[tuple[list[str], list[str]]]:
    """What is asked, and what is left of it; only of bases that the host discloses, where it does."""
    first, last = (disclosed[0], disclosed[-1]) if disclosed else ("engineering docs", "travel")
    both = list(dict.fromkeys([first, last]))
    asked = [
        ([first], [first]),
        ([f"  {first}\u00a0\n", first, f"\u202e{first}"], [first]),
        ([last, "b" * (limits.BASE_ID_MAX + 1), " ", "\u200b", first, last], both[::-1]),
    ]
    if disclosed:
        return asked
    long, many = "b" * limits.BASE_ID_MAX, [f"base-{place}" for place in range(limits.BASES_MAX + 4)]
    folded = "base" + " " * limits.BASE_ID_MAX + "one"
    return [
        *asked,
        ([long], [long]),
        ([folded], ["base one"]),
        ([*many[:3], *many], many[: limits.BASES_MAX]),
    ]


# Clauses 3.4 and 8.3
@check("KP-831", clause="8.3", level=Level.MUST, needs=("KP-806",))
async def unreadable_bases_do_not_widen(subject: HostSubject) -> None:
    """Who asks for knowledge bases and names none that can be read does not get all of them.

    An id that is too long or blank is dropped; when nothing is left, a search of everything would show what was left
    out on purpose. A text is one id or none, never a list of its letters.
    """
    provider = ScriptedProvider([_ANSWER])
    unreadable: tuple[Any, ...] = (["", " "], ["b" * 121], [None], [{}], {"id": "travel"}, 7, "travel")
    async with subject.host(provider) as host:
        for asked in unreadable:
            await host.attempt(knowledge_base_ids=asked)
            for call in provider.calls:
                came = bases_of(fields_of(call.request))
                if not came or (asked == "travel" and came != ["travel"]):
                    raise Violation(
                        wanted="not found, a refusal, or a search of what was named",
                        saw=f"a search of {show(came)}",
                        hint="look at what was asked for, not at what is left of it, to tell whether bases were named",
                    )
            subject.observe()


# Clause 8.4
@check("KP-807", clause="8.4", level=Level.MUST, needs=("KP-806",))
async def accepts_disclosed_bases_only(subject: HostSubject) -> None:
    """A host that discloses knowledge bases accepts only those; for others it finds nothing, without a call.

    The id of a base that was not disclosed came from a document, or from somebody who guesses. An agent's tool takes
    the same ids as a search.
    """
    provider = ScriptedProvider([_ANSWER])
    options: dict[str, Any] = {}
    if subject.takes("knowledge_bases"):
        options["knowledge_bases"] = ["engineering", "travel"]
    async with subject.host(provider, **options) as host:
        disclosed = await host.disclosed()
        if not disclosed:
            raise Inapplicable("the host discloses no knowledge bases, and its factory takes no knowledge_bases")
        await _only(host, provider, disclosed)
    if options:
        async with subject.host(provider, knowledge_bases=[]) as host:
            await _nothing(host, provider, ["engineering"])
    subject.observe()


async def _only(host: DrivenHost, provider: ScriptedProvider, disclosed: Sequence[str]) -> None:
    others = ["no-such-base", f"{disclosed[0]}-2", disclosed[0][:-1], disclosed[0].swapcase()]
    await host.search(knowledge_base_ids=[*(each for each in others if each not in disclosed), disclosed[0]])
    came = bases_of(request_of(provider))
    if came != [disclosed[0]]:
        raise Violation(
            wanted=f"the provider to be asked for {show(disclosed[0])} alone",
            saw=show(came),
            hint="keep those of the ids that are equal to one that the host discloses",
        )
    await _nothing(host, provider, ["no-such-base"])


async def _nothing(host: DrivenHost, provider: ScriptedProvider, bases: list[str]) -> None:
    before = len(provider.calls)
    async for where, ending in host.attempt_each_way({"query": QUERY, "knowledge_base_ids": bases}):
        found = ending.error is None and not is_not_found(read_outcome(ending.value, where))
        if found or ending.error is not None or len(provider.calls) > before:
            raise Violation(
                wanted="the outcome not_found, and no call of the provider",
                saw=f"{'an exception' if ending.error else 'an outcome'} after {len(provider.calls) - before} calls",
                hint="when bases were asked for and none of them is disclosed, answer not_found at once",
                where=where,
            )


CHECKS: Final[tuple[Check, ...]] = (
    normalises_base_ids,
    unreadable_bases_do_not_widen,
    accepts_disclosed_bases_only,
)
