"""Clause 8.5: what a provider gets from its host. Knows requests and contexts; judges no answer."""

from typing import Any, Final

from pydantic import BaseModel

from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.host_subject import QUERY, HostSubject
from knowledge_conformance.plain import model_fields
from knowledge_conformance.render import show
from knowledge_fakes.scripted import ScriptedProvider
from knowledge_provider.text import is_a

_FIELDS: Final = frozenset({"query", "top_k", "knowledge_base_ids", "filters"})
_IDS: Final = ("owner_id", "session_id", "turn_id", "trace_id")
_FILTERS: Final = {"department": "engineering", "nested": {"any": ["of", 1, None, True]}}


# Clause 8.5
@check("KP-808", clause="8.5", level=Level.MUST, needs=("KP-854",))
async def passes_four_fields(subject: HostSubject) -> None:
    """The provider gets the request's four fields and the context, by position, and nothing else.

    Identity is never in the request: whoever logs or forwards a request would pass it on, and a provider that finds it
    there would believe what a model can write.
    """
    provider = _Recording()
    async with subject.host(provider) as host:
        bases = (await host.disclosed() or ["engineering"])[:1]
        context = subject.context(owner_id="owner-4c1f", session_id="session-9a", turn_id="turn-e2", trace_id="trace-7")
        await host.search(QUERY, context=context, top_k=3, knowledge_base_ids=bases, filters=_FILTERS)
    arguments, named = provider.came
    request = fields_of(arguments[0]) if arguments else {}
    wanted = {"query": QUERY, "top_k": 3, "knowledge_base_ids": bases, "filters": _FILTERS}
    if len(arguments) != 2 or named or {**request, "knowledge_base_ids": bases_of(request)} != wanted:
        raise Violation(
            wanted=f"retrieve(request, context) with the fields {', '.join(sorted(_FIELDS))}",
            saw=f"{len(arguments)} arguments by position, {len(named)} by name, and the request {show(request)}",
            hint="provider.retrieve(RetrievalRequest(query=…, top_k=…, knowledge_base_ids=…, filters=…), context)",
        )
    subject.observe()


def bases_of(request: dict[str, Any]) -> list[Any] | None:
    """The bases that a request names, or None where that is no sequence."""
    bases = request.get("knowledge_base_ids")
    return list(bases) if isinstance(bases, list | tuple) else None


class _Recording(ScriptedProvider):
    """Takes whatever arguments come, and keeps them."""

    def __init__(self) -> None:
        super().__init__(capabilities={"filters": True})
        self.came: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})

    async def retrieve(self, *arguments: Any, **named: Any) -> Any:
        self.came = arguments, named
        return []


# Clause 8.5
@check("KP-832", clause="8.5", level=Level.MUST, needs=("KP-808",))
async def passes_the_context(subject: HostSubject) -> None:
    """The provider gets the caller's own context: owner, session, turn and trace as they are, and a signal.

    Whoever searches is who the host says, the second time too.
    """
    signals: list[object] = []

    def see(_: object, context: Any) -> list[object]:
        signals.append(getattr(context.signal, "cancelled", None))
        return []

    provider = ScriptedProvider([see])
    async with subject.host(provider) as host:
        for place in range(2):
            wanted = {name: f"{name} {place} \u00a0é" for name in _IDS}
            # Another question each: who answers the same one from a cache is another check's matter.
            await host.search(f"{QUERY} {place}", context=subject.context(**wanted))
            came = fields_of(provider.calls[-1].context)
            if {name: came.get(name) for name in _IDS} != wanted or signals[-1] is not False:
                raise Violation(
                    wanted=f"the caller's {', '.join(_IDS)}, and a signal that is not cancelled",
                    saw=f"{show({name: came.get(name) for name in _IDS})}, signal cancelled: {show(signals[-1])}",
                    hint="hand on the context with its four ids unchanged and a CancelSignal of this call",
                )
            subject.observe()


def fields_of(value: object) -> dict[str, Any]:
    """What a request or a context holds, by name, whatever it is made of."""
    if is_a(value, BaseModel):
        return model_fields(value)
    return dict(vars(value)) if hasattr(value, "__dict__") else {}


def request_of(provider: ScriptedProvider) -> dict[str, Any]:
    """What the last call of the provider asked for; raises ``Violation`` when there was none."""
    if not provider.calls:
        raise Violation(wanted="a call of the provider", saw="none", hint="a valid search asks the provider")
    return {**dict.fromkeys(_FIELDS), **fields_of(provider.calls[-1].request)}


CHECKS: Final[tuple[Check, ...]] = (passes_four_fields, passes_the_context)
