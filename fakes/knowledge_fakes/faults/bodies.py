"""Mistakes with what a back end sends that calls itself a success; knows clause 5.10, no way of catching them.

They stand over a provider that asks by HTTP, and are made out of its client's response. Over another one, what the
mistake makes of the response is what its client gets.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from knowledge_fakes.faults._changing import Changed
from knowledge_fakes.faults._misreading import SUCCESS, BadReply, as_a_passage, as_half, as_nothing, has_rows
from knowledge_fakes.faults._over_http import listless_results_of, network_fault, reading, refuse, results_of
from knowledge_provider import RetrievalRequest, errors
from knowledge_provider.answers import read_json


def _reading_successes(sound: Any, read: Callable[[Any, RetrievalRequest], Any]) -> Changed:
    """The provider that reads in another way what calls itself a success."""

    def read_success(response: Any, request: RetrievalRequest) -> Any:
        refuse(response)
        return read(response, request)

    return reading(sound, read_success)


def _lacks_its_list(reply: BadReply) -> bool:
    return reply.status == SUCCESS and isinstance(reply.json, dict) and not has_rows(reply.json)


def _is_no_answer(reply: BadReply) -> bool:
    return reply.status == SUCCESS and bool(reply.body) and not has_rows(reply.json)


def _is_cut_off(reply: BadReply) -> bool:
    return reply.status == SUCCESS and reply.json is None and reply.body[:1] in (b"{", b"[")


def _is_damaged(reply: BadReply) -> bool:
    return reply.status == SUCCESS and has_rows(reply.json) and reply.json != reply.sound


@network_fault(
    "KP-522",
    fragment="an error as JSON with status 200",
    misread=as_nothing(_lacks_its_list),
)
def missing_list_is_empty(sound: Any) -> Any:
    """An answer without its list is read as one with an empty list."""
    return _reading_successes(sound, listless_results_of)


@network_fault(
    "KP-522",
    "KP-525",
    fragment="the words in which the back end said",
    misread=as_a_passage(_is_no_answer),
)
def envelope_is_a_passage(sound: Any) -> Any:
    """An answer of another shape becomes one passage, as it is: an error in JSON, or a page of HTML."""

    def read(response: Any, request: RetrievalRequest) -> Any:
        try:
            return results_of(response, request)
        except errors.KnowledgeFailedError:
            if not response.content:
                raise
            return [{"id": "answer", "content": response.text}]

    return _reading_successes(sound, read)


@network_fault(
    "KP-522",
    fragment="an empty body",
    misread=as_nothing(lambda reply: reply.status == SUCCESS and not reply.body),
)
def no_body_is_empty(sound: Any) -> Any:
    """An answer without a body is taken for one without results."""

    def read(response: Any, request: RetrievalRequest) -> Any:
        return results_of(response, request) if response.content else []

    return _reading_successes(sound, read)


@network_fault("KP-522", fragment="the first half of an answer", misread=as_half(_is_cut_off))
def half_an_answer_is_one(sound: Any) -> Any:
    """JSON that is cut off is mended: what can be read of it is the answer."""

    def read(response: Any, request: RetrievalRequest) -> Any:
        try:
            return results_of(response, request)
        except errors.KnowledgeInvalidResponseError:
            rows = _whole_rows(response.text)
            if not rows:
                raise
            return rows[: request.top_k]

    return _reading_successes(sound, read)


def _whole_rows(text: str) -> list[Any]:
    rows: list[Any] = []
    at, decoder = text.find("[") + 1, json.JSONDecoder()
    with suppress(ValueError):
        while at:
            row, at = decoder.raw_decode(text, at)
            rows.append(row)
            at += len(text[at:]) - len(text[at:].lstrip(", "))
    return [row for row in rows if isinstance(row, dict) and row.get("id")]


def _listed(response: Any) -> Any:
    """An answer that has a list of results, whatever they are."""
    found = read_json(response.content)
    if not isinstance(found, dict) or not isinstance(found.get("results"), list):
        raise errors.KnowledgeInvalidResponseError("wanted a list of results")
    return found


@network_fault("KP-523", fragment="null for each text")
def rows_as_they_come(sound: Any) -> Any:
    """The service's records are handed on as they are, whatever has become of them."""
    return _reading_successes(sound, lambda response, _request: _listed(response))


@network_fault("KP-523", fragment="as if nothing was found", misread=as_nothing(_is_damaged))
def unusable_rows_are_none(sound: Any) -> Any:
    """Records that cannot be used are left out, and when that is all of them, nothing was found."""

    def read(response: Any, request: RetrievalRequest) -> Any:
        _listed(response)
        with suppress(errors.KnowledgeInvalidResponseError):
            return results_of(response, request)
        return []

    return _reading_successes(sound, read)
