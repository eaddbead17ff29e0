"""Clause 10.8: what the summary and the log say. Knows what may not stand there, no way of writing it."""

from typing import Any, Final

from knowledge_conformance.channels import Search, texts_of_answer
from knowledge_conformance.check import Check, Inconclusive, Level, Violation, check
from knowledge_conformance.checks.merging_sources import answering, finding, refs_to
from knowledge_conformance.listening import listening
from knowledge_conformance.merging_subject import Merged, MergingSubject
from knowledge_conformance.taint import canary
from knowledge_fakes.sources import HOSTILE_SOURCES, SECRET_URL
from knowledge_provider import RetrievalContext

_HINT: Final = "keep names, ids, a status, one of the five reasons and a count; leave its own words to the source's log"
_RAISED: Final = "the text of what a source raised"
_LINK: Final = "the signed link of a record"


# Clause 10.8
@check("KP-1072", clause="10.8", level=Level.MUST)
async def the_summary_says_no_more(subject: MergingSubject) -> None:
    """The summary holds names, ids, statuses, reasons and counts: no query, content, raw URL, nor what was raised.

    It is kept with a message, and shown to whoever looks at what went wrong.
    """
    search = Search(_secrets(subject))
    merged = await _asked(subject, search)
    for name, texts in (("summary", merged.summary),):
        search.look_at(texts_of_answer(texts, name))
    _end(search, "a summary")
    subject.observe(len(merged.summary))


# Clause 10.8
@check("KP-1073", clause="10.8", level=Level.MUST)
async def the_log_says_no_more(subject: MergingSubject) -> None:
    """While it merges, nothing of that stands in logs, warnings or its output.

    Logs are kept for years and read by more people than may see the task. Every logger is listened to at every level.
    """
    search = Search(_secrets(subject), canary("control", subject.settings.seed))
    with listening(search) as listener:
        listener.control()
        await _asked(subject, search)
        listener.settle()
    _end(search, "a log")
    subject.observe()
    if listener.deaf:
        raise Inconclusive(
            f"what goes to {', '.join(listener.deaf)} could not be heard",
            hint="leave logging, warnings and the file descriptors 1 and 2 of the process alone",
        )


def _secrets(subject: MergingSubject) -> dict[str, str]:
    names = ("the query", "a content of a source", "a content of the host's own", _RAISED)
    return {**{name: canary(name, subject.settings.seed) for name in names}, _LINK: SECRET_URL}


async def _asked(subject: MergingSubject, search: Search) -> Merged:
    query, content, own, raised, _ = search.secrets.values()

    async def built_in(_query: str, _context: RetrievalContext) -> list[dict[str, Any]]:
        return [{"id": "own", "content": own}]

    sources = [
        finding("wiki", "one"),
        answering("tickets", lambda *_: [{"id": "1", "content": content, "title": content}]),
        answering("down", ConnectionError(f"GET https://api.example.com/?key={raised} failed")),
        HOSTILE_SOURCES["leaks a link"].make(),
    ]
    merging = await subject.over(sources, built_in)
    return await merging.answer(refs_to(sources), query)


def _end(search: Search, where: str) -> None:
    if search.leaks:
        found = search.leaks[0]
        raise Violation(
            wanted=f"{where} without a query, a content, a raw URL or the words of a source's error",
            saw=f"{found.found.name}, in {found.channel}",
            hint=_HINT,
        )


CHECKS: Final[tuple[Check, ...]] = (the_summary_says_no_more, the_log_says_no_more)
