"""Clauses 5.1, 8.3 and 8.8 for merging hosts: how a question and answers are read. Knows forms and texts, no order."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.composite_children import passage, text
from knowledge_conformance.checks.merging_sources import answering, finding, ref, refs_to
from knowledge_conformance.merging_subject import Merged, MergingSubject, new_context
from knowledge_conformance.render import show
from knowledge_provider import RetrievalContext, RetrievalResult, error_code, limits
from knowledge_provider.text import content_text, short_text

_QUERY_CODE: Final = "knowledge_query_required"
_BLANK: Final = ("", " \n\u200b")
# White space that is no blank, a mark that turns the text around, and a length of which a part is left.
_ASKED: Final = ("  release\u00a0\tpolicy\n", "release \u202epolicy", "release policy " * 60)
_FORMS: Final[Mapping[str, Callable[[list[Any]], Any]]] = MappingProxyType(
    {
        "a list": list,
        "a tuple": tuple,
        "a mapping with a list under 'results'": lambda found: {"results": found},
        "a mapping with a tuple under 'results'": lambda found: {"results": tuple(found)},
        "a list of RetrievalResult": lambda found: [RetrievalResult(**each) for each in found],
    }
)
# What a reader does not see and a model reads: another order, letters of tags, an end of the text in C.
_UNSEEN: Final = "Approved\u202e by\u2066 all\U000e0041\U000e0042 of\u0000 us\u0007.\r\nAnd the rest."


# Clause 5.1
@check("KP-1085", clause="5.1", level=Level.MUST)
async def answers_are_read_in_every_form(subject: MergingSubject) -> None:
    """What a source or the host's own search answers is read in every form that a provider may answer in.

    A list or tuple, or a mapping with one under "results"; each record a dict or a RetrievalResult. What reads one form
    alone finds nothing in a source that answers in another, and nobody learns why.
    """
    for form, made in _FORMS.items():
        source = answering("wiki", partial(_made, made, "one", "two"))
        merging = await subject.over([source], _answered(partial(_made, made, "own-1", "own-2")))
        merged = await merging.answer([ref("wiki")])
        missing = [name for name in ("own-1", "own-2", "one", "two") if text(name) not in merged.contents()]
        if missing:
            raise Violation(
                wanted=f"the record {missing[0]}, of an answer that is {form}",
                saw=f"{merged.came} without it",
                hint="read answers as knowledge_provider.normalize_response does",
                where=merged.shown,
            )
        subject.observe()


def _made(made: Callable[[list[Any]], Any], one: str, two: str, *_: object) -> Any:
    return made([passage(one), passage(two)])


def _answered(answer: Callable[[], Any]) -> Callable[[str, RetrievalContext], Any]:
    async def search(query: str, context: RetrievalContext) -> Any:
        del query, context
        return answer()

    return search


# Clause 8.8
@check("KP-1086", clause="8.8", level=Level.MUST)
async def contents_are_what_a_person_sees(subject: MergingSubject) -> None:
    """Contents are normalised by rule N6: no control characters, no marks that reorder text, no invisible tags.

    A source's text is read by a model, which takes what nobody sees for text like any other. Built-in records are
    texts from somewhere, too.
    """
    wanted = content_text(_UNSEEN, limits.CONTENT_MAX)
    source = answering("wiki", lambda *_: [{"id": "1", "content": _UNSEEN}])
    merging = await subject.over([source], _answered(lambda: [{"id": "2", "content": _UNSEEN}]))
    merged = await merging.answer([ref("wiki")])
    contents = merged.contents()
    for content in contents:
        if content != wanted:
            raise Violation(
                wanted=f"the content {show(wanted)}",
                saw=show(content),
                hint="pass what sources and your own search answer through knowledge_provider.normalize_response",
                where=merged.shown,
            )
        subject.observe()
    if len(contents) < 2:
        raise Violation(
            wanted="both records, the source's and the host's own",
            saw=merged.came,
            hint="take the characters out of a record, and keep the record",
            where=merged.shown,
        )


# Clause 8.3
@check("KP-1087", clause="8.3", level=Level.MUST)
async def the_query_is_read_before_anyone_is_asked(subject: MergingSubject) -> None:
    """A blank query raises knowledge_query_required, and nobody is asked; another reaches the sources normalised.

    By rule N5: one line, at most 500 characters. Every source gets the same text, and none has to clean it again; a
    search for nothing could only find anything.
    """
    for query in _BLANK:
        sources = [finding("wiki", "one"), finding("tickets", "two")]
        merged = await (await subject.over(sources)).ask(refs_to(sources), query)
        _refuse_answered(merged, [source.name for source in sources if source.asked])
        subject.observe()
    for query in _ASKED:
        got: list[object] = []
        source = answering("wiki", lambda asked, _, got=got: got.append(asked) or [passage("one")])
        await (await subject.over([source])).answer([ref("wiki")], query, new_context())
        if got != [short_text(query, limits.QUERY_MAX)]:
            raise Violation(
                wanted=f"a source to be asked {show(short_text(query, limits.QUERY_MAX), limit=60)} for "
                f"{show(query, limit=60)}",
                saw=show(got[0]) if got else "no call of it",
                hint="query = knowledge_provider.text.short_text(query, 500), once, before anyone is asked",
            )
        subject.observe()


def _refuse_answered(merged: Merged, asked: list[str]) -> None:
    if asked or merged.error is None or error_code(merged.error) != _QUERY_CODE:
        raise Violation(
            wanted=f"an exception with the code {_QUERY_CODE}, and no source to be asked",
            saw=f"{merged.came}, after asking {' and '.join(asked)}" if asked else merged.came,
            hint="raise KnowledgeQueryRequiredError where is_blank(query)",
            where=merged.shown,
        )


CHECKS: Final[tuple[Check, ...]] = (
    answers_are_read_in_every_form,
    contents_are_what_a_person_sees,
    the_query_is_read_before_anyone_is_asked,
)
