"""``TaskBindings``: which external sources a task has (clause 10.4), over any storage; knows no provider and no call.

What a change makes of the bindings is a pure function of what is there; the storage sees to it that nothing comes
between. History is untouched: what a message shows is a record of its own.
"""

import json
import threading
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple, Protocol, Self

from knowledge_provider import limits
from knowledge_provider.errors import KnowledgeReferenceInvalidError, KnowledgeReferenceUnknownError, read_or_none
from knowledge_provider.sources.references import (
    ExternalKnowledgeRef,
    excludes,
    read_reference,
    source_key,
    source_of_key,
    target_key,
)
from knowledge_provider.text import class_name, has_surrogate, is_a, is_blank

TASK_ID_MAX: Final = limits.RESULT_ID_MAX
"""Code points of a task's id."""

BINDINGS_MAX: Final = 1000
"""Bindings of a task; each change writes all of them."""


_STORES: Final = ("read", "change")


class Row(NamedTuple):
    """One binding as it is stored: its target key, and the reference as JSON."""

    key: str
    reference: str


Rows = tuple[Row, ...]
Change = Callable[[Rows], Rows]
"""What the rows become; it may raise, and then nothing is changed. It may be called again, so it only calculates."""


class BindingStorage(Protocol):
    """Where rows are kept, for each task in their order; both may raise ``KnowledgeUnavailableError``.

    One that may wait for others has a method ``within(seconds)``, too: the same for one call that has so many seconds
    left, in which it ends. Of a change that raises nothing is stored, and nothing will be later.
    """

    def read(self, task_id: str) -> Rows:
        """The rows of a task; none for one that has none."""
        ...

    def change(self, task_id: str, change: Change) -> Rows:
        """Replace the rows by what ``change`` makes of them, with no other change between; the new ones."""
        ...


class MemoryStorage:
    """Rows in this process, for tests and for tasks that end with it; safe in any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[str, Rows] = {}

    def read(self, task_id: str) -> Rows:
        """The rows of a task."""
        return self._rows.get(task_id, ())

    def change(self, task_id: str, change: Change) -> Rows:
        """Replace the rows, under a lock."""
        with self._lock:
            rows = change(self.read(task_id))
            self._rows[task_id] = rows
            if not rows:
                del self._rows[task_id]
            return rows


@dataclass(frozen=True, slots=True)
class BindingWarning:
    """A binding that cannot be loaded (clause 10.4): its target key, by which it can be removed, and why."""

    key: str
    reason: str = "unreadable"


@dataclass(frozen=True, slots=True)
class BoundReferences:
    """What a task has bound, in the order of binding, and what could not be loaded, which costs no other binding."""

    refs: tuple[ExternalKnowledgeRef, ...] = ()
    warnings: tuple[BindingWarning, ...] = ()


class TaskBindings:
    """The external sources of tasks: added without duplicates, listed, and removed by their target keys.

    Binding a whole source takes away its parts, and binding a part takes away the whole (clause 10.4). Synchronous;
    call it in a thread where its storage may block.

    Raises:
        TypeError: ``storage`` has no ``read`` and ``change``, as a path of a file.
    """

    def __init__(self, storage: BindingStorage) -> None:
        if is_a(storage, type) or not all(callable(read_or_none(partial(getattr, storage, name))) for name in _STORES):
            raise TypeError(
                "storage must be an object with read and change, since bindings are kept nowhere else; got "
                f"{class_name(storage)}: pass SQLiteStorage('bindings.db') for a file, or MemoryStorage()"
            )
        self._storage = storage

    def within(self, seconds: float) -> Self:
        """The same for one call that has so many seconds left; the same itself, where its storage has no ``within``."""
        bound: Any = read_or_none(lambda: getattr(self._storage, "within", None))
        if not callable(bound):
            return self
        bindings = copy(self)
        bindings._storage = bound(seconds)  # noqa: SLF001 - of its own class
        return bindings

    def add(self, task_id: str, *refs: object) -> BoundReferences:
        """Bind references, all of them or none; one that is bound already keeps its place and gets the new names.

        No source is asked whether they stand; ``validate_references`` asks, before.

        Raises ``KnowledgeReferenceInvalidError``, which names the field, also for a task's id that is none, and for
        more than 1,000 bindings of a task.
        """
        task = read_task(task_id)
        # Before they are read, and others kept waiting by it.
        _require_room(len(refs))
        read = tuple(map(read_reference, refs))
        return _loaded(self._storage.change(task, lambda rows: _added(rows, read)))

    def list(self, task_id: str) -> BoundReferences:
        """What is bound; nothing for a task that has nothing. Raises ``KnowledgeReferenceInvalidError`` as ``add``."""
        return _loaded(self._storage.read(read_task(task_id)))

    def remove(self, task_id: str, ref: object) -> BoundReferences:
        """Take the binding of that target key away; names make no difference.

        ``ref`` is a reference, or the key of a warning: what cannot be loaded may be told by nothing else.

        Raises ``KnowledgeReferenceUnknownError`` when it is not bound, which says whether its whole source or parts of
        it are, and ``KnowledgeReferenceInvalidError``.
        """
        task = read_task(task_id)
        key = str.__str__(ref) if is_a(ref, str) else target_key(read_reference(ref))
        return _loaded(self._storage.change(task, lambda rows: _removed(rows, key)))


def _added(rows: Rows, refs: tuple[ExternalKnowledgeRef, ...]) -> Rows:
    bound = {row.key: row for row in rows}
    of_source: dict[tuple[str, bool] | None, list[str]] = {}
    for key in bound:
        of_source.setdefault(source_of_key(key), []).append(key)
    for ref in refs:
        key = target_key(ref)
        # Clause 10.4. It keeps its place where it has one.
        if key not in bound:
            of_source.setdefault((source_key(ref), ref.is_whole), []).append(key)
        bound[key] = Row(key, ref.model_dump_json(exclude_none=True))
        for replaced in of_source.pop((source_key(ref), not ref.is_whole), ()):
            del bound[replaced]
    _require_room(len(bound))
    return tuple(bound.values())


def _require_room(count: int) -> None:
    if count > BINDINGS_MAX:
        raise _invalid(
            "refs",
            f"at most {BINDINGS_MAX} for a task, with those that are bound; {count} came. Each is asked in each "
            "call. Nothing was stored. Remove some, or bind whole sources.",
        )


def _invalid(field: str, wanted: str) -> KnowledgeReferenceInvalidError:
    error = KnowledgeReferenceInvalidError(f"{field}: wanted {wanted}")
    error.field = field
    return error


def _removed(rows: Rows, key: str) -> Rows:
    left = tuple(row for row in rows if key not in (row.key, _shown(row.key)))
    if len(left) == len(rows):
        raise _not_bound(key, tuple(row.key for row in rows if excludes(key, row.key)), len(rows))
    return left


def _not_bound(key: str, overlapping: tuple[str, ...], bound: int) -> KnowledgeReferenceUnknownError:
    _, is_whole = source_of_key(key) or (key, False)
    parts = "folders or documents of it are, each by itself" if is_whole else "the whole source is"
    error = KnowledgeReferenceUnknownError(
        "ref: wanted one that is bound to the task, by provider, mode, id and target; none of its "
        f"{bound} bindings is that one, {f'but {parts}' if overlapping else 'or it was removed before'}. Nothing was "
        "changed. List the bindings, and send one of them."
    )
    error.overlapping = overlapping
    return error


def _loaded(rows: Rows) -> BoundReferences:
    read = [(row, _reference(row)) for row in rows]
    return BoundReferences(
        tuple(ref for _, ref in read if ref is not None),
        tuple(BindingWarning(_shown(row.key)) for row, ref in read if ref is None),
    )


def _shown(key: str) -> str:
    # What a storage read of bytes that are no text could be written nowhere.
    return key.encode("utf-8", "replace").decode() if has_surrogate(key) else key


def _reference(row: Row) -> ExternalKnowledgeRef | None:
    # A row may be of a later version, or changed by hand.
    try:
        ref = read_reference(json.loads(row.reference))
    except (ValueError, RecursionError, KnowledgeReferenceInvalidError):
        return None
    return ref if target_key(ref) == row.key else None


def read_task(task_id: object) -> str:
    """A task's id; raises ``KnowledgeReferenceInvalidError`` for what is none."""
    if not is_a(task_id, str) or is_blank(task_id) or len(task_id) > TASK_ID_MAX or has_surrogate(task_id):
        came = f"a {class_name(task_id)} came" if not is_a(task_id, str) else "a blank, longer or unwritable one came"
        raise _invalid(
            "task_id",
            f"a task's id of 1 to {TASK_ID_MAX} characters, and {came}. Bindings belong to a task. Nothing was done. "
            "Send the id of the task.",
        )
    return str.__str__(task_id)
