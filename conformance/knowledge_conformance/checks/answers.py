"""Section 5 of the contract: what an answer looks like. Pure judgements of one answer each; makes no calls itself."""

import math
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

from knowledge_conformance.check import Check, Inapplicable, Level, Violation, answer_check, check
from knowledge_conformance.checks.identity import claims
from knowledge_conformance.exchange import Exchange, as_dict, first_present, results_of
from knowledge_conformance.render import show
from knowledge_conformance.subject import Subject
from knowledge_provider import RetrievalResult, Source, limits, normalize_response
from knowledge_provider.text import content_text, has_surrogate, is_blank, short_text

_SOURCE_LIMITS: Final = {
    "id": limits.SOURCE_ID_MAX,
    "title": limits.SOURCE_TITLE_MAX,
    "mimeType": limits.SOURCE_MIME_TYPE_MAX,
    "mime_type": limits.SOURCE_MIME_TYPE_MAX,
    "locator": limits.SOURCE_LOCATOR_MAX,
}
_SOURCE_FIELDS: Final = ("id", "title", "uri", "mimeType", "mime_type", "locator")
_STATUSES: Final = ("hit", "no_hit", "ignored", "failed")
_NODES_MAX: Final = 20_000
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_PLAIN: Final = (str, int, float, bool, type(None))


# Clause 5.1
@answer_check("KP-501", clause="5.1", level=Level.MUST, needs=("KP-301",))
def answer_is_a_list(exchange: Exchange) -> int:
    """An answer is a list or tuple, or a mapping with one under "results".

    A host reads nothing else: a generator, a page object or an unawaited coroutine is an empty answer to it.
    """
    if results_of(exchange.response) is None:
        held = exchange.response
        saw = f"a mapping whose results are {show(dict.get(held, 'results'))}" if isinstance(held, dict) else show(held)
        raise Violation(
            wanted="a list or tuple of results, or {'results': [...]}",
            saw=saw,
            hint="collect the results in a list and return that",
        )
    return 1


# Clause 5.1
@answer_check("KP-502", clause="5.1", level=Level.MUST, needs=("KP-501",))
def items_are_results(exchange: Exchange) -> int:
    """Each item of an answer is a dict or a RetrievalResult.

    A host skips anything else, so a vendor's own document class means an empty answer.
    """
    for at, item in enumerate(exchange.items):
        if as_dict(item) is None:
            raise Violation(
                wanted="a dict or a RetrievalResult",
                saw=show(item),
                hint="translate the vendor's object: {'id': …, 'content': …}",
                where=_place(exchange, f"results[{at}]"),
            )
    return len(exchange.items)


def _text_of(entry: dict[str, Any], name: str) -> Any:
    aliases = {"id": ("id", "chunkId", "chunk_id"), "content": ("content", "text")}
    return first_present(entry, *aliases[name])


# Clause 5.2
@answer_check("KP-503", clause="5.2", level=Level.MUST, needs=("KP-502",))
def id_and_content_are_there(exchange: Exchange) -> int:
    """id and content are strings that are not blank.

    A result without them is dropped by the host: nobody can cite it, or nothing can be said of it.
    """
    for at, entry in exchange.entries:
        for name in ("id", "content"):
            value = _text_of(entry, name)
            if not isinstance(value, str) or is_blank(value):
                raise Violation(
                    wanted=f"a string {name} with something visible in it",
                    saw="none" if value is None else show(value),
                    hint="leave passages without text out; make an id from the document and the passage's place in it",
                    where=_place(exchange, f"results[{at}].{name}"),
                )
    return len(exchange.entries)


# Clause 5.2
@answer_check("KP-504", clause="5.2", level=Level.SHOULD, needs=("KP-503",))
def id_and_content_are_bounded(exchange: Exchange) -> int:
    """An id has at most 160 characters, a content at most 4,000.

    Hosts cut longer ones, and a cut id may no longer be the one that a later call returns.
    """
    bounds = {"id": limits.RESULT_ID_MAX, "content": limits.CONTENT_MAX}
    for at, entry in exchange.entries:
        for name, bound in bounds.items():
            size = str.__len__(_text_of(entry, name))
            if size > bound:
                raise Violation(
                    wanted=f"{name} of at most {bound} characters",
                    saw=f"{size}",
                    hint="return smaller passages, and hash ids that are too long",
                    where=_place(exchange, f"results[{at}].{name}"),
                )
    return len(exchange.entries)


# Clause 5.2, rule N4
@answer_check("KP-505", clause="5.2", level=Level.SHOULD, needs=("KP-502",))
def fields_have_their_names(exchange: Exchange) -> int:
    """The fields have the contract's own names, not the aliases that hosts tolerate.

    chunkId, text, documentId or url are read by some hosts and not by others.
    """
    aliases = ("chunkId", "chunk_id", "text", "documentId", "document_id", "url")
    for at, entry in exchange.entries:
        source = entry.get("source")
        used = [name for name in aliases if name in entry and "citation_id" not in entry]
        used += ["source.url"] if isinstance(source, dict) and dict.get(source, "url") is not None else []
        if used:
            raise Violation(
                wanted="id, content and source.uri",
                saw=f"the aliases {', '.join(used)}",
                hint="rename them: id, content, source.id, source.title, source.uri",
                where=_place(exchange, f"results[{at}]"),
            )
    return len(exchange.entries)


# Clause 5.3, rule N5
@answer_check("KP-506", clause="5.3", level=Level.MUST, needs=("KP-503",))
def ids_are_unique(exchange: Exchange) -> int:
    """Ids are unique within an answer.

    They are compared as hosts compare them, with white space folded and cut at 160. A host drops the later ones, so
    passages of one document under the document's id are lost.
    """
    seen: dict[str, int] = {}
    for at, entry in exchange.entries:
        given = short_text(_text_of(entry, "id"), limits.RESULT_ID_MAX)
        if given in seen:
            raise Violation(
                wanted="a different id for each result",
                saw=f"{show(given)} at places {seen[given]} and {at}",
                hint="add the passage's place to the id: 'handbook#3'",
            )
        seen[given] = at
    return len(seen)


def _scores(exchange: Exchange) -> Iterator[tuple[int, Any]]:
    return ((at, entry["score"]) for at, entry in exchange.entries if "score" in entry)


# Clause 5.4
@answer_check("KP-507", clause="5.4", level=Level.MUST, needs=("KP-502",))
def scores_are_numbers(exchange: Exchange) -> int:
    """A score, when present, is a finite real number.

    A bool, a string, NaN or an infinity cannot be compared, and NaN is not JSON.
    """
    for at, score in _scores(exchange):
        real = isinstance(score, int | float) and not isinstance(score, bool)
        if not real or not _is_finite(score):
            raise Violation(
                wanted="a finite number, or no score",
                saw=show(score),
                hint="leave the score out where the back end gives none; convert with float() and check math.isfinite",
                where=_place(exchange, f"results[{at}].score"),
            )
    return len(exchange.entries)


def _is_finite(score: int | float) -> bool:
    try:
        return math.isfinite(score)
    except OverflowError:
        return False


# Clause 5.4
@check("KP-508", clause="5.4", level=Level.SHOULD, needs=("KP-102", "KP-502"), calls=1, surveyed=True)
async def claimed_scores_are_there(subject: Subject) -> None:
    """With capabilities.scores, every result has a score.

    A host that was promised scores drops results below a threshold: one without a score is lost or always kept.
    """
    if not await claims(subject, "scores"):
        raise Inapplicable("capabilities.scores is not claimed")
    for exchange in await subject.survey():
        for at, entry in exchange.entries:
            if "score" not in entry:
                raise Violation(
                    wanted="a score on every result",
                    saw="none",
                    hint="do not claim capabilities.scores where the back end gives no scores",
                    where=_place(exchange, f"results[{at}]"),
                )
        subject.observe(len(exchange.entries), exchange)


# Clause 5.4
@answer_check("KP-509", clause="5.4", level=Level.SHOULD, needs=("KP-507",))
def scores_never_increase(exchange: Exchange) -> int:
    """Scores never increase down the list.

    Higher is better and the order is the ranking, so a rising score is a distance, or the list is not sorted.
    """
    scores = [score for _, score in _scores(exchange)]
    for before, after in pairwise(scores):
        if after > before:
            raise Violation(
                wanted="each score at most the one before",
                saw=f"{show(before)}, then {show(after)}",
                hint="a distance is no score: negate it, or leave it out; sort by score if that is your ranking",
            )
    return len(exchange.entries)


def _source(entry: dict[str, Any]) -> dict[str, Any]:
    source = entry.get("source")
    fields = source.__dict__ if isinstance(source, Source) else source
    return {name: value for name, value in (as_dict(fields) or {}).items() if name in _SOURCE_FIELDS}


# Clause 5.5
@answer_check("KP-510", clause="5.5", level=Level.MUST, needs=("KP-502",))
def source_is_strings(exchange: Exchange) -> int:
    """source, when present, is a mapping of strings.

    id, title, uri, mime_type and locator become a citation: a number or a nested object cannot be shown.
    """
    for at, entry in exchange.entries:
        source = entry.get("source")
        if source is not None and not isinstance(source, dict | Source):
            raise Violation(
                wanted="a mapping, or none",
                saw=show(source),
                hint="return {'id': …, 'title': …, 'uri': …}",
                where=_place(exchange, f"results[{at}].source"),
            )
        for name, value in _source(entry).items():
            if not isinstance(value, str):
                raise Violation(
                    wanted="a string, or null",
                    saw=show(value),
                    hint="convert it, or leave the field out",
                    where=_place(exchange, f"results[{at}].source.{name}"),
                )
    return len(exchange.entries)


# Clause 5.5
@answer_check("KP-511", clause="5.5", level=Level.SHOULD, needs=("KP-510",))
def source_is_bounded(exchange: Exchange) -> int:
    """A source's id and media type have at most 120 characters, its title and locator at most 300.

    Hosts cut longer ones, and a cut locator points nowhere.
    """
    for at, entry in exchange.entries:
        for name, value in _source(entry).items():
            size = str.__len__(value)
            if size > _SOURCE_LIMITS.get(name, limits.URI_MAX):
                raise Violation(
                    wanted=f"at most {_SOURCE_LIMITS.get(name, limits.URI_MAX)} characters",
                    saw=f"{size}",
                    hint="shorten it, or put a key into it that your own system resolves",
                    where=_place(exchange, f"results[{at}].source.{name}"),
                )
    return len(exchange.entries)


# Clause 5.6
@answer_check("KP-512", clause="5.6", level=Level.SHOULD, needs=("KP-502",))
def metadata_is_flat(exchange: Exchange) -> int:
    """metadata is flat and small: 16 entries, keys of 80 characters, booleans, finite numbers and strings of 500.

    A host drops the rest, and an embedding in there would fill a model's whole context.
    """
    for at, entry in exchange.entries:
        where = _place(exchange, f"results[{at}].metadata")
        metadata = entry.get("metadata", {})
        if not isinstance(metadata, dict):
            raise Violation(wanted="a mapping, or none", saw=show(metadata), hint="return a flat dict", where=where)
        if dict.__len__(metadata) > limits.METADATA_ENTRIES_MAX:
            raise Violation(
                wanted=f"at most {limits.METADATA_ENTRIES_MAX} entries",
                saw=f"{dict.__len__(metadata)}",
                hint="keep what a person or a model would use",
                where=where,
            )
        for key, value in dict.items(metadata):
            if not _is_metadata(key, value):
                raise Violation(
                    wanted="short string keys with a boolean, a finite number or a string of at most 500 characters",
                    saw=f"{show(key)}: {show(value)}",
                    hint="drop vectors, nulls, lists and nested objects, or flatten what matters",
                    where=where,
                )
    return len(exchange.entries)


def _is_metadata(key: object, value: object) -> bool:
    if not isinstance(key, str) or is_blank(key) or str.__len__(key) > limits.METADATA_KEY_MAX:
        return False
    if isinstance(value, str):
        return str.__len__(value) <= limits.METADATA_TEXT_MAX
    return isinstance(value, bool) or (isinstance(value, int | float) and _is_finite(value))


# Clause 5.7
@answer_check("KP-513", clause="5.7", level=Level.MUST, needs=("KP-501",))
def answer_is_plain_data(exchange: Exchange) -> int:
    """An answer is plain data by exact type, all the way down.

    JSON types and the contract's models only. A vendor's object, a subclass such as numpy.float64, Decimal, datetime,
    bytes or a generator breaks the first host that logs, caches or serialises the answer.
    """
    for path, node in _nodes(exchange.response):
        if type(node) not in (*_PLAIN, list, tuple, dict, RetrievalResult, Source):
            raise Violation(
                wanted="plain data: dict, list, str, int, float, bool and None, of exactly these types",
                saw=show(node),
                hint="convert at the boundary: float(score), str(id), value.isoformat()",
                where=_place(exchange, path),
            )
    return max(1, len(exchange.items))


def _nodes(root: object) -> Iterator[tuple[str, object]]:
    """Every value in an answer with its path, without the values' own code; bounded, and safe for cycles."""
    waiting: list[tuple[str, object]] = [("answer", root)]
    seen: set[int] = set()
    for _ in range(_NODES_MAX):
        if not waiting:
            return
        path, node = waiting.pop()
        yield path, node
        if id(node) not in seen:
            seen.add(id(node))
            waiting.extend(reversed(list(_parts(path, node))))


def _parts(path: str, node: object) -> Iterator[tuple[str, object]]:
    if type(node) in (RetrievalResult, Source):
        node = {name: value for name, value in node.__dict__.items() if value is not None}
    if type(node) is dict:
        for key, value in list(node.items())[:_NODES_MAX]:
            yield f"{path} key", key
            yield f"{path}[{show(key, limit=40)}]", value
    elif type(node) in (list, tuple):
        yield from ((f"{path}[{at}]", item) for at, item in enumerate(node[:_NODES_MAX]))  # type: ignore[index] # exact type


# Clause 5.8
@answer_check("KP-514", clause="5.8", level=Level.MUST, needs=("KP-501",))
def no_lone_surrogate(exchange: Exchange) -> int:
    """No string holds a lone surrogate.

    It cannot be written as UTF-8, so the whole answer is lost where it is sent or stored.
    """
    for path, node in _nodes(exchange.response):
        if isinstance(node, str) and has_surrogate(node):
            raise Violation(
                wanted="text that can be written as UTF-8",
                saw="a lone surrogate (half of a character outside the basic plane)",
                hint="cut text between code points, and decode with errors='replace'",
                where=_place(exchange, path),
            )
    return max(1, len(exchange.items))


# Clause 5.8
@answer_check("KP-515", clause="5.8", level=Level.SHOULD, needs=("KP-501",))
def no_control_character(exchange: Exchange) -> int:
    """No string holds a control character but tab and newline.

    NUL breaks databases, escape sequences rewrite terminals; a host turns them into spaces.
    """
    for path, node in _nodes(exchange.response):
        bad = _control(node) if isinstance(node, str) else None
        if bad is not None:
            raise Violation(
                wanted="no control character but tab and newline",
                saw=f"U+{ord(bad):04X}",
                hint="replace control characters by spaces where the text is extracted",
                where=_place(exchange, path),
            )
    return max(1, len(exchange.items))


def _control(text: str) -> str | None:
    found = _CONTROL.search(text)
    return found.group() if found else None


# Clause 5.9
@answer_check("KP-516", clause="5.9", level=Level.SHOULD, needs=("KP-304", "KP-503", "KP-506", "KP-510"))
def normalising_loses_nothing(exchange: Exchange) -> int:
    """A host's normalisation loses nothing of an answer that a person would miss.

    No result is dropped, no text is cut, no source or metadata entry goes. Only white space, invisible characters, a
    fragment and the spelling of a URI may change; a URI that is not public is clause 6.2's matter.
    """
    limit = exchange.request.top_k
    kept = normalize_response(exchange.response, query=exchange.request.query, limit=limit).results
    expected = exchange.entries[:limit]
    if len(kept) < len(expected):
        raise Violation(
            wanted=f"all {len(expected)} results to stay",
            saw=f"{len(kept)} after normalising",
            hint="look for text that is nothing but invisible characters",
        )
    for (at, entry), result in zip(expected, kept, strict=False):
        lost = _lost(entry, result)
        if lost is not None:
            raise Violation(
                wanted=f"{lost} to stay as it is",
                saw="less of it after normalising",
                hint="keep to the limits of clauses 5.2, 5.5 and 5.6",
                where=_place(exchange, f"results[{at}].{lost}"),
            )
    return len(expected)


def _lost(entry: dict[str, Any], result: RetrievalResult) -> str | None:
    whole = content_text(_text_of(entry, "content"), str.__len__(_text_of(entry, "content")))
    if result.content != whole:
        return "content"
    source = result.source.model_dump(exclude_none=True) if result.source else {}
    for name, value in _source(entry).items():
        spelled = "mime_type" if name == "mimeType" else name
        if spelled != "uri" and short_text(value, str.__len__(value)) != source.get(spelled, ""):
            return f"source.{name}"
    metadata = entry.get("metadata", {})
    return "metadata" if isinstance(metadata, dict) and len(result.metadata) != dict.__len__(metadata) else None


# Clause 5.9
@answer_check("KP-517", clause="5.9", level=Level.MUST, needs=("KP-501",))
def something_survives(exchange: Exchange) -> int:
    """When an answer has results, at least one of them survives a host's normalisation.

    Otherwise the user hears that nothing was found, although the provider found something.
    """
    kept = normalize_response(exchange.response, query=exchange.request.query, limit=exchange.request.top_k).results
    if exchange.count and not kept:
        raise Violation(
            wanted=f"at least one of {exchange.count} results to survive",
            saw="none after normalising",
            hint="each result needs an id and a content that a host can read",
        )
    return exchange.count


# Clause 5.11
@check("KP-518", clause="5.11", level=Level.MAY, needs=("KP-501",), surveyed=True)
async def source_reports_are_readable(subject: Subject) -> None:
    """Reports about several back ends, when there are any, say key, status, reason and count.

    They tell a host that an answer is incomplete. Status is hit, no_hit, ignored or failed.
    """
    for exchange in await subject.survey():
        subject.observe(_readable_reports(exchange), exchange)
    if not subject.observations:
        raise Inapplicable("the provider reports nothing about back ends of its own")


def _readable_reports(exchange: Exchange) -> int:
    if not isinstance(exchange.response, dict) or dict.get(exchange.response, "sources") is None:
        return 0
    reports = dict.get(exchange.response, "sources")
    for at, report in enumerate(reports if isinstance(reports, list | tuple) else [reports]):
        fields = as_dict(report) or {}
        if not isinstance(fields.get("key"), str) or fields.get("status") not in _STATUSES:
            raise Violation(
                wanted=f"a key, and a status of {', '.join(_STATUSES)}",
                saw=show(report),
                hint="report {'key': 'wiki', 'status': 'failed', 'reason': 'timeout', 'count': 0}",
                where=_place(exchange, f"sources[{at}]"),
            )
    return 1


def _place(exchange: Exchange, path: str) -> str:
    return f"{path} of {exchange}"


CHECKS: Final[tuple[Check, ...]] = (
    answer_is_a_list,
    items_are_results,
    id_and_content_are_there,
    id_and_content_are_bounded,
    fields_have_their_names,
    ids_are_unique,
    scores_are_numbers,
    claimed_scores_are_there,
    scores_never_increase,
    source_is_strings,
    source_is_bounded,
    metadata_is_flat,
    answer_is_plain_data,
    no_lone_surrogate,
    no_control_character,
    normalising_loses_nothing,
    something_survives,
    source_reports_are_readable,
)
