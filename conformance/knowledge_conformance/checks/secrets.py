"""Clause 6.4: secrets that a provider was given, searched for in all that comes out of it. Knows the calls to make.

The values come from the environment, by the names in the settings, and appear in no message.
"""

import asyncio
import contextlib
import math
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from knowledge_conformance.channels import Leak, Search, Texts, texts_of_answer, texts_of_error, texts_of_value
from knowledge_conformance.check import Check, Facet, Hang, Inapplicable, Inconclusive, Level, Violation, check
from knowledge_conformance.declared import declared
from knowledge_conformance.exchange import Exchange, show_request
from knowledge_conformance.interrupting import BEFORE, cut_at_some
from knowledge_conformance.listening import Listener, listening
from knowledge_conformance.subject import ProviderRaisedError, Subject
from knowledge_conformance.taint import canary, unsearchable
from knowledge_conformance.watched import Watched
from knowledge_provider import CancelSignal, RetrievalRequest

_PLACES_MAX: Final = 3
_CANCELLED_MAX: Final = 3
_NOBODY: Final = "conformance-kit-no-such"
_BAD_TEXTS: Final = ("release* OR (policy AND", '{"$ne": null}')
PROVOKED: Final = 5 + len(_BAD_TEXTS)
"""How many calls are made so that some of them fail."""


class _Asked(NamedTuple):
    """A request, and what its context has that others have not."""

    request: RetrievalRequest
    context: Mapping[str, Any] = MappingProxyType({})


class Searching(NamedTuple):
    """A search for what can be searched for, and in words what cannot."""

    search: Search
    refused: str

    def end(self, wanted: str, hint: str) -> None:
        """Raise what came of it: a leak, or that not everything was searched for."""
        leaks = self.search.ordered
        if leaks:
            raise Violation(wanted=wanted, saw=_said(leaks), hint=hint, where=leaks[0].call)
        if self.refused:
            raise _unsearched(self.refused)


def begin(subject: Watched) -> Searching:
    """A search for what the settings declare; raises ``Inapplicable`` and ``Inconclusive`` where there is nothing."""
    names = subject.settings.secrets
    if not names:
        raise Inapplicable(
            "no secrets are named: with secrets = ['ACME_API_KEY'] that variable's value is searched for"
        )
    values = declared(names)
    refused = {name: reason for name, value in values.items() if (reason := unsearchable(value)) is not None}
    told = "; ".join(f"{name} {reason}" for name, reason in refused.items())
    usable = {name: value for name, value in values.items() if name not in refused}
    if not usable:
        raise _unsearched(told)
    return Searching(Search(usable, canary("control", subject.settings.seed)), told)


def _unsearched(told: str) -> Inconclusive:
    return Inconclusive(
        f"not every declared secret can be searched for: {told}",
        hint="set it where the kit runs, to a value of 8 characters or more that stands in no ordinary text",
    )


def _said(leaks: list[Leak]) -> str:
    """The first secret that came out, with some of the places where it did."""
    found = leaks[0].found
    places = list(dict.fromkeys(leak.channel for leak in leaks if leak.found == found))
    others = len({(leak.found.name, leak.channel) for leak in leaks}) - len(places[:_PLACES_MAX])
    return f"{found}, in {'; in '.join(places[:_PLACES_MAX])}{f'; and {others} more' if others else ''}"


# The calls; each names itself to the search, and gives what it brought to be searched or not.


async def _describe(subject: Subject, search: Search) -> Texts:
    search.call = "describe()"
    try:
        said = await subject.describe()
    except ProviderRaisedError as error:
        return _texts_raised(error.__cause__)
    return chain(texts_of_answer(said, "description"), texts_of_value("description", said))


async def _health(subject: Subject, search: Search) -> Texts:
    if subject.member("health") is None:
        return iter(())
    search.call = "health()"
    ending = await subject.health()
    report = ending.value
    return chain(_texts_raised(ending.error), texts_of_answer(report, "health"), texts_of_value("health", report))


async def _close(subject: Subject, search: Search) -> Texts:
    search.call = "close()"
    with contextlib.suppress(Hang):  # KP-204 says so
        return _texts_raised((await subject.close()).error)
    return iter(())


async def _ask(subject: Subject, search: Search, asked: _Asked) -> Exchange | None:
    """One call of ``retrieve``, whatever comes of it; None when it did not end, which another check says."""
    search.call = show_request(asked.request)
    with contextlib.suppress(Hang):
        return await subject.attempt(asked.request, subject.context(**asked.context))
    return None


def _look_at(search: Search, exchange: Exchange) -> None:
    search.call = str(exchange)
    search.look_at(_texts_raised(exchange.error))
    search.look_at(texts_of_answer(exchange.response))
    search.look_at(texts_of_value("answer", exchange.response))


def _texts_raised(error: BaseException | None) -> Texts:
    return iter(()) if error is None else texts_of_error(error)


async def _cut_at_some(subject: Subject, search: Search, after: Callable[[BaseException | None], None]) -> None:
    def before(request: RetrievalRequest) -> None:
        search.call = f"{show_request(request)}, cancelled while it waits"

    await cut_at_some(subject, _CANCELLED_MAX, before, after)


async def _known(subject: Subject) -> RetrievalRequest:
    return RetrievalRequest(query=(await subject.found())[0].request.query)


def _provocations(known: RetrievalRequest) -> Iterator[_Asked]:
    cancelled = CancelSignal()
    cancelled.cancel("conformance")
    yield _Asked(known, {"signal": cancelled})
    yield _Asked(known, {"signal": CancelSignal(deadline=-math.inf)})
    yield _Asked(known, {"owner_id": f"{_NOBODY}-owner"})
    yield _Asked(RetrievalRequest(query=known.query, filters={f"{_NOBODY}-field": "x"}))
    yield _Asked(RetrievalRequest(query=known.query, knowledge_base_ids=(f"{_NOBODY}-base",)))
    yield from (_Asked(RetrievalRequest(query=text)) for text in _BAD_TEXTS)


# Clause 6.4
@check("KP-604", clause="6.4", level=Level.MUST, facet=Facet.SECRETS, needs=("KP-301",), calls=2, surveyed=True)
async def no_secret_in_what_is_said(subject: Subject) -> None:
    """No secret is in an answer, in the description or the health, or in a repr().

    They are shown to users, read by a model and written to logs by whoever debugs a host. Searched for: the values of
    the variables that secrets = [...] names, as they are, percent-encoded, escaped as JSON, in Base64 and hexadecimal.
    What repr() and str() write of the provider counts, too.
    """
    searching = begin(subject)
    search = searching.search
    for exchange in await subject.survey():
        _look_at(search, exchange)
        subject.observe(exchange.count)
    search.look_at(await _describe(subject, search))
    search.look_at(await _health(subject, search))
    search.call = "outside any call"
    search.look_at(texts_of_value("provider", subject.provider))
    searching.end(
        "no declared secret in what the provider says",
        "return the fields of the contract alone; give a class that holds a key a __repr__ without it (repr=False)",
    )


# Clause 6.4
@check(
    "KP-605",
    clause="6.4",
    level=Level.MUST,
    facet=Facet.SECRETS,
    needs=("KP-301",),
    calls=PROVOKED + BEFORE + _CANCELLED_MAX,
    surveyed=True,
)
async def no_secret_in_what_is_raised(subject: Subject) -> None:
    """No secret is in an exception, or in what stands behind it.

    Message, repr(), arguments and notes, and those of causes, contexts and members: hosts and error trackers write all
    of them down. Calls are provoked to fail: a signal that is cancelled already or out of time, unknown filters, an
    unknown base, an unknown owner, texts that break query languages. Where none fails, nothing was seen. Others are
    cancelled at some of their awaits. A context that "from None" hides is looked at, too.
    """
    searching = begin(subject)
    search, failed = searching.search, 0
    for asked in _provocations(await _known(subject)):
        exchange = await _ask(subject, search, asked)
        if exchange is not None and exchange.error is not None:
            _look_at(search, exchange)
            failed += 1
    await _cut_at_some(subject, search, lambda error: search.look_at(_texts_raised(error)))
    # Not how many: whether a call that is out of time fails may be a race, and two reports must not differ.
    subject.observe(min(failed, 1))
    searching.end(
        "no declared secret in what the provider raises",
        "raise an error of your own that quotes neither request nor URL, after the except block and not in it: "
        "'from None' hides the first error, and keeps it as the __context__",
    )
    if not failed:
        raise Inconclusive("no call failed, so no exception was seen", hint="--inject-network-faults makes calls fail")


# Clause 6.4
@check(
    "KP-606",
    clause="6.4",
    level=Level.MUST,
    facet=Facet.SECRETS,
    needs=("KP-301",),
    calls=PROVOKED + 3 + BEFORE + _CANCELLED_MAX,
    surveyed=True,
)
async def no_secret_in_what_is_written(subject: Subject) -> None:
    """No secret is logged, warned of or printed.

    Logs are kept for years and read by more people than may have the key. Listened to: every logger at every level,
    those that do not propagate too, every warning, and standard output and error, while the provider is made and while
    calls succeed and fail, and are cancelled at some of their awaits.
    """
    searching = begin(subject)
    known, search = await _known(subject), searching.search
    search.leaks.extend(subject.life.overheard)
    async with _listening(searching) as listener:
        for call in (_describe, _health):
            await call(subject, search)
            listener.settle()
        for asked in (_Asked(known), *_provocations(known)):
            await _ask(subject, search, asked)
            listener.settle()
            subject.observe()
        await _cut_at_some(subject, search, lambda _: listener.settle())
    _end(searching, listener)


# Clause 6.4
@check(
    "KP-607",
    clause="6.4",
    level=Level.MUST,
    facet=Facet.SECRETS,
    needs=("KP-604", "KP-605", "KP-606"),
    calls=3,
    surveyed=True,
    closes=True,
)
async def no_secret_when_closing(subject: Subject) -> None:
    """No secret comes out while the provider is closed, or is asked after that.

    What a library says of connections that it drops is mostly written by nobody's own code, and least looked at.
    Searched: what is raised, logged, warned of and printed.
    """
    searching = begin(subject)
    if subject.member("close") is None:
        raise Inapplicable("the provider has no close()")
    known, search = await _known(subject), searching.search
    async with _listening(searching) as listener:
        search.look_at(await _close(subject, search))
        listener.settle()
        exchange = await _ask(subject, search, _Asked(known))
        if exchange is not None:
            _look_at(search, exchange)
        listener.settle()
        search.look_at(await _close(subject, search))
        subject.observe()
    _end(searching, listener)


@asynccontextmanager
async def _listening(searching: Searching) -> AsyncGenerator[Listener]:
    with listening(searching.search) as listener:
        listener.control()
        yield listener
        for _ in range(3):  # what the last call scheduled still belongs to it
            await asyncio.sleep(0)


def _end(searching: Searching, listener: Listener) -> None:
    searching.end(
        "no declared secret in what the process writes",
        "log what is asked and how it ended, not the request of the back end with its headers and URL; put a filter on "
        "the logger of a library that logs them",
    )
    if listener.deaf:
        raise Inconclusive(
            f"what goes to {', '.join(listener.deaf)} could not be heard",
            hint="leave logging, warnings and the file descriptors 1 and 2 of the process to the host",
        )


CHECKS: Final[tuple[Check, ...]] = (
    no_secret_in_what_is_said,
    no_secret_in_what_is_raised,
    no_secret_in_what_is_written,
)
CLOSING_CHECKS: Final[tuple[Check, ...]] = (no_secret_when_closing,)
