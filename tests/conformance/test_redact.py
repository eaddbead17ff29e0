"""What may be a key never survives, and what people write to each other does."""

import base64
import json
import string
import subprocess
import sys
import time
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_conformance.redact import LOOKED_AT_MAX, MASK, mask_known, redact, spellings

KEY_CHARACTERS = string.ascii_letters + string.digits

# Each may stand beside each in a sentence.
WORDS = (
    *("the", "release", "policy", "of", "this", "team", "is", "not", "allowed", "Knowledge", "internationalization"),
    *("key", "keys", "password", "secret", "secrets", "tokens", "session", "cookie", "signature", "credentials"),
    *("release-handbook#approvals", "chunk-17", "v1.2.3", "top_k", "max_tokens=256", "tokenizer", "q=password"),
    *("acme.search:provider", "knowledge_provider.errors", "npm_config_registry_url", "a risk-management office"),
    *("KeyError", "KnowledgeProviderInvalidError", "HTTP2ConnectionTimeoutError", "knowledge_rate_limited"),
    *("https://docs.example.org/guide/start?page=2#top", "https://medium.com/@author/story", "someone@example.com"),
    *("/usr/lib/python3.11/site-packages/foo.py", "2026-03-01", "2026-03-01T12:30:00Z", "1.2345678901234567e-05"),
    *("1,234,567", "42", "1234567890123456789", "知识库", "Straße", "поиск", "موسيقى", "🙂", '"quoted"', "(aside)"),
)

PROSE = (
    "The token has expired: ask for another.",
    "Basic understanding of tokens is assumed; the bearer of this ticket may pass.",
    "Digest authentication is not supported, use basic authorization.",
    "Wanted at most 5 results; saw 8 for query='release policy', top_k=5.",
    "{'key': 'acme-search-v2', 'label': 'Acme Search', 'protocolVersion': 1, 'capabilities': {'filters': True}}",
    "results 0 and 3 have the same id 'release-handbook#approvals'",
    "ModuleNotFoundError: No module named 'acme.search_v2_client'",
    "tests/conformance/test_redact.py::test_ordinary_sentences_survive[param0] failed at 12:30:05",
    "SecretStr('**********') is how pydantic shows a secret",
    "api_key=None, password=None",
    "HTTPSConnectionPool(host='example.com', port=443): Max retries exceeded with url: /v1/search",
    "<object at 0x7f3a2b4c5d6e>",
)


def canaries() -> st.SearchStrategy[str]:
    """Keys of letters and digits, at least 16 characters, as ``secrets.token_hex`` and vendors make them."""
    return st.text(KEY_CHARACTERS, min_size=14, max_size=60).map("a{}7".format)


# "{}" is where the key stands; none of them is told what the key is.
PLACES = (
    "{}",
    "the key {} was refused",
    "key={}",
    "在文件{}里",
    "https://example.com/search?api_key={}",
    "https://example.com/search?q=1&access%5Ftoken={}#top",
    "https://example.com/?a=1;X-Api-Key={}",
    "https://example.com/#access_token={}&state=1",
    "https://user:{}@example.com/",
    "https://{}@example.com/",
    "https:\\\\:{}@example.com",
    "postgresql://user:pass/{}@db:5432/base",
    "redis://:{}@cache:6379/0",
    "root:{}@tcp(127.0.0.1:3306)/base",
    "host=db password={} dbname=base",
    "Server=db;Pwd={};Database=base",
    "AccountName=x;AccountKey={}==;EndpointSuffix=core.windows.net",
    "Authorization: Bearer {}",
    "authorization: {}",
    "Authorization: Basic {}==",
    "Cookie: a=b; session={}",
    "X-Api-Key: {}\r\nAccept: */*",
    "-H 'X-Api-Key: {}'",
    "{{'Authorization': 'Bearer {}', 'Accept': '*/*'}}",
    "[(b'authorization', b'Bearer {}')]",
    '{{"client_secret": "{}", "n": 1}}',
    '{{"body": "{{\\"client_secret\\": \\"{}\\"}}"}}',
    "Incorrect API key provided: {}. You can find yours in the console.",
    "export OPENAI_API_KEY={}",
    "tool --api-key {} --verbose",
    "auth=('user', '{}'), timeout=3",
    "<password>{}</password>",
    "Client(token={}, base='x')",
    "sk-{}",
    "ghp_{}",
    "glpat-{}",
    "xoxb-{}",
    "AKIA{}",
    "AIza{}",
    "eyJ{}.eyJ{}.{}",
    "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\\n{}",
    "hooks.slack.com/services/T0/B0/{}",
)


# What makes an expression run away: beginnings that nothing follows.
RUNAWAYS = (
    *("a", "A1", "0", "-", "/", "\\", "@", "x\n", "a:", "?a", "&a=", "//:a", "https:", "-----BEGIN ", "eyJ.", "sk-"),
    *("password", "password=", "token='", "token=(", "secret-", "authorization", "Bearer "),
)

# The URI policy, rule 6.
QUERY_NAMES = (
    *("x-amz-signature", "x-amz-credential", "x-amz-security-token", "awsaccesskeyid", "x-goog-signature"),
    *("x-goog-credential", "googleaccessid", "key-pair-id", "ossaccesskeyid", "x-oss-signature", "q-signature"),
    *("x-obs-security-token", "hdnts", "__token__", "verify", "accesstoken", "refreshtoken", "idtoken"),
    *("authtoken", "oauthtoken", "bearertoken", "sessiontoken", "magictoken", "sastoken", "privatetoken", "token"),
    *("clientsecret", "secret", "secretkey", "accesskey", "apikey", "xapikey", "subscriptionkey", "privatekey"),
    *("key", "password", "passwd", "pwd", "pass", "userpassword", "auth", "authorization", "credentials", "jwt"),
    *("sessionid", "session", "sid", "phpsessid", "jsessionid", "signature", "sig", "hmac", "oauthsignature"),
    *("ticket", "samlresponse", "otp", "code"),
)


@pytest.mark.parametrize("place", PLACES)
@settings(max_examples=15, deadline=None, database=None)
@given(canary=canaries())
def test_a_planted_key_never_survives(place: str, canary: str) -> None:
    """Where a key stands or how it looks is enough: the value need not be known."""
    shown = redact(place.replace("{{", "{").replace("}}", "}").replace("{}", canary))
    assert canary not in shown
    assert redact(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://user:hunter2@db.example.com/x", f"https://{MASK}@db.example.com/x"),
        ("host=db password=hunter2 dbname=x", f"host=db password={MASK} dbname=x"),
        ("https://example.com/?key=abc&q=1", f"https://example.com/?key={MASK}&q=1"),
        ("'https://example.com/?token=abc', 'title': 'x'", f"'https://example.com/?token={MASK}', 'title': 'x'"),
        ('{"api_key": "abc", "n": 1}', f'{{"api_key": "{MASK}", "n": 1}}'),
        ("auth=('user', 'hunter2'), timeout=3", f"auth={MASK}, timeout=3"),
        ("-----BEGIN A-----\nx\n-----END A----- rest", f"{MASK} rest"),
        ("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", MASK),
        ("Bearer dXNlcjpwYXNz", f"Bearer {MASK}"),
        ("api_key=None", "api_key=None"),
        ("{'key': 'acme-search-v2', 'label': 'Acme'}", "{'key': 'acme-search-v2', 'label': 'Acme'}"),
        ("http://host:8080/a@b", "http://host:8080/a@b"),
    ],
)
def test_what_stands_around_a_secret_stays(text: str, shown: str) -> None:
    """A reader still sees what kind of text it was."""
    assert redact(text) == shown


@pytest.mark.parametrize("name", QUERY_NAMES)
def test_every_secret_name_of_the_uri_policy_is_one_in_a_query(name: str) -> None:
    """Rule 6 of the URI policy, also in capitals, percent-encoded, in brackets and after a semicolon."""
    encoded = "".join(f"%{ord(character):02x}" for character in name)
    for spelled in (
        name,
        f"{name[0]}\n{name[1:]}",
        name.upper(),
        name.replace("-", "_"),
        encoded,
        f"{name}[]",
        f"+{name}",
    ):
        for separator in "?&;":
            assert "hunter" not in redact(f"https://example.com/{separator}{spelled}=hunter")


@settings(max_examples=300, deadline=None, database=None)
@given(st.lists(st.sampled_from(WORDS), max_size=12), st.sampled_from([" ", ", ", "\n", "; ", " - "]))
def test_ordinary_sentences_survive_unchanged(words: list[str], separator: str) -> None:
    """Words about secrets, ids, module paths, class names, links, dates and numbers are no secrets."""
    sentence = separator.join(words) + "."
    assert redact(sentence) == sentence


@pytest.mark.parametrize("sentence", PROSE)
def test_what_the_kit_and_its_users_write_survives_unchanged(sentence: str) -> None:
    """Messages that speak of tokens and keys, and of what a description calls its key."""
    assert redact(sentence) == sentence


@settings(max_examples=150, deadline=None, database=None)
@given(
    secret=st.text(min_size=8, max_size=30).map("7{}x".format),
    before=st.text(max_size=9),
    after=st.text(max_size=9),
)
def test_a_known_secret_is_masked_in_every_spelling(secret: str, before: str, after: str) -> None:
    """As it is, in Base64 wherever it begins, percent-encoded, and escaped as JSON and Python write it."""
    whole = f"{before}{secret}{after}"
    raw = whole.encode()
    for written in (whole, quote(whole, safe=""), json.dumps(whole), repr(whole), ascii(whole)):
        hidden = mask_known(written, [secret])
        assert MASK in hidden
        assert not any(spelling in hidden for spelling in spellings(secret))
    for encoded in (base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode()):
        assert MASK in mask_known(encoded, [secret])


def test_overlapping_secrets_leave_no_rest() -> None:
    """Masking one secret must not save the end of another."""
    assert redact("<abc123xyz>", ["abc123", "123xyz", "c12"]) == f"<{MASK}>"


def test_a_short_secret_is_masked_too_and_a_blank_one_is_none() -> None:
    """A setting that names an empty variable must not turn every text into masks."""
    assert redact("pin: 12", ["12", "", " \n"]) == f"pin: {MASK}"


def test_a_secret_read_with_its_line_end_is_the_secret() -> None:
    """A key file ends in a newline that no request carries."""
    assert redact("sent hunter-two", ["hunter-two\n"]) == f"sent {MASK}"


@pytest.mark.parametrize("at", range(70, 101))
def test_a_cut_leaves_no_part_of_a_secret(at: int) -> None:
    """A key that the limit runs through is gone whole, known or not."""
    for form in ("{}", "https://user:{}@example.com/", "Bearer {}"):
        text = "x " * 40 + form.format("q7Xw9ZbK2mLp4RtY") + " end" * 20
        assert "q7X" not in redact(text, limit=at)
        assert "q7X" not in redact(text, ["q7Xw9ZbK2mLp4RtY"], limit=at)


def contexts() -> st.SearchStrategy[str]:
    """Any text, lone surrogates included, and what looks like the surroundings of a secret."""
    pieces = st.sampled_from([*PLACES, *RUNAWAYS, *"=:'\"\\@\n[", MASK])
    return st.text(st.characters(), max_size=50) | st.lists(pieces, max_size=6).map("".join)


@settings(max_examples=300, deadline=None, database=None)
@given(before=contexts(), after=contexts())
def test_redacting_is_total_and_no_context_brings_a_known_secret_back(before: str, after: str) -> None:
    """Whatever stands around it, a secret that is known is gone, and no text raises."""
    assert "hunter-2!" not in redact(f"{before}hunter-2!{after}", ["hunter-2!"])


@pytest.mark.parametrize("piece", RUNAWAYS)
def test_ten_megabytes_are_redacted_in_bounded_time(piece: str) -> None:
    """No expression runs away, and what cannot be shown is not looked at."""
    text = piece * (10_000_000 // len(piece))
    started = time.process_time()
    shown = redact(text, ["hunter-two"])
    assert time.process_time() - started < 1.0
    assert len(shown) <= 3 * LOOKED_AT_MAX


def test_a_string_subclass_is_read_as_the_text_it_holds() -> None:
    """An exception's message may be one, and none of its own methods is called."""

    class Lying(str):
        __slots__ = ()

        def __len__(self) -> int:
            return 0

        def __getitem__(self, _: object) -> str:
            return "lie"

    assert redact(Lying("plain")) == "plain"


def test_importing_it_loads_neither_hypothesis_nor_pytest() -> None:
    """The kit's parent process redacts and renders, and must start quickly."""
    program = (
        "import sys, knowledge_conformance.redact, knowledge_conformance.render;"
        "sys.exit(not {'pytest', 'hypothesis'}.isdisjoint(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_what_only_looks_random_may_stay() -> None:
    """It may be an id; what is named so, or has a vendor's prefix, goes all the same."""
    text = "doc-f3A9c0E1d77B44b2x8 password=hunter2 sk-0123456789abcdef"
    assert redact(text, random=False) == f"doc-f3A9c0E1d77B44b2x8 password={MASK} {MASK}"
    assert "f3A9c0E1d77B44b2x8" not in redact(text)
