"""What one answer took, read out of its calls."""

import base64

import pytest
from recorded_calls import JSON, call, recording

from knowledge_conformance.network import Call, Reply
from knowledge_conformance.recording import Where


def test_the_last_reply_with_a_body_is_the_answer() -> None:
    """What comes before it are steps on the way; a notification has no body."""
    found = recording(call(body=b'"token"'), call(body=b"[1]"), call(body=b""), call(body=None))
    assert found.answer is not None
    assert found.answer.body == b"[1]"
    assert found.json == [1]


def test_without_a_reply_there_is_no_answer() -> None:
    """A stream that is never read to its end has none."""
    assert recording(call(body=None)).answer is None
    assert recording(call(body=None)).json is None
    assert recording(call(body=b"<xml/>")).json is None


def test_the_last_step_is_told_from_those_before() -> None:
    """By its address, whatever the query."""
    assert recording(call("https://a/embed"), call("https://a/search?q=1")).last_step == ("POST", "https://a/search")
    assert recording(call("https://a/search?q=1"), call("https://a/search?q=2")).last_step is None


def page(body: bytes, url: str = "https://a/search", *, heard: bool = True) -> Call:
    reply = Reply(200, JSON, b"{}") if heard else None
    return Call("POST", url, {}, body, heard=lambda: reply)


def test_a_second_page_is_told_from_another_try() -> None:
    """It asks something else where there was an answer; in the body or in the query."""
    assert recording(page(b"1"), page(b"2")).pages
    assert recording(page(b"", "https://a/search?page=1"), page(b"", "https://a/search?page=2")).pages
    assert not recording(page(b"1"), page(b"1")).pages
    assert not recording(page(b"1", heard=False), page(b"2")).pages
    assert not recording(page(b"1"), page(b"2", "https://a/embed")).pages


def test_outages_begin_at_different_calls_in_turn() -> None:
    """All of them, the second page, and the last step."""
    everywhere, later = Where(), Where(later=True)
    last = Where(("POST", "https://a/search"))
    assert recording(page(b"1")).places == (everywhere,)
    assert recording(page(b"1"), page(b"2")).places == (everywhere, later)
    assert recording(page(b"0", "https://a/embed"), page(b"1")).places == (everywhere, last)
    assert recording(page(b"0", "https://a/embed"), page(b"1"), page(b"2")).places == (everywhere, later, last)


@pytest.mark.parametrize(
    ("url", "headers", "secret"),
    [
        ("https://a/", {"authorization": "Bearer sk-hunter2-9f3b"}, "sk-hunter2-9f3b"),
        ("https://a/", {"authorization": "sk-hunter2-9f3b"}, "sk-hunter2-9f3b"),
        ("https://a/", {"authorization": f"Basic {base64.b64encode(b'me:hunter2-9f3b').decode()}"}, "hunter2-9f3b"),
        ("https://a/", {"x-api-key": "sk-hunter2-9f3b"}, "sk-hunter2-9f3b"),
        ("https://a/?q=x&api_key=sk-hunter2-9f3b", {}, "sk-hunter2-9f3b"),
    ],
)
def test_a_credential_is_found_where_it_is_named(url: str, headers: dict[str, str], secret: str) -> None:
    """In a header or in the query; a scheme and a user name are none."""
    assert list(recording(call(url, headers=headers)).credentials.values()) == [secret]


@pytest.mark.parametrize(
    "headers", [{"accept": "application/json"}, {"x-api-key": "short"}, {"authorization": "Basic %"}]
)
def test_what_is_no_credential_is_left_out(headers: dict[str, str]) -> None:
    """So is one that would be found by chance."""
    assert recording(call(headers=headers)).credentials == {}
