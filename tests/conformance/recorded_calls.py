"""Calls of a client's as they are recorded: one to a search service that answered with one row, if nothing else."""

import json
from typing import Any

from knowledge_conformance.network import Call, Reply
from knowledge_conformance.recording import Recording

ROWS: dict[str, Any] = {"results": [{"id": "a", "content": "text", "score": 0.5, "ok": True}], "total": 1}
JSON = {"content-type": "application/json"}


def call(
    url: str = "https://service.example/search", body: bytes | None = b"{}", headers: dict[str, str] | None = None
) -> Call:
    reply = None if body is None else Reply(200, JSON, body)
    return Call("POST", url, headers or {}, heard=lambda: reply)


def recording(*calls: Call) -> Recording:
    return Recording(calls or (call(body=json.dumps(ROWS).encode()),), results=1)
