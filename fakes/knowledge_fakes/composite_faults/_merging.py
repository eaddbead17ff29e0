"""Mistakes with the order of results and with claims; knows clause 9.5, no way of catching them."""

from collections.abc import Sequence

from knowledge_fakes._plain_calls import Ending
from knowledge_fakes.composite_faults._declared import fault
from knowledge_fakes.plain_composite import PlainComposite, Row
from knowledge_provider import RetrievalContext, RetrievalRequest

# Clause 9.5: order and number.


@fault("KP-910", fragment="with top_k = ")
class OrderOfArrival(PlainComposite):
    """Results stand in the order in which the children answered, so the same question gets another answer."""

    async def ask_all(self, request: RetrievalRequest, context: RetrievalContext) -> dict[str, Ending]:
        self.arrived: list[str] = []
        endings = await super().ask_all(request, context)
        return {key: endings[key] for key in [*self.arrived, *(endings.keys() - set(self.arrived))]}

    async def ask(self, key: str, request: RetrievalRequest, context: RetrievalContext) -> Ending:
        found = await super().ask(key, request, context)
        self.arrived.append(key)
        return found


@fault("KP-910", "KP-903", fragment="6 results: b1")
class SortedByScore(PlainComposite):
    """Results are sorted by scores that stores measure in different ways, and the loudest one fills the answer."""

    def row(self, key: str, row: Row) -> Row:
        return {**super().row(key, row), "score": row.get("score", 0.0)}

    def merged(self, found: Sequence[Sequence[Row]], request: RetrievalRequest) -> list[Row]:
        rows = sorted((row for rows in found for row in rows), key=lambda row: -row["score"])
        return [{name: held for name, held in row.items() if name != "score"} for row in rows][: request.top_k]


@fault("KP-910", fragment="6 results")
class WithoutACut(PlainComposite):
    """Each child gives top_k results, and so the whole gives more."""

    def merged(self, found: Sequence[Sequence[Row]], request: RetrievalRequest) -> list[Row]:  # noqa: ARG002 - the mistake
        return [row for rows in found for row in rows]


@fault("KP-910", "KP-909", fragment="results: a1")
class ShareForEach(PlainComposite):
    """Each child has a fixed share of the places, and those of who found little stay empty."""

    def merged(self, found: Sequence[Sequence[Row]], request: RetrievalRequest) -> list[Row]:
        share = max(1, request.top_k // max(1, len(found)))
        return super().merged([rows[:share] for rows in found], request)


@fault("KP-910", "KP-909", fragment="results: a1, a2, a3")
class FirstHitWins(PlainComposite):
    """The first child in the list that found something is the whole answer."""

    def merged(self, found: Sequence[Sequence[Row]], request: RetrievalRequest) -> list[Row]:
        return super().merged([next((rows for rows in found if rows), ())], request)


# Clause 9.5: what they are.


@fault("KP-926", fragment="the source {}")
class SourcesForgotten(PlainComposite):
    """Results are made anew from id and content, and cannot be cited any more."""

    def row(self, key: str, row: Row) -> Row:
        return super().row(key, {"id": row["id"], "content": row["content"], "metadata": row.get("metadata")})


@fault("KP-926", fragment="the metadata {'child': 'full'}")
class ChildInTheMetadata(PlainComposite):
    """The child's key is written over the metadata, where it stands in nobody's way but the metadata's."""

    def row(self, key: str, row: Row) -> Row:
        return {**super().row(key, row), "metadata": {"child": key}}


@fault("KP-926", fragment="no result with its content")
class ContentsShortened(PlainComposite):
    """Contents are cut to what fits the composite's own log, so that all of them together stay short."""

    def row(self, key: str, row: Row) -> Row:
        return {**super().row(key, row), "content": row["content"][:2000]}


# Clause 9.5: claims.


@fault("KP-911", fragment="scores not claimed")
class ScoresClaimed(PlainComposite):
    """Scores are claimed where each child has some, as if they could be compared."""

    def capabilities(self) -> dict[str, bool]:
        return {**super().capabilities(), "scores": all(claims.get("scores", False) for claims in self.claims.values())}


@fault("KP-911", "KP-919", fragment="filters not claimed")
class FiltersClaimed(PlainComposite):
    """Filters are claimed where one child can, and the others let through what they exclude."""

    def capabilities(self) -> dict[str, bool]:
        return {**super().capabilities(), "filters": any(claims.get("filters") for claims in self.claims.values())}


@fault("KP-911", fragment="citations claimed")
class CitationsForgotten(PlainComposite):
    """Citations are claimed only where every child does, and a host does not show those that there are."""

    def capabilities(self) -> dict[str, bool]:
        claims = self.claims.values()
        return {**super().capabilities(), "citations": all(claimed.get("citations", False) for claimed in claims)}
