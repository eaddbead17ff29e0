"""Clauses 10.1, 10.9, 3.2, 3.4 and 3.8: what a source is asked, by whom, and for what. Judges no record's words."""

from typing import Any, Final

from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.requests import HARD_TEXTS, refuse_unserved
from knowledge_conformance.exchange import Exchange, as_dict
from knowledge_conformance.plain import model_fields, plain
from knowledge_conformance.render import show, show_error
from knowledge_conformance.source_subject import References, SourceSubject, show_refs
from knowledge_provider import error_code
from knowledge_provider.sources import ExternalKnowledgeRef, target_key
from knowledge_provider.text import is_a

UNKNOWN: Final = "conformance-kit-no-such-source"
_TEXTS: Final = HARD_TEXTS[::5]
_OWNER_CODE: Final = "knowledge_owner_required"
_OWNER_HINT: Final = "raise KnowledgeOwnerRequiredError where is_blank(context.owner_id), both of knowledge_provider"
_LISTED: Final = "take these four by position: list_documents(self, refs, context, limit, offset)"
# The second has a character that nobody sees and `strip` keeps.
_BLANK: Final = ("", " \u200b")


# Clause 10.1
@check("KP-1010", clause="10.1", level=Level.MUST, needs=("KP-1004",), calls=2, surveyed=True)
async def references_that_stand_are_kept(subject: SourceSubject) -> None:
    """validate_refs answers those of the references that stand: all that the settings name, and no others.

    It is asked before each search. A reference that it forgets is never asked for again, and one that it makes up is
    something that nobody bound.
    """
    subject.optional("validate_refs")
    refs = subject.references()
    kept = await validated(subject, refs)
    missing = [ref for ref in refs if target_key(ref) not in kept]
    if missing:
        raise Violation(
            wanted=f"the references that the settings name, {show_refs(refs)}",
            saw=f"an answer without {show_refs(tuple(missing))}",
            hint="return those of refs that stand, as they came: [ref for ref in refs if …]",
        )
    subject.observe(len(refs))


async def validated(subject: SourceSubject, refs: References) -> frozenset[str]:
    """The target keys of what ``validate_refs`` says that stands; raises ``Violation`` for what nobody asked about."""
    keys = frozenset(map(target_key, await standing(subject, refs)))
    others = keys - {target_key(ref) for ref in refs}
    if others:
        raise Violation(
            wanted="references out of those that came",
            saw=f"{len(others)} that nobody asked about",
            hint="return the references as they came: a source cannot bind what nobody has bound",
        )
    return keys


async def standing(subject: SourceSubject, refs: References) -> References:
    """The references that ``validate_refs`` answers, as they are; raises ``Violation`` for another answer."""
    ending = await subject.validate(refs)
    if ending.error is not None:
        refuse_unserved(ending.error)
    value = ending.value
    held = list(value) if is_a(value, list) or is_a(value, tuple) else None
    if ending.error is not None or held is None or not all(is_a(ref, ExternalKnowledgeRef) for ref in held):
        raise Violation(
            wanted="a list or tuple of those references that stand",
            saw=f"raised {show_error(ending.error)}" if ending.error is not None else show(value),
            hint="return [ref for ref in refs if …]; an empty one where none stands",
        )
    return tuple(ref for ref in held if is_a(ref, ExternalKnowledgeRef))


# Clause 10.1
@check("KP-1011", clause="10.1", level=Level.SHOULD, needs=("KP-1001",), calls=2)
async def unknown_references_do_not_stand(subject: SourceSubject) -> None:
    """validate_refs leaves out a reference to what is not there.

    Its owner learns that at once, and not from a search that finds nothing for ever. To raise
    knowledge_reference_unknown or knowledge_reference_invalid says it, too, where nothing else was asked about: one
    space that was deleted must not cost the others of the task.
    """
    subject.optional("validate_refs")
    refs = (subject.reference(id=UNKNOWN),)
    ending = await subject.validate(refs)
    if ending.error is None and plain(ending.value) != ("list",):
        raise Violation(
            wanted=f"no reference to stand that is to {UNKNOWN}",
            saw=show(ending.value),
            hint="look each id up among those that the source has",
        )
    subject.observe()
    if subject.settings.references:
        known = subject.references()
        await _require_beside(subject, known, (*known, *refs))


async def _require_beside(subject: SourceSubject, known: References, refs: References) -> None:
    ending = await subject.validate(refs)
    if ending.error is not None:
        raise Violation(
            wanted=f"those of the settings to stand beside one to {UNKNOWN}",
            saw=f"raised {show_error(ending.error)}",
            hint="return [ref for ref in refs if …], and raise for no single one",
        )
    subject.observe(len(known))


# Clause 3.4
@check("KP-1012", clause="3.4", level=Level.MUST, needs=("KP-1004",), calls=1, surveyed=True)
async def unknown_references_open_nothing(subject: SourceSubject) -> None:
    """Asked for a reference to what is not there, it answers with nothing or raises: never with other content.

    A list of ids that becomes empty, once unknown ones are dropped, means everything to many a back end.
    """
    query = (await subject.found())[0].request.query
    exchange = await subject.attempt(query, (subject.reference(id=UNKNOWN),))
    if exchange.error is None and exchange.count:
        raise Violation(
            wanted=f"nothing for a reference to {UNKNOWN}, or an exception",
            saw=exchange.size,
            hint="raise KnowledgeReferenceUnknownError, or return [], where no reference is left",
            where=str(exchange),
        )
    subject.observe()


# Clause 3.2
@check("KP-1013", clause="3.2", level=Level.MUST, needs=("KP-1004",), calls=len(_TEXTS), minimum=len(_TEXTS))
async def hard_texts_are_accepted(subject: SourceSubject) -> None:
    """Texts that break query languages are accepted.

    Quotes, operators, SQL, JSON, templates and any script are things that people say; the source escapes them for its
    back end. Nothing found is a fine answer, an exception is not.
    """
    refs = subject.references()
    for text in _TEXTS:
        exchange = await subject.attempt(text, refs)
        require_answered(
            exchange, hint="pass the query to the back end as data: quote or escape it, or search for its words"
        )
        subject.observe()


def require_answered(exchange: Exchange, *, hint: str) -> None:
    """Raise ``Violation`` for a call that raised, or ``Inconclusive`` where the back end does not serve it now."""
    if exchange.error is not None:
        refuse_unserved(exchange.error)
        raise Violation(wanted="an answer, if only an empty one", saw=exchange.came, hint=hint, where=str(exchange))


# Clause 3.8
@check("KP-1014", clause="3.8", level=Level.MUST, needs=("KP-1004",), calls=3, surveyed=True)
async def what_it_is_asked_with_stays(subject: SourceSubject) -> None:
    """References and context are the same after a call.

    They are the task's. A source that completes them in place changes what is bound, for every other call, too.
    """
    query, refs = (await subject.found())[0].request.query, subject.references()
    context = subject.context()
    before = _picture(refs, context)
    await subject.retrieve(query, refs, context)
    if subject.member("validate_refs") is not None:
        await subject.validate(refs)
    if subject.can_list:
        await subject.list(refs, 1, 0, context)
    if _picture(refs, context) != before:
        raise Violation(
            wanted="references and context as they came",
            saw="others",
            hint="work on copies: ref.model_copy(update={…})",
        )
    subject.observe()


def _picture(refs: References, context: Any) -> Any:
    said = {name: value for name, value in model_fields(context).items() if name != "signal"}
    return plain([[as_dict(model_fields(ref)) for ref in refs], said, context.signal.cancelled])


# Clause 10.9
@check("KP-1015", clause="10.9", level=Level.MUST, needs=("KP-1004",), calls=len(_BLANK), surveyed=True)
async def no_owner_is_refused(subject: SourceSubject) -> None:
    """Without an owner in the context, retrieve raises knowledge_owner_required.

    Whose sources these are is not known then. What is asked as nobody is asked with the rights of the service.
    """
    query = (await subject.found())[0].request.query
    for owner in _BLANK:
        exchange = await subject.attempt(query, subject.references(), subject.context(owner_id=owner))
        if exchange.error is None or error_code(exchange.error) != _OWNER_CODE:
            raise _ownerless(owner, exchange.came, str(exchange))
        subject.observe()


# Clause 10.9
@check("KP-1016", clause="10.9", level=Level.MUST, needs=("KP-1001",), calls=len(_BLANK))
async def no_owner_is_shown_a_list(subject: SourceSubject) -> None:
    """Without an owner in the context, list_documents raises knowledge_owner_required.

    The names of documents are content as well, and who may see them is as much a question as for a search.
    """
    subject.listing()
    for owner in _BLANK:
        ending = await subject.list(subject.references(), 1, 0, subject.context(owner_id=owner))
        if ending.error is None or error_code(ending.error) != _OWNER_CODE:
            came = "a list" if ending.error is None else f"raised {show_error(ending.error)}"
            # A call that does not fit never comes to who asks.
            fits = ending.error is None or not is_a(ending.error, TypeError)
            raise _ownerless(owner, came, None, _OWNER_HINT if fits else f"{_LISTED}, and {_OWNER_HINT}")
        subject.observe()


def _ownerless(owner: str, saw: str, where: str | None, hint: str = _OWNER_HINT) -> Violation:
    return Violation(
        wanted=f"an exception with the code {_OWNER_CODE} for the owner {show(owner)}",
        saw=saw,
        hint=hint,
        where=where,
    )


CHECKS: Final[tuple[Check, ...]] = (
    references_that_stand_are_kept,
    unknown_references_do_not_stand,
    unknown_references_open_nothing,
    hard_texts_are_accepted,
    what_it_is_asked_with_stays,
    no_owner_is_refused,
    no_owner_is_shown_a_list,
)
