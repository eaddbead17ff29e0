"""Recordings as values: what a call is known by, and what stays of an answer."""

import json
from typing import Any

import pytest

from knowledge_conformance.network import Call, Reply
from knowledge_conformance.tape import ANSWERS_MAX, Tape, asked, clean_url, credentials_in, stored, with_answer

KEY = "tarnbrook-5f0c2a9d7e"
URL = "https://api.example.com/search"
FORM = {"content-type": "application/x-www-form-urlencoded"}


def call(body: object = None, url: str = URL, **headers: str) -> Call:
    text = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    return Call("POST", url, {name.replace("_", "-"): value for name, value in headers.items()}, text)


def test_another_question_is_another_call() -> None:
    """By method, address, parameters and body."""
    calls = [call({"q": "a"}), call({"q": "b"}), call({"q": "a"}, f"{URL}?page=2"), call({"q": "a", "top": 3}), call()]
    assert len({asked(each, ()) for each in calls}) == len({asked(each, ()).alike for each in calls}) == len(calls)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (call({"a": 1, "b": 2}), call({"b": 2, "a": 1})),
        (call({"q": "a", "api_key": KEY}), call({"q": "a", "api_key": "another"})),
        (call(b"q=a&api_key=x", **FORM), call(b"q=a&api_key=y", **FORM)),
        (call({"q": "a"}, authorization=f"Bearer {KEY}"), call({"q": "a"})),
        (call({"as": KEY}, x_api_key=KEY), call({"as": "other-5f0c2a9d"}, x_api_key="other-5f0c2a9d")),
        (call(url=f"{URL}?q=a&api_key={KEY}"), call(url=f"{URL}?q=a")),
        (call(url="https://me:hunter22@api.example.com/search"), call(url=URL)),
        (call(url=f"{URL}#part"), call(url=URL)),
    ],
)  # fmt: skip
def test_a_credential_or_an_order_makes_no_difference(one: Call, two: Call) -> None:
    """Where a recording is played there is another key, or none."""
    assert asked(one, ()) == asked(two, ())


def test_a_declared_secret_makes_no_difference() -> None:
    """Wherever it stands; each run has its own value of it."""
    one, two = (call({"q": "a", "who": key}, f"https://{key}.example.com/x") for key in (KEY, "other-value-1"))
    assert asked(one, (KEY,)) == asked(two, ("other-value-1",))
    assert KEY not in str(asked(one, (KEY,)))


PASSING: tuple[tuple[Any, Any], ...] = (
    ("7c9e6679-7425-40de-944b-e07fc1f90ae7", "16fd2706-8baf-433b-82eb-8c7fada847da"),
    ("2026-03-01T10:00:00Z", "2027-01-31T23:59:59.123+02:00"),
    (1772359200, 1803859200),
    (1772359200123, 1803859200456),
    (9.98731, 9.97124),
    ("a81f3c0e9d7744b2", "0c5de1f7a2b94c33"),
)


@pytest.mark.parametrize(("one", "two"), PASSING)
def test_what_is_another_each_time_is_alike_and_not_the_same(one: Any, two: Any) -> None:
    """An id of the call, or its time: the same answer does for both, where none is exactly the call's."""
    first, second = (asked(call({"q": "a", "x": each}), ()) for each in (one, two))
    assert first != second
    assert first.alike == second.alike
    assert asked(call({"q": "b", "x": one}), ()).alike != first.alike


def test_the_time_left_is_told_by_its_name() -> None:
    """Whole milliseconds are no other number than any."""
    left, size = ([asked(call({name: each}), ()).alike for each in (9987, 9986)] for name in ("timeout_ms", "size"))
    assert left[0] == left[1]
    assert size[0] != size[1]


def test_a_body_that_is_not_known_is_none() -> None:
    """What is streamed is not read."""
    assert asked(call(), ()) == asked(call(b""), ())


@pytest.mark.parametrize("body", [b"\xff\xfe", b"[" * 100_000, b"NaN", b"{"])
def test_any_body_has_a_digest(body: bytes) -> None:
    """Also what is no text, or no JSON."""
    assert len(asked(call(body), ()).body) == 24


def test_credentials_are_found_where_they_are_named() -> None:
    """In headers, in the query, and in the body."""
    sent = call({"login": {"password": "hunter2-9f3b7c"}, "q": "x"}, f"{URL}?api_key=query-5f0c2a9d", x_api_key=KEY)
    assert set(credentials_in(sent)) == {KEY, "query-5f0c2a9d", "hunter2-9f3b7c"}
    assert credentials_in(call(b"password=hunter2-9f3b7c", **FORM)) == ("hunter2-9f3b7c",)


def kept(value: object, *known: str, **headers: str) -> Reply:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return stored(Reply(200, {name.replace("_", "-"): each for name, each in headers.items()}, body), URL, known)


def test_an_answer_without_a_key_stays_as_it_came() -> None:
    """To the byte: a number may have more digits than are read."""
    body = b'{ "results": [{"id": "a8f3c0e9d7744b2", "score": 1.00000000000000000001}] }'
    assert kept(body, KEY).body == body


@pytest.mark.parametrize(
    "value",
    [
        {"access_token": "short"},
        {"results": [{"content": f"the key is {KEY}"}]},
        {KEY: 1},
        {"password": {"value": "hunter2"}} | {"x": KEY},
        {"content": "sk-live-0123456789abcdef"},
        {"uri": f"https://files.example.com/a?sig={KEY}x"},
    ],
)
def test_keys_in_an_answer_are_masked_and_it_stays_json(value: dict[str, Any]) -> None:
    """By their name, by their value wherever it stands, and by what they look like."""
    reply = kept(value, KEY)
    assert b"[redacted]" in reply.body
    assert KEY.encode() not in reply.body
    assert b"0123456789abcdef" not in reply.body
    assert len(json.loads(reply.body)) == len(value)


def test_a_key_of_digits_is_masked_as_a_text() -> None:
    """So that it is still JSON."""
    assert json.loads(kept({"n": 123456789012345}, "123456789012345").body) == {"n": "[redacted]"}


def test_where_nothing_is_named_so_nothing_is_masked() -> None:
    """An empty token says that there is no further page, and an id may look like a key."""
    value = {"next_page_token": "", "id": "f3A9c0E1d77B44b2x8", "total_tokens": 7}
    assert json.loads(kept(value).body) == value


@pytest.mark.parametrize("body", [b"<id>tarnbrook-5f0c2a9d7e</id>", b"\xff tarnbrook-5f0c2a9d7e"])
def test_other_bodies_are_masked_as_well(body: bytes) -> None:
    """Text, and bytes that are none."""
    assert kept(body, KEY).body == body.replace(KEY.encode(), b"[redacted]")


def test_few_headers_are_kept() -> None:
    """No cookie, and no address with a key."""
    reply = kept(
        {}, KEY, content_type="application/json", set_cookie="a=b", location=f"/next?p=2&token={KEY}", date="x"
    )
    assert reply.headers == {"content-type": "application/json", "location": "https://api.example.com/next?p=2"}


def test_an_address_that_is_none_is_masked() -> None:
    """Nobody can say what its parts are."""
    assert KEY not in clean_url(f"http://[{KEY}", (KEY,))


def test_answers_are_kept_in_order_and_not_twice() -> None:
    """Another time or id in an answer makes it no other answer; and there are so many at most."""
    tape: Tape = {}
    question = asked(call(), ())
    for reply in (
        Reply(503),
        Reply(503),
        kept({"at": 1772359200, "n": 1}),
        kept({"at": 1772359999, "n": 1}),
        Reply(503),
    ):
        with_answer(tape, question, reply)
    assert [reply.status for reply in tape[question]] == [503, 200, 503]
    for status in range(200, 220):
        with_answer(tape, question, Reply(status))
    assert len(tape[question]) == ANSWERS_MAX
