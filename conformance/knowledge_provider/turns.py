"""One citation ledger for each turn, and no more of them than are wanted (clause 8.9); knows no search or result."""

from collections import OrderedDict
from threading import Lock

from knowledge_provider.citations import CitationLedger


class Turns:
    """The ledgers of the turns that were used last; a turn that was forgotten begins again at ``source_1``.

    May be shared between threads. Raises ``TypeError`` when ``limit`` is not an int, ``ValueError`` when it is below 1.
    """

    __slots__ = ("_ledgers", "_limit", "_lock")

    def __init__(self, limit: int) -> None:
        if type(limit) is not int:
            raise TypeError("turns must be an int, since it is a count: pass 1 or more")
        if limit < 1:
            raise ValueError("turns must be 1 or more, or no turn could keep its citations: pass 1 or more")
        self._limit = limit
        self._ledgers: OrderedDict[tuple[str, str, str], CitationLedger] = OrderedDict()
        self._lock = Lock()

    def ledger(self, owner_id: str, session_id: str, turn_id: str) -> CitationLedger:
        """The turn's ledger. A blank ``turn_id`` names no turn, so each asking with one gets a ledger of its own."""
        if not turn_id.strip():
            return CitationLedger()
        # Clause 8.9. By owner too: where two owners' ids collide, a title that one has seen must not reach the other.
        turn = (owner_id, session_id, turn_id)
        with self._lock:
            ledger = self._ledgers.setdefault(turn, CitationLedger())
            self._ledgers.move_to_end(turn)
            if len(self._ledgers) > self._limit:
                self._ledgers.popitem(last=False)
        return ledger
