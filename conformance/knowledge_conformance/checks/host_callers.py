"""Clauses 8.5, 4.3 and 3.8: what belongs to one caller stays with that caller. Knows owners; judges no answer."""

import asyncio
from contextlib import suppress
from copy import deepcopy
from typing import Any, Final

from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.host_subject import DrivenHost, HostSubject, at_once
from knowledge_conformance.outcomes import entries
from knowledge_conformance.render import show
from knowledge_fakes.scripted import HeldProvider, ScriptedProvider
from knowledge_provider import RetrievalContext

_OWNERS: Final = 3
_IDS: Final = ("owner_id", "session_id", "turn_id", "trace_id")
_FILTERS: Final = {"department": "engineering", "nested": {"any": ["of", 1]}}
# How often, and how long each time in seconds, to look whether all searches have come to the provider.
_LOOKS: Final = 50
_MOMENT: Final = 0.005


# Clauses 8.5 and 4.3
@check("KP-861", clause="8.5", level=Level.MUST, needs=("KP-832",))
async def owners_are_kept_apart(subject: HostSubject) -> None:
    """Several owners who ask the same question get what the provider answers to each: at once, and one after another.

    A context that is kept on the host, a search that joins another's which asks the same, a cache by the query: each
    shows one owner's knowledge to another.
    """
    provider = HeldProvider([_echo])
    contexts = [subject.context(**{name: f"{name}-{place}" for name in _IDS}) for place in range(_OWNERS)]
    async with subject.host(provider) as host:
        with provider:
            asked = [_found(host, each) for each in contexts]
            _is_each_ones((await at_once([*asked, _let_go(provider)]))[:-1], contexts, "at the same time")
        # From the last to the first: the first one's answer is not the latest then.
        later = contexts[::-1]
        _is_each_ones([await _found(host, each) for each in later], later, "one after another")
        subject.observe(2 * _OWNERS)


def _echo(_: object, context: Any) -> list[dict[str, Any]]:
    return [{"id": context.owner_id, "content": f"what {context.owner_id} may see"}]


async def _found(host: DrivenHost, context: RetrievalContext) -> list[Any]:
    return [each.get("id") for each in entries(await host.search(context=context), "results")]


async def _let_go(provider: HeldProvider) -> list[Any]:
    # A host that joins searches, or makes them wait for each other, never brings all of them.
    for _ in range(_LOOKS):
        if len(provider.calls) >= _OWNERS:
            break
        await asyncio.sleep(_MOMENT)
    provider.release()
    return []


def _is_each_ones(found: list[list[Any]], contexts: list[RetrievalContext], when: str) -> None:
    wanted = [[context.owner_id] for context in contexts]
    if found != wanted:
        raise Violation(
            wanted=f"the results of {show(wanted)} for {_OWNERS} owners who ask the same {when}",
            saw=show(found),
            hint="keep context and answer in local variables of the search, and the owner in the key of every cache",
        )


# Clauses 8.5 and 3.8
@check("KP-864", clause="8.5", level=Level.MUST, needs=("KP-808",))
async def a_provider_changes_nothing_of_the_callers(subject: HostSubject) -> None:
    """A provider that writes into its request or context, or cancels its signal, changes nothing of the caller's.

    Frozen models do not stop it: filters are a dictionary, and object.__setattr__ sets an owner. The caller's next
    search would be made with what one provider left.
    """
    provider = ScriptedProvider([_meddle], capabilities={"filters": True})
    async with subject.host(provider) as host:
        filters, bases = deepcopy(_FILTERS), (await host.disclosed() or ["engineering"])[:1]
        context, named = subject.context(), [*bases]
        ids = _ids_of(context)
        # How it ends is left open: a provider may cancel its own signal.
        await host.attempt(context=context, knowledge_base_ids=named, filters=filters)
    changed = {
        "filters": filters != _FILTERS,
        "knowledge_base_ids": named != bases,
        "context": _ids_of(context) != ids,
        "signal": context.signal.cancelled,
    }
    if any(changed.values()):
        raise Violation(
            wanted="the caller's filters, knowledge_base_ids, context and signal as they were",
            saw=f"that the provider had changed the {show([name for name in changed if changed[name]])}",
            hint="give the provider copies: RetrievalRequest(…) copies its fields, and "
            "context.model_copy(update={'signal': signal}) is another context",
        )
    subject.observe()


def _ids_of(context: RetrievalContext) -> list[str]:
    return [getattr(context, name) for name in _IDS]


def _meddle(request: Any, context: Any) -> list[object]:
    for held in (request.filters["nested"]["any"], request.filters, request.knowledge_base_ids):
        # What cannot be changed is as safe as what was copied.
        with suppress(AttributeError, TypeError):
            held.clear()
    with suppress(AttributeError, TypeError):
        object.__setattr__(context, "owner_id", "another-owner")
    context.signal.cancel("the back end hung up")
    return []


CHECKS: Final[tuple[Check, ...]] = (owners_are_kept_apart, a_provider_changes_nothing_of_the_callers)
