"""``PlainMerging``: clause 10.5 in one small class, a method for each duty; knows no ``retrieve_merged``.

It shares nothing with the reference but pure functions, so that checks of merging hosts do not take the habits of one
for the contract. A faulty merging host is this one with a method replaced. ``factory`` is a target.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from knowledge_fakes._plain_calls import Ending, ending
from knowledge_fakes._plain_children import PlainChildren
from knowledge_provider import RetrievalContext, error_code, errors, limits, normalize_response
from knowledge_provider.errors import read_or_none
from knowledge_provider.sources import ExternalKnowledgeRef, screening, target_key
from knowledge_provider.text import is_a, is_blank, short_text

Record = dict[str, Any]
References = tuple[ExternalKnowledgeRef, ...]
BuiltIn = Callable[[str, RetrievalContext], Awaitable[Any]]
Merge = Callable[..., Awaitable[dict[str, Any]]]

OWN: Final = "own knowledge"
"""The ``source_type`` of what the host knows itself; no source can be called so."""
_RECORDS_MAX: Final = 8
_ID_MAX: Final = 160
_URI: Final = re.compile(r"[a-z][a-z0-9+.-]*:[\x21-\x7e]{1,1000}")
_DICT: Final[type[dict[Any, Any]]] = dict


class Answer(NamedTuple):
    """What came of one source: its status and reason by clause 9.3, and its records."""

    status: str
    reason: str | None = None
    records: Sequence[Record] = ()


class PlainMerging(PlainChildren):
    """A conformant merging host that has each duty in a method of its own, to be overridden one at a time."""

    def __init__(self, built_in: BuiltIn, sources: Iterable[Any], *, timeout: float = 5.0) -> None:
        super().__init__({}, timeout=timeout)
        self.built_in = built_in
        self.children: dict[str, Any] = {source.name: source for source in sources}

    async def merge(self, query: str, *, context: RetrievalContext, refs: Iterable[Any] = ()) -> dict[str, Any]:
        """One search, each duty in its place."""
        self.admit(context)
        groups = self.groups(tuple(refs))
        endings = await self.ask_each(self.question(query), groups, context)
        found = endings.pop(OWN)
        own = self.read_built_in(found)
        answers = {name: self.read_source(name, held, endings.get(name)) for name, held in groups.items()}
        summary = [self.status(name, groups[name], answer) for name, answer in answers.items()]
        return {"records": self.merged(own, answers), "summary": [*self.own_status(found), *summary]}

    def admit(self, context: RetrievalContext) -> None:
        """Clauses 10.9 and 7.3."""
        if is_blank(context.owner_id):
            raise errors.KnowledgeOwnerRequiredError("No owner came. Name who asks.")
        context.signal.raise_if_cancelled()

    def question(self, query: str) -> str:
        """Clause 8.3: what is asked, as everybody gets it."""
        asked = short_text(query, limits.QUERY_MAX)
        if not asked:
            raise errors.KnowledgeQueryRequiredError("No query came. Ask for something.")
        return asked

    def groups(self, refs: References) -> dict[str, References]:
        """Clause 10.4: what is asked of whom."""
        names = dict.fromkeys(ref.provider for ref in refs)
        return {name: tuple(ref for ref in refs if ref.provider == name) for name in names}

    async def ask_each(
        self, query: str, groups: Mapping[str, References], context: RetrievalContext
    ) -> dict[str, Ending]:
        """Clauses 10.5 and 9.6: all at the same time, each until its deadline, and none beyond its caller."""
        asked = {name: held for name, held in groups.items() if name in self.children}
        contexts = {name: self.context_of(context) for name in (OWN, *asked)}
        calls = {OWN: ending(self.built_in, query, contexts[OWN], left=self.left)}
        calls |= {name: self.ask_source(name, query, held, contexts[name]) for name, held in asked.items()}
        return await self.until_stopped(calls, contexts, context)

    async def ask_source(self, name: str, query: str, refs: References, context: RetrievalContext) -> Ending:
        """Clause 10.1: those references that stand; whatever is raised is a value."""
        standing = await self.standing(name, refs)
        if not standing:
            return Ending(error=LookupError("none stands"))
        return await ending(self.children[name].retrieve, query, self.handed(standing), context, left=self.left)

    async def standing(self, name: str, refs: References) -> References:
        """Clause 10.1: those that the source says stand, out of what is bound."""
        validate = getattr(self.children[name], "validate_refs", None)
        if validate is None:
            return refs
        found = await ending(validate, self.handed(refs), "task", left=self.left)
        said = read_or_none(lambda: [target_key(ref) for ref in found.value])
        return tuple(ref for ref in refs if target_key(ref) in said) if isinstance(said, list) else ()

    def handed(self, refs: References) -> References:
        """Clause 9.2: what a source may write into."""
        return tuple(ref.model_copy() for ref in refs)

    def read_source(self, name: str, refs: References, found: Ending | None) -> Answer:
        """Clauses 10.3 and 9.3: one source's status, reason and records."""
        if found is None:
            return Answer("ignored", "not_registered")
        if found.error is not None:
            return self.failed(found.error)
        items = _items(found.value)
        records = [record for item in items or () for record in self.records(name, refs, item)]
        if items is None or (items and not records):
            return Answer("failed", "invalid_response")
        kept = list({record["id"]: record for record in reversed(records)}.values())[::-1]
        return Answer("hit" if kept else "no_hit", records=kept[: self.limit()])

    def failed(self, error: BaseException) -> Answer:
        """Clause 9.3."""
        reasons = {"knowledge_timeout": "timeout", "knowledge_unauthorized": "unauthorized"}
        return Answer("failed", reasons.get(str(error_code(error)), "error"))

    def limit(self) -> int:
        """Clause 10.5: what one source may take."""
        return _RECORDS_MAX

    def records(self, name: str, refs: References, item: Any) -> list[Record]:
        """Clause 10.6: a record with its provenance, if it is of what is bound."""
        results = normalize_response([item], query="", limit=1).results
        ids = tuple(dict.fromkeys(ref.id for ref in refs if ref.id is not None))
        said = _text(item, "source_id") or (ids[0] if len(ids) == 1 else "")
        if not results or not self.is_bound(said, refs) or not self.can_be_bound(said):
            return []
        named = next((ref.name for ref in refs if ref.id == said and ref.name), None)
        provenance = {
            "source_type": self.type_of(name, item),
            "source_id": said,
            "source_uri": self.uri_of(name, said, item),
            "source_name": named or self.shown(item, "source_name") or said,
        }
        title = self.shown(item, "title")
        kept = {"id": self.id_of(name, results[0].id), "content": results[0].content}
        return [{**kept, **({"title": title} if title else {}), **provenance}]

    def is_bound(self, source_id: str, refs: References) -> bool:
        """Clause 10.4."""
        return bool(source_id) and any(ref.id == source_id or ref.mode == "all_accessible" for ref in refs)

    def can_be_bound(self, source_id: str) -> bool:
        """Clause 10.2: what a reference can have as its id."""
        return len(source_id) <= _ID_MAX and screening.fault(source_id) is None

    def type_of(self, name: str, item: Any) -> str:  # noqa: ARG002 - for who believes the item
        """Clause 10.6: the registered name, and never the record's own word."""
        return name

    def id_of(self, name: str, own: str) -> str:
        """Clause 9.5: unique for each source."""
        return f"{name}/{own}"[:160]

    def own_id(self, own: str) -> str:
        """Clause 9.5: no source's name has a blank in it."""
        return f"{OWN}/{own}"[:160]

    def uri_of(self, name: str, source_id: str, item: Any) -> str:
        """Clause 10.6: the source's own, or one that is made of what does not change."""
        own = _text(item, "source_uri")
        sound = _URI.fullmatch(own) and screening.fault(own) is None
        return own if sound else f"{name}:{quote(source_id, safe='')}"

    def shown(self, item: Any, field: str) -> str:
        """Clause 10.6: no raw URL and no credential is shown."""
        text = _text(item, field)
        return "" if screening.fault(text) else text

    def read_built_in(self, found: Ending) -> list[Record]:
        """Clause 10.5: all that the host found itself, in its order."""
        if found.error is not None:
            return []
        results = normalize_response(found.value, query="", limit=64).results
        return [
            {
                "id": self.own_id(result.id),
                "content": result.content,
                "source_type": OWN,
                "source_id": result.id,
                "source_uri": f"own-knowledge:{quote(result.id, safe='')}",
                "source_name": OWN,
            }
            for result in results
        ]

    def merged(self, own: Sequence[Record], answers: Mapping[str, Answer]) -> list[Record]:
        """Clause 10.5: the host's own first, then each source's."""
        return [*own, *(record for answer in answers.values() for record in answer.records)]

    def status(self, name: str, refs: References, answer: Answer) -> dict[str, Any]:
        """Clauses 9.3 and 10.8."""
        ids = list(dict.fromkeys(ref.id for ref in refs if ref.id is not None))
        count = len(answer.records)
        return {"key": name, "status": answer.status, "reason": answer.reason, "count": count, "source_ids": ids}

    def own_status(self, found: Ending) -> list[dict[str, Any]]:
        """Clause 9.3, for what the host knows itself: where it failed the answer is thinner than it looks."""
        return [] if found.error is None else [self.status(OWN, (), self.failed(found.error))]


def _items(value: object) -> list[Any] | None:
    held = read_or_none(lambda: _DICT.get(value, "results")) if is_a(value, _DICT) else value
    if is_a(held, list):
        return list.__getitem__(held, slice(0, 64))
    return list(tuple.__getitem__(held, slice(0, 64))) if is_a(held, tuple) else None


def _text(item: object, field: str) -> str:
    value = read_or_none(lambda: _DICT.get(item, field)) if is_a(item, _DICT) else None
    return str.__str__(value) if is_a(value, str) else ""


def factory(built_in: BuiltIn, sources: Iterable[Any], *, timeout: float = 5.0) -> Merge:
    """What merges the sources with what is built in; each of them has ``timeout`` seconds for a call."""
    return PlainMerging(built_in, sources, timeout=timeout).merge
