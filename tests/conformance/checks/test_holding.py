"""A held loop and a held process are said with the author's own line."""

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from knowledge_conformance import in_process, supervisor
from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.results import CheckOutcome
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import Target
from knowledge_fakes.handbook import HandbookProvider

HELD = """
import re, time
from knowledge_fakes.handbook import HandbookProvider

class Sleeps(HandbookProvider):
    async def retrieve(self, request, context):
        time.sleep(3600)

class Matches(HandbookProvider):
    async def retrieve(self, request, context):
        re.match(r"(x+x+)+y", "x" * 100)

class Sync(HandbookProvider):
    def retrieve(self, request, context):
        return sum(iter(int, 1))
"""


def test_a_held_loop_is_said_with_the_line_that_holds_it() -> None:
    """Also where it stands in a library's or the standard library's own code meanwhile."""

    def read() -> None:
        time.sleep(0.3)

    class Blocks(HandbookProvider):
        async def retrieve(self, request: Any, context: Any) -> Any:
            if self.blocks:
                read()
            return await super().retrieve(request, context)

        blocks = False

    run = Run(Target("m:blocks", Blocks, instance=False), Settings())
    run.result(BY_ID["KP-301"])
    Blocks.blocks = True
    found = run.result(BY_ID["KP-704"])
    run.close()
    line = read.__code__.co_firstlineno + 1
    assert found.saw == f"that it was held for longer in each of 3 calls in {__name__}.read, line {line}"


def test_calls_that_raise_hold_nothing_and_show_nothing() -> None:
    """A provider that refuses whatever it is asked lets go of the loop at once."""

    class Refuses(HandbookProvider):
        async def retrieve(self, request: Any, context: Any) -> Any:
            if self.refuses:
                raise RuntimeError("no")
            return await super().retrieve(request, context)

        refuses = False

    run = Run(Target("m:refuses", Refuses, instance=False), Settings())
    run.result(BY_ID["KP-301"])
    Refuses.refuses = True
    found = run.result(BY_ID["KP-704"])
    run.close()
    assert found.outcome is CheckOutcome.INCONCLUSIVE


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("Sleeps", "was held in holding.retrieve, line 7"),
        ("Matches", "was held inside C code called from holding.retrieve, line 11"),
        ("Sync", "was held inside C code called from holding.retrieve, line 15"),
    ],
)
def test_a_process_that_stands_still_is_said_with_the_line_that_holds_it(
    name: str, held: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the child itself, or from outside where C code holds its interpreter; in the loop's thread or another."""
    (tmp_path / "holding.py").write_text(HELD)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(supervisor, "STALL_GRACE_SECONDS", 1.0)
    run = Run(f"holding:{name}", Settings(timeout=0.2))
    found = run.result(BY_ID["KP-301"])
    run.close()
    assert (found.saw or "").endswith(held)


def test_a_thread_that_stands_still_is_said_with_the_line_that_holds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a debugger too."""
    monkeypatch.setattr(in_process, "STALL_GRACE_SECONDS", 0.1)

    class Sleeps(HandbookProvider):
        async def retrieve(self, request: Any, context: Any) -> Any:
            time.sleep(1.5)  # noqa: ASYNC251 - that is the point

    run = Run(Target("m:sleeps", Sleeps, instance=False), Settings(timeout=0.2))
    found = run.result(BY_ID["KP-301"])
    run.close()
    line = Sleeps.retrieve.__code__.co_firstlineno + 1
    assert (found.saw or "").endswith(f"was held in {__name__}.retrieve, line {line}")
