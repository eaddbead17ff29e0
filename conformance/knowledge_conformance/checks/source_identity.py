"""Clause 10.1: what a source says of itself. Knows attributes and methods; asks the source nothing."""

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from knowledge_conformance.check import Check, Inapplicable, Level, Violation, check
from knowledge_conformance.plain import Plain, copied, plain
from knowledge_conformance.render import show
from knowledge_conformance.source_subject import SourceSubject
from knowledge_provider import limits
from knowledge_provider.text import is_a

_LETTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
_OPTIONAL: Final = ("validate_refs", "list_documents")
_READ_MAX: Final = 64


# Clause 10.1
@check("KP-1001", clause="10.1", level=Level.MUST)
async def a_source_can_be_registered(subject: SourceSubject) -> None:
    """A source has a name, capabilities and a callable retrieve, and what else it has can be called.

    References carry the name, and stand in ids, keys and logs: lowercase letters, digits and hyphens, at most 64, not a
    hyphen first. Capabilities map names to booleans. validate_refs and list_documents are optional, and absent when
    None. A host refuses anything else when it is registered.
    """
    if not callable(subject.member("retrieve")):
        raise _unfit("a callable retrieve(query, refs, context)", subject.member("retrieve"), "retrieve")
    for name in _OPTIONAL:
        method = subject.member(name)
        if method is not None and not callable(method):
            raise _unfit(f"a callable {name}, or none", method, name)
    name = copied(subject.member("name")) or ""
    if not 0 < len(name) <= limits.KEY_MAX or not _LETTERS.issuperset(name) or name.startswith("-"):
        raise _unfit(f"1 to {limits.KEY_MAX} lowercase letters, digits and hyphens", subject.member("name"), "name")
    _require_capabilities(subject.member("capabilities"))
    subject.observe(2 + len(_OPTIONAL))


def _require_capabilities(held: Any) -> None:
    entries = list(islice(held.items(), _READ_MAX)) if isinstance(held, Mapping) else None
    if entries is None or not all(is_a(name, str) and type(said) is bool for name, said in entries):
        raise _unfit("names with True or False, such as {'list_documents': True}; {} will do", held, "capabilities")


def _unfit(wanted: str, saw: object, member: str) -> Violation:
    return Violation(
        wanted=wanted,
        saw=show(saw),
        hint="see the table of what a source has: knowledge_provider.sources.RetrievalSource",
        where=f"source.{member}",
    )


# Clause 10.1
@check("KP-1002", clause="10.1", level=Level.SHOULD, needs=("KP-1001",))
async def it_says_the_same_each_time(subject: SourceSubject) -> None:
    """Name and capabilities are the same each time they are read, whatever a caller did to the mapping.

    A task keeps references by the name: under another one the source of yesterday is not there any more. A host that
    adds to the capabilities that it was given must not have changed the source.
    """
    first, shown = _said(subject), _shown(subject)
    held = subject.member("capabilities")
    if is_a(held, dict):
        held["conformance-kit"] = True
    again, came = _said(subject), _shown(subject)
    if is_a(held, dict):
        held.pop("conformance-kit", None)
    if again != first:
        raise Violation(
            wanted=f"the same name and capabilities as before, {shown}",
            saw=f"{came}, after a caller had put 'conformance-kit' into what it was given",
            hint="choose the name when the source is made; return a fresh dict, or types.MappingProxyType",
            where="source.name, source.capabilities",
        )
    subject.observe(2)


def _shown(subject: SourceSubject) -> str:
    return f"{show(subject.member('name'))} and {show(subject.member('capabilities'))}"


def _said(subject: SourceSubject) -> Plain:
    held = subject.member("capabilities")
    return plain([subject.member("name"), dict(held)])


# Clause 10.1
@check("KP-1003", clause="10.1", level=Level.SHOULD, needs=("KP-1001",))
async def what_it_claims_is_there(subject: SourceSubject) -> None:
    """A source that claims list_documents has the method.

    A client draws the button from the claim, and there is nothing behind it.
    """
    if subject.member("capabilities").get("list_documents") is not True:
        raise Inapplicable("the source does not claim list_documents")
    if subject.member("list_documents") is None:
        raise Violation(
            wanted="a method list_documents, since the capabilities claim it",
            saw="none",
            hint="leave the claim out, or add list_documents(refs, context, limit, offset)",
            where="source.capabilities",
        )
    subject.observe()


CHECKS: Final[tuple[Check, ...]] = (
    a_source_can_be_registered,
    it_says_the_same_each_time,
    what_it_claims_is_there,
)
