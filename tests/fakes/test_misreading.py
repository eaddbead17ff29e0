"""What a bad reply is misread as: an answer of the same shape, whatever that is."""

import json
from typing import Any

import pytest

from knowledge_fakes.faults._misreading import BadReply, as_a_passage, as_half, as_nothing, has_rows

ROWS = [
    {"id": "1", "content": [{"type": "text", "text": "Two owners approve."}]},
    {"id": "2", "content": [{"type": "text", "text": "One does not."}]},
]
SHAPES: list[Any] = [ROWS, {"data": ROWS, "has_more": False}, {"hits": {"total": 2, "hits": ROWS}}]


def refused(sound: Any, body: bytes = b"invalid key") -> BadReply:
    return BadReply(status=401, body=body, sound=sound)


def always(_reply: BadReply) -> bool:
    return True


def test_nothing_is_an_answer_without_results() -> None:
    """Of the outermost list of objects; what stands beside it is left."""
    read = [as_nothing(always)(refused(shape)) for shape in SHAPES]
    assert read == [[], {"data": [], "has_more": False}, {"hits": {"total": 2, "hits": []}}]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_passage_is_one_result_with_the_words_of_the_reply(shape: Any) -> None:
    """In the place of its longest text."""
    read = json.dumps(as_a_passage(always)(refused(shape)))
    assert "invalid key" in read
    assert "Two owners" not in read
    assert '"1"' in read
    assert '"2"' not in read


@pytest.mark.parametrize("shape", SHAPES)
def test_half_an_answer_has_the_first_results(shape: Any) -> None:
    """And the second half is lost."""
    read = json.dumps(as_half(always)(refused(shape)))
    assert "Two owners" in read
    assert "One does not" not in read


@pytest.mark.parametrize("misread", [as_nothing, as_a_passage, as_half])
def test_a_reply_that_is_no_matter_of_the_fault_is_read_as_it_is(misread: Any) -> None:
    """``None`` says so, also where a reply is nothing."""
    assert misread(lambda reply: reply.status == 502)(refused(ROWS)) is None


def test_a_sound_answer_is_not_changed_in_place() -> None:
    """It is what every later reply is made of."""
    before = json.dumps(SHAPES)
    for shape in SHAPES:
        as_a_passage(always)(refused(shape))
        as_nothing(always)(refused(shape))
    assert json.dumps(SHAPES) == before


def test_what_has_rows() -> None:
    """A list of texts is none of results."""
    assert all(map(has_rows, SHAPES))
    assert not any(map(has_rows, [None, "no", {"error": {"code": 500}}, {"tags": ["a"]}, []]))


def test_a_body_may_be_anything() -> None:
    """Bytes that are neither text nor JSON, and JSON that is too deep."""
    assert refused(ROWS, b"\xff\xfe").json is None
    assert refused(ROWS, b"[" * 100_000).json is None
    assert refused(ROWS, b"\xff").text == "\ufffd"
