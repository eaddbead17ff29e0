"""The copy command: what it writes, that it never overwrites, and that each adapter passes alone in its new place."""

import ast
import io
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml  # type: ignore[import-untyped] # it comes with MyST, and its types do not come with it
from doors import run, run_pytest

from knowledge_conformance import cli, copying
from knowledge_conformance.copying import ADAPTERS, Adapter

Capture = pytest.CaptureFixture[str]

ROOT = Path(__file__).parents[2]
VENDORS = {
    "langchain": "langchain_core",
    "llama-index": "llama_index.core",
    "haystack": "haystack",
    "openai": "openai",
    "mcp": "mcp",
    "http": "httpx",
}
# In a folder with this, whatever looks for the adapter in its old place fails.
ALONE = 'import sys\n\nsys.modules["knowledge_adapters"] = None\n'

each_adapter = pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.name)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the command is called."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def there(name: str) -> bool:
    """Whether a vendor is installed; a parent that is missing is no error here."""
    return find_spec(name.partition(".")[0]) is not None and find_spec(name) is not None


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def workflow_in(folder: Path, adapter: Adapter) -> dict[str, Any]:
    return dict(yaml.safe_load((folder / f"{adapter.module}.yml").read_text(encoding="utf-8")))


def commands_of(workflow: dict[str, Any]) -> list[str]:
    return [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]


# The table.


def test_every_adapter_can_be_copied() -> None:
    """The table has all of them, and the extra of each name exists."""
    modules = {path.stem for path in (ROOT / "adapters" / "knowledge_adapters").glob("*_provider.py")}
    assert {adapter.module for adapter in ADAPTERS} == modules
    assert {adapter.name for adapter in ADAPTERS} == VENDORS.keys()


def test_the_list_says_what_each_maps_and_needs(capsys: Capture) -> None:
    """A line for each, and it needs no folder."""
    assert cli.main(["copy", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for adapter, line in zip(ADAPTERS, lines, strict=False):
        assert line.startswith(f"{adapter.name} ")
        assert line.endswith(f"  {adapter.maps}")
        assert ">=" in copying.needed(adapter.name)
        assert f"  {copying.needed(adapter.name)} " in line


def test_the_page_says_the_lowest_version_of_each() -> None:
    """As the extra does, which is what is tested: a floor that moves takes the page with it."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    packages = [(adapter.name, extras[adapter.name][0].split(">=")) for adapter in ADAPTERS]
    rows = "\n".join(f"| `{name}` | `{package}` {lowest} |" for name, (package, lowest) in packages)
    table = f"| extra | lowest version |\n| --- | --- |\n{rows}\n\n"
    assert table in (ROOT / "docs" / "adapters.md").read_text("utf-8")


def test_without_an_installation_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only the kit's files are there, nothing says which package an extra brings."""
    monkeypatch.setattr(copying, "KIT", "no-such-distribution")
    assert copying.needed("langchain") == "[langchain]"


# What is written.


@each_adapter
def test_an_adapter_is_copied_as_it_is(adapter: Adapter, folder: Path, capsys: Capture) -> None:
    """With a test and a workflow beside it, into a folder that is made; what was written is said."""
    assert cli.main(["copy", adapter.name, "./acme/knowledge/"]) == 0
    original = ROOT / "adapters" / "knowledge_adapters" / f"{adapter.module}.py"
    place = folder / "acme" / "knowledge"
    assert (place / original.name).read_bytes() == original.read_bytes()
    written = [f"{adapter.module}.py", f"test_{adapter.module}.py", f"{adapter.module}.yml"]
    assert sorted(path.name for path in place.iterdir()) == sorted(written)
    said = capsys.readouterr().out.splitlines()
    assert said[:3] == [f"wrote acme/knowledge/{name}" for name in written]
    assert copying.needed(adapter.name) in said[3]
    assert said[4] == f"next: pytest acme/knowledge/test_{adapter.module}.py"


@each_adapter
def test_a_copied_test_imports_the_copy(adapter: Adapter, tmp_path: Path) -> None:
    """By the name that it has in the package that it is in; nothing comes from where it was, and it is short."""
    contents = copying.copied(adapter, "acme.knowledge", "pytest")
    text = contents[adapter.test].decode()
    imported = {node.module for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)}
    assert f"acme.knowledge.{adapter.module}" in imported
    assert "knowledge_adapters" not in text
    assert len(text.splitlines()) <= 32
    assert f"from {adapter.module} import " in copying.copied(adapter, "", "pytest")[adapter.test].decode()


@each_adapter
def test_an_adapter_brings_nothing_else_of_ours(adapter: Adapter) -> None:
    """It imports the contract alone, in whatever place of the file."""
    tree = ast.parse(copying.copied(adapter, "", "pytest")[f"{adapter.module}.py"])
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "." for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    ours = {name.partition(".")[0] for name in names if name.startswith(("knowledge_", "."))}
    assert ours == {"knowledge_provider"}


@each_adapter
def test_a_workflow_runs_the_test(adapter: Adapter, folder: Path) -> None:
    """It installs the extras that the test needs, and runs it from where the copy was made."""
    assert cli.main(["copy", adapter.name, "acme"]) == 0
    install, tests = commands_of(workflow_in(folder / "acme", adapter))
    assert install == f'python -m pip install "PATH/TO/CLONE[conformance,fakes,{adapter.name}]"'
    assert tests == f"pytest acme/test_{adapter.module}.py"


@pytest.mark.parametrize("name", ["two words", "it's", "a #b: c", 'say "no"', "知识", "back\\slash"])
def test_any_name_of_a_folder_can_be_used(name: str, folder: Path, capsys: Capture) -> None:
    """The command that is printed finds the test, and so does the workflow's."""
    assert cli.main(["copy", "http", name]) == 0
    command = capsys.readouterr().out.splitlines()[-1].removeprefix("next: ")
    assert commands_of(workflow_in(folder / name, copying.adapter_named("http")))[-1] == command
    listed = run(folder, ["/bin/sh", "-c", f"ls -d {command.removeprefix('pytest ')}"]).stdout
    assert listed == f"{name}/test_http_provider.py\n"


def test_a_place_elsewhere_is_named_from_here(folder: Path, capsys: Capture) -> None:
    """An absolute path would be one of this machine in the workflow."""
    (folder / "here").mkdir()
    assert cli.main(["copy", "http", str(folder / "acme")]) == 0
    assert capsys.readouterr().out.endswith("next: pytest acme/test_http_provider.py\n")


# Packages.


def made(folder: Path, *packages: str) -> Path:
    for package in packages:
        (folder / package).mkdir(parents=True)
        (folder / package / "__init__.py").touch()
    return folder / packages[-1]


def test_a_package_is_as_deep_as_its_files_say(tmp_path: Path) -> None:
    """What pytest puts on the path is the folder above the last ``__init__.py``."""
    assert copying.package_of(made(tmp_path, "src/acme", "src/acme/knowledge")) == "acme.knowledge"
    assert copying.package_of(tmp_path / "src/acme/knowledge/../knowledge/") == "acme.knowledge"
    assert copying.package_of(tmp_path / "src") == ""
    assert copying.package_of(tmp_path / "src/acme/new") == ""
    assert copying.package_of(made(tmp_path, "not-a-name", "not-a-name/inner")) == "inner"


# What is not written.


@pytest.mark.parametrize("taken", ["http_provider.py", "test_http_provider.py", "http_provider.yml"])
def test_a_file_that_is_there_is_never_changed(taken: str, folder: Path, capsys: Capture) -> None:
    """One line names it, the code is 4, and the other files are not written either."""
    (folder / "acme").mkdir()
    (folder / "acme" / taken).write_text("mine")
    assert cli.main(["copy", "http", "acme"]) == 4
    assert files_in(folder) == {f"acme/{taken}": b"mine"}
    printed = capsys.readouterr()
    assert printed.out == ""
    wanted = f"knowledge-kit: acme/{taken} is there already, and nothing was written: move it, or name another folder\n"
    assert printed.err == wanted


def test_a_link_to_nowhere_is_a_file_that_is_there(folder: Path) -> None:
    """Nothing is written through it."""
    (folder / "test_http_provider.py").symlink_to(folder / "elsewhere")
    assert cli.main(["copy", "http", "."]) == 4
    assert [path.name for path in folder.iterdir()] == ["test_http_provider.py"]


@pytest.mark.parametrize("place", ["notes", "notes/inner"])
def test_a_folder_that_cannot_be_made_is_one_line(place: str, folder: Path, capsys: Capture) -> None:
    """It names what is in the way."""
    (folder / "notes").write_text("mine")
    assert cli.main(["copy", "http", place]) == 4
    printed = capsys.readouterr().err
    assert printed.startswith("knowledge-kit: ")
    assert "notes" in printed
    assert printed.count("\n") == 1
    assert files_in(folder) == {"notes": b"mine"}


@pytest.mark.parametrize(
    ("raised", "expected"),
    [(OSError(28, "No space left"), copying.CopyError), (KeyboardInterrupt(), KeyboardInterrupt)],
)
def test_what_fails_halfway_leaves_nothing(
    raised: BaseException, expected: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files that were written before are taken away again, and so is the one that was begun."""
    real = Path.open

    class Full(io.BytesIO):
        def write(self, _: object) -> NoReturn:
            raise raised

    def opened(path: Path, mode: str) -> Any:
        file = real(path, mode)
        if path.name != "second":
            return file
        file.close()
        return Full()

    monkeypatch.setattr(Path, "open", opened)
    with pytest.raises(expected):
        copying.write({"first": b"1", "second": b"2"}, tmp_path / "deep" / "down")
    assert files_in(tmp_path) == {}


@pytest.mark.parametrize("name", ["nothing", "", "LangChain", "../langchain", "llama_index\n"])
def test_an_unknown_name_lists_the_known(name: str, folder: Path, capsys: Capture) -> None:
    """In one line, and no folder is made."""
    assert cli.main(["copy", name, "acme"]) == 4
    known = "langchain, llama-index, haystack, openai, mcp, http"
    assert capsys.readouterr().err == f"knowledge-kit: there is no adapter {name!r}; wanted one of {known}\n"
    assert [*folder.iterdir()] == []


@pytest.mark.parametrize("arguments", [[], ["langchain"]])
def test_a_name_and_a_folder_are_wanted(arguments: list[str], capsys: Capture) -> None:
    """One line says how to call it, and where the names are."""
    assert cli.main(["copy", *arguments]) == 4
    printed = capsys.readouterr().err
    assert "knowledge-kit copy NAME FOLDER" in printed
    assert "copy --list" in printed
    assert printed.count("\n") == 1


def test_no_adapter_and_no_vendor_is_imported(folder: Path) -> None:
    """An adapter is read as data: its vendor need not be there to copy it."""
    names = sorted({*(vendor.partition(".")[0] for vendor in VENDORS.values()), *(it.module for it in ADAPTERS)})
    code = f"""
import sys
from knowledge_conformance import cli
for name in {[adapter.name for adapter in ADAPTERS]}:
    cli.main(["copy", name, "acme"])
loaded = {{part for name in sys.modules for part in name.split(".")[:2]}}
print("loaded:", sorted(loaded & set({names})))
"""
    assert run(folder, [sys.executable, "-c", code]).stdout.endswith("loaded: []\n")


# The copies.


@each_adapter
def test_a_copy_passes_alone(adapter: Adapter, folder: Path, capsys: Capture) -> None:
    """In a folder with nothing else, where the adapter's old place cannot be imported."""
    if not there(VENDORS[adapter.name]):
        pytest.skip(f"needs {copying.needed(adapter.name)}")
    # One in a package, one in none: how a test finds its adapter differs.
    place = made(folder, "acme", "acme/knowledge") if adapter.name == "http" else folder / "acme" / "knowledge"
    assert cli.main(["copy", adapter.name, "acme/knowledge"]) == 0
    (folder / "conftest.py").write_text(ALONE)
    capsys.readouterr()
    done = run_pytest(folder, "-q", "-W", "error", str(place / adapter.test), PYTHONPATH="")
    assert done.returncode == 0, done.stdout
    assert "failed" not in done.stdout
    assert int(done.stdout.rpartition(" passed")[0].split()[-1]) > 40, done.stdout
