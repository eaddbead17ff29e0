"""``serving``: an ASGI app behind a real port of this machine; knows uvicorn and threads, no app and no vendor.

Needs the extra ``fakes``.
"""

import asyncio
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import uvicorn
from starlette.types import ASGIApp

_SECONDS: Final = 10.0
# A client of a fake that fails on purpose knows the reason; uvicorn's log of it would only look like a fault.
_LOG_LEVEL: Final = "critical"


@contextmanager
def serving(app: ASGIApp) -> Generator[str]:
    """Serve ``app`` in a daemon thread and give its base URL, such as ``http://127.0.0.1:54321``, without a slash.

    The app's lifespan has begun when the block is entered, and has ended after it. Leaving takes about 0.2 s: requests
    that are still under way are cancelled, not waited for. What the app raises is a status of 500, and not logged.
    Raises ``RuntimeError`` when the app does not start, or holds its event loop for 10 s and so cannot be stopped.
    """
    # With its protocol by name: asyncio turns Nagle's delay off for no other, and each request would take 40 ms more.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        server = _Server(app)
        thread = threading.Thread(target=server.serve_until_told, args=(listening,), name="fake-server", daemon=True)
        thread.start()
        try:
            server.wait_until_started()
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(_SECONDS)
        if thread.is_alive():
            raise RuntimeError(f"the server did not stop in {_SECONDS} s: the app blocks its loop; wait by `await`")


class _Server(uvicorn.Server):
    """Says when it has started, which uvicorn's own does not."""

    def __init__(self, app: ASGIApp) -> None:
        # One implementation of each part, whatever else is installed: a fake behaves the same everywhere.
        super().__init__(
            uvicorn.Config(
                app,
                loop="asyncio",
                http="h11",
                ws="none",
                log_config=None,
                log_level=_LOG_LEVEL,
                access_log=False,
                timeout_graceful_shutdown=0,
            )
        )
        self._settled = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._settled.set()

    def serve_until_told(self, listening: socket.socket) -> None:
        try:
            asyncio.run(self.serve(sockets=[listening]))
        except SystemExit:
            # How uvicorn says that the app did not start, which the waiting thread finds by ``started``.
            return
        finally:
            self._settled.set()

    def wait_until_started(self) -> None:
        self._settled.wait(_SECONDS)
        if not self.started:
            raise RuntimeError("the app did not start: its lifespan raised or did not end; run the app alone to see it")
