"""``PlainComposite``: clause 9 in one small class, a method for each duty; knows the contract, not the kit's composite.

It shares nothing with ``CompositeProvider`` but the pure functions, so that checks of composites do not take the habits
of one composite for the contract. A faulty composite is this one with a method replaced. ``factory`` is a target.
"""

import hashlib
from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any, Final, NamedTuple

from knowledge_fakes._plain_calls import Ending
from knowledge_fakes._plain_children import PlainChildren
from knowledge_provider import RetrievalContext, RetrievalRequest, error_code, errors, limits, normalize_response
from knowledge_provider.errors import read_or_none

Row = dict[str, Any]


class Answer(NamedTuple):
    """What came of one child: its report by clause 9.3, and its results."""

    status: str
    reason: str | None = None
    results: Sequence[Row] = ()


class PlainComposite(PlainChildren):
    """A conformant composite that has each duty of clause 9 in a method of its own, to be overridden one at a time."""

    def describe(self) -> dict[str, Any]:
        """Clauses 1.2 to 1.6."""
        return {"protocolVersion": 1, "key": "plain", "label": "Several", "capabilities": self.capabilities()}

    def capabilities(self) -> dict[str, bool]:
        """Clause 9.5."""
        said = self.claims.values()
        filters, citations = ([claims.get(name, False) for claims in said] for name in ("filters", "citations"))
        return {"filters": all(filters), "scores": False, "citations": any(citations)}

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        """One search, each duty in its place."""
        context.signal.raise_if_cancelled()
        self.refuse_filters(request)
        endings = await self.ask_all(request, context)
        answers = {key: self.read(key, found, request) for key, found in endings.items()}
        self.refuse_failure(answers)
        return self.answer(answers, request)

    def refuse_filters(self, request: RetrievalRequest) -> None:
        """Clause 3.5: what one child cannot honour is refused."""
        if request.filters and not self.capabilities()["filters"]:
            raise errors.KnowledgeFiltersUnsupportedError("One of the sources has no filters. Ask without.")

    def read(self, key: str, found: Ending, request: RetrievalRequest) -> Answer:
        """Clause 9.3: one child's status, reason and results."""
        if found.error is not None:
            return self.failed(found.error)
        kept = normalize_response(found.value, query=request.query, limit=request.top_k).results
        if not kept and not self.is_empty(found.value):
            return Answer("failed", "invalid_response")
        rows = [self.row(key, result.model_dump(exclude_none=True, by_alias=True)) for result in kept]
        return Answer("hit" if rows else "no_hit", results=rows)

    def failed(self, error: BaseException) -> Answer:
        """Clauses 3.2 and 9.3: a refusal is no failure."""
        code = str(error_code(error))
        return Answer(*_ENDINGS.get(code, ("failed", "error")))

    def is_empty(self, response: object) -> bool:
        """Clause 5.10: whether a child says that it found nothing, which nonsense does not."""
        if type(response) is dict:
            response = read_or_none(lambda: response.get("results"))  # type: ignore[attr-defined]  # a dict, just seen
        return type(response) in (list, tuple) and not response

    def row(self, key: str, row: Row) -> Row:
        """Clause 9.5: an id of its own, and no score."""
        kept = {name: row[name] for name in ("content", "source", "metadata") if row.get(name)}
        return {"id": self.id_of(key, row["id"]), **kept}

    def id_of(self, key: str, own: str) -> str:
        """Clause 9.5: unique for each child, always the same, and no longer than a host reads."""
        joined = f"{key}/{own}"
        return joined if len(joined) <= limits.RESULT_ID_MAX else f"{key}/{hashlib.sha256(own.encode()).hexdigest()}"

    def refuse_failure(self, answers: Mapping[str, Answer]) -> None:
        """Clause 9.4: what nobody could look up is not "nothing found"."""
        failed = [f"{key} ({answer.reason})" for key, answer in answers.items() if answer.status == "failed"]
        if len(failed) == len(answers):
            raise errors.KnowledgeAllSourcesFailedError(f"Every source failed: {', '.join(failed)}.")
        if failed and not any(answer.results for answer in answers.values()):
            raise errors.KnowledgeSourcesIncompleteError(f"Nothing was found, and some failed: {', '.join(failed)}.")

    def answer(self, answers: Mapping[str, Answer], request: RetrievalRequest) -> Any:
        """Clauses 9.3 and 9.5."""
        results = self.merged([answer.results for answer in answers.values()], request)
        return {"results": results, "sources": [self.report(key, answer) for key, answer in answers.items()]}

    def merged(self, found: Sequence[Sequence[Row]], request: RetrievalRequest) -> list[Row]:
        """Clause 9.5: one of each child in turn."""
        in_turn = chain.from_iterable(zip_longest(*found))
        return [row for row in in_turn if row is not None][: request.top_k]

    def report(self, key: str, answer: Answer) -> Row:
        """Clause 9.3."""
        return {"key": key, "status": answer.status, "reason": answer.reason, "count": len(answer.results)}


_ENDINGS: Final[Mapping[str, tuple[str, str]]] = {
    "knowledge_timeout": ("failed", "timeout"),
    "knowledge_unauthorized": ("failed", "unauthorized"),
    "knowledge_invalid_response": ("failed", "invalid_response"),
    "knowledge_base_unknown": ("ignored", "not_registered"),
    "knowledge_filters_unsupported": ("ignored", "not_registered"),
}


class Concatenating(PlainComposite):
    """One child's results after another's, which clause 9.5 leaves open."""

    def merged(self, found: Sequence[Sequence[Row]], request: RetrievalRequest) -> list[Row]:
        """Clause 9.5: concatenated, by choice."""
        return [*chain.from_iterable(found)][: request.top_k]


def factory(children: Mapping[str, Any], *, timeout: float = 5.0) -> PlainComposite:
    """A composite over the children, each of which has ``timeout`` seconds for a call."""
    return PlainComposite(children, timeout=timeout)


def concatenating(children: Mapping[str, Any], *, timeout: float = 5.0) -> Concatenating:
    """The same, which puts one child's results after another's."""
    return Concatenating(children, timeout=timeout)
