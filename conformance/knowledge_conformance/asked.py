"""What the options of a pytest run ask for. Knows pytest's options and the folder where it starts; runs nothing."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import pytest

from knowledge_conformance.following import FollowUpError, refuse_unprovable, refuse_unwritable, replaying
from knowledge_conformance.items import Aim
from knowledge_conformance.kinds import KINDS
from knowledge_conformance.replay import Replay, TokenError, settings_of
from knowledge_conformance.reporting import wanted_paths
from knowledge_conformance.settings import Settings, SettingsError, override, read_settings, referring
from knowledge_conformance.target import TargetError, check_name


@dataclass(frozen=True, slots=True)
class Asked:
    """A run on ``aims`` under ``settings``, those of the folder with what the options put over them.

    ``replay``: the one failure that is looked for again. ``paths``: where reports are written, seen from the folder
    where the run starts. ``emit``: where tests are written that show failures. ``write``: whether what fails becomes
    known. ``prove``: whether every fault is put into the providers.
    """

    aims: tuple[Aim, ...]
    settings: Settings
    replay: Replay | None
    paths: tuple[Path, ...]
    emit: Path | None
    write: bool
    prove: bool


def asked(config: pytest.Config) -> Asked:
    """What is asked for; raises ``pytest.UsageError`` for what cannot be done, before anything is run."""
    try:
        return _asked(config)
    except (FollowUpError, SettingsError, TargetError, TokenError) as error:
        raise pytest.UsageError(str(error)) from None


def _asked(config: pytest.Config) -> Asked:
    option, folder = config.getoption, config.invocation_params.dir
    # Twice the same is once.
    aims = tuple(dict.fromkeys(Aim(kind, check_name(name)) for kind in KINDS for name in option(kind)))
    kinds = {aim.kind for aim in aims}
    replay = _replay(config, kinds)
    if option("prove"):
        refuse_unprovable(kinds)
    emit = None if option("emit_repro") is None else folder / option("emit_repro")
    if emit is not None:
        refuse_unwritable(emit)
    return Asked(
        aims=aims,
        settings=_settings(config, replay),
        replay=replay,
        paths=tuple(wanted_paths(config)),
        emit=emit,
        write=option("write_known_failures"),
        prove=option("prove"),
    )


def _replay(config: pytest.Config, kinds: Collection[str]) -> Replay | None:
    given = config.getoption("replay")
    return None if given is None else replaying(given, kinds)


def _settings(config: pytest.Config, replay: Replay | None) -> Settings:
    option = config.getoption
    settings = read_settings(config.invocation_params.dir)
    if replay is not None:
        settings = settings_of(replay, settings)
    return override(
        settings,
        queries=option("provider_query"),
        references=referring(option("source_reference")),
        timeout=option("provider_timeout"),
        examples=option("provider_examples"),
        seed=option("provider_seed"),
        profile=option("provider_profile"),
        max_calls=option("max_calls"),
        # Beside those of the settings: a command line makes a verdict stricter, never weaker.
        require=[*settings.require, *option("require")] if option("require") else None,
        strict_should=option("strict_should"),
        inject_network_faults=option("inject_network_faults"),
        network_recording=option("network_recording"),
        record_network=option("record_network"),
    )
