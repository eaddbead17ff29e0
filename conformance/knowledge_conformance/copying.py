"""``knowledge-kit copy``: an adapter, a test and a workflow for a user's own code; reads adapters, imports none."""

import json
import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires
from importlib.resources import files
from itertools import takewhile
from pathlib import Path
from string import Template
from typing import Final

KIT: Final = "knowledge-provider-kit"
_FOR_THE_TEST: Final = ("conformance", "fakes")


class CopyError(Exception):
    """Nothing was written; the message is one line that says why."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """What can be copied: ``name`` is also that of its extra, ``module`` its file's, ``maps`` what it answers from."""

    name: str
    module: str
    maps: str

    @property
    def test(self) -> str:
        """The name of its test file."""
        return f"test_{self.module}.py"


# A line here, and a template named after the module, is all that another one takes.
ADAPTERS: Final = (
    Adapter("langchain", "langchain_provider", "a retriever or other runnable, or a vector store with its scores"),
    Adapter("llama-index", "llama_index_provider", "a retriever, with node texts, documents and scores"),
    Adapter("haystack", "haystack_provider", "a retriever or other component, or a pipeline"),
    Adapter("openai", "openai_file_search_provider", "file search in vector stores, one for each knowledge base"),
    Adapter("mcp", "mcp_provider", "one retrieval tool of a server, whatever shape its answers have"),
    Adapter("http", "http_provider", "a service that takes and gives JSON, by a map of its fields"),
)
_BY_NAME: Final = {adapter.name: adapter for adapter in ADAPTERS}


def listing() -> Iterator[str]:
    """A line for each adapter: its name, the package that it needs, and what it maps; then how to go on."""
    rows = [(adapter.name, needed(adapter.name), adapter.maps) for adapter in ADAPTERS]
    names, packages = (max(len(row[column]) for row in rows) for column in (0, 1))
    for name, package, maps in rows:
        yield f"{name:{names}}  {package:{packages}}  {maps}"
    yield ""
    yield f"The extra of the same name brings the package: {KIT}[{ADAPTERS[0].name}]"
    yield f"To take one: knowledge-kit copy {ADAPTERS[0].name} FOLDER"


def needed(extra: str) -> str:
    """The packages that an extra of this distribution brings, or its name where only the kit's files are there."""
    with suppress(PackageNotFoundError):
        found = [text.partition(";") for text in requires(KIT) or ()]
        return ", ".join(package for package, _, marker in found if marker.strip() == f"extra == '{extra}'")
    return f"[{extra}]"


def adapter_named(name: str) -> Adapter:
    """The adapter of this name; raises ``CopyError`` when there is none."""
    if name not in _BY_NAME:
        raise CopyError(f"there is no adapter {name!r}; wanted one of {', '.join(_BY_NAME)}")
    return _BY_NAME[name]


def copied(adapter: Adapter, package: str, command: str) -> dict[str, bytes]:
    """What is written, by the names of files: the adapter as it is, its test, and a workflow that runs ``command``.

    ``package`` is the dotted name of the package that they are going to be in, or empty where they are in none.
    """
    module = f"{package}.{adapter.module}" if package else adapter.module
    # A string of JSON is one of YAML, whatever the names of folders are.
    run, extras = json.dumps(command, ensure_ascii=False), ",".join((*_FOR_THE_TEST, adapter.name))
    return {
        f"{adapter.module}.py": (files("knowledge_adapters") / f"{adapter.module}.py").read_bytes(),
        adapter.test: _filled(f"test_{adapter.module}", module=module),
        f"{adapter.module}.yml": _filled("workflow", name=adapter.name, extras=extras, command=run),
    }


def package_of(folder: Path) -> str:
    """The dotted name of the package that a folder is, or an empty text: by pytest's rule, which imports the test.

    A package is as deep as there are files named ``__init__.py``; the folder above the last is put on the path.
    """
    whole = folder.resolve()
    packages = takewhile(_is_package, (whole, *whole.parents))
    return ".".join(reversed([place.name for place in packages]))


def write(contents: Mapping[str, bytes], folder: Path) -> None:
    """Write files into a folder, which is made where it is missing: all of them or, with ``CopyError``, none.

    A file that is there already is never changed.
    """
    written: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            with (folder / name).open("xb") as file:
                written.append(folder / name)
                file.write(content)
    except BaseException as error:  # an interruption leaves nothing half-written either
        for path in written:
            path.unlink()
        if isinstance(error, OSError):
            raise CopyError(_unwritten(error, folder)) from None
        raise


def copy(name: str, folder: Path) -> Iterator[str]:
    """Copy an adapter; lines that say what was written and what to do next. Raises ``CopyError``."""
    adapter, shown = adapter_named(name), Path(os.path.relpath(folder))
    command = f"pytest {shlex.quote(str(shown / adapter.test))}"
    contents = copied(adapter, package_of(folder), command)
    write(contents, shown)
    yield from (f"wrote {shown / name}" for name in contents)
    yield f"it needs {needed(adapter.name)}; its test needs {KIT}[{','.join((*_FOR_THE_TEST, adapter.name))}]"
    yield f"next: {command}"


def _is_package(place: Path) -> bool:
    return place.name.isidentifier() and (place / "__init__.py").is_file()


def _filled(template: str, **values: str) -> bytes:
    text = (files("knowledge_conformance") / "templates" / f"{template}.txt").read_text("utf-8")
    return Template(text).substitute(values).encode()


def _unwritten(error: OSError, folder: Path) -> str:
    if isinstance(error, FileExistsError):
        return f"{error.filename} is there already, and nothing was written: move it, or name another folder"
    return f"cannot write {error.filename or folder}: {error.strerror}; nothing was written"
