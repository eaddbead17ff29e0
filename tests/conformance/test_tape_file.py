"""Files of recordings: what is written is read, by several processes, and what is none is refused."""

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from knowledge_conformance import tape_file
from knowledge_conformance.network import Reply
from knowledge_conformance.tape import Asked, Tape
from knowledge_conformance.tape_file import FORMAT, TapeError, add_to_tape, read_tape

ONE = Asked("POST", "https://api.example.com/search?lang=tr", "body", "alike")
TWO = Asked("GET", "https://api.example.com/ğ", "", "other")
TAPE: Tape = {
    ONE: (Reply(503, {"retry-after": "1"}), Reply(200, {"content-type": "text/plain"}, "ığ \u2028 x".encode())),
    TWO: (Reply(200, {}, b"\xff\x00"),),
}


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """Texts, bytes, headers and their order; as JSON in UTF-8, the same for the same."""
    path = tmp_path / "network.json"
    add_to_tape(path, TAPE)
    assert read_tape(path) == TAPE
    before = path.read_bytes()
    assert json.loads(before)[FORMAT] == 1
    assert "ğ".encode() in before
    add_to_tape(path, dict(reversed(TAPE.items())))
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["network.json"]


def test_what_was_there_stays_unless_it_is_answered_anew(tmp_path: Path) -> None:
    """The processes of a run write into the same file."""
    path = tmp_path / "network.json"
    add_to_tape(path, TAPE)
    add_to_tape(path, {ONE: (Reply(204),)})
    assert read_tape(path) == {**TAPE, ONE: (Reply(204),)}


def test_several_write_at_once(tmp_path: Path) -> None:
    """None takes away what another wrote."""
    path = tmp_path / "network.json"
    tapes: list[Tape] = [{ONE._replace(body=str(each)): (Reply(200),)} for each in range(12)]
    threads = [threading.Thread(target=add_to_tape, args=(path, tape)) for tape in tapes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read_tape(path)) == 12


ANSWER = {"status": 200, "headers": {}, "text": ""}
CALL = {"method": "GET", "url": "", "body": "", "alike": "", "answers": [ANSWER]}
NONE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is none: it is no JSON"),
    "no text": (b"\xff", "is none: it is no JSON"),
    "deep": (b"[" * 100_000, "is none: it is no JSON"),
    "a list": (b"[]", "is none: it has no field"),
    "another file": (b'{"name": "x"}', "is none: it has no field"),
    "another version": (json.dumps({FORMAT: 2, "calls": []}).encode(), "is of another version than 1"),
    "true": (json.dumps({FORMAT: True, "calls": []}).encode(), "is of another version than 1"),
    "no calls": (json.dumps({FORMAT: 1}).encode(), "is damaged at calls"),
    "no answer": (json.dumps({FORMAT: 1, "calls": [{**CALL, "answers": []}]}).encode(), "damaged at calls.0.answers"),
    "no status": (
        json.dumps({FORMAT: 1, "calls": [{**CALL, "answers": [{**ANSWER, "status": 0}]}]}).encode(),
        "damaged at calls.0.answers.0.status",
    ),
    "no base64": (
        json.dumps({FORMAT: 1, "calls": [{**CALL, "answers": [{"status": 200, "base64": "*"}]}]}).encode(),
        "a body is no Base64",
    ),
}


@pytest.mark.parametrize(("held", "why"), NONE.values(), ids=NONE)
def test_a_file_that_is_no_recording_is_refused_and_kept(tmp_path: Path, held: bytes, why: str) -> None:
    """The error names it, says why and how to record; nothing is written over it."""
    path = tmp_path / "network.json"
    path.write_bytes(held)
    uses: list[Any] = [lambda: read_tape(path), lambda: add_to_tape(path, TAPE)]
    for use in uses:
        with pytest.raises(TapeError) as caught:
            use()
        assert str(path) in str(caught.value)
        assert why in str(caught.value)
        assert "--record-network FILE" in str(caught.value)
    assert path.read_bytes() == held


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """With the system's own reason."""
    with pytest.raises(TapeError, match="No such file or directory"):
        read_tape(tmp_path / "none.json")
    with pytest.raises(TapeError, match="cannot be written"):
        add_to_tape(tmp_path / "nowhere" / "none.json", {})


def test_size_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the way in and out."""
    monkeypatch.setattr(tape_file, "FILE_MAX", 1 << 20)
    path, large = tmp_path / "network.json", Reply(200, {}, b"x" * (1 << 20))
    with pytest.raises(TapeError, match="would have more than 1 MiB"):
        add_to_tape(path, {ONE: (large,)})
    assert not path.exists()
    path.write_bytes(b" " * ((1 << 20) + 1))
    with pytest.raises(TapeError, match="has more than 1 MiB"):
        read_tape(path)


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole, and nothing beside it."""
    path = tmp_path / "network.json"
    add_to_tape(path, TAPE)

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TapeError, match="No space left"):
        add_to_tape(path, {ONE: (Reply(204),)})
    assert read_tape(path) == TAPE
    assert len(list(tmp_path.iterdir())) == 1
