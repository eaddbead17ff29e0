"""How references look to people: an opener or a view where one is registered, and else plain text (clause 10.6).

Knows names and text; no provider, route or client. Core registers nothing: a deployment does, from its own code.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Final, Generic, TypeVar
from urllib.parse import quote

from knowledge_provider import limits
from knowledge_provider._origins import origin
from knowledge_provider._uri_faults import UriFault
from knowledge_provider.errors import KnowledgeProviderInvalidError
from knowledge_provider.sources.records import SourceRecord
from knowledge_provider.sources.references import REFERENCE_NAME_MAX, ExternalKnowledgeRef
from knowledge_provider.text import class_name, content_text, is_a, short_text
from knowledge_provider.uris import uri_fault

VIEW_MAX: Final = 20_000
"""Code points of what a source view gives."""

_LOG: Final = logging.getLogger(__name__)
_NO_PLACE: Final = frozenset({UriFault.SCHEME, UriFault.PARSE_ERROR, UriFault.OVERLONG, UriFault.METADATA_HOST})

# As browsers do. What shows a place ends it with one of these, or lets it begin another.
_ENCODED: Final = {ord(each): quote(each) for each in ' "<>'}

_Shown = TypeVar("_Shown")


class _Functions(Generic[_Shown]):
    """Functions of a deployment by the names of sources; a missing one, or one that raises, gives nothing."""

    _kind: ClassVar[str]

    def __init__(self) -> None:
        self._functions: dict[str, Callable[[_Shown], str]] = {}

    def register(self, source_type: str, function: Callable[[_Shown], str]) -> None:
        """Add a source's function; raises ``KnowledgeProviderInvalidError`` for a second one, or for no function."""
        if not callable(function):
            raise _refusal(f"a function, and {class_name(function)} came", "pass one that takes a reference")
        if self._functions.setdefault(source_type, function) is not function:
            raise _refusal("the only one of its source, and there is one already", "register it once")

    def ask(self, source_type: str, shown: _Shown) -> str | None:
        """What the function of that source gives, or None; raises nothing but a ``KeyboardInterrupt``.

        What it raises, or gives instead of a text, is named in the log by its class alone.
        """
        function = self._functions.get(source_type)
        if function is None:
            return None
        try:
            given: object = function(shown)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            _LOG.warning("the %s of %s failed: %s", self._kind, ascii(source_type), origin(error))
            return None
        if given is not None and not is_a(given, str):
            _LOG.warning("the %s of %s gave a %s, no text", self._kind, ascii(source_type), class_name(given))
        return given if is_a(given, str) else None


class OpenerRegistry(_Functions[SourceRecord | ExternalKnowledgeRef]):
    """Functions that say where a reference opens: an ``http`` or ``https`` link, or a path of the deployment's own."""

    _kind = "opener"


class SourceViewRegistry(_Functions[ExternalKnowledgeRef]):
    """Functions that show a source in the entrance to all knowledge: text or markup of the deployment's own."""

    _kind = "view"


@dataclass(frozen=True, slots=True)
class RenderedReference:
    """``text`` says what it is and is always there; ``opens`` is where the source's opener leads, or None."""

    text: str
    opens: str | None = None


def render_reference(
    reference: SourceRecord | ExternalKnowledgeRef, openers: OpenerRegistry | None = None
) -> RenderedReference:
    """A reference as one line; without an opener, or with one that fails, as plain text alone (clause 10.6).

    A place that could run a script, lead to a host that is not named, or give a credential away is left out, as if
    there was no opener: any other scheme than ``http`` and ``https``, and what begins with two slashes.
    """
    source_type, source_id, name, part = _named(reference)
    opened = None if openers is None else openers.ask(source_type, reference)
    place = short_text(opened, limits.URI_MAX)
    if place and (fault := _place_fault(place)):
        _LOG.warning("where the opener of %s leads is not shown: %s", ascii(source_type), fault)
        place = ""
    return RenderedReference(_line(source_type, source_id, name, part), place.translate(_ENCODED) or None)


def render_message(
    body: str, references: Iterable[SourceRecord | ExternalKnowledgeRef], openers: OpenerRegistry | None = None
) -> str:
    """The body as it is, and a line for each reference behind it; nothing that a reference does costs the body."""
    rendered = [render_reference(reference, openers) for reference in references]
    lines = [f"- {each.text}{f' <{each.opens}>' if each.opens else ''}" for each in dict.fromkeys(rendered)]
    return "\n".join([body, "", *lines]) if lines else body


def render_source_view(ref: ExternalKnowledgeRef, views: SourceViewRegistry | None = None) -> str:
    """The view of a bound source, or its name and basic metadata as one line where none is registered, or it fails."""
    shown = None if views is None else views.ask(ref.provider, ref)
    return content_text(shown, VIEW_MAX) or _line(*_named(ref))


def _named(reference: SourceRecord | ExternalKnowledgeRef) -> tuple[str, str, str, str | None]:
    if is_a(reference, SourceRecord):
        return reference.source_type, reference.source_id, reference.source_name, reference.title
    if not is_a(reference, ExternalKnowledgeRef):
        raise TypeError(
            "reference must be a SourceRecord or an ExternalKnowledgeRef, since nothing else says where it is from; "
            f"got {class_name(reference)}: pass a record of MergedRecords, or read_reference(...)"
        )
    name = reference.name or reference.id or reference.mode
    return reference.provider, reference.id or reference.mode, name, reference.target_name


def _line(source_type: str, source_id: str, name: str, part: str | None) -> str:
    # Anybody can make a record; what is shown is one line all the same.
    own_type, own_id = (short_text(each, limits.RESULT_ID_MAX) for each in (source_type, source_id))
    shown = short_text(name, REFERENCE_NAME_MAX) or own_id
    within = short_text(part, REFERENCE_NAME_MAX)
    whole = f"{shown}: {within}" if within and within != shown else shown
    return f"{whole} ({own_type}, {own_id})"


def _place_fault(place: str) -> str | None:
    # The function is the deployment's own, and what it is made from is not: an id may stand in front of it. A host of
    # the deployment's own network is its own matter.
    found = uri_fault(place)
    if found is not None and (found.is_credential or found in _NO_PLACE):
        return found.value
    # Browsers read both slashes alike.
    return "another-host" if place.replace("\\", "/").startswith("//") else None


def _refusal(wanted: str, remedy: str) -> KnowledgeProviderInvalidError:
    return KnowledgeProviderInvalidError(
        f"A function for references is refused: wanted {wanted}. What it was meant for would look at random. Mend it: "
        f"{remedy}."
    )
