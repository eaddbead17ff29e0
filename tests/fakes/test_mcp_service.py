"""The scripted MCP server: sound answers in each shape, each way to fail, and the same over stdio and HTTP."""

import asyncio
import json
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.types import CallToolResult

from knowledge_fakes.handbook import load_handbook
from knowledge_fakes.vendors.mcp_service import HTTP_FAULTS, RESULT_FAULTS, SHAPES, TOOL, ToolService
from knowledge_fakes.vendors.serving import serving
from knowledge_provider import RetrievalRequest

PLAIN = load_handbook().search(RetrievalRequest(query="release policy", top_k=3))


def ask(place: Any, times: int = 1, **arguments: Any) -> CallToolResult:
    """The last of ``times`` answers."""

    async def main() -> CallToolResult:
        async with Client(place) as client:
            for _ in range(times - 1):
                await client.call_tool(TOOL, {"query": "release policy", "top_k": 3, **arguments})
            return await client.call_tool(TOOL, {"query": "release policy", "top_k": 3, **arguments})

    return asyncio.run(main())


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_holds_the_handbooks_passages(shape: str) -> None:
    """In the handbook's own ranking, and by the schema that the tool declares."""
    answer = ask(ToolService(shape).server).model_dump_json()
    places = [answer.find(json.dumps(json.dumps(each["content"])[1:-1])[1:-1][:20]) for each in PLAIN]
    assert -1 not in places
    assert places == sorted(places)


def test_over_stdio_it_answers_the_same() -> None:
    """As a program of its own."""
    service = ToolService("list")
    assert ask(service.stdio) == ask(service.server)


def test_over_http_it_answers_the_same() -> None:
    """As a server of its own."""
    service = ToolService("list")
    with serving(service.app()) as url:
        assert ask(f"{url}/mcp").structured_content == {"result": PLAIN}


# A text has no structure that could be missing; the client itself refuses it of a list.
@pytest.mark.parametrize("way", [way for way in RESULT_FAULTS if way != "no_structure"])
def test_a_fault_of_results_changes_the_answer(way: str) -> None:
    """For as many calls as it is told."""
    service = ToolService("text", way, times=1)
    assert ask(service.server) != ask(service.server) == ask(ToolService("text").server)


@pytest.mark.parametrize(("way", "code"), [("mcp_error", -32603), ("mcp_timeout", -32001), ("raises", -32603)])
def test_a_fault_of_calls_is_an_error_of_the_protocols(way: str, code: int) -> None:
    """And no result."""

    async def main() -> int:
        async with Client(ToolService(way=way).server) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool(TOOL, {"query": "any"})
            return caught.value.code

    assert asyncio.run(main()) == code


def test_a_silent_call_says_when_it_comes_and_when_its_caller_goes() -> None:
    """So that a test need not guess."""
    service = ToolService(way="silent")

    async def main() -> None:
        async with Client(service.server) as client:
            task = asyncio.create_task(client.call_tool(TOOL, {"query": "any"}))
            assert await asyncio.to_thread(service.called.wait, 10)
            assert not service.cancelled.is_set()
            task.cancel()
            await asyncio.wait({task})

    asyncio.run(main())
    assert service.cancelled.is_set()


@pytest.mark.parametrize("way", HTTP_FAULTS)
def test_a_fault_of_http_answers_in_the_servers_place(way: str) -> None:
    """With its status; the message's own id goes along."""
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {}}
    with serving(ToolService(way=way, times=1).app()) as url:
        answer = httpx2.post(f"{url}/mcp", json=call, follow_redirects=False)
    assert answer.status_code == HTTP_FAULTS[way].status
    assert "{id}" not in answer.text


def test_it_wants_its_token_and_a_tenant_that_it_knows() -> None:
    """The token over HTTP, the tenant as an argument."""
    with serving(ToolService(token="right").app()) as url:
        assert httpx2.post(f"{url}/mcp", json={}).status_code == 401
    service = ToolService(tenants={"alice": ["holidays"]})
    assert ask(service.server, tenant="bob").is_error
    assert not ask(service.server, tenant="alice").is_error
    assert [each["tenant"] for each in service.seen] == ["bob", "alice"]


def test_it_refuses_arguments_and_filters_by_code() -> None:
    """As the handbook does."""
    answer = ask(ToolService().server, filters={"no such field": 1})
    assert (answer.is_error, answer.structured_content["error"]["code"]) == (True, "knowledge_filters_unsupported")
    assert ask(ToolService().server, top_k=99).is_error


@pytest.mark.parametrize("options", [{"shape": "round"}, {"way": "sideways"}])
def test_what_there_is_not_is_refused(options: dict[str, str]) -> None:
    """With what there is."""
    with pytest.raises(ValueError, match="choose from"):
        ToolService(**options)  # type: ignore[arg-type] # of a mapping, no types are known
