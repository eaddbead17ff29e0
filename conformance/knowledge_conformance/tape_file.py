"""Where a recording of a provider's network is kept: JSON, one file for all processes of a run. Knows files and shapes.

What stands there already stays, unless the same call was answered anew.
"""

import base64
import binascii
import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from knowledge_conformance.network import Reply
from knowledge_conformance.replacing import replace_text
from knowledge_conformance.tape import Asked, Tape

FORMAT: Final = "knowledge-network-recording"
VERSION: Final = 1
FILE_MAX: Final = 64 << 20
"""Bytes of a file that is read, and that is written."""
HOW: Final = "record one where the back end can be reached: --record-network FILE"


class TapeError(Exception):
    """A recording cannot be used, or written; the message is one line that names the file and says what to do."""

    def __init__(self, path: Path, why: str, what: str = HOW) -> None:
        super().__init__(f"the network recording {path} {why}; {what}")


class _Answer(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    status: Annotated[int, Field(ge=100, le=599)]
    headers: dict[str, str] = Field(default_factory=dict)
    text: str | None = None
    base64: str | None = None


class _Call(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    method: str
    url: str
    body: str
    alike: str
    answers: Annotated[tuple[_Answer, ...], Field(min_length=1)]


_CALLS: Final = TypeAdapter(list[_Call])


def read_tape(path: Path) -> Tape:
    """The recording in a file; raises ``TapeError`` where it is none, of another version, or too large."""
    try:
        with path.open("rb") as file:
            held = file.read(FILE_MAX + 1)
    except OSError as error:
        raise TapeError(path, f"cannot be read ({error.strerror})") from None
    if len(held) > FILE_MAX:
        raise TapeError(path, f"has more than {FILE_MAX >> 20} MiB, and none that the kit writes has")
    try:
        said = json.loads(held.decode("utf-8"))
    except (ValueError, RecursionError):
        raise TapeError(path, "is none: it is no JSON in UTF-8") from None
    return _tape(path, said)


def _tape(path: Path, said: Any) -> Tape:
    if not isinstance(said, dict) or FORMAT not in said:
        raise TapeError(path, f"is none: it has no field {FORMAT!r}")
    if type(said[FORMAT]) is not int or said[FORMAT] != VERSION:
        raise TapeError(path, f"is of another version than {VERSION}, which this kit reads")
    try:
        calls = _CALLS.validate_python(said.get("calls"))
        return {Asked(call.method, call.url, call.body, call.alike): tuple(map(_reply, call.answers)) for call in calls}
    except ValidationError as error:
        place = ".".join(map(str, ("calls", *error.errors(include_input=False)[0]["loc"])))
        raise TapeError(path, f"is damaged at {place}") from None
    except binascii.Error:
        raise TapeError(path, "is damaged: a body is no Base64") from None


def _reply(answer: _Answer) -> Reply:
    packed = answer.base64
    body = (answer.text or "").encode("utf-8") if packed is None else base64.b64decode(packed, validate=True)
    return Reply(answer.status, answer.headers, body)


def add_to_tape(path: Path, new: Tape) -> None:
    """Write what was recorded into the file, beside what other processes wrote there; raises ``TapeError``."""
    try:
        with _locked(path.resolve().parent):
            text = _written({**(read_tape(path) if path.exists() else {}), **new})
            if len(text.encode()) > FILE_MAX:
                raise TapeError(path, f"would have more than {FILE_MAX >> 20} MiB", "remove it, and record fewer calls")
            replace_text(path, text)
    except OSError as error:
        raise TapeError(
            path,
            f"cannot be written ({error.strerror})",
            "name a file in a folder that is there, and may be written to",
        ) from None


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    # The folder's, since the file is replaced by another one.
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _written(tape: Tape) -> str:
    # Sorted: in which order the checks came, and in which process, is no difference.
    calls = [{**asked._asdict(), "answers": [_answer(each) for each in tape[asked]]} for asked in sorted(tape)]
    return json.dumps({FORMAT: VERSION, "calls": calls}, ensure_ascii=False, indent=1) + "\n"


def _answer(reply: Reply) -> dict[str, Any]:
    try:
        body = {"text": reply.body.decode("utf-8")}
    except UnicodeDecodeError:
        body = {"base64": base64.b64encode(reply.body).decode()}
    return {"status": reply.status, "headers": dict(reply.headers), **body}
