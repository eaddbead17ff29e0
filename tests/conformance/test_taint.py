"""Secrets and canaries in texts: every spelling is found, and what was never put there is not."""

import json
import re
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_conformance.redact import MASK, mask_known
from knowledge_conformance.taint import Found, canary, found_in, spelled, unsearchable

SECRET = 'tb-live/9vX+Qe7"Zk4m=2Lw\\ü'
RAW = SECRET.encode()
WRITTEN = [
    ("as it is", SECRET),
    ("percent-encoded", quote(SECRET)),
    ("percent-encoded", quote(SECRET, safe="")),
    ("percent-encoded", quote_plus(SECRET)),
    ("percent-encoded", "".join(f"%{byte:02x}" for byte in RAW)),
    ("escaped as in JSON", json.dumps(SECRET)),
    ("escaped as in JSON", json.dumps({"a": SECRET}, ensure_ascii=False)),
    ("escaped as in JSON", repr(SECRET)),
    ("in Base64", b64encode(RAW).decode()),
    ("in Base64", urlsafe_b64encode(RAW).decode()),
    *(("in Base64", b64encode(f"{'user:'[:length]}{SECRET}!".encode()).decode()) for length in (1, 2, 3, 4)),
    ("in hexadecimal", RAW.hex()),
    ("in hexadecimal", RAW.hex().upper()),
]


@pytest.mark.parametrize(("written", "text"), WRITTEN)
def test_each_way_of_writing_it_is_found_and_named(written: str, text: str) -> None:
    """Clause 6.4 names them; hexadecimal is beside them."""
    found = found_in(f"before {text} after", {"OTHER": "another-value-9", "ACME_KEY": SECRET})
    assert found == Found("ACME_KEY", written)


def test_what_a_spelling_does_not_change_is_said_as_it_is() -> None:
    """A key of letters and digits reads the same percent-encoded."""
    assert spelled("abc123def456")["abc123def456"] == "as it is"


def test_nothing_is_found_where_nothing_is() -> None:
    """A part of a secret is none, and so is another one."""
    assert found_in(f"{SECRET[:-1]} {SECRET[1:]}", {"ACME_KEY": SECRET}) is None
    assert found_in(SECRET, {}) is None
    assert found_in("anything", {"BLANK": "  "}) is None


def test_a_finding_says_the_name_and_never_the_value() -> None:
    """It goes into reports."""
    assert str(Found("ACME_KEY", "in Base64")) == "the value of ACME_KEY, in Base64"


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=8).filter(lambda text: len(text.strip()) >= 8))
def test_what_is_found_is_masked(secret: str) -> None:
    """The search and the mask know the same spellings, so no finding can quote what it found."""
    for spelling in spelled(secret):
        shown = mask_known(f"before {spelling} after", [secret])
        assert MASK in shown
        assert spelling not in shown or spelling in f"before {MASK} after"


def test_a_canary_is_the_same_each_time_and_another_for_each_use() -> None:
    """The same provider gives the same report, and a place can be told by what came out."""
    assert canary("session", 1) == canary("session", 1)
    assert len({canary("session"), canary("turn"), canary("session", 1), canary("turn", 1)}) == 4


def test_a_canary_can_stand_anywhere() -> None:
    """In an id, a header and a URL, where it reads the same."""
    assert re.fullmatch(r"[a-z0-9-]{16,64}", canary("session"))
    assert unsearchable(canary("session")) is None


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("", "is not set"),
        ("  \n", "is not set"),
        ("s3cr3t", "is too short"),
        ("xxxxxxxxxxxx", "too uniform"),
        ("password", "ordinary word"),
        ("Development", "ordinary word"),
        ("12345678", "ordinary word or number"),
    ],
)
def test_what_would_be_found_by_chance_is_not_searched_for(value: str, reason: str) -> None:
    """A finding has to mean something."""
    assert reason in str(unsearchable(value))


@pytest.mark.parametrize(
    "value", [SECRET, "correct horse battery", "sk-hunter2-9f3b7c", "910827364550", " tb-4711-x\n"]
)
def test_a_key_is_searched_for(value: str) -> None:
    """Also a passphrase of several words, and a long number."""
    assert unsearchable(value) is None
