"""Mistakes in what a model is offered and may send; knows clause 8.13 of the contract, no way of catching them."""

from typing import Any

from knowledge_fakes import _plain_reading as read
from knowledge_fakes.host_faults._host_fault import host_fault
from knowledge_fakes.plain_host import PlainHost
from knowledge_provider import RetrievalContext


def _with_parameter(tool: dict[str, Any] | None, name: str, schema: dict[str, Any]) -> dict[str, Any] | None:
    if tool is None:
        return None
    parameters = tool["parameters"]
    return {**tool, "parameters": {**parameters, "properties": {**parameters["properties"], name: schema}}}


# The tool's definition.


@host_fault("KP-823", fragment="'filters'")
class FiltersInTheTool(PlainHost):
    """The model may choose filters, and with them what its user is not meant to see."""

    def tool_definition(self) -> dict[str, Any] | None:
        return _with_parameter(super().tool_definition(), "filters", {"type": "object"})


@host_fault("KP-823", fragment="'owner_id'")
class OwnerInTheTool(PlainHost):
    """The model is asked for the owner, and says whatever a document has told it."""

    def tool_definition(self) -> dict[str, Any] | None:
        return _with_parameter(super().tool_definition(), "owner_id", {"type": "string"})


@host_fault("KP-848", fragment="no knowledge_base_ids")
class BasesInTheToolUndisclosed(PlainHost):
    """The model may name knowledge bases although none is disclosed, so it has to guess."""

    def tool_definition(self) -> dict[str, Any] | None:
        tool, ids = super().tool_definition(), {"type": "array", "items": {"type": "string"}}
        return tool if self.bases else _with_parameter(tool, "knowledge_base_ids", ids)


@host_fault("KP-848", fragment="['engineering', 'travel']")
class AnyBaseInTheTool(PlainHost):
    """The tool takes any text as a knowledge base, and the model is not told which there are."""

    def tool_definition(self) -> dict[str, Any] | None:
        tool, ids = super().tool_definition(), {"type": "array", "items": {"type": "string"}}
        return _with_parameter(tool, "knowledge_base_ids", ids) if self.bases else tool


@host_fault("KP-848", fragment="None")
class BasesNotInTheTool(PlainHost):
    """Bases are disclosed, and the tool has no way to name them."""

    def tool_definition(self) -> dict[str, Any] | None:
        return read.tool(None) if super().tool_definition() else None


@host_fault("KP-823", fragment="'scripted'")
class ToolOfTheProvidersName(PlainHost):
    """The tool has the provider's key as its name, so a prompt that names the tool fits one provider only."""

    def tool_definition(self) -> dict[str, Any] | None:
        tool = super().tool_definition()
        return tool and {**tool, "name": self.key}


@host_fault("KP-823", fragment="['query']")
class ToolWithoutTopK(PlainHost):
    """The model cannot say how many results it wants."""

    def tool_definition(self) -> dict[str, Any] | None:
        tool = super().tool_definition()
        if tool:
            del tool["parameters"]["properties"]["top_k"]
        return tool


# What the model sends.


@host_fault("KP-824", fragment="'owner_id': 'somebody-else'")
class OwnerFromTheArguments(PlainHost):
    """The model's owner_id takes the place of the context's, so any user's knowledge is one sentence away."""

    async def call_tool(self, arguments: Any, context: RetrievalContext) -> Any:
        owner = read.argument(arguments, "owner_id") or read.argument(arguments, "ownerId")
        own = context.model_copy(update={"owner_id": owner}) if isinstance(owner, str) else context
        return await super().call_tool(arguments, own)


@host_fault("KP-824", fragment="'filters': {'tenant': 'somebody-else'}")
class FiltersFromTheArguments(PlainHost):
    """Filters that the model sends are passed on although the tool has none."""

    async def call_tool(self, arguments: Any, context: RetrievalContext) -> Any:
        query, top_k, ids = (read.argument(arguments, name) for name in ("query", "top_k", "knowledge_base_ids"))
        filters = read.argument(arguments, "filters")
        filters = filters if isinstance(filters, dict) else None
        return await self.search(query, context=context, top_k=top_k, knowledge_base_ids=ids, filters=filters)


@host_fault("KP-824", "KP-849", fragment="unexpected keyword argument")
class ArgumentsSpread(PlainHost):
    """The arguments are spread into the search's own, and one that is not known ends the turn."""

    async def call_tool(self, arguments: Any, context: RetrievalContext) -> Any:
        return await self.search(**{**arguments, "context": context})


@host_fault("KP-824", "KP-849", fragment="unknown argument")
class UnknownArgumentsRefused(PlainHost):
    """An argument that the tool does not have is an error instead of being ignored."""

    async def call_tool(self, arguments: Any, context: RetrievalContext) -> Any:
        if not set(arguments) <= {"query", "top_k", "knowledge_base_ids"}:
            raise ValueError("unknown argument")
        return await super().call_tool(arguments, context)


@host_fault("KP-824", fragment="'another'")
class TurnFromTheArguments(PlainHost):
    """The model may name the turn, and reads the titles that another turn has cited."""

    async def call_tool(self, arguments: Any, context: RetrievalContext) -> Any:
        sent = {name: read.argument(arguments, name) for name in ("session_id", "turn_id")}
        ids = {name: value for name, value in sent.items() if isinstance(value, str)}
        return await super().call_tool(arguments, context.model_copy(update=ids))


@host_fault("KP-849", fragment="is not subscriptable")
class ArgumentsMustBeRight(PlainHost):
    """Arguments that are no object end in whatever Python raises, without a code."""

    async def call_tool(self, arguments: Any, context: RetrievalContext) -> Any:
        return await super().call_tool({"query": arguments["query"], **arguments}, context)
