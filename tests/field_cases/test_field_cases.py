"""The table of faults that were reported in public: each case is in it, and what it names is there; runs none of it."""

import ast
import importlib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sized
from pathlib import Path
from types import FunctionType, MappingProxyType
from typing import Any, Final, NamedTuple

import pytest

from knowledge_conformance import catalogue
from knowledge_conformance.checks import hosts
from knowledge_conformance.kinds import ACCESS, COMPOSITE
from knowledge_fakes.access_faults import ACCESS_FAULTS
from knowledge_fakes.composite_faults import COMPOSITE_FAULTS
from knowledge_fakes.faults import FAULTS
from knowledge_fakes.host_faults import HOST_FAULTS

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "field-cases.md"
TABLE: Final = Path(__file__).with_name("field_cases.toml")
# Two more cases are about indexing a folder, which is not in here yet.
AREAS: Final[Mapping[str, list[int]]] = MappingProxyType(
    {
        "adapter-langchain": [1, 3, 5],
        "adapter-llamaindex": [7, 9, 11],
        "adapter-haystack": [13, 15, 17],
        "adapter-openai": [19, 21],
        "adapter-mcp": [23, 25, 27, 29, 31],
        "adapter-http": [33, 35, 37, 39, 41],
        "host-normalize": [43, 47, 49, 51, 53],
        "host-uri": [55, 57, 59, 61, 63, 65, 67],
        "host-isolation": [71, 73, 75],
        "host-cancel": [77, 79],
        "tenancy": [81, 83, 85],
        "injection": [87, 89],
        "kit": [95, 97],
    }
)
FAULTS_OF: Final[Mapping[str, tuple[Mapping[str, Any], frozenset[str]]]] = MappingProxyType(
    {
        "provider": (FAULTS, frozenset(check.id for check in catalogue.CHECKS)),
        "host": (HOST_FAULTS, frozenset(check.id for check in hosts.CHECKS)),
        "composite": (COMPOSITE_FAULTS, frozenset(check.id for check in COMPOSITE.checks)),
        "access": (ACCESS_FAULTS, frozenset(check.id for check in ACCESS.checks)),
    }
)
NAMED: Final = re.compile(r"field[ _]cases?[ _]((?:\d+(?:, | and )?)+)", re.IGNORECASE)


class Case(NamedTuple):
    """One row: the kind of fault in a line, and by their names what stands against it."""

    number: int
    area: str
    kind: str
    tests: list[str]
    faults: list[str]


CASES: Final = [Case(**row) for row in tomllib.loads(TABLE.read_text(encoding="utf-8"))["case"]]
TESTS: Final = [(case.number, node) for case in CASES for node in case.tests]
EACH_FAULT: Final = sorted({name for case in CASES for name in case.faults})


def function_of(node: str) -> FunctionType:
    """The test itself, as pytest would import it."""
    path, _, name = node.partition("::")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str((ROOT / path).parent))
        module = importlib.import_module(Path(path).stem)
    assert module.__file__ == str(ROOT / path)
    found = getattr(module, name)
    assert isinstance(found, FunctionType)
    return found


def asserts(name: str, functions: Mapping[str, ast.AST], seen: frozenset[str] = frozenset()) -> bool:
    """Whether a function of a module asserts something, or another one of the module that it calls does."""
    if name in seen or name not in functions:
        return False
    return any(
        isinstance(node, ast.Assert)
        or (isinstance(node, ast.Attribute) and ast.unparse(node) == "pytest.raises")
        or (isinstance(node, ast.Name) and asserts(node.id, functions, seen | {name}))
        for node in ast.walk(functions[name])
    )


def functions_in(path: Path) -> dict[str, ast.AST]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def parameters_of(test: FunctionType) -> Iterator[Sized]:
    """The values of each parametrisation, where they can be counted without using them up."""
    for mark in getattr(test, "pytestmark", ()):
        if mark.name == "parametrize" and isinstance(mark.args[1], Sized):
            yield mark.args[1]


def rows() -> Iterator[str]:
    """The page's table: a row for each case that a check can see from outside."""
    yield "| what was reported | checks of a provider | of a host | of a composite | of an access rule |"
    yield "| --- | --- | --- | --- | --- |"
    for case in CASES:
        # Those about kits are no provider's.
        if case.faults and case.area != "kit":
            yield f"| {' | '.join([case.kind.removesuffix('.'), *(links(case, kind) for kind in FAULTS_OF)])} |"


def links(case: Case, kind: str) -> str:
    """The checks of one kind that the case's faults trip first."""
    names = [name.partition(":")[2] for name in case.faults if name.startswith(f"{kind}:")]
    checks = sorted({FAULTS_OF[kind][0][name].trips[0] for name in names})
    return ", ".join(f"[{check}](checks.md#{check.lower()})" for check in checks)


def test_the_page_for_users_has_each_row() -> None:
    """In the table's order, with the checks that its faults trip first; and no other row."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("|")] == [*rows()]


def test_every_case_is_in_the_table_once() -> None:
    """In its area, in words of its own, with a test that stands against it."""
    assert [case.number for case in CASES] == sorted(number for numbers in AREAS.values() for number in numbers)
    assert {area: [case.number for case in CASES if case.area == area] for area in AREAS} == AREAS
    assert len({case.kind for case in CASES}) == len(CASES)
    for case in CASES:
        assert case.tests
        assert len(case.tests) == len({*case.tests})
        assert re.fullmatch(r"[A-Z].{20,100}\.", case.kind)


@pytest.mark.parametrize(("number", "node"), TESTS, ids=lambda it: str(it).rpartition("::")[2])
def test_a_test_that_is_named_is_there_and_is_no_shell(number: int, node: str) -> None:
    """It asserts something, for some values; and it says itself which case it is for."""
    test = function_of(node)
    assert test.__name__.startswith("test_")
    assert asserts(test.__name__, functions_in(ROOT / node.partition("::")[0]))
    assert all(len(values) > 0 for values in parameters_of(test))
    assert not [mark for mark in getattr(test, "pytestmark", ()) if mark.name in ("skip", "xfail")]
    told = NAMED.findall(f"{test.__doc__} {test.__name__}")
    assert number in {int(each) for text in told for each in re.findall(r"\d+", text)}


@pytest.mark.parametrize("name", EACH_FAULT)
def test_a_fault_that_is_named_is_there_and_has_a_check(name: str) -> None:
    """The matrix tests see that the check catches it."""
    kind, _, fault_name = name.partition(":")
    faults, checks = FAULTS_OF[kind]
    fault = faults[fault_name]
    assert fault.name == fault_name
    assert fault.fragment
    assert {*fault.trips} <= checks
    assert fault.trips


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("def test(): pass", False),
        ("def test(): helper()\ndef helper(): test()", False),
        ("def test(): helper()\ndef helper():\n    assert 1", True),
        ("def test():\n    async def scene():\n        assert 1", True),
        ("def test():\n    with pytest.raises(ValueError): int('')", True),
    ],
)
def test_a_shell_is_told_from_a_test(text: str, is_one: bool, tmp_path: Path) -> None:
    """Else the rows above would show nothing."""
    path = tmp_path / "test_it.py"
    path.write_text(text)
    assert asserts("test", functions_in(path)) is is_one
