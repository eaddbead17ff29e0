"""A headless Chromium, driven over the pipe that it offers for that; knows its protocol, and no page of ours."""

import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

NAMES: Final = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
PATIENCE: Final = 60.0
_OPTIONS: Final = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--no-default-browser-check",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip


def program() -> str | None:
    """The browser of this machine, or None."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """One page of a browser; ``events`` is everything that it told by itself."""

    def __init__(self, to: int, from_: int) -> None:
        self._to = to
        self._from = from_
        self._rest = b""
        self._ids = itertools.count(1)
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """What the browser answers to a command of its protocol."""
        number = next(self._ids)
        session = {} if self._session is None else {"sessionId": self._session}
        message = {"id": number, "method": method, "params": params, **session}
        os.write(self._to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            came = self._message(until)
            if came.get("id") == number:
                assert "error" not in came, came
                return dict(came["result"])
            self.events.append(came)

    def open(self, page: Path, *, width: int, dark: bool = False, media: str = "screen", scripts: bool = False) -> None:
        """Show a page in a window of that width, and wait until it is there."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.ask("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.events.clear()
        self.ask("Page.navigate", url=page.as_uri())
        until = time.monotonic() + PATIENCE
        while not self.told("Page.loadEventFired"):
            self.events.append(self._message(until))

    def value(self, expression: str) -> Any:
        """What a JavaScript expression gives on the page."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def told(self, method: str) -> list[Mapping[str, Any]]:
        """The parameters of the events of that name since the page was opened."""
        return [event["params"] for event in self.events if event.get("method") == method]

    def picture(self, *, whole: bool = False) -> bytes:
        """The window, or the whole page, as PNG."""
        answer = self.ask("Page.captureScreenshot", captureBeyondViewport=whole)
        return base64.b64decode(answer["data"])

    def _message(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], max(0.0, until - time.monotonic()))
            data = os.read(self._from, 1 << 20) if ready else b""
            assert data, "the browser says nothing any more"
            self._rest += data
        first, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(first))


@contextlib.contextmanager
def browser(chromium: str, folder: Path) -> Iterator[Browser]:
    """A browser with a fresh profile in ``folder``, ended afterwards."""
    commands, to = os.pipe()
    from_, answers = os.pipe()
    process = subprocess.Popen(
        # The descriptors 3 and 4 are where it listens and answers.
        ["/bin/bash", "-c", f'exec "$@" 3<&{commands} 4>&{answers}', "bash", chromium, *_OPTIONS,
         f"--user-data-dir={folder / 'profile'}"],
        pass_fds=(commands, answers),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(folder)},
    )  # fmt: skip
    os.close(commands)
    os.close(answers)
    try:
        yield Browser(to, from_)
    finally:
        os.close(to)
        process.kill()
        process.wait()
        os.close(from_)
