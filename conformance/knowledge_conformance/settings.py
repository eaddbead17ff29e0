"""What a user may say about their provider, read from TOML; knows files and shapes, no provider and no check."""

import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from knowledge_conformance.check import Facet
from knowledge_conformance.render import show
from knowledge_conformance.setting_values import (
    Day,
    Fingerprint,
    Line,
    Number,
    Query,
    Reason,
    Reference,
    Switch,
    Url,
    Variable,
    WholeNumber,
)
from knowledge_conformance.settings_words import Spelling, said_of
from knowledge_provider import limits

OWN_FILE: Final = "knowledge-conformance.toml"
PROJECT_FILE: Final = "pyproject.toml"
TABLE: Final = "knowledge-conformance"

OF_OPTIONS: Final = MappingProxyType(
    {"replay": "--replay TOKEN", "record-network": "--record-network FILE", "trial": "--prove"}
)
"""What no file sets, as a file would spell it, with the option that does."""


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

    query: Query
    sees: tuple[Line, ...] = ()
    never: tuple[Line, ...] = ()


class FilterExpectation(_Table):
    """A filter and some ids that it selects for ``query``."""

    query: Query
    filter: dict[str, JsonValue]
    selects: tuple[Line, ...] = ()


class KnownFailure(_Table):
    """A failure that is accepted for ``reason``; ``url`` says more, and it is accepted through the UTC day ``expires``.

    ``fingerprint`` is the failure's own (``known.fingerprint``); without one any finding of the check is accepted.
    """

    reason: Reason
    url: Url | None = None
    expires: Day | None = None
    fingerprint: Fingerprint | None = None


class Profile(StrEnum):
    """How much of everything a run does. ``fast`` leaves checks out, so its verdict is never ``conformant``."""

    FAST = "fast"
    DEFAULT = "default"
    THOROUGH = "thorough"


_PROFILED: Final[Mapping[str, Mapping[Profile, int]]] = {
    "max_calls": {Profile.FAST: 800, Profile.DEFAULT: 800, Profile.THOROUGH: 3000},
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

    providers: tuple[Line, ...] = ()
    # Before the ones whose defaults it decides.
    profile: Profile = Profile.DEFAULT
    queries: tuple[Query, ...] = ()
    no_hit_query: Query | None = None
    timeout: Number = Field(default=limits.CALL_SECONDS_DEFAULT, gt=0, le=600, allow_inf_nan=False)
    max_calls: WholeNumber = Field(default_factory=_by_profile("max_calls"), ge=0)
    concurrency: WholeNumber = Field(default_factory=_by_profile("concurrency"), ge=2, le=limits.CONCURRENCY_MAX)
    examples: WholeNumber = Field(default_factory=_by_profile("examples"), ge=1, le=10_000)
    seed: WholeNumber = Field(default=0, ge=0)
    require: tuple[Facet, ...] = (Facet.CORE,)
    absent: tuple[Facet, ...] = ()
    secrets: tuple[Variable, ...] = ()
    strict_should: Switch = False
    inject_network_faults: Switch = False
    network_recording: Line | None = None
    bases: Mapping[Line, tuple[Line, ...]] = Field(default_factory=dict)
    owners: Mapping[Line, OwnerExpectation] = Field(default_factory=dict)
    filters: tuple[FilterExpectation, ...] = ()
    references: tuple[Reference, ...] = ()
    known_failures: Mapping[Line, KnownFailure] = Field(default_factory=dict)
    # Of an option, never of a file: a recording is made when somebody wants one.
    record_network: Line | None = None
    # Of a --replay token, never of a file: it makes a check look at one input alone.
    replay: dict[str, JsonValue] | None = None
    # Of a fault's trial, never of a file: that a check catches it is all that is asked, not on how small an input.
    trial: Switch = False

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
    table = _table_in(_toml(path), path)
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
    # Also what only looks like one, such as a folder: passed over, it would look as if its settings held.
    return next((path for path in places if os.path.lexists(path)), None)


def parse_settings(table: object, *, source: str) -> Settings:
    """Settings from a parsed TOML table; raises ``SettingsError`` that names the place in ``source``."""
    try:
        settings = Settings.model_validate(table)
    except ValidationError as error:
        header = f"tool.{TABLE}." if source == PROJECT_FILE else ""
        spelling = Spelling(TABLE, header, listed=("filters", "references"), hidden=OF_OPTIONS)
        raise SettingsError(f"{source}: {said_of(error, Settings, spelling)}") from None
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


def _table_in(document: Mapping[str, Any], path: Path) -> Any:
    """The table of the settings in a file: a project's has it under its name, and a file of ours may have."""
    tools = document.get("tool")
    inside = tools.get(TABLE) if isinstance(tools, dict) else None
    if path.name != OWN_FILE:
        return {} if inside is None else inside
    if inside is None:
        return document
    beside = next((name for name in document if name != "tool"), None)
    if beside is not None:
        why = f"stands outside of [tool.{TABLE}], and settings are read from one place: put it in there"
        raise SettingsError(f"{path.name}: {show(beside)}: {why}")
    return inside


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path.name}: cannot be read: {error.strerror}; wanted a file") from None
    except (ValueError, RecursionError) as error:  # ValueError: is no UTF-8, no TOML, or a number without an end
        raise SettingsError(f"{path.name}: cannot be read as TOML ({type(error).__name__}: {error})") from None
