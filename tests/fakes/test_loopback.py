"""The handbook behind TCP: a real connection per call, and nothing left of it."""

import asyncio
import socket
from typing import Any, NoReturn

import pytest

from knowledge_fakes.handbook import load_handbook
from knowledge_fakes.loopback import LoopbackProvider
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest
from knowledge_provider.errors import KnowledgeUnavailableError

CONTEXT = RetrievalContext(owner_id="alice")
REQUEST = RetrievalRequest(query="release policy 审批", top_k=8, knowledge_base_ids=("engineering", "people"))


@pytest.fixture
def addresses(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The addresses that were connected to, in order."""
    connected: list[tuple[str, int]] = []
    connect = asyncio.open_connection

    async def watched(host: str, port: int) -> Any:
        connected.append((host, port))
        return await connect(host, port)

    monkeypatch.setattr(asyncio, "open_connection", watched)
    return connected


def refuses(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address, timeout=1.0).close()
    except ConnectionRefusedError:
        return True
    return False


def test_each_call_is_one_connection_to_one_server(addresses: list[tuple[str, int]]) -> None:
    """The whole request goes over and the answer is the handbook's; close stops the server."""

    async def scene() -> Any:
        provider = LoopbackProvider()
        first, *others = await asyncio.gather(*(provider.retrieve(REQUEST, CONTEXT) for _ in range(3)))
        assert not refuses(addresses[0])
        await provider.close()
        assert others == [first, first]
        return first["results"]

    assert asyncio.run(scene()) == load_handbook().search(REQUEST)
    assert len(addresses) == 3
    assert len(set(addresses)) == 1
    assert refuses(addresses[0])


def test_a_second_loop_gets_its_own_server(addresses: list[tuple[str, int]]) -> None:
    """The server of a loop that has ended is let go of, not asked."""
    provider = LoopbackProvider()
    asyncio.run(provider.retrieve(REQUEST, CONTEXT))

    async def again() -> None:
        await asyncio.wait_for(provider.retrieve(REQUEST, CONTEXT), 5.0)
        assert refuses(addresses[0]) or addresses[0] == addresses[1]
        await provider.close()

    asyncio.run(again())
    assert all(map(refuses, addresses))


def test_closed_on_another_loop(addresses: list[tuple[str, int]]) -> None:
    """Closing needs no loop that is still alive."""
    provider = LoopbackProvider()
    asyncio.run(provider.retrieve(REQUEST, CONTEXT))
    asyncio.run(provider.close())
    assert refuses(addresses[0])


def test_closed_before_it_was_used(addresses: list[tuple[str, int]]) -> None:
    """No server is started for nothing, and health says that it is over."""

    async def scene() -> None:
        provider = LoopbackProvider()
        assert await provider.health(CancelSignal()) == {"status": "ready"}
        await provider.close()
        assert await provider.health(CancelSignal()) == {"status": "unavailable"}

    asyncio.run(scene())
    assert addresses == []


@pytest.mark.parametrize("given_up", [False, True])
@pytest.mark.parametrize("turns", range(12))
def test_closed_during_a_call(turns: int, given_up: bool) -> None:
    """A call that close overtakes fails as unavailable, is answered in full or stays given up; it never hangs."""

    async def scene() -> Any:
        provider = LoopbackProvider()
        call = asyncio.ensure_future(provider.retrieve(REQUEST, CONTEXT))
        for _ in range(turns):
            await asyncio.sleep(0)
        if given_up:
            call.cancel()
        await asyncio.wait_for(provider.close(), 5.0)
        assert asyncio.all_tasks() <= {asyncio.current_task(), call}
        return (await asyncio.wait_for(asyncio.gather(call, return_exceptions=True), 5.0))[0]

    outcome = asyncio.run(scene())
    if not isinstance(outcome, KnowledgeUnavailableError | asyncio.CancelledError):
        assert outcome == {"results": load_handbook().search(REQUEST)}
    assert given_up or not isinstance(outcome, asyncio.CancelledError)


@pytest.mark.parametrize("fault", [ConnectionRefusedError("refused"), ConnectionResetError("reset")])
def test_a_broken_connection_is_a_failure(fault: OSError, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clause 5.10: never an empty answer."""

    async def broken(*_: object) -> NoReturn:
        raise fault

    async def scene() -> None:
        provider = LoopbackProvider()
        monkeypatch.setattr(asyncio, "open_connection", broken)
        with pytest.raises(KnowledgeUnavailableError) as failed:
            await provider.retrieve(REQUEST, CONTEXT)
        assert failed.value.__cause__ is fault
        assert failed.value.retryable
        await provider.close()

    asyncio.run(scene())


def test_half_an_answer_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clause 5.10: an answer that was cut off cannot be read and does not count."""
    whole = asyncio.StreamWriter.write

    def half(writer: asyncio.StreamWriter, data: bytes) -> None:
        whole(writer, data[: len(data) // 2] if data.startswith(b"[") else data)

    async def scene() -> None:
        provider = LoopbackProvider()
        monkeypatch.setattr(asyncio.StreamWriter, "write", half)
        with pytest.raises(KnowledgeUnavailableError):
            await provider.retrieve(REQUEST, CONTEXT)
        await provider.close()

    asyncio.run(scene())
