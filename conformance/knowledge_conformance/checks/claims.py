"""Clause 1.9: what capabilities claim is what behaviour shows. Knows claims; what is claimed and missing is clause 5's.

That scores and citations are claimed and missing say KP-508 and KP-603; that filters named in the settings do not hold
says KP-312. Here are the other sides.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from knowledge_conformance.check import Check, Inapplicable, Level, Violation, check
from knowledge_conformance.checks.filtering import ask_filtered, contradicts, metadata_of
from knowledge_conformance.checks.identity import claims
from knowledge_conformance.exchange import Exchange, source_of
from knowledge_conformance.impossible import NO_SUCH_VALUE
from knowledge_conformance.plain import is_exactly
from knowledge_conformance.ranges import beyond
from knowledge_conformance.render import show
from knowledge_conformance.subject import Subject
from knowledge_conformance.survey import answered
from knowledge_provider import public_uri
from knowledge_provider.text import finite_number, has_surrogate

_FIELDS_MAX: Final = 3
_VALUE_MAX: Final = 80
_RESULTS_MIN: Final = 5
"""Fewer results say nothing: what two have by chance need not be promised."""


class _Field(NamedTuple):
    """A field of the metadata with a value that some results of a query show, and not all of them."""

    query: str
    name: str
    value: str


async def _fields(subject: Subject) -> list[_Field]:
    found = (field for exchange in answered(await subject.survey()) for field in _fields_of(exchange))
    by_name = {field.name: field for field in found}
    return list(by_name.values())[:_FIELDS_MAX]


def _fields_of(exchange: Exchange) -> Iterator[_Field]:
    shown = [metadata_of(entry) for _, entry in exchange.entries]
    for name, value in shown[0].items() if shown else ():
        tells = any(contradicts(other.get(name), value) for other in shown[1:])
        # A filter on a date may be a bound.
        telling = tells and is_exactly(value, str) and 0 < len(value) <= _VALUE_MAX and beyond(value) is None
        if telling and not has_surrogate(name + value):
            yield _Field(exchange.request.query, name, value)


class _Tried(NamedTuple):
    """One field asked for a value that results have, and for one that none has."""

    field: _Field
    some: Exchange
    none: Exchange

    def shown(self, exchange: Exchange) -> list[object]:
        """What the results of an answer show in the field; filler shows nothing."""
        return [metadata_of(entry).get(self.field.name) for _, entry in exchange.entries]


async def _tried(subject: Subject) -> _Tried:
    """The first field that can be filtered by, if only in name; raises ``Inapplicable`` when there is none."""
    for field in await _fields(subject):
        some = await ask_filtered(subject, field.query, {field.name: field.value})
        if some.count:
            return _Tried(field, some, await ask_filtered(subject, field.query, {field.name: NO_SUCH_VALUE}))
    raise Inapplicable("no field that results show in their metadata can be filtered by")


# Clause 1.9
@check("KP-113", clause="1.9", level=Level.SHOULD, needs=("KP-102", "KP-307"), calls=2 + _FIELDS_MAX, surveyed=True)
async def claimed_filters_do_something(subject: Subject) -> None:
    """With capabilities.filters, a filter on a field that results show narrows the answer.

    A host that was promised filters passes them on and believes the answer. Asked is a value that some results have,
    and one that none has.
    """
    if not await claims(subject, "filters"):
        raise Inapplicable("capabilities.filters is not claimed")
    if subject.settings.filters:
        raise Inapplicable("the settings name filters: KP-312 asks those")
    tried = await _tried(subject)
    if any(contradicts(held, NO_SUCH_VALUE) for held in tried.shown(tried.none)):
        raise Violation(
            wanted=f"nothing where {show(tried.field.name, limit=40)} has a value that no document has",
            saw=tried.none.size,
            hint="pass filters on to the back end, or do not claim capabilities.filters and refuse them",
            where=str(tried.none),
        )
    subject.observe()


# Clause 1.9
@check("KP-114", clause="1.9", level=Level.SHOULD, needs=("KP-109", "KP-307"), calls=2 + _FIELDS_MAX, surveyed=True)
async def honoured_filters_are_claimed(subject: Subject) -> None:
    """Filters that are honoured are claimed.

    A host passes filters to providers that claim them only, so nobody uses what is there.
    """
    if await claims(subject, "filters"):
        raise Inapplicable("capabilities.filters is claimed")
    tried = await _tried(subject)
    narrowed = not any(contradicts(held, tried.field.value) for held in tried.shown(tried.some))
    if narrowed and tried.none.error is None and not tried.none.count:
        raise Violation(
            wanted="capabilities.filters, since a filter narrows the answer",
            saw="that it is not claimed",
            hint="answer capabilities={'filters': True, ...}, or refuse filters",
            where=str(tried.some),
        )
    subject.observe()


# Clause 1.9
@check("KP-115", clause="1.9", level=Level.SHOULD, needs=("KP-109", "KP-502"), calls=2, surveyed=True)
async def what_results_show_is_claimed(subject: Subject) -> None:
    """Scores that rank every answer, and public links on every result, are claimed.

    A host drops by score, and promises citations, only where they are claimed. Scores on some results, or such as
    rise down the list, need no claim.
    """
    survey = answered(await subject.survey())
    if sum(len(exchange.entries) for exchange in survey) < _RESULTS_MIN:
        raise Inapplicable(f"fewer than {_RESULTS_MIN} results were seen")
    for capability, shown in (("scores", _ranked(survey)), ("citations", _cited(survey))):
        if shown and not await claims(subject, capability):
            raise Violation(
                wanted=f"capabilities.{capability}, since every result has what it promises",
                saw="that it is not claimed",
                hint=f"answer capabilities={{'{capability}': True, ...}}",
                where=f"all results of {len(survey)} answers",
            )
    subject.observe()


def _ranked(survey: Sequence[Exchange]) -> bool:
    """Whether every result has a score, they never rise, and they are not all the same."""
    scores = [[finite_number(entry.get("score")) for _, entry in exchange.entries] for exchange in survey]
    known = [[score for score in each if score is not None] for each in scores]
    falling = all(one >= two for each in known for one, two in pairwise(each))
    return known == scores and falling and len({score for each in known for score in each}) > 1


def _cited(survey: Sequence[Exchange]) -> bool:
    entries = (entry for exchange in survey for _, entry in exchange.entries)
    return all(public_uri(source_of(entry).get("uri")) is not None for entry in entries)


CHECKS: Final[tuple[Check, ...]] = (
    claimed_filters_do_something,
    honoured_filters_are_claimed,
    what_results_show_is_claimed,
)
