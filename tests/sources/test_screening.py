"""What is found to be a raw URL or a credential; words, ids and URIs of a source are left alone."""

import pytest

from knowledge_provider.sources import screening

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize(
    "text",
    [
        "sk-proj-abcdefghij0123456789",
        "see ghp_abcdefghijklmnopqrst01",
        "github_pat_abcdefghijklmnopqrst01",
        "glpat-abcdefghijklmnop01",
        "xoxb-0123456789-ab",
        "AKIAABCDEFGHIJKLMNOP",
        "AIza0123456789012345678901234567890",
        "hf_abcdefghijklmnopqrst01",
        "ya29.abcdefghijklmnopqrst01",
        "sk_live_abcdefghijklmnop01",
        "SG.abcdefghijklmnop.abcdefghijklmnop",
        f"npm_{_LETTERS}0123",
        f"pypi-{_LETTERS * 2}",
        f"dapi{'0a' * 16}",
        "ATATTabcdefghijklmnopqrst=01",
        "lin_api_abcdefghijklmnopqrst01",
        "eyJhbGciOiJ9.eyJzdWIiOiJ9",
        "Bearer abcdefghijkl0",
        "basic abcdefghijkl0",
        "-----BEGIN RSA PRIVATE KEY-----",
        "password = x",
        "api_key: abcdefg1",
        "token: no password: abcdefg1",
        f"sk-{_LETTERS * 2}0",
        "ftp://user:word@host",
    ],
)
def test_a_credential_is_found(text: str) -> None:
    """By the forms that vendors publish, a parameter's name, or user-info; also in other letters of the same look."""
    assert screening.fault(text) == "a credential"
    wide = "".join(chr(ord(each) + 0xFEE0) if "!" <= each <= "~" else each for each in text)
    assert screening.fault(wide) == "a credential"


@pytest.mark.parametrize("text", ["https://example.com", "www.example.com", "//host/share", "\\\\host\\share"])
def test_a_raw_url_is_found(text: str) -> None:
    """What a browser or a downloader would open."""
    assert screening.fault(text) == "a raw URL"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("https%3A%2F%2Fwiki.example.com%2Freleases", "a raw URL"),
        ("wiki:https%253A%252F%252Fwiki.example.com", "a raw URL"),
        ("wiki:page%3Ftoken%3Dk-4711", "a credential"),
        ("https%3A%2F%2Fuser%3Aword%40host", "a credential"),
        ("wiki:50%25-off", None),
        ("wiki:%ff%", None),
    ],
)
def test_what_is_percent_encoded_is_read(text: str, wanted: str | None) -> None:
    """A source that makes its ids of addresses quotes them, and whoever opens them unquotes them."""
    assert screening.fault(text) == wanted


@pytest.mark.parametrize("text", ["", "ap:kb-1", "sk-letters-alone-and-more", "a token", "the keys: of all", "1:2"])
def test_other_text_is_left_alone(text: str) -> None:
    """Words, ids and a provider's own URIs."""
    assert screening.fault(text) is None
