"""The URI policy: what may be shown to anyone, and why the rest may not."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_conformance import corpora
from knowledge_provider.uris import UriFault, public_uri, uri_fault

HERE = Path(__file__).parent
quick = settings(deadline=None, max_examples=200)


ROWS = corpora.uris()
CREDENTIAL_REASONS = {"userinfo", "credential-query", "presigned-query", "credential-path"}


# The labelled inputs ------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS, ids=[f"{n}-{row['reason']}" for n, row in enumerate(ROWS)])
def test_labelled_inputs_get_their_verdict_and_form(row: dict[str, str]) -> None:
    """Each labelled input is kept in the labelled form, which is a fixed point, or dropped."""
    assert public_uri(row["input"]) == row["normalized"]
    assert public_uri(row["normalized"]) == row["normalized"]
    assert (uri_fault(row["input"]) is None) is (row["verdict"] == "keep")


# A finer word than the label's, or a coarser one: a metadata address in an odd spelling is still a metadata address.
OTHER_WORDS = {
    "private-ipv4-encoded": {"private-ipv4", "metadata-host"},
    "private-ipv6": {"embedded-ipv4"},
    "single-label": {"private-suffix"},
    "metadata-host": {"single-label"},
    "presigned-query": {"credential-query"},
    "parse-error": {"userinfo"},
    "not-absolute": {"userinfo"},
}


def test_labelled_reasons_are_told() -> None:
    """The fault is the labelled reason, or a word beside it; a labelled credential is always told as one."""
    for row in ROWS:
        fault = uri_fault(row["input"])
        if fault is not None:
            assert fault.value in {row["reason"], *OTHER_WORDS.get(row["reason"], ())}, row
            assert fault.is_credential or row["reason"] not in CREDENTIAL_REASONS, row


@pytest.mark.parametrize("row", corpora.no_uris(), ids=lambda row: repr(row["input"])[:30])
def test_what_is_no_text_is_dropped(row: dict[str, Any]) -> None:
    """Other types and lone surrogates answer None."""
    assert public_uri(row["input"]) is None
    assert uri_fault(row["input"]) in (UriFault.NOT_A_STRING, UriFault.LONE_SURROGATE)


# Any value ----------------------------------------------------------------------------------------


def _raise(*_: object, **__: object) -> Any:
    raise RuntimeError("a hostile method was called")


_HOSTILE = {
    name: _raise
    for name in dir(str)
    if name not in {"__new__", "__init__", "__class__", "__init_subclass__", "__subclasshook__", "__getattribute__"}
}
HostileStr: type[str] = type("HostileStr", (str,), {**_HOSTILE, "__getattribute__": _raise})


class Hostile:
    __getattribute__ = __len__ = __bool__ = __iter__ = __hash__ = __eq__ = __str__ = __repr__ = _raise


class LyingClass:
    __class__: Any = str


def test_a_str_subclass_is_read_as_its_text_and_asked_nothing() -> None:
    """The text is judged through ``str`` itself, and the answer is an exact ``str``."""
    answer = public_uri(HostileStr("https://example.com/a#b"))
    assert answer == "https://example.com/a"
    assert type(answer) is str
    assert uri_fault(HostileStr("http://10.0.0.1/")) is UriFault.PRIVATE_IPV4


# Classes, not instances: pytest looks at its parameters, which these do not suffer.
@pytest.mark.parametrize("make", [Hostile, LyingClass, lambda: Hostile, lambda: b"https://example.com/", object])
def test_an_object_that_raises_or_lies_is_no_string(make: Callable[[], object]) -> None:
    """Nothing of an object is asked: neither its attributes nor the class that it claims."""
    assert uri_fault(make()) is UriFault.NOT_A_STRING
    assert public_uri(make()) is None


def test_a_huge_text_is_dropped_and_its_credential_found() -> None:
    """Ten megabytes get an answer, and what grants access near the beginning is told."""
    assert uri_fault("https://example.com/?q=" + "b" * 10_000_000) is UriFault.OVERLONG
    assert uri_fault("https://example.com/?token=" + "b" * 10_000_000) is UriFault.CREDENTIAL_QUERY


def test_a_name_is_not_taken_for_whole_where_the_look_ends() -> None:
    """A long text is read in part, and the part's end makes no ``keynote=`` into ``key=``."""
    start = "https://example.com/?"
    uri = start + "q" * (8000 - len(start) - 4) + "&key" + "note=1" + "z" * 100
    assert uri[:8000].endswith("&key")
    assert uri_fault(uri) is UriFault.OVERLONG


def test_the_length_limit_counts_the_text_and_the_answer() -> None:
    """2,000 characters pass, 2,001 do not, nor does a text that escaping makes longer than that."""
    start = "https://example.com/"
    assert public_uri(start + "a" * (2000 - len(start))) is not None
    assert uri_fault(start + "a" * (2001 - len(start))) is UriFault.OVERLONG
    assert uri_fault(" " + start + "a" * (2000 - len(start))) is UriFault.OVERLONG
    assert uri_fault(start + "é" * 400) is UriFault.OVERLONG
    assert public_uri(start + "é" * 300) == start + "%C3%A9" * 300


# Properties ---------------------------------------------------------------------------------------

values = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.binary(), st.lists(st.text()), st.builds(object),
    st.text(st.characters(codec=None)),
)  # fmt: skip
hosts = st.one_of(
    st.sampled_from(["example.com", "a.example.org", "пример.рф", "1.1.1.1", "[2606:4700::1]", "wiki", "x.corp"]),
    st.sampled_from(["docs.example.com", "EXAMPLE.org.", "1.2.3", "xn--fiq228c.com", "a\u00adb.de", "％38.8.8.8"]),
    st.ip_addresses(v=4).map(str) | st.ip_addresses(v=6).map(lambda address: f"[{address}]"),
    st.text("aZ0é-_.%ß。１~\u00ad", min_size=1, max_size=20).map("{}.com".format), st.text(max_size=8),
)  # fmt: skip
SECRETS = ["access_token", "X-Amz-Signature", "key", "user[password]"]
names = st.sampled_from(
    ["q", "a", "page", "lang", "n", "sort", "code", "state", "sv", "se", "keys", "tokens", *SECRETS]
)
spelled = names | names.map(str.upper) | names.map(quote) | names.map("?{}".format)
pairs = st.builds("{}{}{}".format, spelled | st.text(max_size=5), st.sampled_from(["=", "", "=1"]), st.text(max_size=3))
queries = st.lists(st.tuples(st.sampled_from("&;"), pairs).map("".join), max_size=3).map("".join)
uris = st.builds(
    "{}{}{}{}?{}{}".format,
    st.sampled_from(["https://", "https:", "http://", "HTTP:\\\\", " http:/", "\thttps:///", "ftp://", ""]),
    st.sampled_from(["", "", "", "", "", "", "", "@", ":@", "u:p@"]),
    hosts,
    st.sampled_from(["", "/", "/a/../b", ":443/", ":0/x", "\\x", "/é", "/a b", "/;jsessionid=1"]),
    queries,
    st.sampled_from(["", "#", "#f", "#token=1"]),
)


@quick
@given(values | uris)
def test_any_value_gets_one_answer(value: object) -> None:
    """There is an answer or a fault, never both, and the answer is bounded and has no fragment."""
    answer = public_uri(value)
    assert (answer is None) is (uri_fault(value) is not None)
    if answer is not None:
        assert type(answer) is str
        assert len(answer) <= 2000
        assert "#" not in answer
        assert re.match(r"https?://[^/@?]", answer)


@quick
@given(uris)
def test_an_answer_is_a_fixed_point(uri: str) -> None:
    """Asked again about its own answer, the policy gives the same."""
    answer = public_uri(uri)
    if answer is not None:
        assert public_uri(answer) == answer


def plain(name: str) -> str:
    return re.sub(r"[-_\[\]]", "", unquote_plus(name).casefold().strip().lstrip("? "))


@quick
@given(uris)
def test_no_credential_name_is_left_in_an_answer(uri: str) -> None:
    """Read back with other tools, no kept query names a secret."""
    query = (public_uri(uri) or "").partition("?")[2]
    kept = {plain(part.split("=")[0]) for part in re.split("[&;]", query) if "=" in part}
    assert kept.isdisjoint(map(plain, SECRETS))
    assert not kept >= {"code", "state"}


# The page -----------------------------------------------------------------------------------------


def test_the_page_explains_every_fault() -> None:
    """Each word that the policy may answer is explained in the documentation, and no other."""
    page = (HERE.parents[1] / "docs" / "uri-policy.md").read_text("utf-8")
    told = set(re.findall(r"^\| `([a-z0-9-]+)` \|", page, re.MULTILINE))
    assert told == {fault.value for fault in UriFault}
