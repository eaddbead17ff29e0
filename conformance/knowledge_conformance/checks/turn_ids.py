"""Clause 4.5: the ids of a session, a turn and a trace go to the provider and stay there. Knows what a caller sees.

What a provider writes into its own logs is not looked at: nothing forbids an id there, and a trace's is made for it.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import Final

from knowledge_conformance.channels import Search, Texts, text_of, texts_of_answer
from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.exchange import show_request
from knowledge_conformance.subject import ProviderRaisedError, Subject
from knowledge_conformance.taint import canary
from knowledge_provider import CancelSignal, RetrievalRequest

_SESSION: Final = "session_id"
_ANSWERED: Final = 2
_FAILING: Final = 2
_OTHERS: Final = 2


# Clause 4.5
@check(
    "KP-407",
    clause="4.5",
    level=Level.SHOULD,
    needs=("KP-102", "KP-202", "KP-502"),
    calls=_ANSWERED + _FAILING + _OTHERS,
    surveyed=True,
)
async def ids_of_a_turn_stay_out(subject: Subject) -> None:
    """Session, turn and trace ids do not come back in what a caller sees.

    A model repeats what it reads, and who has the id of a session may take part in it. The ids are random ones, and
    no document can hold them. Looked at are answers, then the description and the health, which are the same for
    every caller; and for the session's id the messages of exceptions. The other two may stand there, so that an error
    is found in the logs.
    """
    known = [exchange.request for exchange in (await subject.found())[:_ANSWERED]]
    ids = {name: canary(name, subject.settings.seed) for name in (_SESSION, "turn_id", "trace_id")}
    for request in known:
        exchange = await subject.retrieve(request.model_copy(deep=True), subject.context(**ids))
        _refuse(ids, texts_of_answer(exchange.response), str(exchange))
        subject.observe(exchange.count)
    await _provoked(subject, ids, known[0].query)
    _refuse(ids, await _description(subject), "describe(), after these calls")
    _refuse(ids, await _health(subject), "health(), after these calls")


async def _provoked(subject: Subject, ids: Mapping[str, str], query: str) -> None:
    cancelled = CancelSignal()
    cancelled.cancel("conformance")
    unknown = RetrievalRequest(query=query, filters={"conformance-kit-no-such-field": "x"})
    for request, changes in ((RetrievalRequest(query=query), {"signal": cancelled}), (unknown, {})):
        exchange = await subject.attempt(request, subject.context(**ids, **changes))
        if exchange.error is None:
            _refuse(ids, texts_of_answer(exchange.response), str(exchange))
        else:
            message = text_of(str, exchange.error)
            _refuse({_SESSION: ids[_SESSION]}, iter([("the message of the exception", message)]), show_request(request))


async def _description(subject: Subject) -> Texts:
    with suppress(ProviderRaisedError):  # KP-102 and KP-109 say so
        return texts_of_answer(await subject.describe(), "description")
    return iter(())


async def _health(subject: Subject) -> Texts:
    if subject.member("health") is None:
        return iter(())
    ending = await subject.health()
    raised: Iterator[tuple[str, str]] = iter(
        () if ending.error is None else [("the message of the exception", text_of(str, ending.error))]
    )
    return chain(raised, texts_of_answer(ending.value, "health"))


def _refuse(ids: Mapping[str, str], texts: Texts, call: str) -> None:
    search = Search(ids)
    search.look_at(texts)
    for leak in search.ordered[:1]:
        written = "" if leak.found.written == "as it is" else f", {leak.found.written}"
        raise Violation(
            wanted=f"nothing that a caller sees to hold the {leak.found.name} of the context",
            saw=f"the {leak.found.name}{written}",
            hint="write these ids into your own logs, and not into results, errors, description or health",
            where=f"{leak.channel} of {call}",
        )


CHECKS: Final[tuple[Check, ...]] = (ids_of_a_turn_stay_out,)
