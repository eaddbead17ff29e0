"""A provider's network in place of the real one, out of a recording, or beside it, into one. Judges nothing.

Knows recordings and hooks, no check: what a check sees is a back end like any other.
"""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from knowledge_conformance.declared import declared
from knowledge_conformance.network import Break, Call, Network, laid_under
from knowledge_conformance.render import show
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.settings import Settings
from knowledge_conformance.tape import Asked, Known, Tape, asked, credentials_in, stored, with_answer
from knowledge_conformance.tape_file import TapeError, add_to_tape, read_tape

_PENDING_MAX: Final = 10_000
_FOR_EVER: Final = 10.0**6
_SETTLED: Final = frozenset({CheckOutcome.PASSED, CheckOutcome.INAPPLICABLE})


class Taping(NamedTuple):
    """Which files: ``played`` has the answers, ``recorded`` gets them; not both.

    ``secrets`` are the names of environment variables whose values no file may have (clause 6.4).
    """

    played: str | None = None
    recorded: str | None = None
    secrets: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: Settings) -> "Taping":
        """Those of the settings."""
        return cls(settings.played, settings.record_network, settings.secrets)


class Player(Network):
    """Answers every call out of a recording, or says that it has no answer; never anything else."""

    def __init__(self, path: Path, tape: Tape, secrets: Known) -> None:
        super().__init__(_FOR_EVER, most=0)
        self._path = path
        self._tape = tape
        self._secrets = secrets
        self._alike: dict[str, list[Asked]] = {}
        for question in tape:
            self._alike.setdefault(question.alike, []).append(question)
        self._given: dict[Asked, int] = {}
        self._lock = threading.Lock()
        self._missed: Asked | None = None

    def decide(self, call: Call) -> None:
        """Give the call the next answer that was recorded to it, and after the last one that one again."""
        question = asked(call, self._secrets)
        with self._lock:
            found = [question] if question in self._tape else self._alike.get(question.alike, [])
            if not found:
                self._missed = self._missed or question
                call.fate = Break.UNRECORDED
                return
            answers = [answer for each in found for answer in self._tape[each]]
            given = self._given.get(found[0], 0)
            self._given[found[0]] = given + 1
            call.fate = answers[min(given, len(answers) - 1)]

    def noted(self, result: CheckResult) -> CheckResult:
        """A result that calls without an answer are in, as what it is worth: nothing, unless it was good all the same.

        To be asked once, after each check.
        """
        missed, self._missed = self._missed, None
        if missed is None or result.outcome in _SETTLED:
            return result
        return _open(
            result,
            f"the network recording {self._path} has no answer to {missed.method} {show(missed.url, limit=200)}",
            "record again where the back end can be reached, with the options and settings of this run: "
            f"--record-network {self._path}",
        )

    def keep(self) -> None:
        """Nothing is new."""


class Recorder(Network):
    """Lets every call through, and writes down what came of it."""

    def __init__(self, path: Path, shown: Path, secrets: Known) -> None:
        super().__init__(_FOR_EVER, most=_PENDING_MAX)
        self._path = path
        self._shown = shown
        self._secrets = secrets
        self._sent: set[str] = set()
        self._tape: Tape = {}
        self._trouble: str | None = None

    def noted(self, result: CheckResult) -> CheckResult:
        """A result after which the recording cannot be whole, as what has to be mended first."""
        if self._trouble is None:
            return result
        return _open(result, self._trouble, "leave --record-network out, to check without a recording")

    def keep(self) -> None:
        """Write what was answered by now. What goes wrong, ``noted`` says, once it is too late to stop."""
        calls = [*self.calls]
        del self.calls[: len(calls)]  # others may come meanwhile, from another thread
        self._sent.update(value for call in calls for value in credentials_in(call))
        before = dict(self._tape)
        for call in calls:
            self._take(call)
        new = {question: answers for question, answers in self._tape.items() if before.get(question) != answers}
        if new and self._trouble is None:
            try:
                add_to_tape(self._path, new)
            except TapeError as error:
                self._trouble = str(error)

    def _take(self, call: Call) -> None:
        reply, question = call.heard(), asked(call, self._secrets)
        if reply is None or not call.complete:
            return  # nobody waited for it
        if reply.way != "whole":
            self._trouble = (
                f"the network recording {self._shown} cannot have the answer to {question.method} "
                f"{show(question.url, limit=200)}: it has more than 1 MiB, or is packed neither as gzip nor as deflate"
            )
            return
        known = (*self._secrets, *sorted(self._sent))
        with_answer(self._tape, question, stored(reply, call.url, known))


@contextlib.contextmanager
def taped(taping: Taping) -> Iterator[Player | Recorder | None]:
    """The network of this process out of a recording, or into one, in the block; None where neither is asked for.

    Raises ``TapeError`` where the file cannot be used.
    """
    network = _network(taping)
    if network is None:
        yield None
        return
    with laid_under(network) as taken:
        if not taken:
            raise TapeError(_path(taping), "is used by another run in this process", "run one after the other")
        try:
            yield network
        finally:
            network.keep()


def _path(taping: Taping) -> Path:
    return Path(taping.recorded or taping.played or "")


def _network(taping: Taping) -> Player | Recorder | None:
    secrets = tuple(value for value in declared(taping.secrets).values() if value)
    path = _path(taping)
    if taping.recorded is not None:
        # Now, while a mistake costs nothing; and where it leads now, whatever the provider makes of the folder.
        add_to_tape(path, {})
        return Recorder(path.resolve(), path, secrets)
    return None if taping.played is None else Player(path, read_tape(path), secrets)


def _open(result: CheckResult, saw: str, hint: str) -> CheckResult:
    changed = {"outcome": CheckOutcome.INCONCLUSIVE, "wanted": None, "saw": saw, "hint": hint, "input": None}
    return result.model_copy(update={**changed, "manner": None})
