"""The same target in another process: what it answers, and how it is ended."""

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from knowledge_conformance.elsewhere import ElsewhereError, Question, ask_elsewhere
from knowledge_conformance.taping import Taping
from knowledge_fakes.handbook import load_handbook
from knowledge_provider import RetrievalRequest

import elsewhere_targets as targets  # isort: skip

REQUESTS = [RetrievalRequest(query="release policy"), RetrievalRequest(query="sick leave", top_k=2)]


@pytest.fixture(autouse=True)
def found_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """The targets' folder is on the path, as a user's is."""
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent), *sys.path])


def ask(name: str, seconds: float = 10.0, **rest: Any) -> Any:
    target = name if ":" in name else f"elsewhere_targets:{name}"
    return ask_elsewhere(Question(target, "mara", REQUESTS, seconds, **rest))


def test_the_answers_come_in_the_order_of_the_requests() -> None:
    """As in this process, with ids and scores."""
    found = ask("knowledge_fakes.handbook:provider")
    for request, there in zip(REQUESTS, found, strict=True):
        here = load_handbook(owner="mara").search(request)
        assert there == tuple((row["id"], row["score"]) for row in here)


def test_strings_hash_otherwise_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever seed this process has."""
    for seed, other in (("1", "2"), ("2", "1"), ("random", "1")):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        assert ask("seeded")[0] == ((f"seed {other}", None),)


def test_it_asks_as_the_same_owner() -> None:
    """In the same session."""
    assert ask("owned")[0] == (("mara conformance-session", None),)


def test_what_the_provider_prints_is_no_answer() -> None:
    """Its output goes nowhere."""
    assert ask("noisy")[1][0][0] == "holidays#sick-leave"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("refused", "retrieve raised PermissionError"),
        ("open_once", "the index is open in another process"),
        ("nobody", "has no 'nobody'"),
        ("no_such_module_9731:provider", "no module"),
        ("ending", "ended without an answer"),
    ],
)
def test_where_there_is_no_answer_it_says_why(name: str, said: str) -> None:
    """In one line."""
    with pytest.raises(ElsewhereError, match=said) as found:
        ask(name)
    assert "\n" not in str(found.value)


def test_a_call_that_hangs_is_given_up() -> None:
    """Within the time of one call and what ending it takes."""
    began = time.monotonic()
    with pytest.raises(ElsewhereError, match="did not end in time"):
        ask("hanging", 0.2)
    assert time.monotonic() - began < 10


def test_a_declared_secret_is_in_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is masked there, before the text is cut."""
    monkeypatch.setenv(targets.SECRET, "tarnbrook-9f3c-not-to-be-seen")
    with pytest.raises(ElsewhereError, match="PermissionError") as found:
        ask("leaking", taping=Taping(secrets=(targets.SECRET,)))
    assert "9f3c" not in str(found.value)


def test_what_it_started_does_not_outlive_it() -> None:
    """A child process of the provider ends with it."""
    pid = int(ask("forking")[0][0][0])
    until = time.monotonic() + 5
    while _runs(pid) and time.monotonic() < until:
        time.sleep(0.01)
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # Nobody may be there to take note of its end.
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"
