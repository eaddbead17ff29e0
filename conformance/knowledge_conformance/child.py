"""The child process that holds the provider: reads the kit's commands, lets the worker run, dies with the kit.

Knows pipes and signals. The main thread only listens, so that the kit's end is noticed and a ``KeyboardInterrupt``
that a provider raises is no Ctrl-C; provider code runs in the worker's thread.
"""

import contextlib
import faulthandler
import os
import queue
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from knowledge_conformance.channel import CHANNEL_LOST, KEY_BYTES, KIT_LOST, ChannelError, Reader, Writer
from knowledge_conformance.threads import HostThread

READ_SIZE: Final = 1 << 16
DUMP_SIGNAL: Final = signal.SIGUSR2
"""At this the child writes where its threads are, whatever holds the interpreter."""
# Bound before there is a provider, which may replace them in their module.
_read, _fstat, _exit, _killpg = os.read, os.fstat, os._exit, os.killpg
Commands = queue.SimpleQueue[dict[str, Any]]


def serve(commands_from: int, results_to: int, dumps_to: int) -> None:
    """Serve the kit on these descriptors, until it closes the command pipe."""
    _keep_to_ourselves(commands_from, results_to, dumps_to)
    # Where C code holds the interpreter, only a signal handler in C can still say where.
    faulthandler.register(DUMP_SIGNAL, dumps_to, all_threads=True)
    key = _read_exactly(commands_from, KEY_BYTES)
    commands: Commands = queue.SimpleQueue()
    writer = Writer(results_to, key)
    worker = HostThread(lambda: _work(commands, writer), "knowledge-conformance")
    worker.start()
    _listen(commands_from, Reader(key), commands, lambda: _say_where(writer, worker.ident))


def _keep_to_ourselves(*descriptors: int) -> None:
    # A program that the provider starts must not hold the pipes open, nor may a fork of it speak for the kit.
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
        os.register_at_fork(after_in_child=lambda descriptor=descriptor: os.close(descriptor))
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # A provider that eats all memory is to be killed before anything else on the machine is.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _listen(descriptor: int, reader: Reader, commands: Commands, say_where: Callable[[], None]) -> None:
    try:
        pipe = _fstat(descriptor)
        while data := _read(descriptor, READ_SIZE):
            for command in reader.feed(data):
                # The worker cannot answer this: it is asked when nothing is heard of it any more.
                say_where() if "where" in command else commands.put(command)
        if not os.path.samestat(pipe, _fstat(descriptor)):
            _exit(CHANNEL_LOST)
    except (ChannelError, OSError):
        _exit(CHANNEL_LOST)
    # The kit is gone: nothing of the provider may go on.
    _killpg(0, signal.SIGKILL)


def _say_where(writer: Writer, worker: int | None) -> None:
    from knowledge_conformance.blame import where_held

    writer.write({"held": where_held(worker)})


def _work(commands: Commands, writer: Writer) -> None:
    # Whatever comes out, the kit sees the process end, and says on which check.
    try:
        _serve(commands, writer)
    except OSError:
        _exit(CHANNEL_LOST)
    finally:
        _exit(KIT_LOST)


def _serve(commands: Commands, writer: Writer) -> None:
    first = commands.get()
    sys.path[:] = first["path"]
    # Only now: what the kit imports is found on the path of the run.
    from knowledge_conformance.kinds import kind_named
    from knowledge_conformance.settings import Settings
    from knowledge_conformance.worker import Worker

    def loaded(command: Mapping[str, Any]) -> Worker:
        settings, kind = Settings.model_validate(command["settings"]), kind_named(command["kind"])
        worker = Worker(command["target"], settings, writer.write, kind)
        worker.open()
        return worker

    worker = loaded(first)
    while True:
        command = commands.get()
        if "target" in command:
            worker.abandon()
            worker = loaded(command)
        else:
            _obey(worker, command)


def _obey(worker: Any, command: Mapping[str, Any]) -> None:
    if "run" in command:
        worker.run(command["run"], command["remaining"], close=command["close"])
    else:
        worker.close(command["remaining"])


def _read_exactly(descriptor: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = _read(descriptor, size - len(data))
        if not more:
            _exit(KIT_LOST)
        data += more
    return data


if __name__ == "__main__":
    serve(*map(int, sys.argv[1:4]))
