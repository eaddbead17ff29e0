"""What a test declares as a secret is not masked in the tests after it."""

import pytest

from knowledge_conformance import declared, render


@pytest.fixture(autouse=True)
def _declared_for_this_test_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "_declared", set(render._declared))
    monkeypatch.setattr(declared, "_values", dict(declared._values))
