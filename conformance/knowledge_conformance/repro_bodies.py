"""What shows each failure in a plain test: a few lines of Python by check, as data. Knows rules, runs nothing.

Every body holds an assertion. ``provider`` is the open provider and ``waited`` gives what a call comes to. A body that
speaks of ``answer``, ``results`` or ``rows`` (results as dictionaries) is asked for first, with ``REQUEST``.
"""

from typing import Final

ANSWERED: Final = "assert answer is not None  # retrieve() raised, and a valid request is answered"
REFUSED: Final = """
try:
    answer = await waited(provider.retrieve(REQUEST, CONTEXT))
except Exception as error:
    answer = error
codes = ("knowledge_filters_unsupported", "knowledge_base_unknown")
assert not isinstance(answer, Exception) or getattr(answer, "code", None) in codes
"""

_PARTS: Final = """
parts = [answer]
for part in parts:
    parts += [each for pair in part.items() for each in pair] if isinstance(part, dict) else []
    parts += part if isinstance(part, (list, tuple)) else []
    parts += [dict(part)] if isinstance(part, (RetrievalResult, Source)) else []
"""
_PARTS_BUT_CONTENT: Final = _PARTS.replace(
    " for each in pair", " if pair[0] not in ('content', 'text') for each in pair"
)
_DESCRIBED: Final = """
said = await waited(provider.describe())
said = said if isinstance(said, dict) else said.model_dump(by_alias=True)
"""

BODIES: Final[dict[str, str]] = {
    "KP-101": """
assert callable(provider.describe)
inspect.signature(provider.retrieve).bind(None, None)
assert all(callable(method) for name in ("health", "close") if (method := getattr(provider, name, None)) is not None)
""",
    "KP-102": """
assert not inspect.iscoroutinefunction(provider.describe)
said = provider.describe()
assert isinstance(said, (Mapping, ProviderDescription))
""",
    "KP-103": f"""{_DESCRIBED}
version = said.get("protocolVersion", said.get("protocol_version"))
assert type(version) in (int, float) and version == 1
""",
    "KP-104": f"""{_DESCRIBED}
assert isinstance(said.get("key"), str) and re.fullmatch("[a-z0-9-]+", said["key"])
""",
    "KP-105": f"""{_DESCRIBED}
assert not said["key"].startswith("-")
""",
    "KP-106": f"""{_DESCRIBED}
assert len(said["key"]) <= 64
""",
    "KP-107": f"""{_DESCRIBED}
assert isinstance(said.get("label"), str) and not is_blank(said["label"])
""",
    "KP-108": f"""{_DESCRIBED}
assert len(said["label"]) <= 120
""",
    "KP-109": f"""{_DESCRIBED}
capabilities = said.get("capabilities") or {{}}
assert isinstance(capabilities, dict) and all(type(value) is bool for value in capabilities.values())
""",
    "KP-110": f"""{_DESCRIBED}
assert len(said["capabilities"] or {{}}) <= 16
""",
    "KP-111": """
first = provider.describe()
before = repr(first)
held = first if isinstance(first, dict) else vars(first)
for changed in (held.get("capabilities") or {}, held):
    changed["label"] = "changed by the caller"
assert repr(provider.describe()) == before
""",
    "KP-112": """
seconds = []
for _ in range(4):
    began = time.perf_counter()
    provider.describe()
    seconds.append(time.perf_counter() - began)
assert min(seconds[1:]) < 0.05
""",
    "KP-201": """
arguments = [CancelSignal()][: len(inspect.signature(provider.health).parameters)]
health = await waited(provider.health(*arguments))
status = health.get("status") if isinstance(health, dict) else health.status
assert status in ("ready", "unconfigured", "degraded", "unavailable")
""",
    "KP-202": """
arguments = [CancelSignal()][: len(inspect.signature(provider.health).parameters)]
health = provider.health(*arguments)
assert await asyncio.wait_for(health, 5) if inspect.isawaitable(health) else health
""",
    "KP-203": """
arguments = [CancelSignal()][: len(inspect.signature(provider.health).parameters)]
health = await waited(provider.health(*arguments))
message = (health.get("message") if isinstance(health, dict) else health.message) or ""
assert isinstance(message, str) and len(message) <= 500
""",
    "KP-204": """
closed = [await waited(provider.close()) for _ in range(2)]
assert len(closed) == 2  # the second close() raised
""",
    "KP-301": ANSWERED,
    "KP-302": ANSWERED,
    "KP-303": ANSWERED,
    "KP-304": "assert len(results) <= REQUEST.top_k",
    "KP-305": "assert list(results) == []",
    "KP-306": "assert list(results) == []",
    "KP-307": REFUSED,
    "KP-308": """
before = repr((REQUEST, CONTEXT))
with contextlib.suppress(Exception):
    await waited(provider.retrieve(REQUEST, CONTEXT))
assert repr((REQUEST, CONTEXT)) == before
""",
    "KP-501": "assert isinstance(results, (list, tuple))",
    "KP-502": "assert all(isinstance(each, (dict, RetrievalResult)) for each in results)",
    "KP-503": """
for row in rows:
    for name in ("id", "content"):
        assert isinstance(row.get(name), str) and not is_blank(row[name]), (name, row)
""",
    "KP-504": """
assert all(len(row["id"]) <= 160 for row in rows)
assert all(len(row["content"]) <= 4000 for row in rows)
""",
    "KP-505": """
aliases = {"chunkId", "chunk_id", "text", "documentId", "document_id", "title", "mimeType", "mime_type", "url"}
assert all(not aliases & row.keys() and "url" not in dict(row.get("source") or {}) for row in rows)
""",
    "KP-506": """
ids = [" ".join(row["id"].split())[:160] for row in rows]
assert len(set(ids)) == len(ids)
""",
    "KP-507": """
scores = [row["score"] for row in rows if row.get("score") is not None]
assert all(type(score) in (int, float) and math.isfinite(score) for score in scores)
""",
    "KP-508": f"""{_DESCRIBED}
assert not (said.get("capabilities") or {{}}).get("scores") or all(row.get("score") is not None for row in rows)
""",
    "KP-509": """
scores = [row["score"] for row in rows if row.get("score") is not None]
assert scores == sorted(scores, reverse=True)
""",
    "KP-510": """
sources = [row.get("source") or {} for row in rows]
assert all(isinstance(source, (dict, Source)) for source in sources)
assert all(value is None or isinstance(value, str) for source in sources for value in dict(source).values())
""",
    "KP-511": """
longest = {"id": 120, "title": 300, "mime_type": 120, "mimeType": 120, "locator": 300}
sources = [dict(row.get("source") or {}) for row in rows]
assert all(len(source.get(name) or "") <= most for source in sources for name, most in longest.items())
""",
    "KP-512": """
held = [row.get("metadata") or {} for row in rows]
assert all(isinstance(metadata, dict) and len(metadata) <= 16 for metadata in held)
assert all(type(value) in (bool, int, float, str) for metadata in held for value in metadata.values())
assert all(len(str(value)) <= 500 and len(key) <= 80 for metadata in held for key, value in metadata.items())
""",
    "KP-513": f"""{_PARTS}
plain = (str, int, float, bool, type(None), list, tuple, dict, RetrievalResult, Source)
assert all(type(part) in plain for part in parts)
assert not any(type(part) in (list, tuple) and len(part) >= 64 and type(part[0]) in (int, float) for part in parts)
""",
    "KP-514": f"""{_PARTS}
assert not any(re.search("[\\ud800-\\udfff]", part) for part in parts if isinstance(part, str))
""",
    "KP-515": f"""{_PARTS}
assert not any(re.search(r"[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f]", part) for part in parts if isinstance(part, str))
""",
    "KP-516": """
kept = normalize_response(answer, query=REQUEST.query, limit=REQUEST.top_k).results
rows = rows[:REQUEST.top_k]
assert len(kept) == len(rows)
assert [result.content.split() for result in kept] == [row["content"].split() for row in rows]
assert [len(result.metadata) for result in kept] == [len(row.get("metadata") or {}) for row in rows]
for name in ("id", "title", "locator"):
    sources = [(dict(row.get("source") or {}).get(name) or "").split() for row in rows]
    assert [(dict(result.source or {}).get(name) or "").split() for result in kept] == sources
""",
    "KP-517": "assert not results or normalize_response(answer, query=REQUEST.query, limit=REQUEST.top_k).results",
    "KP-601": f"""{_PARTS_BUT_CONTENT}
link = r"[\\w+.-]+:[/\\\\]{{2}}[^\\s<>,;]*"
links = [found for part in parts if isinstance(part, str) for found in re.findall(link, part)]
named = [pair for part in parts if isinstance(part, dict) for pair in part.items() if isinstance(pair[1], str)]
links += [value for name, value in named if str(name).lower().endswith(("uri", "url", "link", "href"))]
assert not [link for link in links if (fault := uri_fault(link)) is not None and fault.is_credential]
""",
    "KP-602": """
uris = [dict(row.get("source") or {}).get("uri") for row in rows]
assert [uri for uri in uris if uri is not None and public_uri(uri) is None] == []
""",
    "KP-701": """
for moment in (0, 0.01, 0.05):
    task = asyncio.ensure_future(provider.retrieve(REQUEST, CONTEXT))
    await asyncio.sleep(moment)
    stopped = task.cancel()
    await asyncio.wait({task}, timeout=1)
    assert task.cancelled() or not stopped
""",
    "KP-703": """
signal = CancelSignal()
signal.cancel("cancelled before the call")
with pytest.raises(BaseException):
    await waited(provider.retrieve(REQUEST, CONTEXT.model_copy(update={"signal": signal})))
assert signal.cancelled
""",
    "KP-704": """
ticks = []
async def tick():
    while True:
        ticks.append(time.perf_counter())
        await asyncio.sleep(0.01)
for _ in range(2):
    ticking = asyncio.ensure_future(tick())
    await asyncio.sleep(0.02)
    await waited(provider.retrieve(REQUEST, CONTEXT))
    await asyncio.sleep(0.02)
    ticking.cancel()
    held = max(after - before for before, after in pairwise(ticks))
    ticks.clear()
assert held < 0.26
""",
    "KP-706": """
async def ids():
    answer = await waited(provider.retrieve(REQUEST.model_copy(deep=True), CONTEXT))
    return [row["id"] for row in (answer["results"] if isinstance(answer, dict) else answer)]
alone = await ids()
assert await asyncio.gather(*(ids() for _ in range(8))) == [alone] * 8
""",
    "KP-205": """
await waited(provider.close())
try:
    answer = await waited(provider.retrieve(REQUEST, CONTEXT))
except Exception as error:
    answer = [error]
assert answer["results"] if isinstance(answer, dict) else answer  # closed, it answers as if nothing was found
""",
}
"""Checks whose failure one provider and one request show."""
