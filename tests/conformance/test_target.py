"""What a target may be, and what is said of one that is none."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
import target_kinds

from knowledge_conformance.target import (
    Opening,
    Target,
    TargetError,
    check_name,
    importable_name,
    load,
    open_provider,
    target_of,
)
from knowledge_fakes.handbook import HandbookProvider

# How the others of them are opened; a provider is nothing but there, and what makes one is called.
STEPS = {
    "async_factory": ("call", "await"),
    "context_manager": ("call", "with"),
    "closing_context_manager": ("call", "async with"),
    "Manager": ("call", "with"),
    "AsyncManager": ("call", "async with"),
    "manager": ("with",),
    "async_manager": ("async with",),
}


async def _opened(target: Target) -> Opening:
    async with AsyncExitStack() as stack:
        return await open_provider(target, stack)


def opened(target: Target) -> Opening:
    return asyncio.run(_opened(target))


@pytest.mark.parametrize("name", ["a:b", "acme.search:provider", "a.b.c:D.e.f", "модуль:объект", "_a1:_b2"])
def test_a_name_is_a_module_and_an_object(name: str) -> None:
    """Dotted on both sides, in any script."""
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        ":",
        "a",
        "a:",
        ":b",
        "a.b",
        "a:b+",
        "a:b+-c",
        "a:b+c+d",
        "a+b:c",
        "a:b:c",
        "a b:c",
        "a-b:c",
        "1a:b",
        "a..b:c",
        "a:b()",
        "a:b\n",
        "/a/b.py:c",
    ],
)
def test_another_name_is_refused_with_an_example(name: str) -> None:
    """The message shows what came and what is wanted."""
    with pytest.raises(TargetError, match=r"wanted module:object, such as acme\.search:provider"):
        check_name(name)


@pytest.mark.parametrize("name", [None, 3, b"a:b", ["a:b"]])
def test_a_name_of_another_type_is_refused_by_name(name: Any) -> None:
    """Not a crash in a regular expression."""
    with pytest.raises(TargetError, match="is not a target"):
        check_name(name)


@pytest.mark.parametrize("name", target_kinds.FACTORIES + target_kinds.MANAGERS)
def test_what_is_called_is_a_factory(name: str) -> None:
    """Classes, functions, methods, partials and callable objects make a fresh provider each time."""
    target = load(f"target_kinds:{name}")
    assert not target.instance
    first, second = opened(target), opened(target)
    assert first.provider is not second.provider
    assert type(first.provider) is target_kinds.Recorded
    assert first.entered == (name in target_kinds.MANAGERS)
    assert first.steps == STEPS.get(name, ("call",))


@pytest.mark.parametrize("name", target_kinds.INSTANCES)
def test_an_object_is_an_instance(name: str) -> None:
    """A provider and a context manager that stand in a module live for the whole run."""
    target = load(f"target_kinds:{name}")
    assert target.instance
    opening = opened(target)
    assert type(opening.provider) is target_kinds.Recorded
    assert opening.entered == (name != "instance")
    assert opening.steps == STEPS.get(name, ())


def test_a_provider_that_is_callable_or_a_context_manager_is_a_provider() -> None:
    """What it has to do with the contract comes first."""

    class Odd(HandbookProvider):
        def __call__(self) -> None:
            raise AssertionError

        def __enter__(self) -> None:
            raise AssertionError

        def __exit__(self, *_: object) -> None:
            raise AssertionError

    odd = Odd()
    assert opened(target_of(odd, "m:odd")) == (odd, ())
    assert opened(target_of(lambda: odd, "m:f")) == (odd, ("call",))


def test_half_a_provider_is_taken_so_that_a_check_can_say_what_is_missing() -> None:
    """KP-101 says it better than a target error."""

    class Half:
        def retrieve(self) -> None: ...

    assert not opened(target_of(Half, "m:Half")).entered


def test_a_mock_is_a_provider() -> None:
    """It has every attribute."""
    assert target_of(mock.MagicMock(), "m:mock").instance


@pytest.mark.parametrize("value", [None, 3, "text", b"", [], {}, object(), sys])
def test_an_object_that_makes_nothing_is_refused(value: object) -> None:
    """The message says what it is."""
    with pytest.raises(TargetError, match=r"cannot use m:x: it is a [\w.]+; wanted a provider, or what makes one"):
        target_of(value, "m:x")


MAKES_NONE = {
    "none": "it gave a builtins.NoneType, which has no describe and no retrieve",
    "wants_arguments": "it raised TypeError",
    "raises": "it raised ValueError: no index",
    "exits": "it raised SystemExit: 3",
    "refuses_to_enter": "it raised OSError: no socket",
    "yields_nothing": "it gave a builtins.NoneType",
}


@pytest.mark.parametrize(("name", "fragment"), MAKES_NONE.items())
def test_a_factory_that_makes_no_provider_says_why(name: str, fragment: str) -> None:
    """One line with the target's name."""
    with pytest.raises(TargetError) as caught:
        opened(load(f"bad_targets:{name}"))
    assert str(caught.value).startswith(f"cannot open bad_targets:{name}: ")
    assert fragment in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("made", [HandbookProvider, 3, object(), []])
def test_a_factory_of_something_else_says_what_it_made(made: object) -> None:
    """A class is no provider, though it has the methods."""
    with pytest.raises(TargetError, match="which has no describe and no retrieve"):
        opened(Target("m:f", lambda: made, instance=False))


# Importing.


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


NOT_IMPORTED = {
    "import no_such_vendor.client": "acme_target imports 'no_such_vendor', which is not installed",
    "import acme_target.more": "acme_target imports 'acme_target.more', which is not installed",
    "raise ValueError('no settings')": "importing acme_target raised ValueError: no settings",
    "raise SystemExit(0)": "importing acme_target raised SystemExit: 0",
    "raise KeyboardInterrupt": "importing acme_target raised KeyboardInterrupt",
    "raise ModuleNotFoundError('by hand')": "importing acme_target raised ModuleNotFoundError: by hand",
    "import os; os.provider": "importing acme_target raised AttributeError",
    "def": "importing acme_target raised SyntaxError",
    "x = 1": "acme_target has no 'provider'",
    "def __getattr__(name): raise OSError('later')": "looking at it raised OSError: later",
}


@pytest.mark.parametrize(("text", "fragment"), NOT_IMPORTED.items())
def test_a_module_that_cannot_be_imported_says_why(
    text: str, fragment: str, modules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The author's own mistake is told from a missing name and from a missing package."""
    (modules / "acme_target.py").write_text(text)
    monkeypatch.delitem(sys.modules, "acme_target", raising=False)
    with pytest.raises(TargetError) as caught:
        load("acme_target:provider")
    assert fragment in str(caught.value)
    assert "\n" not in str(caught.value)
    monkeypatch.delitem(sys.modules, "acme_target", raising=False)


@pytest.mark.parametrize("name", ["no_such_module:x", "no_such_package.module:x", "knowledge_fakes.nothing:x"])
def test_a_module_that_is_not_there_is_named(name: str) -> None:
    """The most usual mistake: the run started in another folder."""
    with pytest.raises(TargetError, match=r"there is no module '\w+(\.\w+)?' on the path \(the folder where"):
        load(name)


@pytest.mark.parametrize("name", ["json:provider", "platform.search:provider"])
def test_a_name_that_the_standard_library_has_is_said_to_be_taken(name: str) -> None:
    """A file of that name in the author's folder is not what is imported."""
    with pytest.raises(TargetError, match="is a module of the standard library, so name yours otherwise"):
        load(name)


def test_a_nested_name_is_followed() -> None:
    """The part after the colon may be dotted."""
    assert load("target_kinds:maker.method").value() is not None
    with pytest.raises(TargetError, match=r"target_kinds has no 'maker\.nothing'"):
        load("target_kinds:maker.nothing")


@pytest.fixture
def package(modules: Path) -> Iterator[Callable[[str], str]]:
    """Writes ``search.py`` into a package of another name each time, and gives that name."""

    def write(text: str) -> str:
        name = f"acme_{modules.name}_{len(list(modules.iterdir()))}"
        (modules / name).mkdir()
        (modules / name / "__init__.py").touch()
        (modules / name / "search.py").write_text(text)
        return name

    yield write
    for name in [each for each in sys.modules if each.startswith(f"acme_{modules.name}_")]:
        del sys.modules[name]


AS_A_MODULE = """
def describe():
    return {"protocolVersion": 1, "key": "acme", "label": "Acme", "capabilities": {}}
def retrieve(request, context):
    return []
class Inner:
    provider = describe
"""


def test_a_module_may_be_the_provider(package: Callable[[str], str]) -> None:
    """Clause 1.1 says any object; and whoever names it has imported its package alone."""
    name = package(AS_A_MODULE)
    target = load(f"{name}:search")
    assert target.instance
    assert opened(target) == (sys.modules[f"{name}.search"], ())
    assert load(f"{package(AS_A_MODULE)}:search.Inner.provider").value() is not None


@pytest.mark.parametrize(
    ("text", "path", "fragment"),
    [
        ("raise ValueError('no settings')", "search", "importing {}.search raised ValueError: no settings"),
        ("import no_such_vendor", "search", "{}.search imports 'no_such_vendor', which is not installed"),
        ("def", "search.x", "importing {}.search raised SyntaxError"),
        ("x = 1", "search", "it is a builtins.module; wanted a provider"),
        ("x = 1", "serch", "{} has no 'serch'"),
        ("x = 1", "search.y", "{} has no 'search.y'"),
    ],
)
def test_a_module_of_a_package_that_cannot_be_used_says_why(
    text: str, path: str, fragment: str, package: Callable[[str], str]
) -> None:
    """As one before the colon does."""
    name = package(text)
    with pytest.raises(TargetError) as caught:
        load(f"{name}:{path}")
    assert fragment.format(name) in str(caught.value)
    assert "\n" not in str(caught.value)


# The other way round.


def _local() -> None: ...


def test_an_object_that_another_process_finds_has_a_name() -> None:
    """Functions, classes and nested ones of an importable module."""
    assert importable_name(target_kinds.factory) == "target_kinds:factory"
    assert importable_name(target_kinds.Recorded) == "target_kinds:Recorded"
    assert importable_name(target_kinds.Maker.method) == "target_kinds:Maker.method"


def test_an_object_that_only_this_process_has_none() -> None:
    """Lambdas, local and replaced functions, bound methods, instances, and whatever __main__ holds."""

    def local() -> None: ...

    class Misnamed:
        __module__ = None  # type: ignore[assignment] # as some dynamic classes have it

    replaced = type("factory", (), {"__module__": "target_kinds", "__qualname__": "factory"})
    main = ModuleType("__main__")
    values: list[object] = [lambda: None, local, replaced, target_kinds.instance, target_kinds.partial, 3, None, main]
    assert [importable_name(value) for value in [*values, target_kinds.maker.method, Misnamed]] == [None] * 10


def test_a_module_that_was_loaded_by_its_path_has_no_name_for_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is among the modules of this process, and an import would not find it."""
    for name in ("loaded_by_path", "target_kinds.inner"):
        module = ModuleType(name)
        found = type("found", (), {"__module__": name, "__qualname__": "found"})
        vars(module)["found"] = found
        monkeypatch.setitem(sys.modules, name, module)
        assert importable_name(found) is None


def test_an_object_of_the_program_that_runs_has_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process has another __main__."""
    main = ModuleType("__main__")
    found = type("found", (), {"__module__": "__main__", "__qualname__": "found"})
    vars(main)["found"] = found
    monkeypatch.setitem(sys.modules, "__main__", main)
    assert importable_name(found) is None


def test_a_fault_in_a_target_is_put_over_what_it_makes() -> None:
    """The name says both, so that a process that is given the name has both."""
    target = load("knowledge_fakes.handbook:provider+key_is_a_title")
    assert target.name == "knowledge_fakes.handbook:provider+key_is_a_title"
    provider, _ = opened(target)
    assert provider.describe()["key"] == "Acme Search"


def test_a_fault_in_a_context_manager_is_put_over_what_it_yields() -> None:
    """The manager itself has no answers that could be wrong."""
    provider, entered = opened(load("knowledge_fakes.conformant:context_manager+key_is_a_title"))
    assert entered
    assert provider.describe()["key"] == "Acme Search"


def test_an_unknown_fault_is_refused() -> None:
    """With the command that lists them."""
    with pytest.raises(TargetError, match="no fault 'no_such_fault'; knowledge-kit faults lists them"):
        load("knowledge_fakes.handbook:provider+no_such_fault")


def test_only_a_provider_can_be_given_a_fault() -> None:
    """The faults are those of providers."""
    with pytest.raises(TargetError, match="only a provider can be given one"):
        load("knowledge_provider:KnowledgeHost+duplicate_ids", "what makes a host")
