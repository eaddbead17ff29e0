"""What shows each failure in a plain test: a few lines of Python by check, as data. Knows rules, runs nothing.

A body is a ``string.Template``. It speaks of one call, which a function of its own makes, and asserts on what came:
``$answer``, ``$results`` (as dictionaries), ``$whole`` (with all in it that can be looked into), ``$described`` or
``$health``. Or it speaks of ``$opened``, a provider that it calls several times: ``$asked``, ``$close`` and ``$call``,
which is not awaited; ``$picked`` are the results of an ``answer``, and ``$fields`` the description as a dictionary that
can be changed. ``$id`` and ``$content`` are the names that the results have for these, ``$field`` is what is wrong, and
``$place`` where a ``result`` has it; ``$most`` is the limit that was passed, ``$seconds`` the deadline, ``$names`` were
used instead of the contract's, and ``$another`` is the id of what is the owner's ``$holder``, and not the ``$asker``'s:
they ask as ``$crossing`` says, each by ``$asked_as``.

What an assertion shows and may be a text is shown as Python writes it: a line end at its end would not be seen.
"""

from typing import Final

_OPTIONAL: Final = """
method = getattr($opened, $field, None)
assert method is None or callable(method), repr(method)
"""
_LINKS_IN_A_TEXT: Final = r"""for link in re.findall(r"(?:[\w+.-]+:)?[/\\]{2}[^\s<>,;'\"]*", text):
    assert not (uri_fault(link) and uri_fault(link).is_credential), repr(link)
"""
_CROSSED: Final = """
another = $another
holder = $holder
asker = $asker
for owner, request in $crossing:
    answer = $asked_as
ids = [" ".join(dict(result)[$id].split())[:160] for result in $picked]
assert another not in ids, ids
"""
# A refusal reaches nothing: whoever mends the provider may choose one.
_CROSSED_WHERE_ANSWERED: Final = """
another = $another
holder = $holder
asker = $asker
for owner, request in $crossing:
    results = []
    with contextlib.suppress(Exception):
        answer = $asked_as
        results = $picked
ids = [" ".join(dict(result)[$id].split())[:160] for result in results]
assert another not in ids, ids
"""

BODIES: Final[dict[str, str]] = {
    "KP-101: a callable health": _OPTIONAL,
    "KP-101: a callable close": _OPTIONAL,
    "KP-101: a callable": """
assert callable(getattr($opened, $field, None))
""",
    "KP-101: retrieve": """
assert inspect.signature($opened.retrieve).bind(None, None)
""",
    "KP-101: describe": """
assert inspect.signature($opened.describe).bind() is not None
""",
    "KP-102": """
said = $opened.describe()
assert isinstance(said, (Mapping, ProviderDescription)), repr(said)
""",
    "KP-103": """
said = $described
version = said.get("protocolVersion", said.get("protocol_version"))
assert type(version) in (int, float) and version == 1, repr(version)
""",
    "KP-104": """
key = $described.get("key")
assert isinstance(key, str) and re.fullmatch("[a-z0-9-]+", key), repr(key)
""",
    "KP-105": """
assert not $described["key"].startswith("-")
""",
    "KP-106": """
assert len($described["key"]) <= 64
""",
    "KP-107": """
assert not is_blank($described.get("label"))
""",
    "KP-108": """
assert len($described["label"]) <= 120
""",
    "KP-109": """
capabilities = $described.get("capabilities") or {}
assert isinstance(capabilities, dict), repr(capabilities)
assert all(type(value) is bool for value in capabilities.values()), capabilities
""",
    "KP-110": """
assert len($described["capabilities"]) <= 16
""",
    "KP-111": """
first = $fields
before = repr(first)
first["label"] = (first.get("capabilities") or {})["changed"] = "by the caller"
assert repr($fields) == before
""",
    "KP-112": """
seconds = timeit.repeat($opened.describe, number=1, repeat=4)
assert min(seconds[1:]) < 0.05, seconds
""",
    "KP-201": """
said = $health
assert isinstance(said, (dict, Health)), repr(said)
statuses = "ready", "unconfigured", "degraded", "unavailable"
assert dict(said).get("status") in statuses, repr(said)
""",
    "KP-202": """
assert $health
""",
    "KP-203": """
message = dict($health).get("message") or ""
assert isinstance(message, str) and len(message) <= 500, repr(message)
""",
    "KP-204": """
closed = [$close for _ in range(2)]
assert len(closed) == 2
""",
    "KP-205": """
$close
results = ["none, since it refuses"]
with contextlib.suppress(Exception):
    answer = $asked
    results = $picked
assert results
""",
    "KP-304": """
assert len($results) <= REQUEST.top_k
""",
    "KP-305": """
assert not $results
""",
    "KP-306": """
assert not $results
""",
    "KP-308": """
before = repr((REQUEST, CONTEXT))
with contextlib.suppress(Exception):
    $answer
assert repr((REQUEST, CONTEXT)) == before
""",
    "KP-401": _CROSSED,
    "KP-402": _CROSSED_WHERE_ANSWERED,
    "KP-403": _CROSSED_WHERE_ANSWERED,
    "KP-404": _CROSSED,
    "KP-501": """
answer = $answer
results = answer.get("results") if isinstance(answer, dict) else answer
assert isinstance(results, (list, tuple)), repr(answer)
""",
    "KP-502": """
for result in $results:
    assert isinstance(result, (dict, RetrievalResult)), repr(result)
""",
    "KP-503": """
for result in $results:
    assert not is_blank(result.get($field)), result
""",
    "KP-504": """
for result in $results:
    assert len(result[$field]) <= $most, repr(result[$field])
""",
    "KP-505": """
for result in $results:
    fields = {*result, *(f"source.{name}" for name in result.get("source") or {})}
    assert not fields & {$names}, fields
""",
    "KP-506": """
results = $results
ids = [" ".join(result[$id].split())[:160] for result in results]
assert len(set(ids)) == len(ids), ids
""",
    "KP-507": """
for result in $results:
    score = result.get("score")
    assert score is None or finite_number(score) is not None, repr(score)
""",
    "KP-508": """
claimed = ($fields.get("capabilities") or {}).get("scores")
answer = $asked
scores = [dict(result).get("score") for result in $picked]
assert not claimed or None not in scores, scores
""",
    "KP-509": """
scores = [result.get("score") for result in $results]
scores = [score for score in scores if score is not None]
assert scores == sorted(scores, reverse=True), scores
""",
    "KP-510: a mapping": """
for result in $results:
    assert isinstance(result.get("source") or {}, (dict, Source)), result
""",
    "KP-510: a string": """
for result in $results:
    value = dict(result.get("source") or {}).get($field)
    assert value is None or isinstance(value, str), repr(value)
""",
    "KP-511": """
for result in $results:
    value = dict(result.get("source") or {}).get($field) or ""
    assert len(value) <= $most, repr(value)
""",
    "KP-512: a mapping": """
for result in $results:
    assert isinstance(result.get("metadata") or {}, dict), result
""",
    "KP-512: at most": """
for result in $results:
    assert len(result.get("metadata") or {}) <= $most, result
""",
    "KP-512: short": """
for result in $results:
    for key, value in (result.get("metadata") or {}).items():
        assert isinstance(key, str) and 0 < len(key) <= 80, repr(key)
        assert isinstance(value, (bool, int, float, str)), (key, value)
        assert len(str(value)) <= 500, (key, value)
""",
    "KP-513: plain": """
plain = str, int, float, bool, type(None), list, tuple, dict, Source
for part in parts($whole):
    assert type(part) in plain, repr(part)
""",
    "KP-513: no embedding": """
for part in parts($whole):
    is_long = isinstance(part, (list, tuple)) and len(part) >= 64
    assert not (is_long and type(part[0]) in (int, float)), repr(part)
""",
    "KP-514": """
answer = $whole
assert json.dumps(answer, default=dict, ensure_ascii=False).encode()
""",
    "KP-515": r"""
for part in parts($whole):
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", str(part)), repr(part)
""",
    "KP-516: content": """
results = $results
kept = normalize_response(results, query=REQUEST.query, limit=REQUEST.top_k).results
for before, after in zip(results, kept):
    assert after.content.split() == before[$content].split()
""",
    "KP-516: source": """
results = $results
kept = normalize_response(results, query=REQUEST.query, limit=REQUEST.top_k).results
for before, after in zip(results, kept):
    value = dict(before.get("source") or {}).get($field) or ""
    whole = [text.split() for text in dict(after.source or {}).values() if text]
    assert not value or value.split() in whole, repr(value)
""",
    "KP-516: metadata": """
results = $results
kept = normalize_response(results, query=REQUEST.query, limit=REQUEST.top_k).results
for before, after in zip(results, kept):
    assert len(after.metadata) == len(before.get("metadata") or {}), before
""",
    "KP-517": """
answer = $answer
assert normalize_response(answer, query=REQUEST.query, limit=REQUEST.top_k).results
""",
    "KP-601 named": """
for result in $results:
    fault = uri_fault($place or "")
    assert fault is None or not fault.is_credential, result
""",
    "KP-601 in a report": f"""
text = str($answer.get("sources"))
{_LINKS_IN_A_TEXT}""",
    "KP-601": f"""
results = $results
text = str([result.get($field) for result in results])
{_LINKS_IN_A_TEXT}""",
    "KP-602": """
for result in $results:
    uri = dict(result.get("source") or {}).get("uri")
    assert uri is None or public_uri(uri), repr(uri)
""",
    "KP-701": """
for moment in (0, 0.01, 0.05):
    call = asyncio.ensure_future($call)
    await asyncio.sleep(moment)
    stopped = call.cancel()
    await asyncio.wait({call}, timeout=1)
    assert call.cancelled() or not stopped, call
""",
    "KP-703": """
CONTEXT.signal.cancel("before the call")
with pytest.raises(BaseException):
    $answer
""",
    "KP-704": """
$asked
call = asyncio.ensure_future($call)
held = 0
while not call.done():
    began = time.perf_counter()
    await asyncio.sleep(0.01)
    held = max(held, time.perf_counter() - began)
assert held < 0.26
""",
    "KP-706": """
alone = $asked
calls = [$call for _ in range(8)]
found = [$picked for answer in (alone, *await asyncio.gather(*calls))]
assert all(each == found[0] for each in found), found
""",
}
"""By the check, or by the check and how what it wanted begins."""
