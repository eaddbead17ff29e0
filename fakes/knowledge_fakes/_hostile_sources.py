"""Sources that try to cost others something; knows what each tries and what should become of it, no host.

Public through ``sources``.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from knowledge_provider.sources import ExternalKnowledgeRef

SECRET_URL: Final = "https://files.example.com/kb.pdf?X-Amz-Signature=4f1d2c"  # noqa: S105 - invented
"""What must come out of no record, summary or log."""

_SOUND: Final = {"id": "1", "content": "Sound."}


@dataclass(frozen=True, slots=True)
class HostileSource:
    """``make()`` gives a source of the name ``hostile``; asked for its source ``kb-1``, it should fare like this."""

    make: Callable[[], object]
    status: str
    reason: str | None = None
    count: int = 0


class _Source:
    name = "hostile"
    capabilities: Mapping[str, bool] = MappingProxyType({"list_documents": True})

    def __init__(self, answer: Callable[[], Any]) -> None:
        self._answer = answer

    async def retrieve(self, _query: str, _refs: object, _context: Any, /) -> Any:
        await asyncio.sleep(0)
        return self._answer()

    async def list_documents(self, _refs: object, _context: object, _limit: int, _offset: int, /) -> Any:
        await asyncio.sleep(0)
        return self._answer()


class _Hanging(_Source):
    async def retrieve(self, _query: str, _refs: object, _context: Any, /) -> Any:
        await asyncio.Event().wait()

    async def list_documents(self, _refs: object, _context: object, _limit: int, _offset: int, /) -> Any:
        await asyncio.Event().wait()


class _Binding(_Source):
    def validate_refs(self, _refs: object, _binding_level: str, /) -> object:
        return [ExternalKnowledgeRef(provider="hostile", id="kb-of-another")]


class _Cancelling(_Source):
    async def retrieve(self, _query: str, _refs: object, context: Any, /) -> Any:
        context.signal.cancel("hostile")
        task = asyncio.current_task()
        if task is not None:
            task.cancel()
        await asyncio.sleep(0)


def _raising(error: BaseException) -> Callable[[], Any]:
    def answer() -> Any:
        raise error

    return answer


def _making(answer: Callable[[], Any], kind: type[_Source] = _Source) -> Callable[[], object]:
    return lambda: kind(answer)


def _sound() -> list[dict[str, Any]]:
    return [dict(_SOUND)]


HOSTILE_SOURCES: Final[Mapping[str, HostileSource]] = MappingProxyType(
    {
        "raises": HostileSource(_making(_raising(ConnectionError(SECRET_URL))), "failed", "error"),
        "exits": HostileSource(_making(_raising(SystemExit(3))), "failed", "error"),
        "cancels itself": HostileSource(_making(_raising(asyncio.CancelledError())), "failed", "error"),
        "cancels its caller": HostileSource(_making(_sound, _Cancelling), "failed", "error"),
        "raises a group": HostileSource(_making(_raising(BaseExceptionGroup("g", [SystemExit(1)]))), "failed", "error"),
        "hangs": HostileSource(_making(_sound, _Hanging), "failed", "timeout"),
        "answers text": HostileSource(_making(lambda: "<html>503</html>"), "failed", "invalid_response"),
        "answers nothing at all": HostileSource(_making(lambda: None), "failed", "invalid_response"),
        "answers numbers": HostileSource(_making(lambda: [1, 2, 3]), "failed", "invalid_response"),
        "answers from another source": HostileSource(
            _making(lambda: [{**_SOUND, "source_id": "kb-of-another"}]), "failed", "invalid_response"
        ),
        "binds what nobody bound": HostileSource(_making(_sound, _Binding), "failed", "error"),
        "poses as the host": HostileSource(
            _making(lambda: [{**_SOUND, "source_type": "knowledge_base", "provider": "knowledge_base"}]), "hit", count=1
        ),
        "leaks a link": HostileSource(
            _making(
                lambda: [
                    {
                        **_SOUND,
                        "title": SECRET_URL,
                        "source_uri": SECRET_URL,
                        "source_name": SECRET_URL,
                        "source": {"uri": SECRET_URL, "title": SECRET_URL, "locator": SECRET_URL},
                        "metadata": {"download": SECRET_URL, "api_key": "k-12345678", "pages": 3},
                    }
                ]
            ),
            "hit",
            count=1,
        ),
        "answers too much": HostileSource(
            _making(lambda: [{"id": f"{place}", "content": "x"} for place in range(10_000)]), "hit", count=5
        ),
        "answers one id again": HostileSource(_making(lambda: [dict(_SOUND)] * 8), "hit", count=1),
    }
)
"""By what each does."""
