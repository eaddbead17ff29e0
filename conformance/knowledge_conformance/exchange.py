"""One call of ``retrieve`` and what came of it, as a frozen value; knows how to read an answer, judges nothing."""

from dataclasses import dataclass
from typing import Any, Final

from knowledge_conformance.blame import raised_at
from knowledge_conformance.plain import copied, is_exactly, model_fields
from knowledge_conformance.render import show, show_error
from knowledge_provider import RetrievalContext, RetrievalRequest, RetrievalResult, Source
from knowledge_provider.text import is_a

__all__ = [
    "ITEMS_READ_MAX",
    "SOURCE_FIELDS",
    "TEXT_NAMES",
    "Exchange",
    "as_dict",
    "first_present",
    "misused",
    "place",
    "raised_at",
    "results_of",
    "show_request",
    "source_of",
    "text_of",
]

ITEMS_READ_MAX: Final = 64
"""How many items of one answer are looked at; a provider that floods is told so by clause 3.3."""
TEXT_NAMES: Final[dict[str, tuple[str, ...]]] = {"id": ("id", "chunkId", "chunk_id"), "content": ("content", "text")}
"""Under which names hosts read a result's id and content (rule N4); the first is the contract's own."""
SOURCE_FIELDS: Final = ("id", "title", "uri", "mimeType", "mime_type", "locator")


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request, the context it was made in, and either the raw ``response`` or the ``error`` that came out.

    ``seconds`` is how long the call took, and ``awaited`` whether it had to be awaited.
    """

    request: RetrievalRequest
    context: RetrievalContext
    response: object = None
    error: BaseException | None = None
    seconds: float = 0.0
    awaited: bool = False

    @property
    def items(self) -> tuple[object, ...]:
        """The first raw items of a well-formed answer; empty when the answer's shape is not the contract's."""
        container = results_of(self.response)
        return () if container is None else tuple(list.__getitem__(container, slice(ITEMS_READ_MAX)))

    @property
    def count(self) -> int:
        """How many items the answer has."""
        container = results_of(self.response)
        return 0 if container is None else list.__len__(container)

    @property
    def entries(self) -> tuple[tuple[int, dict[str, Any]], ...]:
        """The items that can be read, with their positions, as plain dictionaries in the provider's spelling."""
        read = ((at, as_dict(item)) for at, item in enumerate(self.items))
        return tuple((at, entry) for at, entry in read if entry is not None)

    def __str__(self) -> str:
        """The call on one line, as an author would write it."""
        return f"{show_request(self.request)} -> {self.came}"

    @property
    def came(self) -> str:
        """What came of the call, in words: how many results, what was raised and where, or what no answer is."""
        if self.error is not None:
            return f"raised {show_error(self.error)}{raised_at(self.error)}"
        return self.size if results_of(self.response) is not None else show(self.response)

    @property
    def size(self) -> str:
        """How many items the answer has, in words."""
        return counted(self.count)


def counted(results: int) -> str:
    """How many results there are, in words."""
    return "1 result" if results == 1 else f"{results} results"


def show_request(request: RetrievalRequest) -> str:
    """A request on one line, as an author would write it."""
    parts = [f"query={show(request.query)}", f"top_k={request.top_k}"]
    if request.knowledge_base_ids:
        parts.append(f"knowledge_base_ids={show(request.knowledge_base_ids)}")
    if request.filters:
        parts.append(f"filters={show(request.filters)}")
    return f"retrieve(RetrievalRequest({', '.join(parts)}), context)"


def misused(error: BaseException) -> str | None:
    """What to do about an error that says that an argument of ``retrieve`` was taken for what it is not, or None."""
    # What the interpreter, or pydantic, says of an object; whoever subclasses these may say anything.
    said = copied(error.args[0]) if is_exactly(error, AttributeError, TypeError) and error.args else None
    for model in (RetrievalRequest, RetrievalContext):
        if said is not None and f"'{model.__name__}'" in said:
            return (
                f"retrieve is called with the request, and then the context; a {model.__name__} has "
                f"{', '.join(model.model_fields)}"
            )
    return None


def results_of(response: object) -> list[Any] | None:
    """The items of an answer by rule N1, or None when it has no such list; never runs the answer's own code."""
    held = (as_dict(response) or {}).get("results") if is_a(response, dict) else response
    if is_a(held, list):
        return held
    return list(tuple.__iter__(held)) if is_a(held, tuple) else None


def as_dict(item: object) -> dict[str, Any] | None:
    """An item's own fields, present and not null: of a ``dict``, or of the contract's model; None of anything else."""
    if is_exactly(item, RetrievalResult):
        fields = list(model_fields(item).items())
    elif is_a(item, dict):
        # All at once: nothing is looked up, so no foreign key is compared, and another thread may change the answer.
        fields = list(dict.items(item))
    else:
        return None
    return {name: value for name, value in fields if type(name) is str and value is not None}


def first_present(entry: dict[str, Any], *names: str) -> Any:
    """The first of ``names`` that an entry has, or None: camelCase and snake_case are the same field."""
    return next((entry[name] for name in names if name in entry), None)


def text_of(entry: dict[str, Any], name: str) -> Any:
    """An entry's ``id`` or ``content``, under the aliases of rule N4 too."""
    return first_present(entry, *TEXT_NAMES[name])


def source_of(entry: dict[str, Any]) -> dict[str, Any]:
    """The present fields of an entry's source that the contract knows, in the provider's spelling."""
    source = entry.get("source")
    fields = as_dict(model_fields(source) if is_a(source, Source) else source) or {}
    return {name: value for name, value in fields.items() if name in SOURCE_FIELDS}


def place(exchange: Exchange, path: str) -> str:
    """Where in an answer something was seen, with the call that gave it."""
    return f"{path} of {exchange}"
