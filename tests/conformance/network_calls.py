"""One call by each client library that has hooks: a status and a body, or whatever the library raises."""

import asyncio
from collections.abc import Callable

import aiohttp
import httpx
import httpx2
import pytest
import requests
import urllib3


def by_httpx(url: str, timeout: float | None = 2.0) -> tuple[int, bytes]:
    with httpx.Client(timeout=timeout, trust_env=False) as client:
        response = client.post(url, content=b"?")
        return response.status_code, response.content


def by_httpx_async(url: str, timeout: float | None = 2.0) -> tuple[int, bytes]:
    async def ask() -> tuple[int, bytes]:
        async with httpx.AsyncClient(timeout=timeout, trust_env=False) as client:
            response = await client.post(url, content=b"?")
            return response.status_code, response.content

    return asyncio.run(ask())


def by_httpx2(url: str, timeout: float | None = 2.0) -> tuple[int, bytes]:
    async def ask() -> tuple[int, bytes]:
        async with httpx2.AsyncClient(timeout=timeout, trust_env=False) as client:
            response = await client.post(url, content=b"?")
            return response.status_code, response.content

    return asyncio.run(ask())


def by_requests(url: str, timeout: float | None = 2.0) -> tuple[int, bytes]:
    with requests.Session() as session:
        session.trust_env = False
        response = session.post(url, data=b"?", timeout=timeout)
        return response.status_code, response.content


def by_urllib3(url: str, timeout: float | None = 2.0) -> tuple[int, bytes]:
    with urllib3.PoolManager(retries=False) as pool:
        response = pool.request("POST", url, body=b"?", timeout=timeout)
        return response.status, response.data


def by_urllib3_in_pieces(url: str, timeout: float | None = 2.0) -> tuple[int, bytes]:
    with urllib3.PoolManager(retries=False) as pool:
        response = pool.request("POST", url, body=b"?", timeout=timeout, preload_content=False)
        return response.status, b"".join(response.stream(4))


def by_aiohttp(url: str, timeout: float | None = 2.0) -> tuple[int, bytes]:
    async def ask() -> tuple[int, bytes]:
        limit = aiohttp.ClientTimeout(total=timeout)
        async with aiohttp.ClientSession(timeout=limit) as session, session.post(url, data=b"?") as response:
            return response.status, await response.read()

    return asyncio.run(ask())


Ask = Callable[..., tuple[int, bytes]]
WAYS: dict[str, Ask] = {
    way.__name__: way
    for way in (by_httpx, by_httpx_async, by_httpx2, by_requests, by_urllib3, by_urllib3_in_pieces, by_aiohttp)
}
each_way = pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS)
