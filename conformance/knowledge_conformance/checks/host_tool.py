"""Clause 8.13: what a host offers a model. Knows the tool's schema and its arguments; judges no answer."""

import json
from collections.abc import Mapping
from typing import Any, Final

from knowledge_conformance.check import Check, Inapplicable, Level, Violation, check
from knowledge_conformance.checks.host_handing import bases_of, fields_of, request_of
from knowledge_conformance.host_subject import QUERY, DrivenHost, HostSubject, bases_in, parameters_of
from knowledge_conformance.outcomes import first_difference
from knowledge_conformance.render import show, show_error
from knowledge_fakes.scripted import ScriptedProvider
from knowledge_provider import error_code, limits
from knowledge_provider.text import is_blank

_ANSWER: Final = [{"id": "approvals", "content": "Releases are approved by two people."}]
_OFFERED: Final = frozenset({"query", "top_k", "knowledge_base_ids"})
_BASES: Final = ["engineering", "travel"]

# What a model writes when a document tells it to; each by several names, since a host may read any of them.
_SMUGGLED: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("owner_id", "ownerId", "owner", "user_id", "user", "tenant", "tenant_id"), "somebody-else"),
    **dict.fromkeys(("session_id", "turn_id", "trace_id", "sessionId", "turnId"), "another"),
    "context": {"owner_id": "somebody-else"},
    "filters": {"tenant": "somebody-else"},
    "topK": 2,
    "limit": 2,
    "knowledgeBaseIds": ["another-base"],
    "timeout": 0,
    "signal": None,
    "allow_hosts": ["10.0.0.1"],
    "__class__": "admin",
}
_NOTHING_TO_ASK: Final[tuple[Any, ...]] = (
    *(None, [], "release policy", 7, {}, {"q": "release policy"}, {"query": None}, {"query": []}),
    *({"query": {"text": "release policy"}}, {"query": " "}, {7: "release policy"}),
)
_CALLER: Final = {"owner_id": "owner-4c1f", "session_id": "s-9a", "turn_id": "t-e2", "trace_id": "x-7"}
_NO_NUMBERS: Final[tuple[Any, ...]] = (None, "many", [], {}, True)


# Clause 8.13
@check("KP-823", clause="8.13", level=Level.MUST, needs=("KP-854",))
async def the_tool_takes_no_identity(subject: HostSubject) -> None:
    """The model's tool is called knowledge and takes query and top_k, and no filters and no identity.

    Whatever the tool takes a model fills in, from what a document told it. The definition is plain JSON with a
    description and a schema of parameters.
    """
    async with subject.host(ScriptedProvider(capabilities={"filters": True})) as host:
        tool = await host.told("tool_definition")
        parameters = set(parameters_of(tool))
        if not {"query", "top_k"} <= parameters <= _OFFERED:
            raise Violation(
                wanted="the parameters query and top_k, and at most knowledge_base_ids beside them",
                saw=show(sorted(parameters)),
                hint="identity comes from the context, and filters from the host's own code",
                where="host.tool_definition()",
            )
        if tool.get("name") != "knowledge" or is_blank(tool.get("description")) or not _is_json(tool):
            raise Violation(
                wanted="the name knowledge and a description, as plain JSON",
                saw=f"{show(tool.get('name'))} and {show(tool.get('description'))}",
                hint="{'name': 'knowledge', 'description': …, 'parameters': {'type': 'object', 'properties': …}}",
                where="host.tool_definition()",
            )
        subject.observe()


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


# Clause 8.13
@check("KP-848", clause="8.13", level=Level.MUST, needs=("KP-823",))
async def the_tool_names_the_bases(subject: HostSubject) -> None:
    """The tool takes knowledge_base_ids where bases are disclosed, from their list, and not otherwise.

    A model that is not told the ids makes some up.
    """
    if not subject.takes("knowledge_bases"):
        raise Inapplicable("the factory takes no knowledge_bases")
    for bases in (_BASES, None, []):
        async with subject.host(ScriptedProvider(), knowledge_bases=bases) as host:
            tool = await host.told("tool_definition")
            if bases_in(tool) != (bases or None):
                raise Violation(
                    wanted=f"knowledge_base_ids with the enum {show(bases)}" if bases else "no knowledge_base_ids",
                    saw=show(parameters_of(tool).get("knowledge_base_ids"), limit=200),
                    hint="{'type': 'array', 'items': {'type': 'string', 'enum': [the disclosed ids]}}",
                    where=f"host.tool_definition() with knowledge_bases={show(bases)}",
                )
            subject.observe()


# Clause 8.13
@check("KP-824", clause="8.13", level=Level.MUST, needs=("KP-805", "KP-823", "KP-832"))
async def the_tool_ignores_the_rest(subject: HostSubject) -> None:
    """call_tool ignores everything in its arguments but query, top_k and knowledge_base_ids.

    A model sends what it was talked into: filters, another owner, a longer list. The search is that of the caller's
    context, and what the arguments do not say is as if they had been left out.
    """
    provider = ScriptedProvider([_ANSWER], capabilities={"filters": True})
    async with subject.host(provider) as host:
        context = subject.context(**_CALLER)
        plain = await host.search(QUERY, context=context)
        outcome = await host.call_tool({"query": QUERY, **_SMUGGLED}, context)
        _is_the_callers(provider)
        difference = first_difference(plain, outcome)
        if difference is not None:
            raise difference.violation("host.call_tool with more arguments", "call search with the three arguments")
        await host.call_tool({"query": QUERY, "top_k": "3"}, context)
        if request_of(provider)["top_k"] != 3:
            raise Violation(wanted="top_k 3", saw=show(request_of(provider)["top_k"]), hint="read top_k as search does")
        subject.observe()


def _is_the_callers(provider: ScriptedProvider) -> None:
    request, context = request_of(provider), fields_of(provider.calls[-1].context)
    came = {**request, "knowledge_base_ids": bases_of(request)}
    wanted = {"query": QUERY, "top_k": limits.TOP_K_DEFAULT, "knowledge_base_ids": [], "filters": {}}
    ids = {name: context.get(name) for name in _CALLER}
    if came != wanted or ids != _CALLER:
        raise Violation(
            wanted="the request of the query alone, in the caller's own context",
            saw=f"{show(came, limit=200)} for {show(ids, limit=200)}",
            hint="read the three names out of the arguments, and nothing else",
        )


# Clauses 8.3 and 8.13
@check("KP-849", clause="8.13", level=Level.MUST, needs=("KP-805", "KP-830"))
async def any_arguments_are_read(subject: HostSubject) -> None:
    """Whatever a model sends as arguments is read or refused by a code; nothing else comes out of call_tool.

    Arguments are generated text that a parser made something of. Without a query in them they are refused with
    knowledge_query_required; what cannot be read beside a query is left out.
    """
    provider = ScriptedProvider([_ANSWER])
    async with subject.host(provider) as host:
        for arguments in _NOTHING_TO_ASK:
            ending = await host.attempt_tool(arguments)
            if ending.error is None or error_code(ending.error) != "knowledge_query_required":
                raise Violation(
                    wanted="an exception with the code knowledge_query_required",
                    saw="an outcome" if ending.error is None else f"raised {show_error(ending.error)}",
                    hint="take arguments that are no dict for none, and refuse a query that is none",
                )
            subject.observe()
        await _reads(host, provider)


async def _reads(host: DrivenHost, provider: ScriptedProvider) -> None:
    for number in _NO_NUMBERS:
        await host.call_tool({"query": QUERY, "top_k": number})
        if request_of(provider)["top_k"] != limits.TOP_K_DEFAULT:
            raise Violation(
                wanted=f"top_k 5 for {show(number)}", saw=show(request_of(provider)["top_k"]), hint="default to 5"
            )


CHECKS: Final[tuple[Check, ...]] = (
    the_tool_takes_no_identity,
    the_tool_names_the_bases,
    the_tool_ignores_the_rest,
    any_arguments_are_read,
)
