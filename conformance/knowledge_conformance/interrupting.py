"""``Interrupting``: a provider's calls, cancelled at one await each, and what came of them. Knows tasks, no content."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from knowledge_conformance.blame import Stack, authors, within
from knowledge_conformance.calls import GRACE_SECONDS, Raised, where_it_waits
from knowledge_conformance.check import Hang, Inapplicable, Inconclusive, Violation
from knowledge_conformance.exchange import show_request
from knowledge_conformance.leftovers import TaskWatch, cleared
from knowledge_conformance.render import show, show_error
from knowledge_conformance.settings import Settings
from knowledge_conformance.subject import HANG_HINT, ProviderRaisedError, Subject
from knowledge_conformance.suspension import Stepped, points, repeats
from knowledge_provider import RetrievalRequest

BEFORE: Final = 2
"""The calls that are made before one is cancelled: a warm-up, and one whose awaits are counted."""
_POINTS_MAX: Final = 12
_POINTS_THOROUGH: Final = 64
_REPEATED_MAX: Final = 1
_REPEATED_THOROUGH: Final = 8
LEFT_SECONDS: Final = 0.1
"""How long a task may be left after a cancelled call has ended (clause 7.2)."""
NEVER_WAITS: Final = "retrieve never waits on the event loop; what runs in a thread is left to the host"

_RESTING_SECONDS: Final = 0.5
_LET_IT_THROUGH: Final = (
    "let asyncio.CancelledError through: catch Exception, not BaseException, and re-raise after cleaning up"
)


def points_max(settings: Settings) -> int:
    """At how many of its awaits a call is cancelled at most."""
    return _POINTS_THOROUGH if settings.thorough else _POINTS_MAX


def asked_again_max(settings: Settings) -> int:
    """How many calls are cancelled and made after that at most, each once and then some again and again."""
    repeated = _REPEATED_THOROUGH if settings.thorough else _REPEATED_MAX
    return 2 * points_max(settings) + repeated * settings.concurrency


async def refuse_swallowed(task: "asyncio.Task[Any]", request: RetrievalRequest, held: str) -> None:
    """Raise ``Violation`` unless the cancellation came out of a task that was cancelled where ``held`` says."""
    if task.cancelled():
        return
    came = f"{_instead(task)}{_cancelled(held)}"
    goes_on = "" if task.done() else await where_it_waits(task)
    raise Violation(
        wanted=f"the cancellation to come out of retrieve within {GRACE_SECONDS:g} s",
        saw=f"{came}, and goes on{goes_on}" if goes_on else came,
        hint=_LET_IT_THROUGH,
        where=show_request(request),
    )


def _instead(task: "asyncio.Task[Any]") -> str:
    if not task.done():
        return "a call that was still running"
    value = task.result()
    return f"raised {show_error(value.error)} instead" if type(value) is Raised else f"an answer: {show(value)}"


def _cancelled(held: str) -> str:
    return f"; it was cancelled{held}" if held else ""


@dataclass(frozen=True, slots=True)
class Cut:
    """A call that was cancelled where ``held`` says, with the tasks that it left behind, in words."""

    request: RetrievalRequest
    held: str
    left: tuple[str, ...]


class Interrupting:
    """Counts the awaits of a call, and cancels further calls at one of them each."""

    def __init__(self, subject: Subject, watch: TaskWatch) -> None:
        self._subject = subject
        self._watch = watch
        self._resting = 0
        self._known: set[asyncio.Task[Any]] = set()
        self._cuts = 0
        self._stuck = False
        self._places: Sequence[Stack] = ()
        self._chosen: Sequence[int] = ()

    async def awaits(self, most: int | None = None) -> AsyncIterator[int]:
        """The numbers of the awaits to cancel at, until a call hangs; raises ``Inapplicable`` when there is none."""
        self._places = await self._count()
        self._chosen = points(self._places, most or points_max(self._subject.settings))
        for at in self._chosen:
            yield at
            if self._stuck:
                # That it hangs after another was cancelled is what KP-709 says.
                return

    def repeats(self) -> Iterator[tuple[int, int]]:
        """After ``awaits``: those to cancel at again, and how often, until a call hangs.

        Then ``concurrency`` calls were cancelled at each of some places: by the author's own lines, since what one of
        them takes is held at all awaits of a library below it; in a thorough run those count, too.
        """
        settings = self._subject.settings
        places = self._places if settings.thorough else [authors(place) for place in self._places]
        # What is left where few were cancelled, or a call has few awaits, is for more places.
        room = asked_again_max(settings) - 2 * len(self._chosen)
        for at, times in repeats(places, self._chosen, room, settings.concurrency):
            if self._stuck:
                return
            yield at, times

    async def _count(self) -> Sequence[Stack]:
        first, second = await self._subject.unasked(BEFORE)
        # What a provider starts at its first call, and keeps, is there after this.
        await self._subject.retrieve(first)
        call = await _Call.begin(self._subject, second, self._watch)
        if call is None:
            raise Inapplicable(NEVER_WAITS)
        await call.end()
        if not call.stepped.points:
            raise Inapplicable(NEVER_WAITS)
        # Long enough that what a finished call leaves for a moment is not taken for what is kept.
        self._known = await self._settled(0, _RESTING_SECONDS)
        self._resting = len(self._known)
        return call.stepped.places

    async def cut_often(self, at: int, times: int) -> Cut | None:
        """The first of so many calls that are cancelled at one await, or None when none came to it."""
        first: Cut | None = None
        for _ in range(times):
            # Another request each time: a search that goes on in a thread may have put its answer into a cache by now.
            cut = await self.cut(at)
            first = first or cut
            if self._stuck:
                break
        return first

    async def cut(self, at: int, request: RetrievalRequest | None = None) -> Cut | None:
        """What came of a call that is cancelled at one await, or None when it ended before that one.

        Raises ``Violation`` when the cancellation does not come out. Without a ``request`` one is asked that never was.
        """
        if request is None:
            (request,) = await self._subject.unasked(1)
        task, held = await self.cancelled(at, request)
        if task is None:
            return None
        await refuse_swallowed(task, request, held)
        self._cuts += 1
        return Cut(request, held, await self._left())

    async def cancelled(self, at: int, request: RetrievalRequest) -> tuple["asyncio.Task[Any] | None", str]:
        """A call that was cancelled at one await, ended or given up, and where; None when it ended before that one."""
        call = await _Call.begin(self._subject, request, self._watch, at)
        if call is None or not await call.reached():
            self._stuck = call is not None and call.hung
            return None, ""
        held = within(authors(call.stepped.held))
        await asyncio.wait({call.task}, timeout=GRACE_SECONDS)
        return call.task, held

    def look(self) -> None:
        """Count one observation, however many awaits there were; raises ``Inconclusive`` when none was cancelled at."""
        if not self._cuts:
            raise Inconclusive(
                "no call waited again, so none could be cancelled while it did",
                hint="name more queries that your corpus answers: --provider-query 'text'",
            )
        self._subject.observe()

    async def _left(self) -> tuple[str, ...]:
        alive = await self._settled(self._resting, LEFT_SECONDS)
        new, replaced = alive - self._known, {task for task in self._known if task.cancelled()}
        self._known = (self._known | alive) - replaced
        # One that takes the place of one that the provider ended is its own to keep.
        left = new if len(alive) > self._resting and len(new) > len(replaced) else set()
        return tuple(sorted(self._watch.named(task) for task in left))

    async def _settled(self, count: int, seconds: float) -> set["asyncio.Task[Any]"]:
        """The provider's tasks when there are at most ``count``, or after ``seconds``."""
        await cleared(lambda: ["too many"] * (len(self._watch.alive()) > count), seconds, collect=False)
        return self._watch.alive()


@contextmanager
def interrupting(subject: Subject) -> Iterator[Interrupting]:
    """Interrupting a provider's calls, the tasks that they begin being watched meanwhile."""
    with TaskWatch() as watch:
        yield Interrupting(subject, watch)


async def cut_at_some(
    subject: Subject,
    most: int,
    before: Callable[[RetrievalRequest], None],
    after: Callable[[BaseException | None], None],
) -> None:
    """Cancel calls at ``most`` of their awaits at most, whatever comes of it: of that KP-701, KP-702 and KP-709 tell.

    ``before`` and ``after`` are called around each, the latter with what was raised. ``BEFORE`` calls are made besides.
    """
    with interrupting(subject) as calls, suppress(Inapplicable, ProviderRaisedError, Violation):
        async for at in calls.awaits(most):
            (request,) = await subject.unasked(1)
            before(request)
            task, _ = await calls.cancelled(at, request)
            after(None if task is None or not task.done() else _raised(task))


def _raised(task: "asyncio.Task[Any]") -> BaseException | None:
    try:
        value = task.result()
    except asyncio.CancelledError as error:  # as it left the provider, with all that was put to it on the way
        return error
    return value.error if type(value) is Raised else None


class _Call:
    """One call as a task whose awaits are counted, and that cancels itself at one of them."""

    def __init__(self, subject: Subject, request: RetrievalRequest, at: int) -> None:
        self._subject = subject
        self._request = request
        self._context = subject.context()
        self._at = at
        self._cut: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.hung: bool = False
        self.stepped: Stepped
        self.task: asyncio.Task[Any]

    @classmethod
    async def begin(cls, subject: Subject, request: RetrievalRequest, watch: TaskWatch, at: int = 0) -> "_Call | None":
        """The call, or None when it answered without a task."""
        call = cls(subject, request, at)
        task = await subject.start(request, call._context, call._counted)
        if task is None:
            return None
        call.task = task
        watch.disown(task)
        return call

    async def end(self) -> None:
        """Wait for its end; raises ``Hang`` when there is none."""
        await asyncio.wait({self.task}, timeout=self._subject.settings.timeout)
        if not self.task.done():
            held = await where_it_waits(self.task)
            self._cancel()
            raise Hang(
                wanted=f"an answer within {self._subject.settings.timeout:g} s",
                saw=f"no answer: it waits{held}",
                hint=HANG_HINT,
                where=show_request(self._request),
            )

    async def reached(self) -> bool:
        """Whether it came to the await that it is cancelled at, and was cancelled there."""
        awaited: set[asyncio.Future[Any]] = {self.task, self._cut}
        await asyncio.wait(awaited, timeout=self._subject.settings.timeout, return_when=asyncio.FIRST_COMPLETED)
        if not self._cut.done() and not self.task.done():
            self.hung = True
            self._cancel()
            await asyncio.wait({self.task}, timeout=GRACE_SECONDS)
        return self._cut.done()

    def _counted(self, begun: Awaitable[Any]) -> Awaitable[Any]:
        self.stepped = Stepped(begun, self._at, self._reach)
        return self.stepped

    def _reach(self) -> None:
        self._cut.set_result(None)
        task = asyncio.current_task()
        if task is not None:
            task.cancel()
        # As a host does, and from outside of the call.
        asyncio.get_running_loop().call_soon(self._context.signal.cancel, "cancelled by the host")

    def _cancel(self) -> None:
        self.task.cancel()
        self._context.signal.cancel("cancelled by the host")
