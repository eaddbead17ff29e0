"""What is said of settings that cannot be used: in TOML's words, with what came, and without what may be a secret."""

import datetime
import re

import pytest

from knowledge_conformance.settings import OWN_FILE, PROJECT_FILE, SettingsError, parse_settings

SECRET = "sk-live-9f8e7d6c5b4a39281706"


def refusal(table: object, source: str = "x") -> str:
    """What is said of a table."""
    with pytest.raises(SettingsError) as caught:
        parse_settings(table, source=source)
    return str(caught.value)


TYPES: dict[str, tuple[object, str]] = {
    "a table of another kind": ({"owners": {"alice": 3}}, "owners.alice: wanted a table, and 3 came"),
    "a list of tables": ({"owners": [{"query": "x"}]}, "owners: wanted a table, and a list came"),
    "a text for a list of a table": ({"bases": {"team": "t-1"}}, "bases.team: wanted a list, and a string came"),
    "a table for a list of texts": ({"queries": {"a": 1}}, "queries: wanted a list, and a table came"),
    "a reference that is a text": ({"references": ["a"]}, "references.0: wanted a table, and a string came"),
    "a number for a text": ({"no-hit-query": 7}, "no-hit-query: wanted a string, and 7 came"),
    "a day for a text": ({"queries": [datetime.date(2027, 1, 1)]}, "queries.0: wanted a string, and a day came"),
    "true for a number": ({"timeout": True}, "timeout: wanted a number, and true came"),
    "true for a whole number": ({"seed": True}, "seed: wanted a whole number, and true came"),
    "a part of a number": ({"seed": 2.5}, "seed: wanted a whole number, and 2.5 came"),
    "a number in quotes": ({"max-calls": "600"}, "max-calls: wanted a whole number, and a string came"),
    "seconds in quotes": ({"timeout": "10"}, "timeout: wanted a number, and a string came"),
    "no end": ({"timeout": float("inf")}, "timeout: wanted a finite number, and inf came"),
    "1 for true": ({"strict-should": 1}, "strict-should: wanted true or false, and 1 came"),
    "yes for true": (
        {"inject-network-faults": "yes"},
        "inject-network-faults: wanted true or false, and a string came",
    ),
    "a number for a word": ({"profile": 3}, "profile: wanted 'fast', 'default' or 'thorough', and 3 came"),
    "a name that is blank": (
        {"owners": {" ": {"query": "x"}}},
        "owners: the name ' ': is blank: it needs at least one",
    ),
    "a day in a filter": (
        {"filters": [{"query": "x", "filter": {"since": datetime.date(2027, 1, 1)}}]},
        "filters.0.filter.since: wanted a string, a number, true or false, a list or a table, and a day came",
    ),
}


@pytest.mark.parametrize(("table", "line"), TYPES.values(), ids=TYPES)
def test_a_wrong_type_is_said_in_the_words_of_toml(table: object, line: str) -> None:
    """What stands there in the file, and what belongs there; nothing of the language that reads it."""
    said = refusal(table)
    assert said.startswith(f"x: {line}")
    assert not re.search("tuple|dict|instance|input|Expectation", said.removeprefix("x: inject"))


@pytest.mark.parametrize("key", ["filters", "references"])
@pytest.mark.parametrize(("source", "header"), [(OWN_FILE, ""), (PROJECT_FILE, "tool.knowledge-conformance.")])
def test_one_table_where_a_list_of_them_belongs_is_told_the_brackets(key: str, source: str, header: str) -> None:
    """As the file spells them."""
    wanted = f"wanted a list of tables, and one table came: write [[{header}{key}]] over each of them"
    assert refusal({key: {"query": "x"}}, source) == f"{source}: {key}: {wanted}"


@pytest.mark.parametrize(
    ("table", "line"),
    [
        ({"owners": {"alice": {"query": "x", "sess": []}}}, "owners.alice.sess: {} query, sees, never"),
        ({"owners": {"query": {"query": "x", "sess": []}}}, "owners.query.sess: {} query, sees, never"),
        ({"filters": [{"query": "x", "filters": {}}]}, "filters.0.filters: {} query, filter, selects"),
        (
            {"known-failures": {"KP-304": {"why": "so"}}},
            "known-failures.KP-304.why: {} reason, url, expires, fingerprint",
        ),
    ],
)
def test_an_unknown_key_of_a_table_is_answered_with_its_own(table: object, line: str) -> None:
    """And not with those that stand at the top."""
    known = line.format("there is no such setting; those of this table are:")
    assert refusal(table) == f"x: {known}"


@pytest.mark.parametrize("key", ["a\nb", "\x1b[2J", "x" * 5000, "", "\u202e", SECRET])
def test_an_odd_key_is_shown_harmlessly(key: str) -> None:
    """TOML lets a key be any text: the message stays one short line, and no key looks like a secret in it."""
    for table in ({key: 1}, {"bases": {key: 3}}):
        assert refusal(table).isprintable()
        assert len(refusal(table)) < 400
        assert SECRET not in refusal(table)
