"""What one value of the settings may be, and what is said of another; knows texts, days and names, no setting.

Each is a type that pydantic checks, and a line of TOML or of JSON can give.
"""

import datetime
import re
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, Strict, StringConstraints

from knowledge_conformance.render import show
from knowledge_provider import limits
from knowledge_provider.text import has_surrogate, is_blank, short_text

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _visible(text: str) -> str:
    if is_blank(text) or has_surrogate(text):
        raise ValueError("is blank or cannot be written as UTF-8: it needs at least one visible character")
    return text


def _as_asked(query: str) -> str:
    # As a request writes it (rule N5): a query of the settings is found again among the requests that were made.
    return short_text(query, limits.QUERY_MAX)


def _variable(name: str) -> str:
    # A key that is written here by mistake is hardly ever such a name, and would not be searched for.
    if not _VARIABLE.fullmatch(name):
        raise ValueError("is not the name of an environment variable: write the name, never the value")
    return name


def _reason(text: str) -> str:
    if is_blank(text) or has_surrogate(text):
        raise ValueError("is blank: say why this failure is accepted, so that the next reader can decide anew")
    return short_text(text, len(text))


def _url(text: str) -> str:
    if not re.fullmatch(r"https?://[\x21-\x7e]{1,300}", text):
        raise ValueError("is no http or https address")
    return text


def _day(day: object) -> object:
    # As TOML writes a day, or as JSON does on the way into another process.
    if type(day) is datetime.date or (type(day) is str and re.fullmatch(r"\d{4}-\d\d-\d\d", day)):
        return day
    raise ValueError("is no day: write one such as 2027-03-01, without quotes or a time")


def _reference(fields: dict[str, str]) -> dict[str, str]:
    from knowledge_provider.errors import KnowledgeReferenceInvalidError
    from knowledge_provider.sources.references import ExternalKnowledgeRef  # a provider's run needs no source

    unknown = [name for name in fields if name not in ExternalKnowledgeRef.model_fields]
    if unknown:
        raise ValueError(f"is no reference: there is no field {show(unknown[0])}")
    try:
        # Which source is asked, the source itself says.
        ExternalKnowledgeRef.model_validate({"provider": "source", **fields})
    except KnowledgeReferenceInvalidError as error:
        raise ValueError(f"is no reference: {str(error).partition('. ')[0]}") from None
    return fields


def _fingerprint(text: str) -> str:
    if not re.fullmatch("[0-9a-f]{12}", text):
        raise ValueError("is no fingerprint: copy the one of the failure, or leave it out to accept any failure")
    return text


# As a file writes them: true is no number, 1 is not true, and what stands in quotes is neither.
Number = Annotated[float, Strict()]
WholeNumber = Annotated[int, Strict()]
Switch = Annotated[bool, Strict()]
Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), AfterValidator(_visible)]
Query = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=limits.QUERY_MAX),
    AfterValidator(_visible),
    AfterValidator(_as_asked),
]
Variable = Annotated[str, AfterValidator(_variable)]
Reference = Annotated[dict[str, str], AfterValidator(_reference)]
Reason = Annotated[str, StringConstraints(max_length=300), AfterValidator(_reason)]
Url = Annotated[str, AfterValidator(_url)]
Day = Annotated[datetime.date, BeforeValidator(_day)]
Fingerprint = Annotated[str, AfterValidator(_fingerprint)]
