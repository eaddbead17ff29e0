"""What a user may say about their provider, read from TOML; knows files and shapes, no provider and no check."""

import datetime
import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
)

from knowledge_conformance.check import Facet
from knowledge_conformance.redact import redact
from knowledge_conformance.render import show
from knowledge_provider import limits
from knowledge_provider.text import has_surrogate, is_blank, short_text

OWN_FILE: Final = "knowledge-conformance.toml"
PROJECT_FILE: Final = "pyproject.toml"
TABLE: Final = "knowledge-conformance"

OF_OPTIONS: Final = MappingProxyType(
    {"replay": "--replay TOKEN", "record-network": "--record-network FILE", "trial": "--prove"}
)
"""What no file sets, as a file would spell it, with the option that does."""
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BARE_KEY: Final = re.compile(r"[\w-]{1,80}")


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


_Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), AfterValidator(_visible)]
_Query = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=limits.QUERY_MAX),
    AfterValidator(_visible),
    AfterValidator(_as_asked),
]


_Variable = Annotated[str, AfterValidator(_variable)]
_Reference = Annotated[dict[str, str], AfterValidator(_reference)]
_Reason = Annotated[str, StringConstraints(max_length=300), AfterValidator(_reason)]
_Url = Annotated[str, AfterValidator(_url)]
_Day = Annotated[datetime.date, BeforeValidator(_day)]
_Fingerprint = Annotated[str, AfterValidator(_fingerprint)]


class SettingsError(Exception):
    """The settings cannot be used; the message is one line that says where, what was wanted and what came."""


class _Table(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=lambda name: name.replace("_", "-"),
        populate_by_name=True,
        hide_input_in_errors=True,
    )


class OwnerExpectation(_Table):
    """What one owner sees: ``sees`` and ``never`` are result ids of the answer to ``query``."""

    query: _Query
    sees: tuple[_Line, ...] = ()
    never: tuple[_Line, ...] = ()


class FilterExpectation(_Table):
    """A filter and some ids that it selects for ``query``."""

    query: _Query
    filter: dict[str, JsonValue]
    selects: tuple[_Line, ...] = ()


class KnownFailure(_Table):
    """A failure that is accepted for ``reason``; ``url`` says more, and it is accepted through the UTC day ``expires``.

    ``fingerprint`` is the failure's own (``known.fingerprint``); without one any finding of the check is accepted.
    """

    reason: _Reason
    url: _Url | None = None
    expires: _Day | None = None
    fingerprint: _Fingerprint | None = None


class Profile(StrEnum):
    """How much of everything a run does. ``fast`` leaves checks out, so its verdict is never ``conformant``."""

    FAST = "fast"
    DEFAULT = "default"
    THOROUGH = "thorough"


_PROFILED: Final[Mapping[str, Mapping[Profile, int]]] = {
    "max_calls": {Profile.FAST: 600, Profile.DEFAULT: 600, Profile.THOROUGH: 3000},
    "concurrency": {
        Profile.FAST: limits.CONCURRENCY_DEFAULT,
        Profile.DEFAULT: limits.CONCURRENCY_DEFAULT,
        Profile.THOROUGH: limits.CONCURRENCY_MAX,
    },
    "examples": {Profile.FAST: 5, Profile.DEFAULT: 25, Profile.THOROUGH: 500},
}


def _by_profile(name: str) -> Callable[[dict[str, Any]], int]:
    # A profile that is none is an error of its own.
    return lambda held: _PROFILED[name][held.get("profile", Profile.DEFAULT)]


class Settings(_Table):
    """Everything that can be set, with its default; ``[tool.knowledge-conformance]``.

    ``profile`` is which checks are run, and the default of ``max_calls``, ``concurrency`` and ``examples``. ``timeout``
    is in seconds for one call, ``max_calls`` bounds the calls of the whole run, ``examples`` is how many requests are
    generated, ``seed`` makes them others. ``references`` are what a retrieval source is asked for, each with the fields
    of a reference. ``known_failures`` are by the check's id. ``network_recording`` is a file out of which the calls of
    the provider's clients are answered, and ``record_network`` one into which they are, from the network as it is; it
    goes before the other. ``record_network``, ``replay`` and ``trial`` are set by options alone, the last by
    ``--prove``.
    """

    providers: tuple[_Line, ...] = ()
    # Before the ones whose defaults it decides.
    profile: Profile = Profile.DEFAULT
    queries: tuple[_Query, ...] = ()
    no_hit_query: _Query | None = None
    timeout: float = Field(default=limits.CALL_SECONDS_DEFAULT, gt=0, le=600, allow_inf_nan=False)
    max_calls: int = Field(default_factory=_by_profile("max_calls"), ge=0)
    concurrency: int = Field(default_factory=_by_profile("concurrency"), ge=2, le=limits.CONCURRENCY_MAX)
    examples: int = Field(default_factory=_by_profile("examples"), ge=1, le=10_000)
    seed: int = Field(default=0, ge=0)
    require: tuple[Facet, ...] = (Facet.CORE,)
    absent: tuple[Facet, ...] = ()
    secrets: tuple[_Variable, ...] = ()
    strict_should: bool = False
    inject_network_faults: bool = False
    network_recording: _Line | None = None
    bases: Mapping[_Line, tuple[_Line, ...]] = Field(default_factory=dict)
    owners: Mapping[_Line, OwnerExpectation] = Field(default_factory=dict)
    filters: tuple[FilterExpectation, ...] = ()
    references: tuple[_Reference, ...] = ()
    known_failures: Mapping[_Line, KnownFailure] = Field(default_factory=dict)
    # Of an option, never of a file: a recording is made when somebody wants one.
    record_network: _Line | None = None
    # Of a --replay token, never of a file: it makes a check look at one input alone.
    replay: dict[str, JsonValue] | None = None
    # Of a fault's trial, never of a file: that a check catches it is all that is asked, not on how small an input.
    trial: bool = False

    @property
    def required(self) -> frozenset[Facet]:
        """The facets that the verdict needs; ``core`` always is one."""
        return frozenset({Facet.CORE, *self.require})

    @property
    def thorough(self) -> bool:
        """Whether checks try all that there is, where they otherwise try some."""
        return self.profile is Profile.THOROUGH

    @property
    def played(self) -> str | None:
        """The recording that stands in for the network, if one does; one that is made goes before it."""
        return self.network_recording if self.record_network is None else None

    def changed(self) -> set[str]:
        """The names of the settings that are not what the profile makes them."""
        usual = Settings(profile=self.profile)
        return {name for name in Settings.model_fields if getattr(self, name) != getattr(usual, name)}


def source_of(folder: Path) -> str:
    """How a message names the file whose settings hold in ``folder``, or that there is none."""
    file = settings_file(folder)
    return "the settings" if file is None else file.name


def read_settings(folder: Path) -> Settings:
    """The settings that hold in ``folder``: of the nearest folder upwards that has a settings or project file.

    Raises ``SettingsError`` when the file cannot be read, is not TOML, or holds what is not a setting.
    """
    path = settings_file(folder)
    if path is None:
        return Settings()
    document = _toml(path)
    table = _project_table(document) or (document if path.name == OWN_FILE else {})
    for name, option in OF_OPTIONS.items():
        if isinstance(table, dict) and name in table:
            raise SettingsError(f"{path.name}: {name}: is no setting of a file; pass {option}")
    return _placed(parse_settings(table, source=path.name), path.parent, folder)


def _placed(settings: Settings, home: Path, folder: Path) -> Settings:
    """The settings with a path of theirs, which is told from ``home``, as it is told from ``folder``."""
    told = settings.network_recording
    if told is None or home == folder:
        return settings
    return override(settings, network_recording=os.path.relpath(home / told, folder))


def settings_file(folder: Path) -> Path | None:
    """The file whose settings hold in ``folder``, or None where neither it nor a folder above has one."""
    places = (place / name for place in (folder, *folder.parents) for name in (OWN_FILE, PROJECT_FILE))
    return next((path for path in places if path.is_file()), None)


def parse_settings(table: object, *, source: str) -> Settings:
    """Settings from a parsed TOML table; raises ``SettingsError`` that names the place in ``source``."""
    try:
        settings = Settings.model_validate(table)
    except ValidationError as error:
        raise SettingsError(_explain(error, source)) from None
    return _consistent(settings, source)


def _consistent(settings: Settings, source: str) -> Settings:
    both = settings.required & set(settings.absent)
    if both:
        names = ", ".join(sorted(both))
        raise SettingsError(f"{source}: {names} cannot be both required and absent; 'core' is always required")
    refuse_unknown_failures(settings, source)
    return settings


def refuse_unknown_failures(settings: Settings, source: str) -> None:
    """Raise ``SettingsError`` where known-failures names a check that there is not."""
    from knowledge_conformance.catalogue import BY_ID  # here, not at the top: checks are declared over settings

    for name in settings.known_failures:
        if name not in BY_ID:
            why = f"there is no check {show(name)}; knowledge-kit checks lists them"
            raise SettingsError(f"{source}: known-failures: {why}")


def override(settings: Settings, **given: Any) -> Settings:
    """Settings with the values that a command line gave (None is not given); raises ``SettingsError``."""
    changed = {name.replace("_", "-"): value for name, value in given.items() if value is not None}
    # What was not given follows the profile, which may be another now.
    kept = settings.model_dump(by_alias=True, exclude_unset=True)
    return parse_settings({**kept, **changed}, source="command line")


def referring(ids: Sequence[str] | None) -> list[dict[str, str]] | None:
    """The references that a command line names by their ids, or None where it names none."""
    return [{"id": each} for each in ids] if ids else None


def _explain(error: ValidationError, source: str) -> str:
    found = error.errors(include_url=False, include_input=False, include_context=False)
    # A misspelt name first: it mostly is why something else is wrong.
    first = min(found, key=lambda each: each["type"] != "extra_forbidden")
    place = ".".join(_named(part) for part in first["loc"]) or TABLE
    if first["type"] == "extra_forbidden":
        names = {name.replace("_", "-") for name in Settings.model_fields}
        known = ", ".join(sorted(names.difference(OF_OPTIONS)))
        return f"{source}: {place}: there is no such setting; the settings are: {known}"
    message = first["msg"].removeprefix("Value error, ")
    return f"{source}: {place}: {message[:1].lower()}{message[1:]}"


def _named(part: int | str) -> str:
    # TOML lets a key be any text, also one with line ends, and a person may put a secret there.
    if isinstance(part, int):
        return str(part)
    return redact(part) if _BARE_KEY.fullmatch(part) else show(part)


def _project_table(document: Mapping[str, Any]) -> Any:
    tools = document.get("tool")
    return tools.get(TABLE) if isinstance(tools, dict) else None


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path.name}: cannot be read as TOML ({type(error).__name__}: {error})") from None
