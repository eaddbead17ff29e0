"""Clause 8.3: what a host makes of the query, the owner and the number that it is asked with. Knows no answer."""

import math
from typing import Any, Final

from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.host_handing import request_of
from knowledge_conformance.host_subject import QUERY, DrivenHost, HostSubject
from knowledge_conformance.render import show, show_error
from knowledge_fakes.scripted import ScriptedProvider
from knowledge_provider import RetrievalContext, error_code, limits
from knowledge_provider.text import short_text

_ANSWER: Final = [{"id": "approvals", "content": "Releases are approved by two people."}]

_QUERIES: Final[tuple[str, ...]] = (
    "release policy",
    "  release \t\n policy\u00a0\u3000? ",
    "who\u202e approves\u2066 a\U000e0041 release\u2069",
    "cut in half \ud83d",
    "a\x00b\x1b[1mc",
    "发布审批规则是什么？",
    "👨\u200d👩\u200d👧 نامه\u200cها",
    '\'; DROP TABLE documents; -- {{ query }} "AND" NOT (a OR b)*',
    "q" * 501,
    "word " * 200,
    "e" * 499 + " \u200d x",
)
_BLANK: Final = ("", " \t\r\n", "\u200b\u200b\ufeff", "\u00ad\u2060\u3164", "\U000e0041", "\x00\x01")
_OWNERS: Final = ("", " ", "\u200b")

_UNREAD: Final[tuple[Any, ...]] = (None, "many", "", [], {}, [3], math.nan, b"3", True, False)
# Each with what it may become: where the contract does not say how a value is read, more than one.
_TOP_K: Final[tuple[tuple[Any, tuple[int, ...]], ...]] = (
    *((count, (count,)) for count in range(limits.TOP_K_MIN, limits.TOP_K_MAX + 1)),
    *((count, (limits.TOP_K_MIN,)) for count in (0, -1, -(10**400))),
    *((count, (limits.TOP_K_MAX,)) for count in (9, 100, 10**400)),
    *((3.0, (3,)), ("3", (3,)), ("100", (limits.TOP_K_MAX,)), (2.9, (2, 3, limits.TOP_K_DEFAULT))),
    *((unread, (limits.TOP_K_DEFAULT,)) for unread in _UNREAD),
    *((huge, (limits.TOP_K_DEFAULT, limits.TOP_K_MAX)) for huge in (math.inf, "1e999")),
)


# Clause 8.3
@check("KP-803", clause="8.3", level=Level.MUST, needs=("KP-854",))
async def normalises_the_query(subject: HostSubject) -> None:
    """The provider receives the query as rule N5 writes it, at most 500 characters.

    A query is what a model wrote, out of what a user or a document said. What reorders or hides text, controls and
    halves of characters do not reach a provider; any script does.
    """
    provider = ScriptedProvider()
    async with subject.host(provider) as host:
        for query in _QUERIES:
            await host.search(query)
            wanted, came = short_text(query, limits.QUERY_MAX), request_of(provider)["query"]
            if type(came) is not str or came != wanted:
                raise Violation(
                    wanted=f"the provider to be asked for {show(wanted)}",
                    saw=show(came),
                    hint="make the request as RetrievalRequest(query=…), which normalises it",
                )
            subject.observe()


# Clause 8.3
@check("KP-830", clause="8.3", level=Level.MUST, needs=("KP-854",))
async def refuses_a_blank_query(subject: HostSubject) -> None:
    """A query with nothing visible in it raises knowledge_query_required, and the provider is not called.

    Nearest-neighbour stores answer it with anything. Blank is what a person sees as blank: invisible characters too.
    """
    provider = ScriptedProvider([_ANSWER])
    async with subject.host(provider) as host:
        for query in _BLANK:
            await _refused(host, provider, "knowledge_query_required", query)
            subject.observe()


# Clause 8.3
@check("KP-804", clause="8.3", level=Level.MUST, needs=("KP-854",))
async def refuses_a_blank_owner(subject: HostSubject) -> None:
    """A context without an owner raises knowledge_owner_required, and the provider is not called.

    A provider that keeps owners apart would have to guess whose content to search.
    """
    provider = ScriptedProvider([_ANSWER])
    async with subject.host(provider) as host:
        for owner in _OWNERS:
            context = subject.context(owner_id=owner)
            await _refused(host, provider, "knowledge_owner_required", QUERY, context)
            subject.observe()


async def _refused(
    host: DrivenHost, provider: ScriptedProvider, code: str, query: str, context: RetrievalContext | None = None
) -> None:
    ending = await host.attempt(query, context=context)
    if ending.error is None or error_code(ending.error) != code or provider.calls:
        came = "an outcome" if ending.error is None else f"raised {show_error(ending.error)}"
        raise Violation(
            wanted=f"an exception with the code {code}, and no call of the provider",
            saw=f"{came} after {len(provider.calls)} calls of the provider",
            hint="refuse before the provider is asked",
        )


# Clause 8.3
@check("KP-805", clause="8.3", level=Level.MUST, needs=("KP-854",))
async def clamps_top_k(subject: HostSubject) -> None:
    """top_k is clamped to 1 to 8, and is 5 when it cannot be read; it never makes a search fail.

    A model chooses it: as a word, as a fraction, as a thousand.
    """
    provider = ScriptedProvider()
    async with subject.host(provider) as host:
        for value, wanted in _TOP_K:
            await host.search(top_k=value)
            came = request_of(provider)["top_k"]
            if type(came) is not int or came not in wanted:
                raise Violation(
                    wanted=f"top_k {' or '.join(map(str, wanted))} for {show(value)}",
                    saw=show(came),
                    hint="read whole numbers and texts of them, clamp them to 1 to 8, and take 5 for anything else",
                )
            subject.observe()
        await host.search()
        if request_of(provider)["top_k"] != limits.TOP_K_DEFAULT:
            raise Violation(wanted="top_k 5 by default", saw=show(request_of(provider)["top_k"]), hint="default to 5")


CHECKS: Final[tuple[Check, ...]] = (
    normalises_the_query,
    refuses_a_blank_query,
    refuses_a_blank_owner,
    clamps_top_k,
)
