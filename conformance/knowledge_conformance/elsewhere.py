"""The same target asked in another process, whose strings hash otherwise; knows one process and what it answers.

It judges nothing. Run as a module, it is that process: it opens the target, answers once, and waits to be ended, so
that nothing which the provider started outlives the question.
"""

import asyncio
import contextlib
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack

# Bound before there is a provider, which may replace them in their module.
from json import dumps, loads
from typing import Any, Final, NamedTuple

from knowledge_conformance import calls
from knowledge_conformance.declared import read_declared
from knowledge_conformance.exchange import Exchange
from knowledge_conformance.ranking import Ranked, ranked
from knowledge_conformance.render import never_show, show_error
from knowledge_conformance.tape_file import TapeError
from knowledge_conformance.taping import Taping, taped
from knowledge_conformance.target import Target, TargetError, load, open_provider
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest

LOAD_SECONDS: Final = 20.0
"""How long the target may take to load there."""
_CLOSE_SECONDS: Final = 1.0
_ANSWER_BYTES_MAX: Final = 1 << 20
_write, _read_bytes = os.write, os.read
_SEEDS: Final = ("1", "2")


class ElsewhereError(Exception):
    """There is no answer from another process; the message is one line that says why."""


class Question(NamedTuple):
    """What is asked there: a target by its name, as an owner, within ``seconds`` for each of the requests.

    ``taping`` has the network of that process, and the names of the environment variables whose values no message may
    hold (clause 6.4). From the request at the place ``afresh`` on another provider of the target is asked, where that
    makes one each time.
    """

    target: str
    owner: str
    requests: Sequence[RetrievalRequest]
    seconds: float
    taping: Taping = Taping()
    afresh: int = 0

    @property
    def most(self) -> float:
        """How many seconds it may take in all."""
        return LOAD_SECONDS + self.seconds * len(self.requests)


def ask_elsewhere(question: Question) -> list[Ranked]:
    """What another process answers, in the order of the requests; blocks until then.

    Raises ``ElsewhereError`` where the target cannot be opened there, a call fails, or the time is up.
    """
    asked = {
        "path": [entry for entry in sys.path if isinstance(entry, str)],
        "target": question.target,
        "owner": question.owner,
        "seconds": question.seconds,
        "taping": question.taping._asdict(),
        "requests": [request.model_dump(mode="json") for request in question.requests],
        "afresh": question.afresh,
    }
    answer = _answer_of(dumps(asked).encode() + b"\n", question.most)
    try:
        said = loads(answer)
        if "error" in said:
            raise ElsewhereError(str(said["error"]))
        rankings = [_read(each) for each in said["answers"]]
    except (ValueError, TypeError, KeyError) as error:
        raise ElsewhereError("the process ended without an answer") from error
    if len(rankings) != len(question.requests):
        raise ElsewhereError("the process ended without an answer")
    return rankings


def _read(said: Any) -> Ranked:
    return tuple((str(name), None if score is None else float(score)) for name, score in said)


def _answer_of(asked: bytes, seconds: float) -> bytes:
    answers, answers_to = os.pipe()
    try:
        process = _started(answers_to)
    except Exception as error:
        os.close(answers)
        raise ElsewhereError(f"no process can be started beside this one: {show_error(error)}") from error
    finally:
        os.close(answers_to)
    try:
        with contextlib.suppress(OSError):
            _write(_stdin(process), asked)
        return _read_line(answers, time.monotonic() + seconds)
    finally:
        os.close(answers)
        _end(process)


def _started(answers_to: int) -> "subprocess.Popen[bytes]":
    # A session of its own: it ends itself, with all that it started, when nobody waits for it any more.
    # -P: as the supervisor's child, whose path the question brings.
    return subprocess.Popen(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-P", "-m", "knowledge_conformance.elsewhere", str(answers_to)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(answers_to,),
        env=_environment(os.environ),
        start_new_session=True,
    )


def _stdin(process: "subprocess.Popen[bytes]") -> int:
    if process.stdin is None:
        raise ElsewhereError("there is no way to ask the process")
    return process.stdin.fileno()


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    # Clause 3.6: what stands in a set, or is named by hash(), shows when strings hash otherwise.
    seed = next(seed for seed in _SEEDS if seed != environ.get("PYTHONHASHSEED"))
    return {**environ, "PYTHONHASHSEED": seed}


def _read_line(descriptor: int, until: float) -> bytes:
    data = b""
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while not data.endswith(b"\n") and len(data) < _ANSWER_BYTES_MAX:
            if not selector.select(max(0.0, until - time.monotonic())):
                raise ElsewhereError("there was no answer in time")
            more = _read_bytes(descriptor, 1 << 16)
            if not more:
                break
            data += more
    return data


def _end(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()


def main() -> None:
    """Answer the question on standard input to the descriptor that the command line names, then wait for its end."""
    answers_to = int(sys.argv[1])
    os.set_inheritable(answers_to, False)
    asked = loads(sys.stdin.buffer.readline())
    threading.Thread(target=_work, args=(asked, answers_to), daemon=True).start()
    # Provider code runs in the thread. Whoever asked holds this pipe: at its end nothing of the provider may go on.
    sys.stdin.buffer.read()
    os.killpg(0, signal.SIGKILL)


def _work(asked: dict[str, Any], answers_to: int) -> None:
    try:
        sys.path[:] = asked["path"]
        taping = Taping(**asked["taping"])
        never_show(read_declared(taping.secrets).values())
        with taped(taping):
            said: dict[str, Any] = {"answers": asyncio.run(_answers(asked))}
    except BaseException as error:  # a provider may raise anything, and who asked wants to hear of it
        known = isinstance(error, ElsewhereError | TargetError | TapeError)
        said = {"error": str(error) if known else show_error(error)}
    line = dumps(said).encode() + b"\n"
    while line:
        line = line[_write(answers_to, line) :]
    os.close(answers_to)


async def _answers(asked: dict[str, Any]) -> list[Ranked]:
    target = load(asked["target"])
    requests = [RetrievalRequest.model_validate(each) for each in asked["requests"]]
    afresh = 0 if target.instance else asked["afresh"]
    parts = [part for part in (requests[:afresh], requests[afresh:]) if part]
    return [answer for part in parts for answer in await _answers_of_one(target, part, asked)]


async def _answers_of_one(target: Target, requests: list[RetrievalRequest], asked: dict[str, Any]) -> list[Ranked]:
    async with AsyncExitStack() as stack:
        opening = await open_provider(target, stack)
        provider = opening.provider
        answers = [await _answer(provider, each, asked["owner"], asked["seconds"]) for each in requests]
        if not opening.entered and callable(getattr(provider, "close", None)):
            await calls.call(provider.close, seconds=_CLOSE_SECONDS)
        return answers


async def _answer(provider: Any, request: RetrievalRequest, owner: str, seconds: float) -> Ranked:
    deadline = asyncio.get_running_loop().time() + seconds
    ids = {"session_id": "conformance-session", "turn_id": "conformance-turn", "trace_id": "conformance-trace"}
    context = RetrievalContext(owner_id=owner, signal=CancelSignal(deadline=deadline), **ids)
    ending = await calls.call(provider.retrieve, request, context, seconds=seconds)
    if ending.error is not None:
        raise ElsewhereError(f"retrieve raised {show_error(ending.error)}")
    if ending.hung:
        raise ElsewhereError("a call did not end in time")
    return ranked(Exchange(request, context, ending.value))


if __name__ == "__main__":
    main()
