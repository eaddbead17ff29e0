"""Frames between the kit and the child that holds the provider, which nobody else can write; knows no check.

A frame is one line: a MAC over its number and text, then the text as JSON. The provider shares the child's file
descriptors, so a line without the MAC is how its scribbling is told from the kit's own words.
"""

import hashlib
import hmac
import json
import os
import threading
from collections.abc import Iterator, Mapping
from typing import Any, Final

KEY_BYTES: Final = 32
FRAME_MAX: Final = 1 << 20
"""The longest line that is waited for; evidence is bounded, so the kit's own frames are far below it."""

CHANNEL_LOST: Final = 121
KIT_LOST: Final = 122
"""Exit statuses of the child: the channel is closed or foreign, or the kit's own part of the child failed."""

_MAC_CHARACTERS: Final = 32
# Bound before there is a provider, which may replace them in their modules.
_write, _dumps, _loads = os.write, json.dumps, json.loads


class ChannelError(Exception):
    """Something on the channel is not the kit's own frame."""


def encode(message: Mapping[str, object], number: int, key: bytes) -> bytes:
    """One frame."""
    text = _dumps(message, ensure_ascii=True).encode()
    return _mac(text, number, key) + b" " + text + b"\n"


def decode(line: bytes, number: int, key: bytes) -> dict[str, Any]:
    """The message of one frame without its newline; raises ``ChannelError`` when it is not frame ``number``."""
    mac, _, text = line.partition(b" ")
    if not hmac.compare_digest(mac, _mac(text, number, key)):
        raise ChannelError
    message: dict[str, Any] = _loads(text)
    return message


def _mac(text: bytes, number: int, key: bytes) -> bytes:
    return hmac.new(key, b"%d " % number + text, hashlib.sha256).hexdigest()[:_MAC_CHARACTERS].encode()


class Writer:
    """Writes frames to a file descriptor, from any thread."""

    def __init__(self, descriptor: int, key: bytes) -> None:
        self._descriptor = descriptor
        self._key = key
        self._number = 0
        self._lock = threading.Lock()

    def write(self, message: Mapping[str, object]) -> None:
        """Write one frame; raises ``OSError`` when the other end is gone."""
        with self._lock:
            frame = memoryview(encode(message, self._number, self._key))
            self._number += 1
            while frame:
                frame = frame[_write(self._descriptor, frame) :]


class Reader:
    """Puts what was read together to messages."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._number = 0
        self._pending = bytearray()

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """The messages that are complete with ``data``; raises ``ChannelError`` at the first foreign line."""
        self._pending += data
        while (end := self._pending.find(b"\n")) >= 0:
            line = bytes(self._pending[:end])
            del self._pending[: end + 1]
            yield decode(line, self._number, self._key)
            self._number += 1
        if len(self._pending) > FRAME_MAX:
            raise ChannelError
