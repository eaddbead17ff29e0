"""Settings: every key, and one line for whatever cannot be used."""

import json
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_conformance.check import Facet
from knowledge_conformance.settings import (
    OWN_FILE,
    PROJECT_FILE,
    OwnerExpectation,
    Settings,
    SettingsError,
    override,
    parse_settings,
    read_settings,
    referring,
)

FULL = """
providers = ["acme.search:provider"]
queries = ["release policy", "  lost laptop  "]
no-hit-query = "zzqx nonsense 9731"
timeout = 2
max-calls = 100
concurrency = 4
examples = 50
seed = 7
require = ["core", "owners"]
absent = ["filters"]
references = [{{ id = "team" }}, {{ id = "team", target_type = "document", document_id = "d-1" }}]
secrets = ["ACME_API_KEY"]
strict-should = true

[{prefix}bases]
engineering = ["release-handbook#approvals"]

[{prefix}owners]
alice = {{ query = "release policy", sees = ["a-1"], never = ["b-1"] }}

[[{prefix}filters]]
query = "release policy"
filter = {{ department = "engineering" }}
selects = ["release-handbook#approvals"]
"""
OWN = FULL.format(prefix="")
PROJECT = "[tool.knowledge-conformance]" + FULL.format(prefix="tool.knowledge-conformance.")


SECRET = "sk-live-9f8e7d6c5b4a39281706"


def written(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name.replace('_', '-')}.toml").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("file", [{"knowledge_conformance": OWN}, {"pyproject": PROJECT}])
def test_every_key_is_read_from_either_file(tmp_path: Path, file: dict[str, str]) -> None:
    """The table of the project file and a file of its own say the same."""
    read = read_settings(written(tmp_path, **file))
    assert read.providers == ("acme.search:provider",)
    assert read.queries == ("release policy", "lost laptop")
    assert (read.no_hit_query, read.timeout, read.max_calls) == ("zzqx nonsense 9731", 2.0, 100)
    assert (read.concurrency, read.examples, read.seed, read.strict_should) == (4, 50, 7, True)
    assert (read.require, read.absent) == ((Facet.CORE, Facet.OWNERS), (Facet.FILTERS,))
    assert read.secrets == ("ACME_API_KEY",)
    assert [each["id"] for each in read.references] == ["team", "team"]
    assert read.bases == {"engineering": ("release-handbook#approvals",)}
    assert read.owners == {"alice": OwnerExpectation(query="release policy", sees=("a-1",), never=("b-1",))}
    assert read.filters[0].filter == {"department": "engineering"}


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    """The kit needs no settings."""
    assert read_settings(tmp_path) == Settings()
    assert Settings().required == {Facet.CORE}


def test_the_nearest_file_upwards_holds(tmp_path: Path) -> None:
    """A run in a sub-folder of a project is a run of that project; a nearer file wins, and its own file over both."""
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    written(tmp_path, knowledge_conformance="seed = 1")
    assert read_settings(inner).seed == 1
    written(tmp_path / "a", pyproject="[tool.knowledge-conformance]\nseed = 2")
    assert read_settings(inner).seed == 2
    written(tmp_path / "a", knowledge_conformance="seed = 3")
    assert read_settings(inner).seed == 3
    written(inner, pyproject="[project]\nname = 'x'")
    assert read_settings(inner) == Settings()


def test_its_own_file_may_be_written_as_the_project_file(tmp_path: Path) -> None:
    """Whoever moves the table out of pyproject.toml need not rename it."""
    assert read_settings(written(tmp_path, knowledge_conformance=PROJECT)).seed == 7
    bare = "[tool.knowledge-conformance]\n[tool.other]\nseed = 3"
    assert read_settings(written(tmp_path, knowledge_conformance=bare)) == Settings()


def test_settings_outside_of_that_table_are_refused(tmp_path: Path) -> None:
    """They would look as if they held."""
    text = "seed = 3\n[tool.knowledge-conformance]\nexamples = 5"
    with pytest.raises(SettingsError) as caught:
        read_settings(written(tmp_path, knowledge_conformance=text))
    assert str(caught.value).startswith("knowledge-conformance.toml: 'seed': stands outside of [tool.knowledge-")


@pytest.mark.parametrize("name", [OWN_FILE, PROJECT_FILE])
@pytest.mark.parametrize("make", [Path.mkdir, lambda path: path.symlink_to("nowhere.toml")], ids=("folder", "link"))
def test_what_only_looks_like_a_file_is_one_line(name: str, make: Callable[[Path], None], tmp_path: Path) -> None:
    """Passed over in silence, it would look as if its settings held; no path of this machine is in the line."""
    make(tmp_path / name)
    with pytest.raises(SettingsError) as caught:
        read_settings(tmp_path)
    assert str(caught.value).startswith(f"{name}: cannot be read: ")
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize("text", ["", "tool = 3", "[tool]\nother = 1", "[[tool.knowledge]]"])
def test_a_project_file_without_our_table_is_no_settings(tmp_path: Path, text: str) -> None:
    """Most project files are about other things."""
    assert read_settings(written(tmp_path, pyproject=text)) == Settings()


NOT_READ = {
    "x = ": "TOMLDecodeError",
    "x = 1\nx = 2": "TOMLDecodeError",
    "[tool.knowledge-conformance": "TOMLDecodeError",
    f"seed = {'9' * 5000}": "ValueError",
    f"x = {'[' * 10_000}": "RecursionError",
}


@pytest.mark.parametrize(("text", "fragment"), NOT_READ.items())
@pytest.mark.parametrize("name", ["pyproject", "knowledge_conformance"])
def test_a_file_that_is_not_toml_is_one_line(tmp_path: Path, name: str, text: str, fragment: str) -> None:
    """With the file's name, and the place."""
    with pytest.raises(SettingsError, match=fragment) as caught:
        read_settings(written(tmp_path, **{name: text}))
    assert str(caught.value).startswith(f"{name.replace('_', '-')}.toml: cannot be read as TOML")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_text_is_one_line(tmp_path: Path) -> None:
    """Bytes that are no UTF-8."""
    (tmp_path / "pyproject.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match="UnicodeDecodeError"):
        read_settings(tmp_path)


def test_a_table_that_is_none_is_one_line(tmp_path: Path) -> None:
    """A number where the table should be."""
    with pytest.raises(SettingsError, match=r"pyproject\.toml: knowledge-conformance: wanted a table, and 3 came"):
        read_settings(written(tmp_path, pyproject="[tool]\nknowledge-conformance = 3"))


def refusal(table: object) -> str:
    """What is said of a table, or "" when it is taken."""
    try:
        parse_settings(table, source="x")
    except SettingsError as error:
        return str(error)
    return ""


WRONG: dict[str, tuple[object, str]] = {
    "providers": ("acme:provider", "wanted a list, and a string came"),
    "queries": ([""], "at least one visible character"),
    "no-hit-query": ("x" * 501, "wanted at most 500 characters, and 501 came"),
    "timeout": (0, "wanted a number greater than 0, and 0 came"),
    "max-calls": (-1, "at least 0, and -1 came"),
    "concurrency": (33, "wanted a number that is at most 32, and 33 came"),
    "examples": (0, "at least 1, and 0 came"),
    "seed": (-1, "at least 0, and -1 came"),
    "require": (
        ["everything"],
        "'core', 'filters', 'bases', 'owners', 'secrets' or 'back-end', and another string came",
    ),
    "absent": ("filters", "wanted a list, and a string came"),
    "secrets": ([3], "wanted a string, and 3 came"),
    "strict-should": ("perhaps", "wanted true or false, and a string came"),
    "profile": ("quick", "'fast', 'default' or 'thorough'"),
    "inject-network-faults": ("perhaps", "wanted true or false, and a string came"),
    "bases": ({"": ["a"]}, "bases: the name '': is blank"),
    "owners": ({"alice": {}}, "owners.alice.query: is missing"),
    "filters": ([{"query": "x", "filter": {1: 2}}], "the name 1: wanted a string"),
    "references": ([{"id": "https://wiki.example.com"}], "is no reference: id: wanted no URL"),
    "known-failures": ({"KP-304": {"reason": " "}}, "say why this failure is accepted"),
    "network-recording": (" ", "at least one visible character"),
    "record-network": (3, "wanted a string, and 3 came"),
    "replay": ("KP-304", "wanted a table, and a string came"),
    "trial": ("perhaps", "wanted true or false, and a string came"),
}


@pytest.mark.parametrize(("key", "value", "fragment"), [(key, *row) for key, row in WRONG.items()])
def test_a_value_of_a_wrong_type_or_size_is_one_line(key: str, value: object, fragment: str) -> None:
    """The line names the file, the key and what was wanted."""
    with pytest.raises(SettingsError) as caught:
        parse_settings({key: value}, source="settings.toml")
    message = str(caught.value)
    assert message.startswith(f"settings.toml: {key}")
    assert fragment in message
    assert "\n" not in message


def test_numbers_stay_what_they_are_on_the_way_through_json() -> None:
    """What a worker is sent, and what a token holds: a whole number of seconds is one."""
    made = Settings(timeout=2, seed=7, strict_should=True)
    assert Settings.model_validate(json.loads(made.model_dump_json(by_alias=True))) == made
    assert parse_settings({"timeout": 2, "seed": 7, "strict-should": True}, source="x") == made


@pytest.mark.parametrize(
    ("fields", "fragment"),
    [
        ({"id": ""}, "is no reference: id: wanted the id of the source"),
        ({"id": "team", "target_type": "folder"}, "node_id: wanted the id of the folder"),
        ({"id": "team", "page": "7"}, "there is no field 'page'"),
        ({"id": SECRET}, "a credential came"),
    ],
)
def test_a_reference_is_what_a_task_could_bind(fields: dict[str, str], fragment: str) -> None:
    """By the rules of a reference itself, and without the value that came."""
    with pytest.raises(SettingsError) as caught:
        parse_settings({"references": [fields]}, source="settings.toml")
    assert fragment in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_command_line_names_references_by_their_ids() -> None:
    """None are none, so that those of a file stay."""
    assert referring(["team", "docs"]) == [{"id": "team"}, {"id": "docs"}]
    assert referring(None) is None
    settings = Settings(references=({"id": "team"},))
    assert override(settings, references=referring([])).references == ({"id": "team"},)
    assert override(settings, references=referring(["docs"])).references == ({"id": "docs"},)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, 1e9, "soon", None])
def test_a_timeout_is_a_finite_number_of_seconds(value: object) -> None:
    """A run that waits for ever for one call is no run."""
    with pytest.raises(SettingsError, match="timeout"):
        parse_settings({"timeout": value}, source="x")


def test_every_key_has_a_wrong_value_above() -> None:
    """A new setting is not forgotten here."""
    assert {name.replace("_", "-") for name in Settings.model_fields} == set(WRONG)


def test_an_unknown_key_is_answered_with_the_known_ones() -> None:
    """A misspelt setting that silently did nothing would look as if it held."""
    with pytest.raises(SettingsError, match="max-cals: there is no such setting; the settings are: absent, bases"):
        parse_settings({"max-cals": 3}, source="x")


@pytest.mark.parametrize("table", [None, 3, [], "text", {"known-failures": {"KP-304": {}}}])
def test_what_is_no_table_of_settings_is_refused(table: object) -> None:
    """Known failures without a reason, too."""
    with pytest.raises(SettingsError) as caught:
        parse_settings(table, source="x")
    assert str(caught.value).startswith("x: ")


def test_a_facet_cannot_be_required_and_absent() -> None:
    """The two say opposite things; core is always required."""
    with pytest.raises(SettingsError, match="filters, owners cannot be both required and absent"):
        parse_settings({"require": ["owners", "filters"], "absent": ["filters", "owners", "bases"]}, source="x")
    with pytest.raises(SettingsError, match="core cannot be both required and absent; 'core' is always required"):
        parse_settings({"absent": ["core"]}, source="x")


@pytest.mark.parametrize("key", sorted(WRONG))
@pytest.mark.parametrize(
    "wrap", [lambda secret: {secret: secret}, lambda secret: [[secret]], lambda secret: secret * 40]
)
def test_no_message_repeats_a_value(key: str, wrap: Any) -> None:
    """A key may stand in a settings file, where it should not."""
    message = refusal({key: wrap(SECRET)})
    assert SECRET not in message
    assert "\n" not in message


def test_the_command_line_wins_where_it_says_something() -> None:
    """None is not said; an empty list of queries is."""
    file = Settings(queries=("a",), timeout=3, strict_should=True)
    assert override(file) == file
    changed = override(file, queries=["b"], timeout=None, max_calls=0, strict_should=None)
    assert (changed.queries, changed.timeout, changed.max_calls, changed.strict_should) == (("b",), 3, 0, True)


@pytest.mark.parametrize(
    ("given", "fragment"),
    [
        ({"timeout": -1.0}, "command line: timeout: wanted a number greater than 0, and -1.0 came"),
        ({"require": ["nothing"]}, "command line: require.0"),
        ({"nothing": 1}, "command line: nothing: there is no such setting"),
    ],
)
def test_a_wrong_option_is_one_line(given: dict[str, Any], fragment: str) -> None:
    """As in a file."""
    with pytest.raises(SettingsError) as caught:
        override(Settings(), **given)
    assert fragment in str(caught.value)


_KEYS = st.sampled_from(sorted(WRONG)) | st.text(string.ascii_lowercase + "-", max_size=12)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30) | st.dates(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@given(st.dictionaries(_KEYS, _VALUES, max_size=6))
@settings(deadline=None, max_examples=100)
def test_any_table_gives_settings_or_one_line(table: dict[str, Any]) -> None:
    """No other exception, whatever TOML can hold; what is taken says the same after it went to another process."""
    message = refusal(table)
    assert message == "" or message.isprintable()
    if not message:
        read = parse_settings(table, source="x")
        assert Settings.model_validate(read.model_dump(mode="json")) == read


@pytest.mark.parametrize("value", ["sk-live-9f8e7d6c5b4a39281706", "two words", ""])
def test_a_key_where_a_variables_name_belongs_is_refused(value: str) -> None:
    """It would be searched for in the environment and found nowhere, and it stands in a file already."""
    with pytest.raises(SettingsError, match="write the name, never the value") as caught:
        parse_settings({"secrets": [value]}, source="settings.toml")
    assert not value or value not in str(caught.value)


def test_a_recording_is_found_beside_the_file_that_names_it(tmp_path: Path) -> None:
    """Wherever below it the run starts."""
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    written(tmp_path, knowledge_conformance="network-recording = 'tests/network.json'")
    assert read_settings(tmp_path).network_recording == "tests/network.json"
    assert read_settings(inner).network_recording == "../../tests/network.json"


def test_a_recording_is_made_when_an_option_asks_for_it(tmp_path: Path) -> None:
    """Never by a file; and then none is played."""
    with pytest.raises(SettingsError, match="record-network: is no setting of a file; pass --record-network FILE"):
        read_settings(written(tmp_path, knowledge_conformance="record-network = 'net.json'"))
    both = Settings(network_recording="net.json", record_network="net.json")
    assert (Settings(network_recording="net.json").played, both.played, Settings().played) == ("net.json", None, None)
