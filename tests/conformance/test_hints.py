"""What the kit tells people to do can be done: every function, class and option that a hint names is theirs to use."""

import ast
import asyncio
import builtins
import collections
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import knowledge_conformance
import knowledge_provider
from knowledge_provider import access, sources, untrusted

HOME = Path(knowledge_conformance.__file__).parent
PUBLIC = (builtins, asyncio, collections, knowledge_provider, sources, access, untrusted)
# What the reader's own object has, or is asked to have, and what a hint shows as an example of a name.
OWN = frozenset(
    {"close", "retrieve", "validate_refs", "list_documents", "factory", "popitem", "move_to_end", "to_dict"}
)


def hints() -> Iterator[tuple[str, str]]:
    """Each literal of a hint, with the file that it stands in."""
    for file in sorted(HOME.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            named = isinstance(node, ast.keyword) and node.arg == "hint"
            constant = isinstance(node, ast.AnnAssign) and "HINT" in ast.unparse(node.target)
            if (named or constant) and isinstance(node, ast.keyword | ast.AnnAssign) and node.value is not None:
                for part in ast.walk(node.value):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield file.name, part.value


HINTS = sorted(set(hints()))


def named_in(text: str) -> Iterator[str]:
    """Names that can only be code: what is called, and what is written as classes are; without what has a dot."""
    yield from re.findall(r"(?<![\w.])([a-z_]\w*)(?=\()", text)
    yield from re.findall(r"(?<![\w.])([A-Z][a-z]+[A-Z]\w*)(?![\w.])", text)


def is_public(name: str) -> bool:
    return name in OWN or any(hasattr(home, name) for home in PUBLIC)


def test_there_are_hints() -> None:
    """Or the tests below would look at nothing."""
    names = {name for _, text in HINTS for name in named_in(text)}
    assert len(HINTS) > 200
    assert {"KnowledgeOwnerRequiredError", "is_blank", "isinstance"} <= names


@pytest.mark.parametrize("text", ["raise it where shorten(text) is long", "see SourceSubject", "use _helper(x)"])
def test_a_name_that_nobody_can_import_is_found(text: str) -> None:
    """This test's own test."""
    assert not all(map(is_public, named_in(text)))


def test_a_hint_names_what_can_be_imported() -> None:
    """A function of the kit's own, which a user searches for in vain, is no help."""
    strange = {(file, name) for file, text in HINTS for name in named_in(text) if not is_public(name)}
    assert strange == set()


def test_a_dotted_name_in_a_hint_is_there() -> None:
    """``knowledge_provider.adapting.DaemonThreads`` and the like, and what the standard library has."""
    dotted = {found for _, text in HINTS for found in re.findall(r"(?<![\w.])((?:\w+\.)+[A-Za-z]\w*)", text)}
    homes = {"knowledge_provider", "asyncio", "contextvars", "math", "threading", "types"}
    looked_at = {name for name in dotted if name.partition(".")[0] in homes}
    assert "asyncio.to_thread" in looked_at
    assert {name for name in looked_at if not exists(name)} == set()


def exists(dotted: str) -> bool:
    home, _, name = dotted.rpartition(".")
    try:
        return hasattr(importlib.import_module(home), name)
    except ModuleNotFoundError:
        return False


def test_an_option_in_a_hint_is_pytests() -> None:
    """Under the name that the plugin gives it."""
    text = Path(knowledge_conformance.__file__).read_text(encoding="utf-8")
    options = {found for _, hint in HINTS for found in re.findall(r"--[a-z-]+\w", hint)}
    assert "--provider-query" in options
    assert {option for option in options if f'"{option}"' not in text} == set()
