"""Frames that only the kit can write: what a provider scribbles beside them is told from them."""

import json
import os
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_conformance.channel import FRAME_MAX, KEY_BYTES, ChannelError, Reader, Writer, decode, encode

KEY = bytes(range(KEY_BYTES))
OTHER = bytes(KEY_BYTES)
MESSAGE = {"result": {"id": "KP-301", "outcome": "passed"}}

_MESSAGES = st.lists(
    st.dictionaries(st.text(max_size=5), st.none() | st.integers() | st.text(max_size=20), max_size=3), max_size=5
)


@given(_MESSAGES, st.integers(1, 40))
@settings(deadline=None, max_examples=100)
def test_messages_come_back_in_any_pieces(messages: list[dict[str, Any]], size: int) -> None:
    """However a pipe cuts them, and whatever text is in them, line ends and lone surrogates included."""
    sent = b"".join(encode(message, at, KEY) for at, message in enumerate(messages))
    reader = Reader(KEY)
    pieces = (sent[at : at + size] for at in range(0, len(sent), size))
    assert [message for piece in pieces for message in reader.feed(piece)] == messages


def test_a_lone_surrogate_survives() -> None:
    """A provider's answer may hold one, and the finding about it must arrive."""
    frame = encode({"saw": "\ud800"}, 0, KEY)
    assert decode(frame.removesuffix(b"\n"), 0, KEY) == {"saw": "\ud800"}


FRAME = encode(MESSAGE, 0, KEY)
FOREIGN = {
    "text": b"hello\n",
    "nothing": b"\n",
    "the message alone": json.dumps(MESSAGE).encode() + b"\n",
    "another key": encode(MESSAGE, 0, OTHER),
    "another number": encode(MESSAGE, 1, KEY),
    "a changed message": FRAME.replace(b"KP-301", b"KP-302"),
    "a cut frame": FRAME[1:],
    "bytes": bytes(range(1, 10)) + b"\n",
    "not ASCII": "é ü\n".encode(),
}


@pytest.mark.parametrize("line", FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_line_is_refused(line: bytes) -> None:
    """Alone, and after a frame of the kit's own."""
    with pytest.raises(ChannelError):
        list(Reader(KEY).feed(line))
    reader = Reader(KEY)
    assert list(reader.feed(FRAME)) == [MESSAGE]
    with pytest.raises(ChannelError):
        list(reader.feed(line if line != FOREIGN["another number"] else FRAME))


def test_a_frame_that_was_seen_cannot_be_sent_again() -> None:
    """A provider that copies what it saw on the channel gets no second result out of it."""
    reader = Reader(KEY)
    assert list(reader.feed(FRAME)) == [MESSAGE]
    with pytest.raises(ChannelError):
        list(reader.feed(FRAME))


def test_what_never_ends_is_refused() -> None:
    """A flood without a line end must not fill the kit's memory."""
    reader = Reader(KEY)
    assert list(reader.feed(b"x" * FRAME_MAX)) == []
    with pytest.raises(ChannelError):
        list(reader.feed(b"x"))


def test_threads_write_whole_frames_in_order() -> None:
    """Larger than a pipe takes at once."""
    source, target = os.pipe()
    writer = Writer(target, KEY)
    threads = [threading.Thread(target=writer.write, args=({"text": str(at) * 50_000},)) for at in range(4)]
    for thread in threads:
        thread.start()
    reader = Reader(KEY)
    got: list[Any] = []
    while len(got) < 4:
        got.extend(reader.feed(os.read(source, 65536)))
    for thread in threads:
        thread.join()
    os.close(source)
    with pytest.raises(OSError, match="Broken pipe"):
        writer.write(MESSAGE)
    os.close(target)
    assert sorted(message["text"][0] for message in got) == ["0", "1", "2", "3"]
