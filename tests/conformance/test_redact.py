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

WORDS = (
    "the a of and to is was for with on it that be are not this have from by at or as an release policy handbook "
    "approvals team owner question answer provider returned results wanted saw because token tokens key keys password "
    "secret secrets session bearer basic digest authorization cookie signature credentials internationalization "
    "Knowledge search acme.search:provider knowledge_provider.errors release-handbook#approvals chunk-17 v1.2.3 "
    "KeyError KnowledgeProviderInvalidError HTTP2ConnectionTimeoutError https://docs.example.org/guide/start "
    "/usr/lib/python3.11/site-packages/foo.py 2026-03-01 3.14159 1.2345678901234567e-05 1,234,567 42 top_k 知识库 Straße "
    "поиск موسيقى q=password tokenizer max_tokens=256 https://medium.com/@author/story npm_config_registry_url"
).split()


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


@pytest.mark.parametrize("place", PLACES)
@settings(max_examples=15, deadline=None, database=None)
@given(canary=canaries())
def test_a_planted_key_never_survives(place: str, canary: str) -> None:
    """Where a key stands or how it looks is enough: the value need not be known."""
    assert canary not in redact(place.replace("{{", "{").replace("}}", "}").replace("{}", canary))


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


@pytest.mark.parametrize(
    "name",
    "x-amz-signature x-amz-credential x-amz-security-token awsaccesskeyid x-goog-signature x-goog-credential "
    "googleaccessid key-pair-id ossaccesskeyid x-oss-signature q-signature x-obs-security-token hdnts __token__ verify "
    "sig accesstoken refreshtoken idtoken authtoken oauthtoken bearertoken sessiontoken magictoken sastoken "
    "privatetoken token clientsecret secret secretkey accesskey apikey xapikey subscriptionkey privatekey key password "
    "passwd pwd pass userpassword auth authorization credentials jwt sessionid session sid phpsessid jsessionid "
    "signature sig hmac oauthsignature ticket samlresponse otp code".split(),
)
def test_every_secret_name_of_the_uri_policy_is_one_in_a_query(name: str) -> None:
    """Rule 6 of the URI policy, also in capitals, percent-encoded, in brackets and after a semicolon."""
    encoded = "".join(f"%{ord(character):02x}" for character in name)
    for spelled in (name, name.upper(), name.replace("-", "_"), encoded, f"{name}[]", f"+{name}"):
        for separator in "?&;":
            assert "hunter" not in redact(f"https://example.com/{separator}{spelled}=hunter")


@settings(max_examples=300, deadline=None, database=None)
@given(st.lists(st.sampled_from(WORDS), max_size=12), st.sampled_from([" ", ", ", "\n", "; ", " - "]))
def test_ordinary_sentences_survive_unchanged(words: list[str], separator: str) -> None:
    """Words about secrets, ids, module paths, class names, links, dates and numbers are no secrets."""
    sentence = separator.join(words) + "."
    assert redact(sentence) == sentence


@settings(max_examples=200, deadline=None, database=None)
@given(
    secret=st.text(min_size=8, max_size=30).map("7{}x".format),
    before=st.text(max_size=9),
    after=st.text(max_size=9),
)
def test_a_known_secret_is_masked_in_every_spelling(secret: str, before: str, after: str) -> None:
    """As it is, in Base64 wherever it begins, percent-encoded, and escaped as JSON and Python write it."""
    whole = f"{before}{secret}{after}"
    raw = whole.encode()
    for written in (whole, quote(whole, safe=""), quote(whole).lower(), json.dumps(whole), repr(whole), ascii(whole)):
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


@settings(max_examples=300, deadline=None, database=None)
@given(
    st.text(st.characters(), max_size=200)
    | st.lists(st.sampled_from([*PLACES, "=", ":", "'", '"', "\\", "@", "//", "\n", "[", MASK]), max_size=9).map(
        "".join
    )
)
def test_redacting_is_total_and_settles_at_once(text: str) -> None:
    """Any text, lone surrogates included; what was redacted before is not redacted into something else."""
    once = redact(text)
    assert redact(once) == once


@pytest.mark.parametrize(
    "piece",
    ["a", "A1", "//:a", "password", "password=", "?a", "&a=", "-----BEGIN ", "\\", "eyJ.", "token='", "-", "authorization",
     "a:", "@", "secret-", "token=(", "Bearer ", "x\n", "0", "/", "https:", "sk-"],
)  # fmt: skip
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
