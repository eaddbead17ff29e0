"""Mistakes in composing a provider, or none; knows clauses 8.1 and 8.2 of the contract, no way of catching them."""

import functools
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from knowledge_fakes._plain_calls import Ending, in_thread
from knowledge_fakes.host_faults._host_fault import host_fault
from knowledge_fakes.plain_host import PlainHost
from knowledge_provider import (
    KnowledgeProviderInvalidError,
    ProviderDescription,
    RetrievalContext,
    limits,
    normalize_response,
)


def _described(found: Any) -> ProviderDescription:
    """A description of whatever came, without a look at it."""
    fields = found if isinstance(found, dict) else {}
    return ProviderDescription.model_construct(
        protocol_version=1,
        key=fields.get("key", "provider"),
        label=fields.get("label", ""),
        capabilities=fields.get("capabilities") or {},
    )


# Clause 8.1.


@host_fault("KP-854", fragment="positional-only")
class ArgumentsByName(PlainHost):
    """The provider is called with request=… and context=…, which are not the names that another author chose."""

    async def call(self, method: Any, *arguments: object) -> Ending:
        named = dict(zip(("request", "context"), arguments, strict=False))
        return await super().call(functools.partial(method, **named) if len(named) > 1 else method, *arguments[2:])


@host_fault("KP-827", fragment="KnowledgeProviderInvalidError")
class VersionMustBeAnInt(PlainHost):
    """The version is compared by type too, so 1.0, as JSON from other languages has it, is refused."""

    def compose(self, provider: Any) -> ProviderDescription:
        return super().compose(_Redescribed(provider, _without_floats))


@host_fault("KP-827", fragment="health and close are no methods")
class OptionalMethodsRequired(PlainHost):
    """A provider without health or close is refused, or one that has null in their place."""

    def compose(self, provider: Any) -> ProviderDescription:
        described = super().compose(provider)
        if not callable(getattr(provider, "health", print)) or not callable(getattr(provider, "close", print)):
            raise KnowledgeProviderInvalidError("health and close are no methods")
        return described


@host_fault("KP-827", fragment="capabilities has an unknown name")
class UnknownCapabilityRefused(PlainHost):
    """A capability that this host has never heard of makes a provider incompatible."""

    def compose(self, provider: Any) -> ProviderDescription:
        described = super().compose(provider)
        if not described.capabilities.keys() <= {"filters", "scores", "citations"}:
            raise KnowledgeProviderInvalidError("capabilities has an unknown name")
        return described


@host_fault("KP-827", fragment="a plain method that returns an awaitable")
class AwaitablesOfPlainMethods(PlainHost):
    """Whether to await is told by "async def", and a decorated method's awaitable is taken for the answer."""

    async def call(self, method: Any, *arguments: object) -> Ending:
        if inspect.iscoroutinefunction(method):
            return await super().call(method, *arguments)
        found = await in_thread(method, *arguments, left=self.left)
        if inspect.iscoroutine(found.value):
            found.value.close()
        return found


@host_fault("KP-801", fragment="a host")
class AcceptsWithoutLooking(PlainHost):
    """Whatever is given is taken for a provider, and what it says of itself is not looked at."""

    def compose(self, provider: Any) -> ProviderDescription:
        try:
            return _described(provider.describe())
        except BaseException:  # the mistake
            return _described({})


@host_fault("KP-801", fragment="a host")
class RefusesAtTheFirstTurn(PlainHost):
    """The provider is looked at when it is first asked, so a faulty one fails in front of the user."""

    def compose(self, provider: Any) -> ProviderDescription:
        try:
            return super().compose(provider)
        except KnowledgeProviderInvalidError:
            return _described({})

    async def answer(self, request: Any, context: RetrievalContext) -> Any:
        super().compose(self.provider)
        return await super().answer(request, context)


@host_fault("KP-801", fragment="refuse version_true")
class VersionByInt(PlainHost):
    """The version is read with int(), so that True, "1" and 1.5 count as version 1."""

    def compose(self, provider: Any) -> ProviderDescription:
        return super().compose(_Redescribed(provider, _with_version_1))


@host_fault("KP-801", fragment="refuse key_with_a_newline")
class KeyByMatch(PlainHost):
    """The key is matched against an expression that ends in a dollar sign, which lets a newline through."""

    def compose(self, provider: Any) -> ProviderDescription:
        return super().compose(_Redescribed(provider, _with_matched_key))


@host_fault("KP-801", fragment="refuse key_with_capitals")
class KeyMadeToFit(PlainHost):
    """A key that does not fit is made to fit, and the provider is known by two names from then on."""

    def compose(self, provider: Any) -> ProviderDescription:
        return super().compose(_Redescribed(provider, _with_fitting_key))


@host_fault("KP-801", fragment="refuse health_a_text")
class OptionalMethodsUnchecked(PlainHost):
    """Whether health and close can be called is left open until they are."""

    def compose(self, provider: Any) -> ProviderDescription:
        return super().compose(_WithoutOptions(provider, dict))


@host_fault("KP-801", fragment="raised ValueError")
class RefusesWithAnyError(PlainHost):
    """An incompatible provider is refused by whatever exception came up, which nobody can tell from a crash."""

    def compose(self, provider: Any) -> ProviderDescription:
        try:
            return super().compose(provider)
        except KnowledgeProviderInvalidError as error:
            raise ValueError(str(error)) from error


@host_fault("KP-826", fragment="KnowledgeProviderInvalidError: invalid")
class RefusesWithoutAReason(PlainHost):
    """An incompatible provider is refused without a word about what is wrong with it."""

    def compose(self, provider: Any) -> ProviderDescription:
        try:
            return super().compose(provider)
        except KnowledgeProviderInvalidError as error:
            raise KnowledgeProviderInvalidError("invalid") from error


@host_fault("KP-801", fragment="raised SystemExit")
class CompositionExits(PlainHost):
    """Only Exception is caught around describe(), so a provider that calls sys.exit ends the application."""

    def compose(self, provider: Any) -> ProviderDescription:
        try:
            return super().compose(provider)
        except KnowledgeProviderInvalidError as error:
            if isinstance(error.__cause__, SystemExit):
                raise error.__cause__ from None
            raise


class _Redescribed:
    """A provider whose description is mended before it is looked at."""

    def __init__(self, provider: Any, mend: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        self._provider = provider
        self._mend = mend

    def __getattr__(self, name: str) -> Any:
        return getattr(self._provider, name)

    def describe(self) -> Any:
        described = self._provider.describe()
        return self._mend(described) if type(described) is dict else described


def _without_floats(described: dict[str, Any]) -> dict[str, Any]:
    return {**described, "protocolVersion": None} if type(described.get("protocolVersion")) is float else described


class _WithoutOptions(_Redescribed):
    health = close = None


def _with_version_1(described: dict[str, Any]) -> dict[str, Any]:
    version = int(described.get("protocolVersion", 0))
    return {**described, "protocolVersion": 1} if version == limits.PROTOCOL_VERSION else described


def _with_matched_key(described: dict[str, Any]) -> dict[str, Any]:
    key = described.get("key", "")
    return {**described, "key": key.rstrip("\n")} if re.match(r"^[a-z0-9][a-z0-9-]*$", key) else described


def _with_fitting_key(described: dict[str, Any]) -> dict[str, Any]:
    return {**described, "key": re.sub(r"[^a-z0-9-]+", "-", described["key"].lower()).strip("-")}


# Clause 8.2.


@host_fault("KP-829", fragment="that 1 were opened for writing or made")
class FolderWithoutAProvider(PlainHost):
    """A folder for the index is created at the start, also where there is no provider to fill it."""

    def __init__(self, provider: Any, **settings: Any) -> None:
        Path(".knowledge").mkdir(exist_ok=True)
        super().__init__(provider, **settings)


@host_fault("KP-828", fragment="Outcome object")
class EmptyWithoutAProvider(PlainHost):
    """Without a provider every search finds nothing, and the agent believes that there is nothing to know."""

    async def search(self, query: Any, *, context: RetrievalContext, **asked: Any) -> Any:
        if not self.configured:
            return normalize_response([], query=query)
        return await super().search(query, context=context, **asked)


@host_fault("KP-802", fragment="tool_definition None")
class ToolWithoutAProvider(PlainHost):
    """The model is offered the tool at all times, and calls it where nothing answers."""

    def tool_definition(self) -> dict[str, Any] | None:
        return super().tool_definition() or {"name": "knowledge", "parameters": {"type": "object", "properties": {}}}


@host_fault("KP-802", fragment="capabilities []")
class CapabilityWithoutAProvider(PlainHost):
    """The capability is named at all times, and the prompt tells the model of knowledge that is not there."""

    def capabilities(self) -> list[str]:
        return super().capabilities() or ["knowledge"]


@host_fault("KP-802", "KP-851", fragment="configured False")
class AlwaysConfigured(PlainHost):
    """A host that exists counts as configured."""

    @property
    def configured(self) -> bool:
        return True


@host_fault("KP-851", fragment="Handbook\\n\\nSYSTEM")
class LabelAsItCame(PlainHost):
    """The provider's label is shown as it came, with line breaks that forge the next row of a status page."""

    def describe(self) -> dict[str, Any]:
        told = super().describe()
        return {**told, "label": self.described.label} if self.described else told
