"""Clauses 4.5 and 6.4 for sources: what must not come out of them, searched for in what they say and raise.

Knows the calls to make. The values of secrets come from the environment, and appear in no message. What is written into
logs is clause 10.8's, and another check's.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any, Final

from knowledge_conformance.calls import Ending
from knowledge_conformance.channels import Search, Texts, texts_of_answer, texts_of_error, texts_of_value
from knowledge_conformance.check import Check, Facet, Hang, Inconclusive, Level, Violation, check
from knowledge_conformance.checks.secrets import begin
from knowledge_conformance.checks.source_asking import UNKNOWN
from knowledge_conformance.source_subject import SourceExchange, SourceSubject, show_asked, show_refs
from knowledge_conformance.taint import canary
from knowledge_provider import CancelSignal

_BAD_TEXTS: Final = ("release* OR (policy AND", '{"$ne": null}')
_PROVOKED: Final = 5 + len(_BAD_TEXTS)
_TOLD: Final = "no declared secret in what the source says"
_RAISED: Final = "no declared secret in what the source raises"


# Clause 6.4
@check("KP-1047", clause="6.4", level=Level.MUST, facet=Facet.SECRETS, needs=("KP-1004",), calls=2, surveyed=True)
async def no_secret_in_what_is_said(subject: SourceSubject) -> None:
    """No secret is in a record, a listed document, a reference that stands, or in a repr() of the source.

    They are shown to users, read by a model, bound and logged. Searched for: the values of the variables that
    secrets = [...] names, as they are, percent-encoded, escaped as JSON, in Base64 and hexadecimal.
    """
    searching = begin(subject)
    search = searching.search
    for exchange in await subject.survey():
        search.call = str(exchange)
        search.look_at(_texts(exchange.response, "answer"))
        subject.observe(exchange.count)
    refs = subject.references()
    if subject.member("validate_refs") is not None:
        search.call = f"validate_refs({show_refs(refs)})"
        search.look_at(_said((await subject.validate(refs)).value))
    if subject.can_list:
        search.call = f"list_documents({show_refs(refs)})"
        search.look_at(_said((await subject.list(refs, 100, 0)).value))
    search.call = "outside any call"
    search.look_at(_said(dict(subject.member("capabilities"))))
    search.look_at(texts_of_value("source", subject.source))
    searching.end(_TOLD, "return the fields of the contract alone; give a class that holds a key a __repr__ without it")


def _said(value: object) -> Texts:
    return _texts(value, "answer")


def _texts(value: object, name: str) -> Texts:
    return chain(texts_of_answer(value, name), texts_of_value(name, value))


# Clause 6.4
@check(
    "KP-1048", clause="6.4", level=Level.MUST, facet=Facet.SECRETS, needs=("KP-1004",), calls=_PROVOKED, surveyed=True
)
async def no_secret_in_what_is_raised(subject: SourceSubject) -> None:
    """No secret is in an exception of a source, or in what stands behind it.

    Message, repr(), arguments and notes, and those of causes and contexts: hosts and error trackers write all of them
    down. Calls are provoked to fail: with a cancelled signal, without an owner, for unknown sources and documents, with
    texts that break query languages. Where none fails, nothing was seen.
    """
    searching = begin(subject)
    known = (await subject.found())[0]
    failed = 0
    for shown, call in _provocations(subject, known):
        searching.search.call = shown
        with suppress(Hang):  # another check says so
            error = (await call()).error
            failed += error is not None
            searching.search.look_at(iter(()) if error is None else texts_of_error(error))
    subject.observe(min(failed, 1))
    searching.end(_RAISED, "raise an error of your own that quotes neither request nor URL, after the except block")
    if not failed:
        raise Inconclusive("no call failed, so no exception was seen", hint="refuse what is unknown, and a blank owner")


def _provocations(
    subject: SourceSubject, known: SourceExchange
) -> Iterator[tuple[str, Callable[[], Awaitable[SourceExchange | Ending]]]]:
    query, refs = known.request.query, known.refs
    cancelled = CancelSignal()
    cancelled.cancel("conformance")
    unknown = (subject.reference(id=UNKNOWN),)
    inside = (subject.reference(id=known.ids[0] if known.ids else UNKNOWN, target_type="document", node_id=UNKNOWN),)
    contexts: list[dict[str, Any]] = [{"signal": cancelled}, {"owner_id": ""}]
    for changes in contexts:
        yield show_asked(query, refs), partial(subject.attempt, query, refs, subject.context(**changes))
    for asked in (unknown, inside):
        yield show_asked(query, asked), partial(subject.attempt, query, asked)
    for text in _BAD_TEXTS:
        yield show_asked(text, refs), partial(subject.attempt, text, refs)
    if subject.can_list:
        shown = f"list_documents({show_refs(unknown)})"
        yield shown, partial(subject.list, unknown, 1, 0, subject.context())


# Clause 4.5
@check("KP-1039", clause="4.5", level=Level.SHOULD, needs=("KP-1004",), calls=2, surveyed=True)
async def ids_of_a_turn_stay_out(subject: SourceSubject) -> None:
    """Session, turn and trace ids do not come back in records or in a list of documents.

    A model repeats what it reads, and who has the id of a session may take part in it. The ids are random ones, and no
    document can hold them. The owner is not looked for, since documents name people.
    """
    ids = {name: canary(name, subject.settings.seed) for name in ("session_id", "turn_id", "trace_id")}
    search = Search(ids)
    known = (await subject.found())[0]
    exchange = await subject.retrieve(known.request.query, known.refs, subject.context(**ids))
    search.call = str(exchange)
    search.look_at(texts_of_answer(exchange.response))
    subject.observe(exchange.count)
    if subject.can_list:
        search.call = f"list_documents({show_refs(known.refs)})"
        search.look_at(texts_of_answer((await subject.list(known.refs, 100, 0, subject.context(**ids))).value))
    for leak in search.ordered[:1]:
        raise Violation(
            wanted=f"nothing that a caller sees to hold the {leak.found.name} of the context",
            saw=f"the {leak.found.name}, in {leak.channel}",
            hint="write these ids into your own logs, and not into records or entries",
            where=leak.call,
        )


CHECKS: Final[tuple[Check, ...]] = (no_secret_in_what_is_said, no_secret_in_what_is_raised, ids_of_a_turn_stay_out)
