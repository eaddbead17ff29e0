"""The documentation is true: generated pages are fresh, examples run as shown, links lead somewhere, names exist."""

import importlib
import inspect
import json
import re
import subprocess
import tomllib
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace

import pytest
from markdown_pages import (
    anchors,
    blocks,
    links,
    read_yaml,
    words_before_references,
    workflow_steps,
)
from page_examples import Reader

import knowledge_conformance
import knowledge_provider
from knowledge_conformance import catalogue, documentation, kinds
from knowledge_conformance.settings import OF_OPTIONS, Settings
from knowledge_provider import ERROR_CODES, limits

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
WRITTEN = [README, *sorted(page for page in DOCS.glob("*.md") if page.name != "checks.md")]
PAGES = [*WRITTEN, DOCS / "checks.md", *sorted((ROOT / ".github").glob("*.md"))]

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def text_of(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


# Generated files.


@pytest.mark.parametrize(("path", "text"), documentation.generated().items(), ids=list(documentation.generated()))
def test_a_generated_file_is_fresh(path: str, text: str) -> None:
    """``python -m knowledge_conformance.documentation docs`` would change nothing."""
    assert text_of(path) == text


def test_nothing_stale_lies_among_the_generated_files() -> None:
    """A schema that is no longer made is not published."""
    there = {path.relative_to(DOCS).as_posix() for path in (DOCS / "schemas").iterdir()}
    assert there == {path for path in documentation.generated() if path.startswith("schemas/")}


# Examples.


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_examples_are_real(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever follows a page sees what it shows; two names in the pages stand for the reader's own provider."""
    (tmp_path / "acme").mkdir()
    for own in ("acme/search.py", "my_search.py"):
        (tmp_path / own).write_text("from knowledge_fakes.handbook import provider as provider\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Reader(page, tmp_path).follow()


def shell_blocks() -> list[str]:
    return [block.text.strip() for block in blocks(README) if block.language == "sh"]


def test_the_readme_has_two_commands() -> None:
    """One installs and runs the main job, one installs and passes the tests; each is one line."""
    main, tests = shell_blocks()
    assert "\n" not in main + tests
    assert main.endswith(".venv/bin/pytest --provider=knowledge_fakes.handbook:provider")
    assert re.search(r"&& \.venv/bin/pytest( -q)?( -n 2)?$", tests)


def test_only_the_readme_has_commands_that_nobody_tries_here() -> None:
    """They install things, so ``.ci/run`` tries them; anywhere else a command is an example that is run."""
    assert [page.name for page in WRITTEN if any(block.language == "sh" for block in blocks(page))] == ["README.md"]


@each_page
def test_extras_that_are_named_exist(page: Path) -> None:
    """``pip install "…[extra]"`` installs something."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = re.findall(r"(?:knowledge-provider-kit|CLONE|'\.)\[([\w,-]+)\]", page.read_text(encoding="utf-8"))
    assert {name for group in named for name in group.split(",")} <= set(extras)


def test_the_long_run_takes_its_commands_from_the_readme() -> None:
    """``.ci/run`` can be run, and holds no copy of the README's commands that could drift from them."""
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    subprocess.run(["/bin/bash", "-n", str(script)], check=True)
    text = script.read_text(encoding="utf-8")
    assert "README.md" in text
    assert not any(command in text for command in shell_blocks())


def test_the_workflow_does_what_the_long_run_does() -> None:
    """It runs ``.ci/run``, with no more rights than reading."""
    workflow = read_yaml((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    assert ".ci/run" in [step.get("run") for step in workflow_steps(workflow)]
    assert workflow["permissions"] == {"contents": "read"}


# Pages.


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    """A relative link names a file of the project, and its anchor a heading of that file."""
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_is_in_the_table_of_contents() -> None:
    """No page is lost."""
    listed = re.findall(r"^[\w-]+$", text_of("index.md").partition(":::{toctree}")[2], re.MULTILINE)
    assert sorted(listed) == sorted(page.stem for page in DOCS.glob("*.md") if page.stem != "index")


def test_the_readme_is_short() -> None:
    """A stranger reads at most 400 words before the list of references."""
    assert words_before_references(README) <= 400


@each_page
def test_no_page_knows_the_machine_that_it_was_written_on(page: Path) -> None:
    """No absolute path, no private host, nobody's home."""
    text = page.read_text(encoding="utf-8")
    assert re.findall(r"(?<![\w.])/(?:home|root|opt|work|tmp|Users|var)/\S*|\.pyenv|localhost:\d+", text) == []


@each_page
def test_a_page_says_nothing_that_is_not_in_it(page: Path) -> None:
    """No placeholder was left behind."""
    assert re.findall(r"TODO|FIXME|XXX|lorem ipsum", page.read_text(encoding="utf-8"), re.IGNORECASE) == []


# What single pages promise.


def options() -> set[str]:
    """The command-line options that the plugin adds to pytest."""
    added: set[str] = set()
    group = SimpleNamespace(addoption=lambda name, **_: added.add(name))
    knowledge_conformance.pytest_addoption(SimpleNamespace(getgroup=lambda _: group))  # type: ignore[arg-type]
    return added


def test_every_setting_and_option_is_explained() -> None:
    """Settings by their names in TOML, with the default where that is a plain value."""
    text = text_of("settings.md")
    for name, field in Settings.model_fields.items():
        spelled = name.replace("_", "-")
        assert f"`{spelled}`" in text or f"{spelled} =" in text or f".{spelled}]" in text, name
        if isinstance(field.default, int | float) and name not in OF_OPTIONS:
            assert f"| `{spelled}` | {str(field.default).lower()} |" in text, name
    assert {option for option in options() if f"`{option}" not in text} == set()


def test_every_outcome_and_verdict_is_explained() -> None:
    """Each word that a run may print has a row."""
    from knowledge_conformance.check import Facet
    from knowledge_conformance.results import CheckOutcome
    from knowledge_conformance.verdict import Verdict

    text = text_of("green.md")
    rows = set(re.findall(r"^\| `?([a-z -]+)`? \|", text, re.MULTILINE))
    assert {str(word) for word in (*CheckOutcome, *Verdict, *Facet)} <= rows


def test_every_public_name_is_in_the_api_page() -> None:
    """What the packages export is what the page has."""
    text = text_of("api.md")
    exported = {name for name, value in vars(knowledge_provider).items() if is_public(name, value)}
    missing = {name for name in exported if not re.search(rf"`{name}\b", text)}
    missing |= {name for name in knowledge_conformance.__all__ if f"\n### {name}" not in text}
    assert missing == set()


def is_public(name: str, value: object) -> bool:
    return not name.startswith("_") and not inspect.ismodule(value)


def test_the_api_page_has_no_name_that_does_not_exist() -> None:
    """Names in code spelling that look like classes or functions of the package are there."""
    shown = set(re.findall(r"`(Knowledge\w+)`", text_of("api.md")))
    assert {name for name in shown if not hasattr(knowledge_provider, name)} == set()
    for module in re.findall(r"^\| `(knowledge_provider\.\w+)` \|", text_of("api.md"), re.MULTILINE):
        importlib.import_module(module)


@pytest.mark.parametrize("shown", re.findall(r"[`#] ?(\w+\([a-z_, *]+\))", text_of("api.md")))
def test_a_signature_is_real(shown: str) -> None:
    """Parameters in the page are the function's, in order, with the star where the keywords begin."""
    name, _, parameters = shown.rstrip(")").partition("(")
    if name in ("read_settings", "run", "assert_conforms"):
        home = "settings" if name == "read_settings" else "api"
        function = getattr(importlib.import_module(f"knowledge_conformance.{home}"), name)
    else:
        function = getattr(knowledge_provider, name)
    assert parameters.split(", ") == written(inspect.signature(function))


def written(signature: inspect.Signature) -> list[str]:
    names = [(parameter.name, parameter.kind) for parameter in signature.parameters.values()]
    first = next((at for at, (_, kind) in enumerate(names) if kind is inspect.Parameter.KEYWORD_ONLY), None)
    plain = [name for name, _ in names]
    return plain if first is None else [*plain[:first], "*", *plain[first:]]


@pytest.mark.parametrize(
    ("page", "function"),
    [("host.md", knowledge_provider.KnowledgeHost), ("limits.md", knowledge_provider.CompositeProvider)],
)
def test_the_defaults_of_a_page_are_real(page: str, function: Callable[..., object]) -> None:
    """Numbers that the host and the composite take unless told otherwise stand in the page."""
    numbers = {float(number) for number in re.findall(r"\d+(?:\.\d+)?", text_of(page).replace(",", ""))}
    defaults = [parameter.default for parameter in inspect.signature(function).parameters.values()]
    assert {number for number in defaults if type(number) in (int, float)} <= numbers


def test_every_option_of_the_host_is_explained() -> None:
    """Each has a row in the page that says how to embed it."""
    rows = re.findall(r"^\| `(\w+)` \|", text_of("host.md").partition("## Options")[2], re.MULTILINE)
    parameters = inspect.signature(knowledge_provider.KnowledgeHost).parameters.values()
    assert rows == [parameter.name for parameter in parameters if parameter.kind is inspect.Parameter.KEYWORD_ONLY]


def test_every_error_code_is_in_the_api_page() -> None:
    """A host's author finds each code."""
    assert {code for code in ERROR_CODES if f"`{code}`" not in text_of("api.md")} == set()


def test_the_numbers_are_the_packages_own() -> None:
    """Every limit of the contract stands in the page with its value."""
    text = text_of("limits.md").replace(",", "").partition("## What a run costs")[0]
    numbers = {float(number) for number in re.findall(r"\d+", text)}
    exempt = {"CANDIDATES_PER_RESULT", "SNIPPET_MAX", "PROVIDER_NAME_MAX", "SOURCE_REPORTS_MAX", "CONCURRENCY_MAX"}
    for name in vars(limits):
        value = getattr(limits, name)
        if name.isupper() and name not in exempt and isinstance(value, int | float):
            shown = value * 1000 if name in ("DESCRIBE_SECONDS", "LOOP_HELD_SECONDS") else value
            assert shown in numbers, name


def test_the_plugin_that_costs_a_second_has_that_name() -> None:
    """``-p no:…`` is silent about a name that does not exist, so the page must have the right one."""
    names = {entry.name for entry in entry_points(group="pytest11")}
    assert set(re.findall(r"no:(\w+)", text_of("limits.md"))) - {"cacheprovider"} == {"hypothesispytest"} & names


def test_the_places_in_the_layout_exist() -> None:
    """The tree shows real folders, and the table real modules."""
    text = text_of("layout.md")
    for path in re.findall(r"^(\S+/\S*|\.ci/run) {2,}", text, re.MULTILINE):
        assert (ROOT / path).exists(), path
    for heading, package in {"contract": "knowledge_provider", "kit": "knowledge_conformance"}.items():
        names = modules_in(text.partition(f"## Inside the {heading}")[2].partition("\n## ")[0])
        home = ROOT / "conformance" / package
        assert names
        assert [name for name in names if not (home / f"{name}.py").exists() and not (home / name).is_dir()] == []


def modules_in(section: str) -> list[str]:
    rows = re.findall(r"^\| ((?:`[a-z_]+/?`(?:, )?)+) \|", section, re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`([a-z_]+)/?`", row)]


def test_the_changelog_counts_the_checks() -> None:
    """A number in prose is a number of the catalogue."""
    text = " ".join(text_of("changelog.md").split())
    assert f"{len(catalogue.CHECKS)} checks of providers" in text
    assert f"{len(kinds.HOST.checks)} of hosts" in text
    assert f"{len(kinds.COMPOSITE.checks)} of composites" in text
    assert f"{len(kinds.SOURCE.checks)} of sources" in text
    assert f"{len(kinds.MERGING.checks)} of merging hosts" in text
    assert f"{len(kinds.ACCESS.checks)} of access rules" in text
    assert f"{len(kinds.RENDERER.checks)} of renderers" in text


def test_schemas_of_the_page_are_files() -> None:
    """Every published schema has a link, and every link a schema."""
    linked = {link for link in links(DOCS / "schemas.md") if link.startswith("schemas/")}
    assert linked == {path for path in documentation.generated() if path.startswith("schemas/")}
    assert all(json.loads(text_of(link)) for link in linked)
