"""The class door: a user's own test class, in a pytest of its own."""

import re
import subprocess
from collections.abc import Callable

import pytest
from doors import SOUND, run_pytest

from knowledge_conformance.catalogue import CHECKS

HEAD = """
from knowledge_conformance import ProviderConformance, Settings
from knowledge_fakes.handbook import HandbookProvider, provider
"""
GREEN = f"""{HEAD}
class TestByName(ProviderConformance):
    provider = "{SOUND}"
    settings = Settings(examples=2)

class TestFunction(ProviderConformance):
    provider = staticmethod(provider)
    settings = Settings(examples=2)

class TestLambda(ProviderConformance):
    provider = staticmethod(lambda: HandbookProvider())
    settings = Settings(examples=2)

class TestInstance(ProviderConformance):
    provider = HandbookProvider()
    settings = Settings(examples=2)
"""
RED = f"""{HEAD}
class Mute(HandbookProvider):
    def describe(self):
        return None

class Null(HandbookProvider):
    async def retrieve(self, request, context):
        return []

class TestMute(ProviderConformance):
    provider = staticmethod(lambda: Mute())

class TestNull(ProviderConformance):
    provider = Null

class TestUnset(ProviderConformance):
    pass

class TestMissing(ProviderConformance):
    provider = "nowhere:provider"
"""

Suite = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    """Runs a test file with the given text."""

    def run_suite(text: str, *options: str) -> subprocess.CompletedProcess[str]:
        folder = tmp_path_factory.mktemp("suite")
        (folder / "test_mine.py").write_text(text)
        return run_pytest(folder, "-W", "error", "test_mine.py", *options)

    return run_suite


def test_every_kind_of_provider_has_one_test_for_each_check_and_one_for_the_verdict(suite: Suite) -> None:
    """A name, a function, a lambda and a finished provider; in the catalogue's order."""
    done = suite(GREEN, "-v")
    assert done.returncode == 0, done.stdout
    for name in ("TestByName", "TestFunction", "TestLambda", "TestInstance"):
        tests = re.findall(rf"test_mine\.py::{name}::test_(\S+) (\w+)", done.stdout)
        assert [test for test, _ in tests] == [*(f"check[{check.id}]" for check in CHECKS), "verdict"]
        assert {outcome for _, outcome in tests} == {"PASSED", "SKIPPED"}


def test_tests_in_another_order_give_the_same(suite: Suite) -> None:
    """A plugin that shuffles must not have an instance closed before it is asked."""
    done = suite(GREEN, "-p", "randomly", "-q", "-k", "Instance")
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def red(suite: Suite) -> subprocess.CompletedProcess[str]:
    return suite(RED, "-rA", "-k", "verdict or KP-102 or KP-501 or KP-503")


def test_a_provider_that_does_not_conform_fails_its_tests_with_the_whole_text(
    red: subprocess.CompletedProcess[str],
) -> None:
    """And no traceback of the kit's."""
    assert red.returncode == 1
    assert "FAILED test_mine.py::TestMute::test_check[KP-102]" in red.stdout
    assert "FAILED test_mine.py::TestMute::test_verdict" in red.stdout
    assert "KP-102 failed: describe() is synchronous" in red.stdout
    assert "wanted  a mapping or a ProviderDescription" in red.stdout
    assert "Traceback" not in red.stdout


def test_a_provider_that_finds_nothing_fails_by_the_verdict_alone(red: subprocess.CompletedProcess[str]) -> None:
    """Its checks are skipped, and say why."""
    assert "FAILED test_mine.py::TestNull::test_verdict" in red.stdout
    assert "FAILED test_mine.py::TestNull::test_check" not in red.stdout
    assert "verdict inconclusive" in red.stdout


def test_a_class_without_a_provider_says_what_to_set(red: subprocess.CompletedProcess[str]) -> None:
    """Each test is an error, and none passes."""
    assert "TestUnset.provider is not set: 'module:obj', or a provider, or what makes one" in red.stdout
    assert "PASSED test_mine.py::TestUnset" not in red.stdout


def test_a_target_that_cannot_be_loaded_is_an_error(red: subprocess.CompletedProcess[str]) -> None:
    """With the line that the other doors print."""
    assert "cannot load nowhere:provider: there is no module 'nowhere'" in red.stdout
    assert "PASSED test_mine.py::TestMissing" not in red.stdout


def test_a_selection_of_checks_says_nothing_of_the_verdict(suite: Suite) -> None:
    """But is run with what it needs."""
    done = suite(GREEN, "-q", "-k", "ByName and KP-105")
    assert done.returncode == 0
    assert "1 passed" in done.stdout
