"""Reports as one page of HTML that needs nothing else: no script, no font, no picture. Knows HTML; runs nothing.

Whatever stands in a report may come from a provider, or from a file that anybody wrote. It goes through ``_text``, and
the page's own policy forbids a browser to load or to run anything.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from itertools import groupby
from typing import Final

from knowledge_conformance.check import Facet
from knowledge_conformance.proof import Ending, Proof, grouped
from knowledge_conformance.reading import (
    MARKS,
    VERDICT_MARKS,
    Tone,
    again,
    chapters,
    rationale,
    to_look_at,
    tone,
    unseen,
    verdict_tone,
)
from knowledge_conformance.render import visible
from knowledge_conformance.report import CheckReport, Report
from knowledge_conformance.results import CheckOutcome

_Html = Iterator[str]
_STYLE: Final = files("knowledge_conformance").joinpath("templates/page.css").read_text(encoding="utf-8")
_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{b64encode(sha256(_STYLE.encode()).digest()).decode()}'; "
    "base-uri 'none'; form-action 'none'"
)


def page(reports: Sequence[Report]) -> str:
    """The page of one report, or of several with a table of checks and targets; the same reports give the same text."""
    body = _single(reports[0]) if len(reports) == 1 else _several(reports)
    title = f"{reports[0].verdict}: {reports[0].target}" if len(reports) == 1 else f"{len(reports)} conformance reports"
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{_text(title)}</title>",
            f"<style>{_STYLE}</style>\n</head>\n<body>",
            *body,
            "</body>\n</html>\n",
        ]
    )


def _text(text: object) -> str:
    return escape(visible(str(text)))


def _name(target: str) -> str:
    # Where a long name may be broken, so that it is not broken elsewhere.
    return re.sub("([.:_+])", r"\1<wbr>", _text(target))


def _code(text: object) -> str:
    return f"<code>{_text(text)}</code>"


def _anchor(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9-]", "-", text)


def _single(report: Report) -> _Html:
    yield f'<header>\n<h1>{_name(report.target)}</h1>\n<p class="made">{_made(report)}</p>\n</header>\n<main>'
    yield from _report(report, "", level=2)
    yield "</main>"


def _several(reports: Sequence[Report]) -> _Html:
    yield f"<header>\n<h1>{len(reports)} conformance reports</h1>\n</header>\n<main>"
    named = list(enumerate(reports, 1))
    for kind, group in groupby(sorted(named, key=lambda each: each[1].kind), key=lambda each: each[1].kind):
        yield from _matrix(kind, list(group))
    for number, report in named:
        prefix = f"r{number}-"
        yield f'<section class="provider" id="{prefix}report" aria-labelledby="{prefix}target">'
        yield f'<h2 id="{prefix}target">{_name(report.target)}</h2>\n<p class="made">{_made(report)}</p>'
        yield from _report(report, prefix, level=3)
        yield "</section>"
    yield "</main>"


def _made(report: Report) -> str:
    return (
        f"{_text(report.noun)}, checked by knowledge-provider-kit {_text(report.kit)}: protocol {report.protocol}, "
        f"requirements {_text(report.requirements)}"
    )


# Several reports side by side.


def _matrix(kind: str, named: Sequence[tuple[int, Report]]) -> _Html:
    label = f"Every {named[0][1].noun} by every check"
    yield f'<h2 id="matrix-{kind}">{label}</h2>'
    # The one thing that may be wider than the window: it scrolls by itself, and by keys too.
    yield f'<div class="wide" role="region" aria-labelledby="matrix-{kind}" tabindex="0">\n<table class="matrix">'
    yield f"<caption>{len(named)} targets. What each word means stands with its check below.</caption>"
    heads = "".join(f'<th scope="col"><a href="#r{number}-report">{_name(r.target)}</a></th>' for number, r in named)
    yield f'<thead><tr><th scope="col">check</th>{heads}</tr></thead>'
    yield f'<tbody><tr><th scope="row">verdict</th>{"".join(_verdict_cell(*each) for each in named)}</tr></tbody>'
    by_id = {number: {check.id: check for check in report.checks} for number, report in named}
    rows = {check.id: check for _, report in named for check in report.checks}
    for chapter, checks in chapters(rows.values()).items():
        yield f'<tbody><tr><th scope="rowgroup" colspan="{len(named) + 1}">{_text(chapter)}</th></tr>'
        for check in checks:
            cells = "".join(_cell(number, by_id[number].get(check.id)) for number, _ in named)
            yield f'<tr><th scope="row">{_code(check.id)} {_text(check.title)}</th>{cells}</tr>'
        yield "</tbody>"
    yield "</table>\n</div>"


def _verdict_cell(number: int, report: Report) -> str:
    found = verdict_tone(report.verdict)
    return f'<td class="{found}"><a href="#r{number}-verdict">{_marked(VERDICT_MARKS[found], report.verdict)}</a></td>'


def _cell(number: int, check: CheckReport | None) -> str:
    if check is None:
        return f'<td class="{Tone.NONE}">not run</td>'
    link = f"#r{number}-{_anchor(check.id)}"
    return f'<td class="{tone(check.outcome)}"><a href="{link}">{_outcome(check.outcome)}</a></td>'


# One report.


def _report(report: Report, prefix: str, level: int) -> _Html:
    yield from _verdict(report, prefix, level)
    heading = f"h{level}"
    found = to_look_at(report)
    if found:
        yield f"<{heading}>To look at</{heading}>"
        yield f'<ul class="look">{"".join(f"<li>{_link(check, prefix)}</li>" for check in found)}</ul>'
    yield from _facets(report, heading)
    yield from _unestablished(report, heading)
    if report.proof is not None:
        yield from _proof(report.proof, heading)
    for chapter, checks in chapters(report.checks).items():
        yield f'<{heading} id="{prefix}{_anchor(chapter)}">{_text(chapter)}</{heading}>'
        for check in checks:
            yield from _check(check, report, prefix)


def _verdict(report: Report, prefix: str, level: int) -> _Html:
    found = verdict_tone(report.verdict)
    yield f'<section class="verdict {found}" aria-labelledby="{prefix}verdict">'
    yield f'<h{level} id="{prefix}verdict">{_marked(VERDICT_MARKS[found], report.verdict)}</h{level}>'
    yield f"<p>{_text(report.sentence)}</p>"
    counts = "".join(
        f'<li class="{tone(outcome)}"><b>{count}</b> {_outcome(outcome)}</li>'
        for outcome, count in report.counts.items()
        if count
    )
    yield f'<ul class="counts">{counts or "<li>no check was run</li>"}</ul>\n</section>'
    links = "".join(f'<li><a href="#{prefix}{_anchor(c)}">{_text(c)}</a></li>' for c in chapters(report.checks))
    yield f'<nav aria-label="Chapters of {_text(report.target)}"><ol>{links}</ol></nav>'


def _link(check: CheckReport, prefix: str) -> str:
    line = f"{_code(check.id)} {_text(check.title)}"
    outcome = f'<span class="outcome">{_outcome(check.outcome)}</span>'
    return f'<span class="{tone(check.outcome)}">{outcome}</span> <a href="#{prefix}{_anchor(check.id)}">{line}</a>'


def _facets(report: Report, heading: str) -> _Html:
    why = unseen(report)
    yield f"<{heading}>What was exercised</{heading}>"
    yield '<div class="wide">\n<table class="stack">\n<thead><tr><th scope="col">facet</th><th scope="col">state</th>'
    yield '<th scope="col">to exercise it</th></tr></thead>\n<tbody>'
    for facet, state in report.facets.items():
        checks = sum(check.facet is facet for check in report.checks)
        said = "<br>".join(map(_text, why.get(facet, ()))) or _nothing_to_do(facet, checks)
        yield f'<tr><th scope="row">{_text(facet)}</th><td>{_text(state)}</td><td>{said}</td></tr>'
    yield "</tbody>\n</table>\n</div>"


def _nothing_to_do(facet: Facet, checks: int) -> str:
    return f'<span class="soft">{_many(checks, "check")} of {_text(facet)} in this report</span>'


def _unestablished(report: Report, heading: str) -> _Html:
    yield f"<{heading}>What this does not establish</{heading}>"
    yield (
        "<p>It says what was seen on this target, in one environment, on the requests that were made. It does not say "
        "that the answers are good, or that it holds elsewhere or tomorrow.</p>"
    )
    yield f'<ul class="plain">{"".join(f"<li>{_text(line)}</li>" for line in report.not_established)}</ul>'


def _proof(proof: Proof, heading: str) -> _Html:
    yield f"<{heading}>Would it have been seen?</{heading}>"
    yield f"<p>Known faults were put into this provider, one at a time: {_text(proof.sentence)}.</p>"
    for ending, lead in ((Ending.MISSED, "Missed: the check passed with"), (Ending.HIDDEN, "Cannot show here:")):
        lines = (f"<li>{lead} {_codes(faults)}: {_text(why)}</li>" for why, faults in grouped(proof.ended(ending)))
        yield f'<ul class="plain">{"".join(lines)}</ul>' if proof.ended(ending) else ""


def _codes(names: Iterable[str]) -> str:
    return ", ".join(map(_code, names))


def _check(check: CheckReport, report: Report, prefix: str) -> _Html:
    found = tone(check.outcome)
    shut = "" if found in (Tone.GOOD, Tone.NONE) else " open"
    yield f'<details class="check {found}" id="{prefix}{_anchor(check.id)}"{shut}>'
    yield (
        f'<summary><span class="outcome">{_outcome(check.outcome)}</span> {_code(check.id)} {_text(check.title)} '
        f'<span class="rule">{_text(check.level)} {_text(check.clause)}</span></summary>\n<div class="inside">\n<dl>'
    )
    for name, text in _evidence(check, report):
        yield f"<div><dt>{name}</dt><dd>{text}</dd></div>"
    yield "</dl>"
    if check.transcript:
        calls = "".join(f"<li>{_code(call)}</li>" for call in check.transcript)
        yield f'<p class="soft">Its last calls, in order</p>\n<ol class="calls">{calls}</ol>'
    yield "</div>\n</details>"


def _evidence(check: CheckReport, report: Report) -> Iterator[tuple[str, str]]:
    for name, text in (("wanted", check.wanted), ("saw", check.saw)):
        if text:
            yield name, _text(text)
    if check.where:
        yield "call", _code(check.where)
    for name, text in (("hint", check.hint), ("known", check.known)):
        if text:
            yield name, _text(text)
    yield from (("why", _text(paragraph)) for paragraph in rationale(check))
    if check.observations or check.calls:
        yield "looked at", f"{_many(check.observations, 'observation')}, {_many(check.calls, 'call')} of its own"
    command = again(check, report)
    if command is not None and check.outcome not in (CheckOutcome.PASSED, CheckOutcome.INAPPLICABLE):
        yield "again", _code(command)


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _outcome(outcome: CheckOutcome) -> str:
    return _marked(MARKS[outcome], outcome)


def _marked(mark: str, word: object) -> str:
    # The word is what is read; the mark is for the eye, which finds it faster, and not by its colour alone.
    return f'<span aria-hidden="true">{mark}</span> {_text(word)}'
