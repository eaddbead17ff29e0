"""The values of the declared secrets: read before there is a provider, and kept."""

import pytest

from knowledge_conformance.declared import declared, read_declared


def test_a_provider_that_takes_its_key_out_of_the_environment_is_searched_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Careful ones do, so that programs that they start do not inherit it."""
    monkeypatch.setenv("KIT_TEST_TAKEN", "value-4711")
    assert read_declared(["KIT_TEST_TAKEN"]) == {"KIT_TEST_TAKEN": "value-4711"}
    monkeypatch.delenv("KIT_TEST_TAKEN")
    assert declared(["KIT_TEST_TAKEN"]) == {"KIT_TEST_TAKEN": "value-4711"}


def test_the_next_run_reads_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that has another value now is searched for by that."""
    monkeypatch.setenv("KIT_TEST_CHANGED", "value-4711")
    read_declared(["KIT_TEST_CHANGED"])
    monkeypatch.setenv("KIT_TEST_CHANGED", "value-4712")
    read_declared(["KIT_TEST_CHANGED"])
    assert declared(["KIT_TEST_CHANGED"]) == {"KIT_TEST_CHANGED": "value-4712"}


def test_a_variable_that_is_not_set_is_blank(monkeypatch: pytest.MonkeyPatch) -> None:
    """And one that nobody read before is read now."""
    monkeypatch.setenv("KIT_TEST_UNREAD", "value-4713")
    names = ["KIT_TEST_NOWHERE", "KIT_TEST_UNREAD"]
    assert declared(names) == {"KIT_TEST_NOWHERE": "", "KIT_TEST_UNREAD": "value-4713"}
