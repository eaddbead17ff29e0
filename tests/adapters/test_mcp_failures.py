"""How ``MCPProvider`` fails: by which code, what it never says, and how it comes back."""

import asyncio
import json
import logging
import socket
import sys
from contextlib import closing
from typing import Any

import httpx2
import mcp_subjects as subjects
import pytest
from mcp import MCPError, StdioServerParameters, stdio_client
from mcp_subjects import SECRET, ask, asked, over, said

from knowledge_adapters.mcp_provider import MCPProvider, _failure
from knowledge_fakes.vendors.mcp_service import CALL_FAULTS, HTTP_FAULTS, RESULT_FAULTS, ToolService
from knowledge_fakes.vendors.serving import serving
from knowledge_provider import errors

WORDS = "the server's own words"
CODES = {
    # In a result
    "is_error": "knowledge_provider_failed",
    "is_error_with_results": "knowledge_provider_failed",
    "declared_unauthorized": "knowledge_unauthorized",
    "declared_rate_limited": "knowledge_rate_limited",
    "declared_unavailable": "knowledge_unavailable",
    "error_in_answer": "knowledge_provider_failed",
    "prose": "knowledge_invalid_response",
    "login_page": "knowledge_invalid_response",
    "truncated": "knowledge_invalid_response",
    "too_deep": "knowledge_invalid_response",
    "null": "knowledge_invalid_response",
    "no_results": "knowledge_invalid_response",
    "null_results": "knowledge_invalid_response",
    "results_by_name": "knowledge_invalid_response",
    "no_text": "knowledge_invalid_response",
    "only_an_image": "knowledge_invalid_response",
    "breaks_schema": "knowledge_invalid_response",
    "no_structure": "knowledge_invalid_response",
    # Without one
    "mcp_error": "knowledge_provider_failed",
    "mcp_timeout": "knowledge_provider_failed",
    "raises": "knowledge_provider_failed",
    "silent": "knowledge_provider_failed",
    "dies": "knowledge_unavailable",
    # Over HTTP
    "bad_request": "knowledge_provider_failed",
    "unauthorized": "knowledge_unauthorized",
    "forbidden": "knowledge_unauthorized",
    "not_found": "knowledge_provider_failed",
    "request_timeout": "knowledge_provider_failed",
    "rate_limited": "knowledge_rate_limited",
    "broken": "knowledge_unavailable",
    "bad_gateway": "knowledge_unavailable",
    "unavailable": "knowledge_unavailable",
    "redirected": "knowledge_provider_failed",
    "login_page_for_all": "knowledge_invalid_response",
    "accepted": "knowledge_invalid_response",
    "no_message": "knowledge_invalid_response",
    "no_json": "knowledge_invalid_response",
    "no_events": "knowledge_invalid_response",
    "stream_ended": "knowledge_unavailable",
    "structure_alone": "knowledge_invalid_response",
}
RETRYABLE = {"mcp_timeout", "silent", "request_timeout"}
WITH_SCHEMA = {"breaks_schema": "model", "no_structure": "list"}


def failed(provider: MCPProvider, **fields: Any) -> errors.KnowledgeError:
    with pytest.raises(errors.KnowledgeError) as caught:
        ask(provider, **fields)
    return caught.value


def check(way: str, error: errors.KnowledgeError) -> None:
    assert error.code == CODES[way]
    by_code = error.code in ("knowledge_unavailable", "knowledge_rate_limited")
    assert error.retryable is (by_code or way in RETRYABLE)
    assert "own words" not in said(error)
    assert SECRET not in said(error)


# Codes


@pytest.mark.parametrize("way", [*RESULT_FAULTS, *(way for way in CALL_FAULTS if way != "dies")])
def test_every_way_of_the_tool_to_fail_has_its_code(way: str) -> None:
    """Field case 25, clauses 5.10, 6.4 and 7.6: no results, and no words of the server's."""
    check(way, failed(over(ToolService(WITH_SCHEMA.get(way, "text"), way), timeout=5 if way != "silent" else 0.1)))


class Structured(ToolService):
    """Answers a call with a result in structured form alone, as a server does that the SDK did not write."""

    def posted(self, headers: Any, body: bytes) -> Any:
        message = json.loads(body)
        if message["method"] != "tools/call":
            return None
        result = {"structuredContent": {"results": [{"id": "1", "content": WORDS}]}}
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return HTTP_FAULTS["no_json"]._replace(headers={"content-type": "application/json"}, body=json.dumps(answer))


def test_a_result_without_content_is_no_message_of_mcp() -> None:
    """Field case 23 (modelcontextprotocol/python-sdk#1796): the SDK's model refuses it; one failure, and no crash."""
    with serving(Structured("text").app()) as url:
        error = failed(over(f"{url}/mcp"))
    assert error.code == "knowledge_invalid_response"
    assert WORDS not in said(error)


@pytest.mark.parametrize("way", HTTP_FAULTS)
def test_every_way_of_http_to_fail_has_its_code(way: str) -> None:
    """The status and the time to wait, which the SDK drops, are heard where they pass."""
    with serving(ToolService(way=way).app()) as url:
        error = failed(over(f"{url}/mcp", headers={"Authorization": f"Bearer {SECRET}"}))
    check(way, error)
    assert error.retry_after == {"rate_limited": 7, "unavailable": 3}.get(way)


@pytest.mark.parametrize("way", ["unauthorized", "not_found", "rate_limited", "unavailable", "login_page_for_all"])
def test_connecting_fails_by_the_same_codes(way: str) -> None:
    """There, the SDK raises groups in groups; ``retry_after`` as well."""
    with serving(ToolService(way=way, while_connecting=True).app()) as url:
        error = failed(over(f"{url}/mcp"))
    check(way, error)
    assert error.retry_after == {"rate_limited": 7, "unavailable": 3}.get(way)


def test_every_way_to_fail_is_known_here() -> None:
    """The table above is the documentation's, too."""
    assert set(CODES) == {*RESULT_FAULTS, *CALL_FAULTS, *HTTP_FAULTS}


def test_a_failure_of_one_call_is_not_that_of_another() -> None:
    """Clause 7.5: each hears the status of its own request, though one connection carries both."""
    service = ToolService(way="rate_limited", times=1)

    async def main(url: str) -> list[Any]:
        provider = over(f"{url}/mcp")
        try:
            return await asyncio.gather(*(asked(provider) for _ in range(4)), return_exceptions=True)
        finally:
            await provider.close()

    with serving(service.app()) as url:
        came = asyncio.run(main(url))
    codes = [each.code for each in came if isinstance(each, errors.KnowledgeError)]
    assert codes == ["knowledge_rate_limited"]
    assert sum(isinstance(each, list) and len(each) > 0 for each in came) == 3


def test_scores_that_are_not_there_are_a_failure_where_there_are_to_be_some() -> None:
    """Clause 5.4: a document has no score."""
    assert failed(over(ToolService("resources"), score_kind="similarity")).code == "knowledge_invalid_response"


@pytest.mark.parametrize(
    ("raised", "code", "retryable"),
    [
        (httpx2.ConnectError(SECRET), "knowledge_unavailable", True),
        (ExceptionGroup("", [ExceptionGroup("", [httpx2.ConnectError(SECRET)])]), "knowledge_unavailable", True),
        (ExceptionGroup("", [MCPError(-32000, SECRET)]), "knowledge_unavailable", True),
        (httpx2.ReadTimeout(SECRET), "knowledge_provider_failed", True),
        (TimeoutError(SECRET), "knowledge_provider_failed", True),
        (FileNotFoundError(SECRET), "knowledge_unavailable", True),
        (MCPError(-32602, SECRET), "knowledge_provider_failed", False),
        (RuntimeError(SECRET), "knowledge_invalid_response", False),
        (KeyError(SECRET), "knowledge_provider_failed", False),
    ],
)
def test_what_the_sdk_raises_is_one_failure_with_fixed_words(raised: Exception, code: str, retryable: bool) -> None:
    """However deep it is packed."""
    error = _failure(raised, [])
    assert (error.code, error.retryable) == (code, retryable)
    assert SECRET not in said(error)


def test_nobody_at_the_port_and_no_such_command_are_unavailable() -> None:
    """And so is a program that ends at once."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        port = listening.getsockname()[1]
    nothing = StdioServerParameters(command=sys.executable, args=["-c", ""])
    for place in (f"http://127.0.0.1:{port}/mcp", StdioServerParameters(command="no-such-command-here"), nothing):
        error = failed(over(place))
        assert (error.code, error.retryable) == ("knowledge_unavailable", True)


# Coming back


def test_a_server_that_dies_is_one_failure_and_started_again_for_the_next_call() -> None:
    """Field case 29: the death is seen at once, and not at the deadline."""
    programs = [ToolService("list", "dies").stdio, ToolService("list").stdio]
    provider = over(lambda: stdio_client(programs.pop(0)), timeout=60)

    async def main() -> str:
        with pytest.raises(errors.KnowledgeUnavailableError):
            await asked(provider)
        found = await asked(provider)
        await provider.close()
        return found[0].id

    assert asyncio.run(main()) == "release-handbook#approvals"


def test_a_session_that_the_server_has_forgotten_is_opened_anew() -> None:
    """A server that has started anew answers 404 in it; the next call greets it again."""
    greeted: list[bytes] = []

    async def note(request: httpx2.Request) -> None:
        if b'"initialize"' in request.content:
            greeted.append(request.content)

    async def main(url: str) -> list[str]:
        provider = over(f"{url}/mcp", http_client=lambda: httpx2.AsyncClient(event_hooks={"request": [note]}))
        with pytest.raises(errors.KnowledgeUnavailableError):
            await asked(provider)
        found = await asked(provider, top_k=1)
        await provider.close()
        return subjects.ids(found)

    with serving(subjects.OlderService(way="not_found", times=1).app()) as url:
        assert asyncio.run(main(url)) == ["release-handbook#approvals"]
    assert len(greeted) == 2


# What is never said


def test_no_log_or_output_has_a_credential(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    """Clause 6.4: the SDK logs every message, and httpx2 every request."""
    caplog.set_level(logging.DEBUG)
    for token in (SECRET, "another"):
        with serving(ToolService(token=token).app()) as url:
            provider = over(f"{url}/mcp", headers={"Authorization": f"Bearer {SECRET}"})
            if token == SECRET:
                assert ask(provider)
            else:
                assert failed(provider).code == "knowledge_unauthorized"
    assert caplog.records
    assert SECRET not in caplog.text
    assert SECRET not in "".join(capfd.readouterr())


def test_a_key_that_the_server_repeats_is_in_no_error() -> None:
    """Whatever the SDK's exceptions hold of it."""
    leaking = HTTP_FAULTS["no_json"]._replace(body=SECRET)

    class Leaking(ToolService):
        def posted(self, headers: Any, body: bytes) -> Any:
            return leaking if b"tools/call" in body else None

    with serving(Leaking().app()) as url:
        error = failed(over(f"{url}/mcp"))
    assert error.code == "knowledge_invalid_response"
    assert SECRET not in said(error)


def test_a_redirect_elsewhere_is_not_followed() -> None:
    """Field case 35: the key would go along."""
    elsewhere: list[str] = []

    class Elsewhere(ToolService):
        def posted(self, headers: Any, body: bytes) -> Any:
            elsewhere.append(headers.get("authorization", ""))
            return None

    class Redirecting(ToolService):
        to = ""

        def posted(self, headers: Any, body: bytes) -> Any:
            return HTTP_FAULTS["redirected"]._replace(headers={"location": self.to})

    redirecting = Redirecting()
    with serving(Elsewhere().app()) as other, serving(redirecting.app()) as url:
        redirecting.to = f"{other}/mcp"
        assert failed(over(f"{url}/mcp", headers={"Authorization": SECRET})).code == "knowledge_provider_failed"
    assert elsewhere == []


def test_after_closing_it_raises() -> None:
    """Clause 2.2: twice is fine."""

    async def main() -> None:
        provider = subjects.model()
        assert await asked(provider)
        await provider.close()
        await provider.close()
        with pytest.raises(errors.KnowledgeFailedError, match="closed"):
            await asked(provider)
        assert (await provider.health()).status == "unavailable"

    asyncio.run(main())
