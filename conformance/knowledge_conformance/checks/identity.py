"""Section 1 of the contract: what a provider says it is. Knows descriptions; never calls ``retrieve``."""

import inspect
import re
from collections.abc import Mapping
from types import CoroutineType
from typing import Any, Final

from pydantic import BaseModel

from knowledge_conformance import calls
from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.plain import copied, is_exactly, model_fields
from knowledge_conformance.render import show, show_error
from knowledge_conformance.subject import Subject
from knowledge_provider import PROTOCOL_VERSION, ProviderDescription, limits
from knowledge_provider.text import is_a, is_blank

_KEY: Final = re.compile(r"[a-z0-9-]+")
_SPELLINGS: Final = {"protocolVersion": "protocol_version"}


# Clause 1.1
@check("KP-101", clause="1.1", level=Level.MUST)
async def has_the_methods(subject: Subject) -> None:
    """The provider has callable describe() and retrieve(request, context).

    A host composes any object with these two methods; health and close are optional, and callable when they are there.
    Arguments are passed by position, so their names are the provider's own.
    """
    for name, arguments in (("describe", 0), ("retrieve", 2)):
        method = subject.member(name)
        if not callable(method):
            raise Violation(
                wanted=f"a callable {name}",
                saw="none" if method is None else show(method),
                hint=f"add a method {name}({'request, context' if arguments else ''})",
                where=f"provider.{name}",
            )
        _takes(method, name, arguments)
        subject.observe()
    for name in ("health", "close"):
        method = subject.member(name)
        if method is not None and not callable(method):
            raise Violation(
                wanted=f"a callable {name}, or none",
                saw=show(method),
                hint=f"make {name} a method, or leave it out",
                where=f"provider.{name}",
            )


def _takes(method: Any, name: str, count: int) -> None:
    try:
        inspect.signature(method).bind(*[None] * count)
    except TypeError as error:
        raise Violation(
            wanted=f"{name} to take {count} positional arguments",
            saw=f"a signature that does not ({show_error(error)})",
            hint="hosts pass the request and the context by position, and nothing else",
            where=f"provider.{name}",
        ) from None
    except BaseException:
        # A builtin without a signature, or a ``__signature__`` of the provider's that raises: calling it will tell.
        return


# Clause 1.2
@check("KP-102", clause="1.2", level=Level.MUST, needs=("KP-101",), calls=1)
async def describes_itself(subject: Subject) -> None:
    """describe() is synchronous and answers a mapping or a ProviderDescription.

    A host reads the description while it composes itself, where nothing can be awaited.
    """
    if calls.is_async(subject.member("describe")):
        raise Violation(
            wanted="a plain method",
            saw="a coroutine function",
            hint="write def describe, not async def",
            where="describe",
        )
    answer = await subject.describe()
    if is_a(answer, CoroutineType):
        answer.close()
    if not (is_mapping(answer) or is_a(answer, ProviderDescription)):
        raise Violation(
            wanted="a mapping or a ProviderDescription",
            saw=show(answer),
            hint="return {'protocolVersion': 1, 'key': 'acme-search', 'label': 'Acme search'}",
        )
    subject.observe()


async def description(subject: Subject) -> dict[str, Any]:
    """What the provider says it is, by wire name; null fields are absent."""
    fields = entries(await subject.describe())
    return {_wire_name(name): value for name, value in fields.items() if type(name) is str and value is not None}


def _wire_name(name: str) -> str:
    return next((wire for wire, python in _SPELLINGS.items() if python == name), name)


def is_mapping(answer: object) -> bool:
    """Whether the type, and not the object, says that it is a mapping of any kind."""
    try:
        return issubclass(type(answer), Mapping)
    except BaseException:  # a metaclass is the provider's code
        return False


def entries(answer: Any) -> dict[Any, Any]:
    """What a mapping or a model holds, as a dictionary of the caller's own; raises ``Violation`` where it cannot."""
    try:
        return dict(model_fields(answer) if is_a(answer, BaseModel) else answer)
    except BaseException as error:  # a mapping is the provider's code
        raise Violation(
            wanted="a mapping that can be read", saw=show(answer), hint="answer a plain dict", where="describe()"
        ) from error


async def claims(subject: Subject, capability: str) -> bool:
    """Whether the description claims a capability; costs one call."""
    capabilities = (await description(subject)).get("capabilities")
    named = list(dict.items(capabilities)) if is_a(capabilities, dict) else []
    return any(copied(name) == capability and value is True for name, value in named)


# Clause 1.3
@check("KP-103", clause="1.3", level=Level.MUST, needs=("KP-102",), calls=1)
async def protocol_version_is_one(subject: Subject) -> None:
    """protocolVersion is the number 1.

    Another version is refused when the host is composed, so that it does not fail at a user's first turn. 1.0 is the
    same number; True and "1" are not.
    """
    version = (await description(subject)).get("protocolVersion")
    if not is_exactly(version, int, float) or version != PROTOCOL_VERSION:
        raise Violation(
            wanted="protocolVersion 1",
            saw="nothing" if version is None else show(version),
            hint="from knowledge_provider import PROTOCOL_VERSION, and answer that",
        )
    subject.observe()


async def _key(subject: Subject) -> str:
    key = (await description(subject)).get("key")
    if type(key) is not str or not _KEY.fullmatch(key):
        raise Violation(
            wanted="a key of lowercase ASCII letters, digits and hyphens, at least one, and nothing after them",
            saw="nothing" if key is None else show(key),
            hint="hosts use the key in logs, metrics and ids: choose one like 'acme-search', and strip line ends",
        )
    return key


# Clause 1.4
@check("KP-104", clause="1.4", level=Level.MUST, needs=("KP-102",), calls=1)
async def key_is_plain(subject: Subject) -> None:
    """key has only lowercase ASCII letters, digits and hyphens.

    Hosts put the key into logs, metrics and ids without escaping it. A trailing newline is refused, too.
    """
    await _key(subject)
    subject.observe()


# Clause 1.4
@check("KP-105", clause="1.4", level=Level.MUST, needs=("KP-104",), calls=1)
async def key_begins_well(subject: Subject) -> None:
    """key begins with a letter or a digit.

    Hosts refuse other keys; a leading hyphen is an option on every command line.
    """
    key = await _key(subject)
    if key.startswith("-"):
        raise Violation(wanted="a first letter or digit", saw=show(key), hint="drop the leading hyphen of the key")
    subject.observe()


# Clause 1.4
@check("KP-106", clause="1.4", level=Level.SHOULD, needs=("KP-104",), calls=1)
async def key_is_short(subject: Subject) -> None:
    """key has at most 64 characters.

    Metrics systems and log fields cut longer names.
    """
    _at_most("key", await _key(subject), limits.KEY_MAX)
    subject.observe()


async def _label(subject: Subject) -> str:
    label = (await description(subject)).get("label")
    if type(label) is not str or is_blank(label):
        raise Violation(
            wanted="a label that a person can read",
            saw="nothing" if label is None else show(label),
            hint="answer a name for people, such as 'Acme handbook'",
        )
    return label


# Clause 1.5
@check("KP-107", clause="1.5", level=Level.MUST, needs=("KP-102",), calls=1)
async def label_is_there(subject: Subject) -> None:
    """label is a string that is not blank.

    It is how a person tells providers apart in settings and status pages.
    """
    await _label(subject)
    subject.observe()


# Clause 1.5
@check("KP-108", clause="1.5", level=Level.SHOULD, needs=("KP-107",), calls=1)
async def label_is_short(subject: Subject) -> None:
    """label has at most 120 characters.

    It is shown on one line, beside the labels of other providers.
    """
    _at_most("label", await _label(subject), limits.LABEL_MAX)
    subject.observe()


def _at_most(name: str, text: str, limit: int) -> None:
    if len(text) > limit:
        raise Violation(
            wanted=f"a {name} of at most {limit} characters", saw=f"{len(text)}", hint=f"shorten the {name}"
        )


async def _capabilities(subject: Subject) -> dict[Any, Any]:
    capabilities: dict[Any, Any] = (await description(subject)).get("capabilities", {})
    flat = is_a(capabilities, dict)
    if not flat or any(type(name) is not str or type(value) is not bool for name, value in dict.items(capabilities)):
        raise Violation(
            wanted="a mapping of names to booleans",
            saw=show(capabilities),
            hint="answer {'filters': False, 'scores': True, 'citations': True}, or leave it out",
        )
    return capabilities


# Clause 1.6
@check("KP-109", clause="1.6", level=Level.MUST, needs=("KP-102",), calls=1)
async def capabilities_are_booleans(subject: Subject) -> None:
    """capabilities, when present, maps names to booleans.

    filters, scores and citations are known; other names are kept and mean nothing. A truthy string would be read as a
    claim that the provider never made.
    """
    await _capabilities(subject)
    subject.observe()


# Clause 1.6
@check("KP-110", clause="1.6", level=Level.SHOULD, needs=("KP-109",), calls=1)
async def capabilities_are_few(subject: Subject) -> None:
    """capabilities has at most 16 entries.

    It is a description, not a place for settings.
    """
    count = dict.__len__(await _capabilities(subject))
    if count > limits.CAPABILITIES_MAX:
        raise Violation(
            wanted=f"at most {limits.CAPABILITIES_MAX} capabilities",
            saw=f"{count}",
            hint="drop those that hosts ignore",
        )
    subject.observe()


CHECKS: Final[tuple[Check, ...]] = (
    has_the_methods,
    describes_itself,
    protocol_version_is_one,
    key_is_plain,
    key_begins_well,
    key_is_short,
    label_is_there,
    label_is_short,
    capabilities_are_booleans,
    capabilities_are_few,
)
