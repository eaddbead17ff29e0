"""Mistakes with the shapes of answers, and with the second of them; knows no way of catching them."""

from collections.abc import Sequence
from typing import Any

from knowledge_fakes.access_faults._declared import fault
from knowledge_fakes.plain_access import PlainAccess, Reader, Row
from knowledge_provider import RetrievalContext, RetrievalRequest, RetrievalResult


@fault("KP-1122", fragment="of a list of RetrievalResult a result another tenant's")
class ModelsAreTrusted(PlainAccess):
    """Labels are looked for in dicts, and results that are models are shown as they came."""

    def row(self, item: Any) -> Row | None:
        found = super().row(item)
        return {**found, "trusted": True} if type(item) is RetrievalResult and found is not None else found

    def kept(self, rows: Sequence[Row], reader: Reader) -> list[Row]:
        return [row for row in rows if row.get("trusted") or self.may_see(self.labels(row), reader)]


@fault("KP-1122", fragment="of a tuple of dicts a result another tenant's")
class TuplesAreTrusted(PlainAccess):
    """A tuple cannot be filtered where it stands, and is given on."""

    def read(self, answer: Any) -> tuple[list[Row], list[Any]]:
        self.fixed = list(answer) if type(answer) is tuple else []
        return super().read(answer)

    def answer(self, kept: list[Row], reports: list[Any]) -> Any:
        return {"results": self.fixed} if self.fixed else super().answer(kept, reports)


@fault("KP-1122", fragment="the answer to asking for more, in permissive a result another tenant's")
class SecondByUserAlone(PlainAccess):
    """What is asked for additionally is filtered by a line of its own, which knows users."""

    def read(self, answer: Any) -> tuple[list[Row], list[Any]]:
        self.rows, reports = super().read(answer)
        return self.rows, reports

    async def more(
        self, kept: list[Row], request: RetrievalRequest, context: RetrievalContext, reader: Reader
    ) -> tuple[list[Row], list[Any]]:
        found, reports = await super().more(kept, request, context, reader)
        if found == kept:
            return found, reports
        return [row for row in self.rows if (self.labels(row) or {}).get("user_id") == reader.user], reports


@fault("KP-1122", fragment="an answer with the results that may be shown raised TypeError")
class NullIsNoMapping(PlainAccess):
    """Metadata that are null end the search, though null is as good as none."""

    def labels(self, row: Row) -> Any:
        if row.get("metadata", {}) is None:
            raise TypeError("metadata is null")
        return super().labels(row)


@fault("KP-1122", fragment="an answer with the results that may be shown raised")
class OnlyCoroutinesAreAwaited(PlainAccess):
    """What the provider gives is awaited, also where it is the answer itself."""

    async def ask(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        return await self.provider.retrieve(request, context)
