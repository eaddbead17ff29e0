"""One browser for all tests of this folder."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import browser as driving

# Where the reports are that these tests show; also when this folder is run alone.
sys.path.append(str(Path(__file__).parents[1] / "conformance"))


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[driving.Browser]:
    """A headless Chromium; where there is none, the tests that want it are skipped by name."""
    found = driving.program()
    if found is None:
        pytest.skip("there is no chromium on this machine: apt-get install chromium")
    with driving.browser(found, tmp_path_factory.mktemp("browser")) as opened:
        yield opened
