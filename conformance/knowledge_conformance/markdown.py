"""Reports as Markdown for a pull request or a job's summary. Pure; knows what a renderer of Markdown makes live.

Whatever stands in a report may come from a provider. Every character that could begin markup, a link or a mention is
written as its number, and what a renderer finds in finished text, too, stands inside ``<code>``: so it stays text.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from knowledge_conformance.proof import Ending
from knowledge_conformance.reading import MARKS, VERDICT_MARKS, again, to_look_at, unseen, verdict_tone
from knowledge_conformance.render import visible
from knowledge_conformance.report import CheckReport, Report
from knowledge_conformance.results import FAILING, CheckOutcome

ROWS_MAX: Final = 25
"""A comment on GitHub holds 65,536 characters; what is left out is counted, and stands in the other reports."""
COMMANDS_MAX: Final = 8
_TEXT_MAX: Final = 140
_LINE_MAX: Final = 1000
# One that is cut could not be run, and a token is rarely longer.
_COMMAND_MAX: Final = 1200
_LIVE: Final = re.compile(r"[^\w .,;?'()=%+/-]|_", re.ASCII)
# Letters first, or a line would be a list; no mention, no reference to an issue, a commit or an address, no emoji.
_PROSE: Final = re.compile(r"(?i)(?!.*(?:[@#]|gh-\d|\b[0-9a-f]{7,40}\b|www\.|//|:\w+:))[a-z].*")


def markdown(reports: Sequence[Report]) -> str:
    """One section for each report: the verdict, the counts, what is to be looked at, what is not established."""
    return "\n".join(line for report in reports for line in _report(report))


def inert(text: str, limit: int = _TEXT_MAX) -> str:
    """``text`` as code that nothing in it can leave, cut at ``limit`` characters; fit for a cell of a table."""
    # ``www.`` alone begins a link, and so does a name with an "@" in it, also where that is written as its number.
    dotted = re.sub(r"(?i)www\.", lambda found: f"{found[0][:-1]}&#46;", _escaped(text, limit))
    return f"<code>{dotted.replace('&#64;', '&#64;<!-- -->')}</code>"


def prose(text: str) -> str:
    """``text`` as ordinary words where nothing in it could become live, and as ``inert`` where something could."""
    return _escaped(text, _LINE_MAX) if _PROSE.fullmatch(text) else inert(text, _LINE_MAX)


def _escaped(text: str, limit: int) -> str:
    line = visible(text)
    return _LIVE.sub(_number, line if len(line) <= limit else f"{line[: limit - 1]}…")


def _number(found: re.Match[str]) -> str:
    character = found[0]
    return f"&#{ord(character)};" if character.isascii() else character


def _report(report: Report) -> Iterator[str]:
    yield f"## {VERDICT_MARKS[verdict_tone(report.verdict)]} {report.verdict}: {inert(report.target)}\n"
    yield f"{prose(report.sentence)}\n"
    yield "| outcome | checks |\n| --- | ---: |"
    yield from (f"| {MARKS[outcome]} {outcome} | {count} |" for outcome, count in report.counts.items() if count)
    yield ""
    yield from _table(report, [check for check in to_look_at(report) if check.outcome is not CheckOutcome.BLOCKED])
    yield from _unestablished(report)
    made = prose(f"knowledge-provider-kit {report.kit}, requirements {report.requirements}")
    yield f"<sub>{made}</sub>\n"


def _table(report: Report, found: Sequence[CheckReport]) -> Iterator[str]:
    if not found:
        return
    yield "| check | rule | saw | what to do |\n| --- | --- | --- | --- |"
    yield from map(_row, found[:ROWS_MAX])
    if len(found) > ROWS_MAX:
        yield f"\n{len(found) - ROWS_MAX} more are in the full report."
    commands = [again(check, report) for check in found if check.outcome in FAILING][:COMMANDS_MAX]
    yield from _folded("Run them again", [inert(command, _COMMAND_MAX) for command in commands if command])
    yield ""


def _row(check: CheckReport) -> str:
    named = f"{MARKS[check.outcome]} {check.outcome}<br>{inert(check.id)} {prose(check.title)}"
    cells = (named, prose(f"{check.level} {check.clause}"), _cell(check.saw), _cell(check.known or check.hint))
    return f"| {' | '.join(cells)} |"


def _cell(text: str | None) -> str:
    return inert(text) if text else ""


def _unestablished(report: Report) -> Iterator[str]:
    yield "**What this does not establish**\n"
    why = unseen(report)
    for line in report.not_established:
        told = next((texts for facet, texts in why.items() if line.startswith(f"{facet}: ")), [])
        yield f"- {prose(line)}" + "".join(f"<br>{prose(text)}" for text in told)
    yield "- whether the answers are good, and whether it holds elsewhere or tomorrow\n"
    if report.proof is not None:
        yield f"**Faults put into it:** {prose(report.proof.sentence)}\n"
        missed = [inert(f"{trial.fault}: {trial.reason}") for trial in report.proof.ended(Ending.MISSED)]
        yield from _folded("Missed", missed)


def _folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    shown = [f"- {line}" for line in lines]
    if shown:
        yield "\n".join(["", f"<details><summary>{title}</summary>", "", *shown, "", "</details>", ""])
