"""Section 3 of the contract: what a provider must be able to be asked. An answer's shape is section 5's."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any, Final

from knowledge_conformance.check import Check, Inapplicable, Inconclusive, Level, Phase, Violation, answer_check, check
from knowledge_conformance.checks.judging import judge_all, judges_that_hold
from knowledge_conformance.exchange import Exchange, show_request
from knowledge_conformance.plain import is_exactly, plain
from knowledge_conformance.render import show
from knowledge_conformance.settings import Settings
from knowledge_conformance.subject import Subject
from knowledge_conformance.survey import configured_queries
from knowledge_provider import RetrievalRequest, error_code, limits

_FILTERS_REFUSED: Final = "knowledge_filters_unsupported"
_BASE_REFUSED: Final = "knowledge_base_unknown"
_REFUSALS: Final = frozenset({_FILTERS_REFUSED, _BASE_REFUSED})
NOT_SERVED: Final = frozenset({"knowledge_rate_limited", "knowledge_unavailable", "knowledge_unauthorized"})
"""Codes by which a provider says that its back end does not serve it now."""
_MADE_UP_FILTERS: Final[tuple[dict[str, Any], ...]] = (
    {},
    # A list that is neither sorted nor without repetition.
    {"department": "engineering", "nested": {"list": [2, 1, 2]}},
)
_FILTERS_MAX: Final = 4
_UNKNOWN_BASE: Final = "conformance-kit-no-such-base"
MADE_UP_QUERY: Final = "zzqx vlorptk 9731 qjxwv"
"""A query that no corpus has a word of."""

HARD_TEXTS: Final = (
    '"', "'", "\\", "(", ")", "[", "{", "*", "?", "-", "--", "a AND", "NOT", "NEAR(", "title:", "-release", "+", "~2",
    '"release policy', "release* OR (policy AND", "'; DROP TABLE documents; --", "' OR '1'='1", "{{7*7}}", "${jndi:x}",
    "x\u00b2 \u2460 \u0663", "\u0130stanbul stra\u00dfe \u0149", "foo: bar", "/foo/", "a^2 ~ b!", "#a @b", "http://[",
    "-inf nan 1e999", "99999999999999999999", "\u2019 \u2013 \u20ac", "ไทย 한국어 עברית հայ", "\ufdfa" * 60,
    "a b c d e f g h i j " * 25,
    '{"$ne": null}', "<script>alert(1)</script>", "%00", "../../etc/passwd", "发布审批规则是什么？", "سياسة الإصدار",
    "नीति क्या है", "👩\u200d👩\u200d👧 🏳️\u200d🌈", "e\u0301", "the", "a b", "x" * limits.QUERY_MAX,
)  # fmt: skip
"""Texts that break query languages, encoders and templates; each is a valid query."""


# Clause 3.2
@check("KP-301", clause="3.2", level=Level.MUST, needs=("KP-101",), surveyed=True)
async def ordinary_requests_are_answered(subject: Subject) -> None:
    """Ordinary requests are answered, and some of them with results.

    Everything else that the kit looks at needs this. Without queries in the settings the kit asks common words; where
    none of them is answered with a result, nothing was observed.
    """
    promised = configured_queries(subject)
    for exchange in await subject.survey():
        if exchange.request.query in promised and exchange.count == 0 and exchange.request.top_k > 1:
            raise Inconclusive(
                f"the settings promise results for {show(exchange.request.query)}, and there were none",
                hint="name queries that your corpus answers: --provider-query 'text', or queries = [...]",
            )
        subject.observe(exchange.count)


# Clause 3.2
@check(
    "KP-302",
    clause="3.2",
    level=Level.MUST,
    needs=("KP-301",),
    calls=len(HARD_TEXTS),
    minimum=len(HARD_TEXTS),
    surveyed=True,
    phase=Phase.BOUNDARIES,
)
async def hard_texts_are_accepted(subject: Subject) -> None:
    """Texts that break query languages are accepted.

    Quotes, operators, SQL, JSON, templates and any script are things that people say; the provider escapes them for
    its back end. Nothing found is a fine answer, an exception is not. An answer must keep what ordinary answers keep.
    """
    judges = await judges_that_hold(subject)
    for text in HARD_TEXTS:
        judge_all(accepted(await subject.attempt(RetrievalRequest(query=text))), judges)
        subject.observe()


def accepted(exchange: Exchange) -> Exchange:
    """The exchange, when it was answered; raises ``Violation`` when the text made the provider fail.

    Raises ``Inconclusive`` when the provider says by its code that the back end does not serve it now.
    """
    if exchange.error is None:
        return exchange
    refuse_unserved(exchange.error)
    raise Violation(
        wanted="an answer, if only an empty one",
        saw=exchange.came,
        hint="pass the query to the back end as data: quote or escape it, or search for its words",
        where=show_request(exchange.request),
    )


def refuse_unserved(error: BaseException) -> None:
    """Raise ``Inconclusive`` when a provider says by its error's code that the back end does not serve it now."""
    code = error_code(error)
    if code in NOT_SERVED:
        hint = "allow the kit's calls at the back end, or check the provider over a fake; --max-calls bounds them"
        raise Inconclusive(f"the back end stopped serving the provider: {code}", hint=hint)


def is_decided(exchange: Exchange) -> bool:
    """Whether a call was answered, or refused by the code that the contract has for what it asks.

    Any other failure is no evidence: a call that never reached the back end shows nothing of what that would answer.
    """
    if exchange.error is None:
        return True
    code, asked = error_code(exchange.error), exchange.request
    filters, bases = bool(asked.filters), bool(asked.knowledge_base_ids)
    return (code == _FILTERS_REFUSED and filters) or (code == _BASE_REFUSED and bases)


def require_decided(tried: Sequence[Exchange], what: str) -> None:
    """Raise ``Inconclusive`` when something was tried, and all of it failed without being refused by its own code."""
    if tried and not any(map(is_decided, tried)):
        raise Inconclusive(
            f"every call {what} failed, and none was refused by its own code: {tried[0].came}",
            hint="answer a valid request (clause 3.2), or refuse it with knowledge_base_unknown, or "
            "knowledge_filters_unsupported",
        )


# Clause 3.3
@answer_check("KP-304", clause="3.3", level=Level.MUST, needs=("KP-301",))
def at_most_top_k(exchange: Exchange) -> int:
    """An answer has at most top_k results.

    A host would cut it; but hosts budget a model's context by top_k, and several stores together return several times
    as much.
    """
    if exchange.count > exchange.request.top_k:
        raise Violation(
            wanted=f"at most top_k = {exchange.request.top_k}",
            saw=exchange.size,
            hint="pass top_k to the back end, and cut after merging",
        )
    return exchange.count


# Clause 3.7
@check("KP-305", clause="3.7", level=Level.SHOULD, needs=("KP-301",), calls=3, surveyed=True)
async def nonsense_finds_nothing(subject: Subject) -> None:
    """A query that matches nothing gives an empty list.

    Filler is read out as if it were knowledge. A nearest-neighbour store always answers: give it a threshold, or accept
    this advice. The query is made up of words that no corpus has. It is asked twice, with one that finds something
    between: what was found last is no answer either.
    """
    if subject.settings.no_hit_query is not None:
        raise Inapplicable("the settings name a query that matches nothing: KP-306 asks that")
    await _finds_nothing(subject, MADE_UP_QUERY)


# Clause 3.7
@check("KP-306", clause="3.7", level=Level.MUST, needs=("KP-301",), calls=3, surveyed=True)
async def named_no_hit_query_finds_nothing(subject: Subject) -> None:
    """The query that the settings name as matching nothing gives an empty list.

    no-hit-query in the settings promises it, so neither filler nor an exception will do.
    """
    if subject.settings.no_hit_query is None:
        raise Inapplicable("the settings name no no-hit-query")
    await _finds_nothing(subject, subject.settings.no_hit_query)


async def _finds_nothing(subject: Subject, query: str) -> None:
    # A provider that never finds anything would pass for the wrong reason.
    await subject.found()
    exchange = await subject.attempt(RetrievalRequest(query=query))
    if exchange.error is not None or exchange.count:
        raise Violation(
            wanted="an empty list",
            saw=exchange.came,
            hint="drop results that do not match, by a threshold of your own; nothing found is no error",
        )
    await _still_finds_nothing(subject, query)
    subject.observe()


async def _still_finds_nothing(subject: Subject, query: str) -> None:
    # A provider that falls back on its last answer had none to fall back on before.
    finding = (await subject.found())[0].request.model_copy(deep=True)
    await subject.attempt(finding)
    exchange = await subject.attempt(RetrievalRequest(query=query))
    if exchange.error is not None or exchange.count:
        raise Violation(
            wanted="an empty list again, after a query that finds something",
            saw=exchange.came,
            hint="keep nothing of one call for the next: build each answer in local variables",
            where=f"{exchange}, after {show_request(finding)}",
        )


# Clause 3.2
@check("KP-307", clause="3.2", level=Level.MUST, needs=("KP-301",), calls=7, minimum=6, surveyed=True)
async def filters_and_bases_are_answered_or_refused(subject: Subject) -> None:
    """A request with filters or knowledge bases is answered, or refused by its own code.

    knowledge_filters_unsupported and knowledge_base_unknown tell a host what to do; any other exception looks like a
    broken provider. An answer must keep what ordinary answers keep.
    """
    judges = await judges_that_hold(subject)
    requests = (
        RetrievalRequest(query="policy", filters={"department": "engineering"}),
        RetrievalRequest(query="policy", filters={"and": [{"year": {"gt": 2020}}, {"tags": ["a", None, True]}]}),
        RetrievalRequest(query="policy", knowledge_base_ids=(_UNKNOWN_BASE,)),
        RetrievalRequest(query="policy", knowledge_base_ids=(_UNKNOWN_BASE, "' OR '1'='1"), filters={'a"]': "\\"}),
        RetrievalRequest(query="policy", filters={"部门": "工程", "$ne": None, "on": True, "or": []}),
        RetrievalRequest(query="policy", knowledge_base_ids=tuple(f"库-{at}" for at in range(limits.BASES_MAX))),
    )
    for request in requests:
        exchange = await subject.attempt(request)
        if exchange.error is not None and error_code(exchange.error) not in _REFUSALS:
            await _refuse_without_control(subject, request)
            raise Violation(
                wanted="an answer, or the code knowledge_filters_unsupported or knowledge_base_unknown",
                saw=exchange.came,
                hint="raise KnowledgeFiltersUnsupportedError or KnowledgeBaseUnknownError of knowledge_provider.errors",
                where=show_request(request),
            )
        if exchange.error is None:
            judge_all(exchange, judges)
        subject.observe()


async def _refuse_without_control(subject: Subject, request: RetrievalRequest) -> None:
    # What fails without filters and bases, too, says nothing about them.
    if (await subject.attempt(RetrievalRequest(query=request.query))).error is not None:
        raise Inconclusive(
            "the same query failed without filters and knowledge bases, too",
            hint="see what KP-301 and KP-302 say of requests that fail",
        )


def _calls_unchanged(settings: Settings) -> int:
    return len(_MADE_UP_FILTERS) + 2 * min(len(settings.filters), _FILTERS_MAX) + bool(settings.bases)


def _to_be_kept(settings: Settings) -> Iterator[RetrievalRequest]:
    """Requests of which some get past whatever refuses requests, each with values of its own."""
    yield from (RetrievalRequest(query="policy", filters=deepcopy(each)) for each in _MADE_UP_FILTERS)
    for each in settings.filters[:_FILTERS_MAX]:
        turned = _turned(each.filter)
        for filters in (each.filter, turned) if turned != each.filter else (each.filter,):
            yield RetrievalRequest(query=each.query, filters=deepcopy(filters))
    if settings.bases:
        # Backwards: who sorts them in place changes nothing where they are sorted.
        bases = sorted(settings.bases, reverse=True)[: limits.BASES_MAX]
        yield RetrievalRequest(query="policy", knowledge_base_ids=tuple(bases))


def _turned(value: Any) -> Any:
    """A filter with each list in it the other way round."""
    if is_exactly(value, dict):
        return {name: _turned(held) for name, held in value.items()}
    return [_turned(held) for held in reversed(value)] if is_exactly(value, list) else value


# Clause 3.8
@check("KP-308", clause="3.8", level=Level.MUST, needs=("KP-301",), calls=_calls_unchanged, minimum=2)
async def arguments_are_not_changed(subject: Subject) -> None:
    """The request and the context are never changed.

    A host passes the same request to several providers, and the same context to all calls of a turn. Asked with
    filters that the kit makes up, and with the knowledge bases and filters of the settings, each list in both orders:
    who refuses the one gets to what changes the other.
    """
    for request in _to_be_kept(subject.settings):
        context = subject.context()
        before = plain(request), plain(context)
        # Whether it is answered is what KP-302 and KP-307 ask.
        await subject.attempt(request, context)
        if (plain(request), plain(context)) != before:
            raise Violation(
                wanted="the request and the context as they were before the call",
                saw=f"another {'request' if plain(request) != before[0] else 'context'}",
                hint="copy before you change: dict(request.filters)",
            )
        subject.observe()


CHECKS: Final[tuple[Check, ...]] = (
    ordinary_requests_are_answered,
    hard_texts_are_accepted,
    at_most_top_k,
    nonsense_finds_nothing,
    named_no_hit_query_finds_nothing,
    filters_and_bases_are_answered_or_refused,
    arguments_are_not_changed,
)
