"""Outages as values: what is injected."""

import json

from recorded_calls import ROWS, call, recording

from knowledge_conformance import outages
from knowledge_conformance.network import Break, Reply
from knowledge_conformance.outages import Damage, Outage
from knowledge_conformance.recording import Recording


def replies(those: list[Outage]) -> list[Reply]:
    return [each.fate for each in those if isinstance(each.fate, Reply)]


def test_what_comes_of_a_later_page_s_outage_is_half_an_answer() -> None:
    """And its sentence says where it began."""
    refused = outages.connection()[0]
    later = outages.of_later_pages(refused)
    assert (later.fate, later.code, later.partial) == (refused.fate, refused.code, True)
    assert later.said == "connections refused, from the second page on"


def test_the_issue_s_outages_are_all_there() -> None:
    """Connection, silence, statuses and bodies."""
    fates = [each.fate for each in [*outages.connection(), *outages.silence(recording())]]
    assert {fate for fate in fates if isinstance(fate, Break)} == set(Break) - {Break.UNRECORDED}
    statuses = replies(outages.statuses("words"))
    assert [reply.status for reply in statuses] == [401, 403, 404, 408, 429, 500, 502, 503, 429]
    assert [("retry-after" in reply.headers) for reply in statuses if reply.status == 429] == [False, True]
    assert len(outages.bodies(recording(), "words")) == 5


def test_every_outage_has_a_sentence_of_its_own() -> None:
    """A report tells them apart by it."""
    found = recording()
    every = [
        *outages.connection(),
        outages.broken_off(found),
        *outages.silence(found),
        *outages.statuses("words"),
        *outages.bodies(found, "words"),
        *(copy.outage for copy in outages.damaged(found, seed=0, single=0)),
    ]
    assert len({each.said for each in every}) == len(every)


def test_the_words_stand_where_a_service_has_words() -> None:
    """In bodies and headers of statuses, and in a text where a list should be."""
    assert all(
        b"words" in reply.body and "words" in reply.headers.values() for reply in replies(outages.statuses("words"))
    )
    assert b"words" in replies(outages.bodies(recording(), "words"))[-1].body


def test_bodies_are_made_of_the_recording() -> None:
    """Half of it, and the same without its lists."""
    empty, page, half, _, no_list = replies(outages.bodies(recording(), "words"))
    assert empty.body == b""
    assert page.headers["content-type"].startswith("text/html")
    assert json.dumps(ROWS).encode().startswith(half.body)
    assert half.body
    assert json.loads(no_list.body) == {"results": "words", "total": 1}


def test_without_a_recorded_answer_there_are_outages_all_the_same() -> None:
    """Of JSON that the kit made up."""
    nothing = recording(call(body=None))
    assert replies(outages.bodies(nothing, "words"))[-1].body == b'{"results": "words"}'
    assert outages.broken_off(nothing).partial
    assert outages.damaged(nothing, seed=0, single=3) == []


def test_a_copy_is_damaged_everywhere_or_in_one_place() -> None:
    """And the recording stays as it is."""
    copies = outages.damaged(recording(), seed=0, single=4)
    bodies = [json.loads(reply.body) for reply in replies([copy.outage for copy in copies])]
    assert bodies[0] == {"results": [{"id": None, "content": None, "score": 0.5, "ok": True}], "total": 1}
    assert [copy.whole for copy in copies] == [True] * (len(copies) - 4) + [False] * 4
    assert all(body != ROWS for body in bodies)
    assert recording().json == ROWS


def test_of_an_answer_without_results_no_copy_has_to_have_any() -> None:
    """An empty list with something wrong beside it is an empty list."""
    nothing = Recording(recording().calls, results=0)
    assert not any(copy.whole for copy in outages.damaged(nothing, seed=0, single=0))


def test_a_seed_makes_the_same_copies() -> None:
    """In each run, and others for another seed."""
    said = {seed: [copy.outage.said for copy in outages.damaged(recording(), seed=seed, single=6)] for seed in (0, 1)}
    again = [copy.outage.said for copy in outages.damaged(recording(), seed=0, single=6)]
    assert said[0] == again != said[1]


def test_a_boolean_is_no_number() -> None:
    """What a damage changes is what it names."""
    changed = outages._changed(ROWS, Damage("a text for each number", outages._is_number, str))
    assert changed == {"results": [{"id": "a", "content": "text", "score": "0.5", "ok": True}], "total": "1"}


def test_what_a_service_repeats_is_in_every_planted_failure() -> None:
    """In the body, as services do that refuse a key."""
    planted = outages.planted(recording(), {"x-api-key": "sk-hunter2"}, every=True)
    repeated = [reply.status for reply in replies(planted) if b"invalid x-api-key: sk-hunter2" in reply.body]
    assert sorted(repeated) == [200, 200, 200, 401, 403, 404, 408, 429, 429, 500, 502, 503]


def test_each_kind_of_failure_is_planted() -> None:
    """Also those without a text: an error may tell what was sent."""
    found = recording()
    said = {each.said for each in outages.planted(found, {"x-api-key": "sk-hunter2"}, every=True)}
    every = [
        *outages.connection(),
        outages.broken_off(found),
        *outages.silence(found),
        *outages.statuses("words"),
        *outages.bodies(found, "words"),
    ]
    assert {each.said for each in every} < said
    assert len(said) == len(every) + 1
