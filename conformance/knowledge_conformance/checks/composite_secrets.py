"""Clause 6.4 of a composite: what a child's failure says stays with the child. Knows children that let a key out.

The secret is the kit's own and new in each run; it is in nothing but what the children raise, or answer as nonsense.
"""

from contextlib import suppress
from typing import Any, Final

from knowledge_conformance.channels import Search, texts_of_answer, texts_of_message, texts_of_value
from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.composite_children import REQUEST, finding, nothing
from knowledge_conformance.checks.host_secrets import quoting, refuse_leaks
from knowledge_conformance.composite_subject import Composite, CompositeSubject
from knowledge_conformance.taint import canary
from knowledge_fakes.scripted import ScriptedProvider
from knowledge_provider import KnowledgeUnavailableError

_HINT: Final = (
    "report a failed child by its key and a reason slug (clause 9.3), raise the contract's errors with words of your "
    "own, and answer health with a status alone"
)


# Clauses 6.4 and 9.3
@check("KP-932", clause="6.4", level=Level.MUST)
async def no_secret_of_a_child_comes_out(subject: CompositeSubject) -> None:
    """What a child raises, or answers as nonsense, comes out of nothing that the composite says.

    Exceptions of back ends quote keys, and a composite hands what it says to a host of somebody else's. Looked at are
    answers with their source reports, the description, the health, and of exceptions the message, arguments and notes:
    beside a child that finds something, beside one that finds nothing, and where every child fails. A composite that
    asks none of them has nothing to let out, and no evidence.
    """
    secret = canary("composite", subject.settings.seed)
    search = Search({"a child's key": secret})
    for others in ({"good": finding("good", "one")}, {"empty": ScriptedProvider([nothing], key="empty")}, {}):
        leaking = _leaking(secret)
        async with subject.composed({**leaking, **others}) as composite:
            await _look_at(search, composite)
        subject.observe(sum(bool(child.calls) for child in leaking.values()))
    refuse_leaks(search, _HINT)


def _leaking(secret: str) -> dict[str, ScriptedProvider]:
    error, down = quoting(secret), quoting(secret, KnowledgeUnavailableError)
    return {
        "raising": ScriptedProvider([error], key="raising", health=error, closing=error),
        "down": ScriptedProvider([down], key="down", health=lambda *_: {"status": secret, "message": secret}),
        "nonsense": ScriptedProvider([lambda *_: f"<h1>502 for {secret}</h1>"], key="nonsense"),
    }


async def _look_at(search: Search, composite: Composite) -> None:
    exchange = await composite.ask(REQUEST)
    _look(search, str(exchange), exchange.response, exchange.error)
    if getattr(composite.provider, "health", None) is not None:
        health = await composite.health()
        _look(search, "health()", health.value, health.error)
    with suppress(Violation):  # another check's finding
        _look(search, "describe()", (await composite.describe()).model_dump(), None)
    search.call = "outside any call"
    search.look_at(texts_of_value("composite", composite.provider))
    ending = await composite.close()
    _look(search, "close()", ending.value, ending.error)


def _look(search: Search, call: str, value: Any, error: BaseException | None) -> None:
    search.call = call
    if error is not None:
        search.look_at(texts_of_message(error))
    search.look_at(texts_of_answer(value))


CHECKS: Final[tuple[Check, ...]] = (no_secret_of_a_child_comes_out,)
