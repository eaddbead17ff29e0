"""``validate_references``: what their sources say of references before these are bound (clause 10.1).

This file awaits. What an answer means is in ``_standing``; nothing is bound here.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import Final

from knowledge_provider._contexts import read_context
from knowledge_provider.cancel import read_seconds
from knowledge_provider.models import RetrievalContext
from knowledge_provider.provider_calls import Ending
from knowledge_provider.sources._asking import SOURCE_SECONDS, grouped, of_each, share
from knowledge_provider.sources._standing import BINDING_LEVEL, ReferenceVerdict, unregistered, verdicts
from knowledge_provider.sources.references import read_reference, target_key
from knowledge_provider.sources.registry import References, SourceRegistry

_LOG: Final = logging.getLogger(__name__)


async def validate_references(
    refs: Iterable[object],
    *,
    context: RetrievalContext,
    registry: SourceRegistry,
    timeout: float = SOURCE_SECONDS,  # noqa: ASYNC109 - `asyncio.timeout` waits for who swallows it
) -> tuple[ReferenceVerdict, ...]:
    """What the source of each reference says of it, in their order; for whoever lets users bind them.

    Sources are asked at the same time, each once. What one of them does costs its own references alone: one that
    fails, hangs or answers nonsense is the verdict ``failed``, and one that is not registered ``ignored``.

    Args:
        refs: References, or mappings that hold them.
        context: Who asks. A source is not told: what a user may read is looked at in each search.
        registry: Where the sources are found.
        timeout: Seconds for each source; the caller's deadline shortens them, to nine tenths of what is left of it.

    Raises:
        KnowledgeOwnerRequiredError: The context names no owner (clause 10.9).
        KnowledgeReferenceInvalidError: One of ``refs`` is none; the message names the field.
        TypeError: ``context`` or ``timeout`` has another type.
        ValueError: ``timeout`` is not above 0.
        asyncio.CancelledError: The caller's task or signal was cancelled.
    """
    own, seconds, read = read_context(context), read_seconds(timeout), tuple(map(read_reference, refs))
    own.signal.raise_if_cancelled()

    async def ask(group: tuple[str, References]) -> tuple[ReferenceVerdict, ...]:
        name, held = group
        source = registry.get(name)
        if source is None:
            return unregistered(held)
        return verdicts(name, held, await source.validate_refs(held, BINDING_LEVEL, own, share(own.signal, seconds)))

    answers = await of_each(grouped(read), ask, _cut_off)
    own.signal.raise_if_cancelled()
    _log(answers)
    said = {target_key(each.ref): each for answer in answers for each in answer}
    return tuple(said[target_key(ref)].model_copy(update={"ref": ref}) for ref in read)


def _cut_off(group: tuple[str, References]) -> tuple[ReferenceVerdict, ...]:
    return verdicts(*group, Ending(error=asyncio.CancelledError()))


def _log(answers: Sequence[Sequence[ReferenceVerdict]]) -> None:
    # Clause 10.8: a name, a status, a slug and a count; never what was raised.
    for answer in answers:
        failed = [each for each in answer if each.status == "failed"]
        if failed:
            _LOG.warning(
                "knowledge source %s: could not validate, %s, %d references",
                failed[0].ref.provider,
                failed[0].reason,
                len(failed),
            )
