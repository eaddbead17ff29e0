"""Follows a page as its reader does: saves the files, runs the commands, tries the Python. Knows blocks, no page.

- A block whose first line is a comment with a file's name is saved under that name, and nothing else is done with it.
- ``console``: after ``$ `` stand commands, under them what they print. A line of ``…`` stands for any lines. A command
  that shows nothing has to succeed.
- ``python``: run line by line. ``expression  # 'value'`` says what it gives, ``# prints: text`` what was printed;
  functions named ``test_…`` are called. The blocks of a page share their names.
- ``toml``: settings, which have to be valid. ``yaml``: a workflow, whose own commands are run.
- ``text`` and ``sh`` are looked at elsewhere.
"""

import ast
import contextlib
import difflib
import inspect
import io
import os
import re
import subprocess
import sys
import tokenize
import tomllib
from pathlib import Path
from typing import Any

import hypothesis
from markdown_pages import Block, blocks, read_yaml, workflow_steps

from knowledge_conformance.settings import parse_settings

# A page is read on a quiet machine; its tests are run beside others, where generating may seem slow.
hypothesis.settings.register_profile("page", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])

_PROMPT = "$ "
_ANY = "…"
_INSTALL = re.compile(r"(python3? -m )?pip install ")
_OWN = ("pytest", "knowledge-kit")
# What changes pytest's output: where CI is set, for one, it prints longer summaries.
_NOT_THE_READERS = ("PYTEST", "COV", "CI", "BUILD_NUMBER", "FORCE_COLOR", "PY_COLORS")


class Reader:
    """Somebody who works through one page in an empty folder, which is the current one."""

    def __init__(self, page: Path, folder: Path) -> None:
        self._page = page
        self._folder = folder
        self._names: dict[str, Any] = {"__name__": "__example__"}
        self._code = 0

    def follow(self) -> None:
        """Do what the page says; raises ``AssertionError`` where the page is wrong."""
        usual = hypothesis.settings.get_current_profile_name()
        hypothesis.settings.load_profile("page")
        try:
            for block in blocks(self._page):
                if block.file is not None:
                    self._save(block.file, block.text)
                else:
                    self._try(block)
        finally:
            hypothesis.settings.load_profile(usual)

    def _save(self, name: str, text: str) -> None:
        place = self._folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def _try(self, block: Block) -> None:
        known = {"console": self._console, "python": self._python, "toml": self._toml, "yaml": self._yaml}
        if block.language in known:
            known[block.language](block)
        else:
            assert block.language in ("text", "sh"), f"{self._where(block)}: a block of {block.language!r} is not tried"

    def _where(self, block: Block) -> str:
        return f"{self._page.name}:{block.line}"

    # console

    def _console(self, block: Block) -> None:
        for command, shown in _commands(block.text):
            if not _INSTALL.match(command):
                came = self._run(command)
                assert shown or self._code == 0, f"{self._where(block)}: {command}\n{came}"
                assert not shown or _fits(shown, came), f"{self._where(block)}: {command}\n{_difference(shown, came)}"

    def _run(self, command: str) -> str:
        done = subprocess.run(
            ["/bin/bash", "-c", f"(exit {self._code}); {command}"],
            cwd=self._folder,
            env=_environment(self._folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        self._code = done.returncode
        return done.stdout

    # python

    def _python(self, block: Block) -> None:
        before = dict(self._names)
        printed = io.StringIO()
        # Empty lines above, so that a traceback shows the page's own lines.
        source = "\n" * (block.line - 1) + block.text
        comments = _comments(source)
        with contextlib.redirect_stdout(printed):
            for statement in ast.parse(source).body:
                self._execute(statement, comments.get(statement.end_lineno or 0), block)
            for name, value in list(self._names.items()):
                if name.startswith("test_") and before.get(name) is not value and not _wants_arguments(value):
                    value()
        said = "".join(f"{text[10:]}\n" for text in comments.values() if text.startswith("# prints: "))
        assert printed.getvalue() == said, f"{self._where(block)}\n{_difference(said, printed.getvalue())}"

    def _execute(self, statement: ast.stmt, comment: str | None, block: Block) -> None:
        name = str(self._page)
        if isinstance(statement, ast.Expr) and comment is not None:
            given = repr(eval(compile(ast.Expression(statement.value), name, "eval"), self._names))
            assert given == comment.removeprefix("# "), f"{self._where(block)}: {ast.unparse(statement)} gives {given}"
        else:
            exec(compile(ast.Module([statement], []), name, "exec"), self._names)

    # toml and yaml

    def _toml(self, block: Block) -> None:
        document = tomllib.loads(block.text)
        parse_settings(document.get("tool", {}).get("knowledge-conformance", document), source=self._where(block))

    def _yaml(self, block: Block) -> None:
        for step in workflow_steps(read_yaml(block.text)):
            command = str(step.get("run", ""))
            if command.startswith(_OWN):
                came = self._run(command)
                assert self._code == 0, f"{self._where(block)}: {command}\n{came}"


def _commands(text: str) -> list[tuple[str, str]]:
    first, *rest = text.split(f"\n{_PROMPT}")
    assert first.startswith(_PROMPT), f"a console block begins with a command: {first!r}"
    pairs = (part.partition("\n") for part in [first.removeprefix(_PROMPT), *rest])
    return [(command, shown) for command, _, shown in pairs]


def _environment(folder: Path) -> dict[str, str]:
    """A reader's own: the packages of this interpreter, no plugin but the kit's and none of the test run's settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_THE_READERS)}
    return {
        **kept,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_PLUGINS": "knowledge_conformance,xdist.plugin",
    }


def _fits(shown: str, came: str) -> bool:
    """Whether the output is what is shown, times and the length of rules aside."""
    pattern = "".join(r"(?:.*\n)*?" if line == _ANY else re.escape(line) + "\n" for line in _plain(shown))
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _plain(came))) is not None


def _plain(text: str) -> list[str]:
    text = re.sub(r"\bin \d+\.\d+s\b", "in 0.00s", text)
    text = re.sub(r"([=_-])\1{2,}", r"\1\1\1", text)
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def _difference(shown: str, came: str) -> str:
    return "\n".join(
        difflib.unified_diff(_plain(shown), _plain(came), "the page shows", "what came", lineterm="", n=99)
    )


def _comments(source: str) -> dict[int, str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}


def _wants_arguments(function: Any) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return any(parameter.default is parameter.empty for parameter in parameters)
