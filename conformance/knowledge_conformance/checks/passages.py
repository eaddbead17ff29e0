"""Clauses 5.2 to 5.4: a result's id, content and score. Pure judgements of one answer each; makes no calls itself."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

from knowledge_conformance.check import Check, Inapplicable, Level, Violation, answer_check, check
from knowledge_conformance.checks.identity import claims
from knowledge_conformance.exchange import Exchange, as_dict, place, text_of
from knowledge_conformance.plain import copied
from knowledge_conformance.render import show
from knowledge_conformance.subject import Subject
from knowledge_provider import limits
from knowledge_provider.text import finite_number, is_blank, short_text

_ALIASES: Final = ("chunkId", "chunk_id", "text", "documentId", "document_id", "title", "mimeType", "mime_type")


# Clause 5.2
@answer_check("KP-503", clause="5.2", level=Level.MUST, needs=("KP-502",))
def id_and_content_are_there(exchange: Exchange) -> int:
    """id and content are strings that are not blank.

    A result without them is dropped by the host: nobody can cite it, or nothing can be said of it.
    """
    for at, entry in exchange.entries:
        for name in ("id", "content"):
            value = text_of(entry, name)
            if is_blank(value):
                raise Violation(
                    wanted=f"a string {name} with something visible in it",
                    saw="none" if value is None else show(value),
                    hint="leave passages without text out; make an id from the document and the passage's place in it",
                    where=place(exchange, f"results[{at}].{name}"),
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
            size = str.__len__(text_of(entry, name))
            if size > bound:
                raise Violation(
                    wanted=f"{name} of at most {bound} characters",
                    saw=f"{size}",
                    hint="return smaller passages, and hash ids that are too long",
                    where=place(exchange, f"results[{at}].{name}"),
                )
    return len(exchange.entries)


# Clause 5.2, rule N4
@answer_check("KP-505", clause="5.2", level=Level.SHOULD, needs=("KP-502",))
def fields_have_their_names(exchange: Exchange) -> int:
    """The fields have the contract's own names, not the aliases that hosts tolerate.

    chunkId, text, documentId, or a title and url beside the source are read by some hosts and not by others.
    """
    for at, entry in exchange.entries:
        used: list[str] = [name for name in _ALIASES if name in entry]
        # A host's own outcome has a url beside each citation's id (rule N13), and may be an answer again.
        used += ["url"] if "url" in entry and "citation_id" not in entry else []
        used += ["source.url"] if "url" in (as_dict(entry.get("source")) or {}) else []
        if used:
            raise Violation(
                wanted="id, content, and a source with id, title, uri and mime_type",
                saw=f"the aliases {', '.join(used)}",
                hint="rename them: id, content, source.id, source.title, source.uri, source.mime_type",
                where=place(exchange, f"results[{at}]"),
            )
    return len(exchange.entries)


# Clause 5.3, rule N5
@answer_check("KP-506", clause="5.3", level=Level.MUST, needs=("KP-503",))
def ids_are_unique(exchange: Exchange) -> int:
    """Ids are unique within an answer.

    They are compared as hosts compare them, with white space folded and cut at 160. A host drops the later ones, so
    passages of one document under the document's id are lost.
    """
    seen: dict[str, tuple[int, str | None]] = {}
    for at, entry in exchange.entries:
        given = short_text(text_of(entry, "id"), limits.RESULT_ID_MAX)
        content = copied(text_of(entry, "content"))
        if given in seen:
            before, its_content = seen[given]
            # Another id for the same passage would only hide that it is there twice.
            again = content == its_content
            raise Violation(
                wanted="a different id for each result",
                saw=f"{show(given)} at places {before} and {at}",
                hint="give each passage once: both have the same content"
                if again
                else "add the passage's place to the id: 'handbook#3'",
            )
        seen[given] = at, content
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
        if finite_number(score) is None:
            raise Violation(
                wanted="a finite number, or no score",
                saw=show(score),
                hint="leave the score out where the back end gives none; convert with float() and check math.isfinite",
                where=place(exchange, f"results[{at}].score"),
            )
    return len(exchange.entries)


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
                    where=place(exchange, f"results[{at}]"),
                )
        subject.observe(len(exchange.entries))


# Clause 5.4
@answer_check("KP-509", clause="5.4", level=Level.SHOULD, needs=("KP-507",))
def scores_never_increase(exchange: Exchange) -> int:
    """Scores never increase down the list.

    Higher is better and the order is the ranking, so a rising score is a distance, or the list is not sorted.
    """
    scores = (finite_number(score) for _, score in _scores(exchange))
    for before, after in pairwise(score for score in scores if score is not None):
        if after > before:
            raise Violation(
                wanted="each score at most the one before",
                saw=f"{show(before)}, then {show(after)}",
                hint="a distance is no score: negate it, or leave it out; sort by score if that is your ranking",
            )
    return len(exchange.entries)


CHECKS: Final[tuple[Check, ...]] = (
    id_and_content_are_there,
    id_and_content_are_bounded,
    fields_have_their_names,
    ids_are_unique,
    scores_are_numbers,
    claimed_scores_are_there,
    scores_never_increase,
)
