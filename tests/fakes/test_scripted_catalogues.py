"""What scripts are made of: malformed answers, exceptions of every kind, and objects that are no providers."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from knowledge_fakes import _plain_reading as reading
from knowledge_fakes.scripted import (
    MALFORMED,
    RAISING,
    SECRET,
    UNFIT,
)
from knowledge_provider import (
    ProviderDescription,
    normalize_response,
)


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_answer_is_fresh_and_has_an_outcome(name: str) -> None:
    """No two the same object, and the pure function gives the same for both."""
    first, second = MALFORMED[name](), MALFORMED[name]()
    assert first is not second or not isinstance(first, list | dict)
    assert normalize_response(first, query="q") == normalize_response(second, query="q")


def test_malformed_answers_are_of_every_kind() -> None:
    """Those without results, those that keep some, and those that are cited."""
    outcomes = [normalize_response(make(), query="q", limit=8) for make in MALFORMED.values()]
    assert {outcome.status for outcome in outcomes} == {"ok", "not_found"}
    assert any(outcome.citations for outcome in outcomes)
    assert any(outcome.sources for outcome in outcomes)


@pytest.mark.parametrize("name", [name for name in MALFORMED if "link" in name or "hosts" in name])
def test_no_link_that_is_made_to_mislead_is_kept(name: str) -> None:
    """None of the invented credentials comes through, and no private place."""
    outcome = normalize_response(MALFORMED[name](), query="q", limit=8)
    assert "INVENTED" not in outcome.model_dump_json()
    assert {citation.url for citation in outcome.citations} <= {"https://docs.example.com/a"}


@pytest.mark.parametrize("name", RAISING)
def test_an_exception_is_fresh(name: str) -> None:
    """One that was raised before has a traceback and a context."""
    first, second = RAISING[name](), RAISING[name]()
    assert type.__subclasscheck__(BaseException, type(first))
    assert first is not second
    assert type(first) is not KeyboardInterrupt


def test_secrets_stand_everywhere_in_an_exception() -> None:
    """In the text, in a note, in a cause, in a context and in attributes."""
    assert SECRET in str(RAISING["secret_in_the_text"]())
    assert SECRET in RAISING["secret_in_a_note"]().__notes__[0]
    assert SECRET in str(RAISING["secret_in_the_cause"]().__cause__)
    assert SECRET in str(RAISING["secret_in_the_context"]().__context__)
    assert SECRET in repr(vars(RAISING["secret_in_the_arguments"]()))
    assert SECRET in type(RAISING["secret_in_the_class_name"]()).__name__


def unfit_descriptions() -> Iterator[Callable[[], object]]:
    return (make for name, make in UNFIT.items() if name.startswith(("version", "key", "label", "capabilit")))


def test_unfit_descriptions_are_refused_by_the_model() -> None:
    """Each of them for what it is named after."""
    for make in unfit_descriptions():
        provider: Any = make()
        with pytest.raises(ValidationError):
            reading.model_of(ProviderDescription, provider.describe())


def test_the_script_does_not_load_the_kit() -> None:
    """Authors of hosts use it without pytest and Hypothesis."""
    script = "import sys, knowledge_fakes.scripted; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "knowledge_fakes" in loaded
    assert not {"knowledge_conformance", "pytest", "hypothesis"} & set(loaded)
