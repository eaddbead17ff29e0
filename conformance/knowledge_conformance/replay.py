"""Replay tokens: one failure as a text that asks for it again anywhere. Pure; knows settings and JSON, runs nothing.

``KP-303.1.PAYLOAD.SUM``: the check; the version of the format; what is not a default, as deflated JSON in the URL-safe
Base64 alphabet; and a checksum over all of it. A token may come from anybody: it is bounded before it is opened and
while it is, and holds JSON only.
"""

import json
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from pydantic import JsonValue, ValidationError

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.check import Check
from knowledge_conformance.drawn import compact, shown_input
from knowledge_conformance.redact import mask_known
from knowledge_conformance.render import show
from knowledge_conformance.report import CheckReport
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.settings import OF_OPTIONS, Settings, SettingsError, parse_settings
from knowledge_provider import RetrievalRequest

VERSION: Final = "1"
TOKEN_MAX: Final = 4_000
"""Characters of a token that is written, and that a terminal and a mail still carry in one piece."""
READ_MAX: Final = 16_000
"""Characters of a token that is looked at."""
PAYLOAD_MAX: Final = 64_000
"""Bytes that a payload may become."""

# Not of the run that is asked for: which provider, and what is made of its outcome.
_LEFT_OUT: Final = {"providers", "require", "known_failures", "network_recording"} | {
    option.replace("-", "_") for option in OF_OPTIONS
}
# What may be long, and stands in the settings file as well.
_LONG: Final = ("bases", "owners", "filters", "references")
# What costs its owner something: never more of it than the run allows that asks for a token.
_COSTS: Final = MappingProxyType(
    {
        "max_calls": "--max-calls={}",
        "timeout": "--provider-timeout={}",
        "concurrency": "concurrency = {} in the settings",
        "inject_network_faults": "--inject-network-faults",
    }
)
_SETTLED: Final = frozenset({CheckOutcome.PASSED, CheckOutcome.INAPPLICABLE, CheckOutcome.BLOCKED})


class TokenError(Exception):
    """A token that cannot be used; the message is one line that says what is wrong with it."""

    def __init__(self, why: str) -> None:
        super().__init__(f"--replay: {why}")


@dataclass(frozen=True, slots=True)
class Replay:
    """What a token asks for: a check, the settings that were not the defaults, and perhaps the input to look at.

    ``settings`` are by their names in TOML. ``fingerprint`` is the failure's. ``over``: the settings were too long for
    a token, so that these go over those of the folder.
    """

    check: Check
    settings: dict[str, Any] = field(default_factory=dict)
    input: dict[str, JsonValue] | None = None
    fingerprint: str | None = None
    over: bool = False


def token(
    check: Check,
    settings: Settings,
    *,
    input: dict[str, JsonValue] | None = None,  # noqa: A002 - the result's field
    fingerprint: str | None = None,
    secrets: tuple[str, ...] = (),
) -> str | None:
    """The token of a failure under ``settings``, or None where none can be written.

    That is where it would be too long, or would hold one of ``secrets``.
    """
    told = (settings.changed() | {"profile"}) - _LEFT_OUT
    changed = settings.model_dump(mode="json", by_alias=True, exclude_defaults=True, include=told)
    short = {name: value for name, value in changed.items() if name not in _LONG}
    shown = input if check.replays else None
    for said, over in ((changed, False), (short, True)):
        payload = _payload(said, shown, fingerprint, over=over)
        if mask_known(payload, secrets, limit=PAYLOAD_MAX) != payload:
            return None
        written = _sealed(f"{check.id}.{VERSION}.{_packed(payload)}")
        if len(written) <= TOKEN_MAX:
            return written
    return None


def with_token(check: Check, result: CheckResult, settings: Settings, secrets: tuple[str, ...]) -> CheckResult:
    """A result that somebody may want to see again with its token, and with its input where that may be shown."""
    if result.outcome in _SETTLED:
        return result
    shown = shown_input(result.input, secrets)
    again = token(check, settings, input=shown, fingerprint=result.fingerprint, secrets=secrets)
    return result.model_copy(update={"input": shown, "replay": again})


def read_token(text: str) -> Replay:
    """What a token asks for; raises ``TokenError``. White space in it is ignored: terminals and mails break lines."""
    joined = "".join(text[: READ_MAX + 1].split())
    if len(text) > READ_MAX:
        raise TokenError(f"it has more than {READ_MAX:,} characters, and none that the kit writes has")
    head, _, given = joined.rpartition(".")
    parts = head.split(".")
    if len(parts) != 3:
        raise TokenError(f"{show(joined)} is no token: wanted one such as KP-303.1.q1YqUrIyNKgFAA.c2Zu5Q, all of it")
    check_id, version, packed = parts
    if version != VERSION:
        raise TokenError(f"it is of version {show(version)}, and this kit reads version {VERSION}")
    if _sealed(head) != joined:
        raise TokenError(
            f"its checksum is {show(given)} and does not fit: a part is missing or changed; copy all of it"
        )
    if check_id not in BY_ID:
        raise TokenError(f"this kit has no check {show(check_id)}")
    return _replay(BY_ID[check_id], _unpacked(packed))


def settings_of(replay: Replay, folder: Settings) -> Settings:
    """The settings of the run that a token asks for; ``folder`` are those where it runs. Raises ``TokenError``.

    Of calls, seconds, calls at once and network faults it gets no more than ``folder`` has: a token may be anybody's.
    """
    base = folder if replay.over else Settings()
    # A known failure is what is wanted to be seen now.
    own: dict[str, Any] = {
        "providers": folder.providers,
        "network-recording": folder.network_recording,
        "known-failures": {},
    }
    kept = {**base.model_dump(by_alias=True, exclude_unset=True), **own}
    try:
        made = parse_settings({**kept, **replay.settings}, source="--replay")
    except SettingsError as error:
        raise TokenError(f"its settings are not this kit's: {error}") from None
    bounded = {name: min(getattr(made, name), getattr(folder, name)) for name in _COSTS}
    return made.model_copy(update={**bounded, "replay": replay.input})


def bounded_lines(replay: Replay, settings: Settings) -> Iterator[str]:
    """What a token asked for and did not get under ``settings``, those of the run, line by line, and how to give it."""
    asked = {name.replace("_", "-"): name for name in _COSTS}
    held = {name: value for name, value in replay.settings.items() if name in asked}
    wanted = parse_settings(held, source="--replay")
    for name, way in _COSTS.items():
        more, allowed = getattr(wanted, name), getattr(settings, name)
        if name.replace("_", "-") in held and more > allowed:
            shown = [f"{value:g}" if type(value) is float else str(value).lower() for value in (more, allowed)]
            yield (
                f"the token asks for {name.replace('_', '-')} = {shown[0]}, and this run allows {shown[1]}: "
                f"{way.format(shown[0])} allows it"
            )


def outcome_line(replay: Replay, result: CheckResult | CheckReport) -> str:
    """Whether the failure that a token asks for came again, on one line."""
    name = replay.check.id
    match result.outcome:
        case CheckOutcome.PASSED:
            return f"{name} passes: the failure does not reproduce"
        case CheckOutcome.INAPPLICABLE | CheckOutcome.INCONCLUSIVE | CheckOutcome.BLOCKED:
            return f"{name} could not be tried, it is {result.outcome}: {result.saw}"
    if replay.fingerprint in (None, result.fingerprint):
        return f"{name} fails again: the failure reproduces"
    return f"{name} fails, but not as it did: the token's failure is {replay.fingerprint}, this is {result.fingerprint}"


def _payload(
    settings: dict[str, Any],
    input: dict[str, JsonValue] | None,  # noqa: A002 - the result's field
    fingerprint: str | None,
    *,
    over: bool,
) -> str:
    held = {"s": settings, "i": input, "f": fingerprint, "o": over}
    return compact({name: value for name, value in held.items() if value})


def _packed(payload: str) -> str:
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return _base64(deflate.compress(payload.encode()) + deflate.flush())


def _unpacked(packed: str) -> Any:
    try:
        data = urlsafe_b64decode(f"{packed}{'=' * (-len(packed) % 4)}")
        inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        text = inflate.decompress(data, PAYLOAD_MAX)
        if not inflate.eof:
            raise TokenError(f"it holds more than {PAYLOAD_MAX:,} bytes, or only a part of what it held")
        return json.loads(text)
    except (ValueError, RecursionError, zlib.error) as error:
        raise TokenError(f"its payload cannot be read ({type(error).__name__})") from None


def _replay(check: Check, held: Any) -> Replay:
    if type(held) is not dict or not held.keys() <= {"s", "i", "f", "o"}:
        raise TokenError("its payload is not what this kit writes")
    settings, shown, mark = held.get("s", {}), held.get("i"), held.get("f")
    shaped = type(settings) is dict and type(shown) in (dict, type(None)) and type(mark) in (str, type(None))
    if not shaped or (settings.keys() & {name.replace("_", "-") for name in _LEFT_OUT}):
        raise TokenError("its payload is not what this kit writes")
    _refuse_input(check, shown)
    return Replay(check, settings, shown, mark, over=held.get("o") is True)


def _refuse_input(check: Check, shown: dict[str, Any] | None) -> None:
    if shown is None:
        return
    if not check.replays or len(shown) != 1:
        raise TokenError(f"it holds an input, and {check.id} takes none such")
    try:
        if "request" in shown:
            RetrievalRequest.model_validate(shown["request"])
    except ValidationError:
        raise TokenError("the request that it holds is not valid by clause 3.1") from None


def _sealed(head: str) -> str:
    return f"{head}.{_base64(zlib.crc32(head.encode('utf-8', 'replace')).to_bytes(4, 'big'))}"


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")
