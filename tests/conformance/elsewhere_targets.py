"""Targets that are asked in another process: sound ones, and such as do not get that far."""

import os
import signal
import sys
import time
from typing import Any

from knowledge_fakes.handbook import HandbookProvider

SECRET = "TARNBROOK_ELSEWHERE_KEY"


class _Other(HandbookProvider):
    async def retrieve(self, *_: Any) -> Any:
        raise PermissionError("403 Forbidden")


class _Ending(HandbookProvider):
    async def retrieve(self, *_: Any) -> Any:
        os._exit(3)


class _Hanging(HandbookProvider):
    def retrieve(self, *_: Any) -> Any:
        time.sleep(60)


class _Noisy(HandbookProvider):
    async def retrieve(self, *asked: Any) -> Any:
        # Neither is a channel of the kit's.
        for stream in (sys.stdout, sys.stderr):
            stream.write('{"answers": []}\n')
            stream.flush()
        return await super().retrieve(*asked)


class _Seeded(HandbookProvider):
    async def retrieve(self, *asked: Any) -> Any:
        return [{"id": f"seed {os.environ.get('PYTHONHASHSEED')}", "content": "text"}]


class _Owned(HandbookProvider):
    async def retrieve(self, request: Any, context: Any) -> Any:
        return [{"id": f"{context.owner_id} {context.session_id}", "content": request.query}]


class _Leaking(HandbookProvider):
    async def retrieve(self, *_: Any) -> Any:
        raise PermissionError(f"refused: {os.environ[SECRET]}")


class _Forking(HandbookProvider):
    async def retrieve(self, *asked: Any) -> Any:
        child = os.fork()
        if child == 0:
            signal.pause()
        return [{"id": str(child), "content": "text"}]


def refused() -> Any:
    return _Other()


def ending() -> Any:
    return _Ending()


def hanging() -> Any:
    return _Hanging()


def noisy() -> Any:
    return _Noisy()


def seeded() -> Any:
    return _Seeded()


def owned() -> Any:
    return _Owned()


def leaking() -> Any:
    return _Leaking()


def forking() -> Any:
    return _Forking()


def open_once() -> Any:
    raise BlockingIOError("the index is open in another process")
