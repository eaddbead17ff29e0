"""Credentials in links are found wherever an answer has a string, and nowhere else."""

import contextlib
import time
from typing import Any

import pytest

from knowledge_conformance.check import Violation
from knowledge_conformance.checks.links import no_credential_in_a_link
from knowledge_conformance.exchange import Exchange
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest, RetrievalResult, Source

REQUEST = RetrievalRequest(query="release policy")
CONTEXT = RetrievalContext(owner_id="o", session_id="s", turn_id="t", trace_id="x", signal=CancelSignal())
ITEM: dict[str, Any] = {"id": "a", "content": "text"}
BAD = "https://user:INVENTED@files.example.com/a"


def judge(response: object) -> int:
    assert no_credential_in_a_link.judge is not None
    return no_credential_in_a_link.judge(Exchange(REQUEST, CONTEXT, response))


def where(response: object) -> str:
    with pytest.raises(Violation) as caught:
        judge(response)
    assert "INVENTED" not in f"{caught.value}{caught.value.where}"
    return str(caught.value.where).partition(" of ")[0]


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"id": BAD}, "['id']"),
        ({"link": BAD}, "['link']"),
        ({"href": BAD}, "['href']"),
        ({"raw": {"deep": [("x", BAD)]}}, "['raw']['deep'][0][1]"),
        ({"metadata": {"links": [BAD]}}, "['metadata']['links'][0]"),
        ({"metadata": {BAD: 1}}, "['metadata']['key']"),
        ({"metadata": {"content": BAD}}, "['metadata']['content']"),
        ({"metadata": {"note": f"See ({BAD}), please."}}, "['metadata']['note']"),
        ({"source": {"locator": BAD}}, "['source']['locator']"),
        ({"source": Source(title=BAD)}, "['source']['title']"),
        ({"downloadUrl": "/a?token=INVENTED"}, "['downloadUrl']"),
        ({"content": [BAD]}, "['content'][0]"),
    ],
)
def test_every_string_of_a_result_is_looked_at(fields: dict[str, Any], place: str) -> None:
    """Keys, lists, models and unknown fields, in a bare list and in a mapping."""
    assert where([ITEM, {**ITEM, **fields}]) == f"answer[1]{place}"
    assert where({"results": [{**ITEM, **fields}]}) == f"answer['results'][0]{place}"


def test_what_stands_beside_the_results_is_looked_at() -> None:
    """Reports on back ends and other fields of the answer, also such as are called content."""
    assert where({"results": [], "sources": [{"reason": BAD}]}) == "answer['sources'][0]['reason']"
    assert where({"results": [], "content": BAD}) == "answer['content']"
    assert where({"results": [], "other": [{"content": BAD}]}) == "answer['other'][0]['content']"


@pytest.mark.parametrize("name", ["content", "text"])
def test_the_text_of_a_result_is_the_documents_own(name: str) -> None:
    """A manual may show a link with a password in it."""
    assert judge([{"id": "a", name: BAD}]) == 1
    assert judge({"results": ({"id": "a", name: BAD},)}) == 1
    assert judge([RetrievalResult(id="a", content=BAD)]) == 1


@pytest.mark.parametrize(
    "text",
    [
        BAD,
        f"see {BAD}",
        f"<{BAD}>",
        f"[here]({BAD})",
        f'<a href="{BAD}">here</a>',
        f"https://a.example.com/,{BAD}",
        f"https://a.example.com/;{BAD}",
        "jdbc:postgresql://user:INVENTED@db.example.com/a",
        "https:\\\\user:INVENTED@files.example.com",
        "https:user:INVENTED@files.example.com",
        "at //user:INVENTED@files.example.com/a",
        "git+https://INVENTED@git.example.com/a",
        "https://files.example.com/a?x=1&access_token=INVENTED",
        "x" * 100 + "https://files.example.com/a?sig=INVENTED&se=1",
        "https://a.example.com/" + "a" * 3000 + "?sig=INVENTED",
        "word " * 5000 + BAD,
    ],
)
def test_a_link_in_a_text_is_found(text: str) -> None:
    """In prose, in markup, in a list, wrapped, without its slashes or without its scheme, and behind a long text."""
    assert where([{**ITEM, "note": text}]) == "answer[0]['note']"


@pytest.mark.parametrize(
    "text",
    [
        "a:b",
        "doc:handbook:3?key=7",
        "12:30",
        "Question: what is the key? token=none",
        "write to anna@example.com: soon",
        "mailto:anna@example.com?subject=password",
        "C:\\Users\\anna@work\\token=1.txt",
        "C:\\\\Users\\\\anna",
        "\\\\server\\share@old",
        "git@github.com:anna/handbook.git",
        "ssh://git@github.com/anna/handbook.git",
        "https://example.com/reset-password?q=password",
        "https://example.com/a, or anna:secret@example.com",
        "https://wiki.corp/handbook#access_token",
        "urn:isbn:9783161484100",
        "a // b @ c",
        "ratio 3://4",
        "发布审批: https://example.com/审批",
    ],
)
def test_what_is_no_link_with_a_credential_is_left_alone(text: str) -> None:
    """Prose, times, ids, paths, mail addresses and plain links."""
    assert judge([{"id": text, "content": "text", "metadata": {"a": text}, "source": {"locator": text}}]) == 1


@pytest.mark.parametrize("piece", ["a", "a:", "//", "https:", "a//", "://", "x.", ",a://", "a:a:a:", "https://a@"])
def test_a_long_text_takes_linear_time(piece: str) -> None:
    """Four times the text takes not much more than four times as long: a provider cannot hold the kit up."""

    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        began = time.process_time()
        with contextlib.suppress(Violation):
            judge([{**ITEM, "note": text}])
        return time.process_time() - began

    # A quadratic search would take 16 times as long; the least of a few, since a machine may be busy.
    small = min(seconds(20_000) for _ in range(3))
    assert min(seconds(80_000) for _ in range(3)) < 10 * small + 0.05
