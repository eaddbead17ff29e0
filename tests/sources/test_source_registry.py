"""The registry of sources: what it takes, and that core reaches sources through nothing else."""

import ast
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

import knowledge_provider.sources
from knowledge_fakes.sources import HandbookSource, PagingSource, ScriptedSource
from knowledge_provider import KnowledgeProviderInvalidError
from knowledge_provider.sources import RetrievalSource, SourceRegistry


class Raising:
    capabilities: ClassVar[dict[str, bool]] = {}

    @property
    def name(self) -> str:
        raise SystemExit("no name")

    def retrieve(self, *_: object) -> list[object]:
        return []


def source(**fields: Any) -> SimpleNamespace:
    return SimpleNamespace(**{"name": "wiki", "capabilities": {}, "retrieve": lambda *_: [], **fields})


def test_a_source_is_found_by_its_name() -> None:
    """Names stand in the order of their coming; another name finds nothing, and that is no error."""
    registry = SourceRegistry(HandbookSource(), ScriptedSource("plain"))
    assert registry.names == ("handbook", "plain")
    assert registry.get("plain") is not None
    assert registry.get("gone") is None


def test_the_fakes_are_sources() -> None:
    """As the protocol has it."""
    assert all(isinstance(each, RetrievalSource) for each in (HandbookSource(), ScriptedSource("a"), PagingSource("b")))


def test_a_name_is_given_once() -> None:
    """The first one stays."""
    registry = SourceRegistry(ScriptedSource("wiki"))
    first = registry.get("wiki")
    with pytest.raises(KnowledgeProviderInvalidError, match="registered already"):
        registry.register(ScriptedSource("wiki"))
    assert registry.get("wiki") is first


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (source(name="Team Wiki"), "a name of"),
        (source(name="wiki\n"), "a name of"),
        (source(name="-wiki"), "a name of"),
        (source(name=""), "a name of"),
        (source(name="w" * 65), "a name of"),
        (source(name=None), "a name of"),
        (source(name="knowledge_base"), "a name of"),
        (Raising(), "a name of"),
        (source(retrieve=None), "a callable retrieve"),
        (source(capabilities=None), "capabilities"),
        (source(capabilities={"list_documents": 1}), "capabilities"),
        (source(capabilities=["x"]), "capabilities"),
        (source(list_documents="no"), "a callable list_documents"),
        (source(validate_refs=7), "a callable validate_refs"),
        (None, "a callable retrieve"),
        (HandbookSource, "an object, and a class came"),
    ],
)
def test_what_is_no_source_is_refused(wrong: object, said: str) -> None:
    """At registration, by the first fault."""
    with pytest.raises(KnowledgeProviderInvalidError, match=said):
        SourceRegistry(wrong)


def test_an_optional_method_that_is_none_is_absent() -> None:
    """As for providers in clause 1.1."""
    registry = SourceRegistry(source(list_documents=None, validate_refs=None))
    held = registry.get("wiki")
    assert held is not None
    assert not held.can_list


def test_a_source_that_can_list_may_say_that_it_does_not() -> None:
    """The capability decides, where there is a method."""
    registry = SourceRegistry(source(list_documents=lambda *_: [], capabilities={"list_documents": False}))
    held = registry.get("wiki")
    assert held is not None
    assert not held.can_list


def test_core_imports_no_source() -> None:
    """Clause 10.3: the package imports itself, the standard library and pydantic."""
    folder = Path(knowledge_provider.sources.__file__).parent
    modules = {
        node.module.split(".")[0]
        for file in folder.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module
    }
    assert "knowledge_provider" in modules
    assert not modules & {"knowledge_fakes", "knowledge_adapters", "knowledge_conformance", "starlette"}
