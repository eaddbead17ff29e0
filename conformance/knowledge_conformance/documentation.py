"""The generated part of the documentation: the catalogue as a page, the schemas as files. Knows no run and no provider.

``python -m knowledge_conformance.documentation docs`` writes all of it into the folder ``docs``.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.check import Check, number_of, section_of
from knowledge_conformance.kinds import KINDS, kind_of
from knowledge_conformance.reading import CHAPTERS
from knowledge_conformance.report import report_schema
from knowledge_conformance.settings import Settings
from knowledge_conformance.survey import SURVEY_CALLS
from knowledge_fakes.access_faults import ACCESS_FAULTS
from knowledge_fakes.composite_faults import COMPOSITE_FAULTS
from knowledge_fakes.faults import FAULTS, Fault
from knowledge_fakes.host_faults import HOST_FAULTS
from knowledge_fakes.making import MakerFault
from knowledge_fakes.merging_faults import MERGING_FAULTS
from knowledge_fakes.renderer_faults import RENDERER_FAULTS
from knowledge_fakes.source_faults import SOURCE_FAULTS
from knowledge_provider.schemas import wire_schemas

EXAMPLES_MAX: Final = 5
"""How many mistakes are listed under one check."""

_MISTAKES: Final[tuple[Fault | MakerFault, ...]] = (
    *FAULTS.values(),
    *HOST_FAULTS.values(),
    *COMPOSITE_FAULTS.values(),
    *SOURCE_FAULTS.values(),
    *MERGING_FAULTS.values(),
    *ACCESS_FAULTS.values(),
    *RENDERER_FAULTS.values(),
)

_HEAD: Final = """\
# The checks

<!-- Generated from the catalogue by: python -m knowledge_conformance.documentation docs -->

A check failed, and you want to know what it is about? Find its id below. Each entry has the rule, why the rule is
there, and mistakes that it catches. `knowledge-kit explain KP-304` says the same in a terminal.

An id is permanent: it never gets another meaning. **MUST** decides the verdict. An unmet **SHOULD** is advice, and
fails a run only with `--strict-should`; an unmet **MAY** is advice in any case. The words for how a check ended are
explained in [what a green means](green.md#how-a-check-ends).

*Needs* names the checks that have to hold first; while one of them is broken, this one is *blocked*. Fewer observations
than the least are *inconclusive*. Sections 1 to 7 are about providers: there, *calls* are calls of your provider with
the default settings, and *the survey* is a few ordinary requests, at most {survey} calls in all, whose answers many
checks look at. Sections 8 and 9 are about hosts and composites, which are driven with providers of the kit's own.
Section 10 is about retrieval sources, whose calls are counted as a provider's are, and from KP-1051 on about merging
hosts, which are driven with sources of the kit's own.
Sections 11 and 12 are about access rules and renderers, which are driven with rows and outcomes of the kit's own.
"""

_NOT_TESTED: Final = """\
## Not tested, because

No check stands for these clauses, or for the part of them that is named. A green run says nothing about them.

| clause | reason |
| --- | --- |
"""


def checks_page() -> str:
    """The page about every check, in the order of the ids, and about what is not tested."""
    parts = [_HEAD.format(survey=SURVEY_CALLS)]
    for number, title in CHAPTERS.items():
        entries = [_entry(check) for check in _in_section(number)]
        parts += [f"## {number} {title}\n", *entries] if entries else []
    reasons = [pair for kind in KINDS.values() for pair in kind.not_tested.items()]
    rows = "".join(f"| {clause} | {reason} |\n" for clause, reason in reasons)
    return "\n".join([*parts, _NOT_TESTED + rows])


def _in_section(number: str) -> Iterable[Check]:
    return [check for check in sorted(BY_ID.values(), key=number_of) if section_of(check) == number]


def _entry(check: Check) -> str:
    section = _anchor(check.clause.partition(".")[0])
    rule = f"**{check.title}**\n{check.level}, clause [{check.clause}](contract.md#{section}), facet {check.facet}."
    return "\n\n".join([f"### {check.id}", rule, check.rationale, "\n".join(_facts(check))]) + "\n"


def _facts(check: Check) -> Iterator[str]:
    if check.needs:
        yield f"- Needs: {', '.join(f'[{needed}](#{needed.lower()})' for needed in check.needs)}"
    yield f"- Observations: at least {check.minimum}"
    if not kind_of(check).driven:
        yield f"- Calls: {_calls(check)}"
    yield "- Catches, for example:"
    mistakes = [fault.summary for fault in _MISTAKES if fault.trips[0] == check.id]
    yield from (f"  - {summary}" for summary in mistakes[:EXAMPLES_MAX])


def _calls(check: Check) -> str:
    own = check.calls_allowed(Settings())
    parts = ([f"at most {own}"] if own else []) + (["the survey"] if check.surveyed else [])
    return " and ".join(parts) or "none"


def _anchor(number: str) -> str:
    return f"{number}-{CHAPTERS[number]}".lower().replace(",", "").replace(" ", "-")


def generated() -> dict[str, str]:
    """Every generated file of the documentation: its path in the folder, and its text."""
    schemas = {**wire_schemas(), "report": report_schema()}
    texts = {f"schemas/{name}.json": json.dumps(schema, indent=2) + "\n" for name, schema in schemas.items()}
    return {"checks.md": checks_page(), **texts}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the generated files into the one folder given; the exit code: 4 when none or several are given."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if len(given) != 1:
        sys.stderr.write("usage: python -m knowledge_conformance.documentation FOLDER\n")
        return 4
    for path, text in generated().items():
        place = Path(given[0], path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
