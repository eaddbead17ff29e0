"""The citations of one turn (rule N12, clause 8.9); knows kept URIs, not why they were kept, and no turn or session."""

import re
from collections import OrderedDict
from threading import Lock
from typing import Final

from knowledge_provider import limits
from knowledge_provider.models import Source
from knowledge_provider.outcome import Citation
from knowledge_provider.text import short_text

# More than a turn shows anybody; a ledger that is full takes some 10 MB.
_LINKS_MAX: Final = 4096

_PORT: Final = re.compile(r":[0-9]+$")


class CitationLedger:
    """What one turn has cited so far: the same URI has the same citation in every search of the turn.

    A host keeps one ledger for each (session, turn) and hands it to ``normalize_response``, which adds to it. It may
    be shared between threads. It holds one ``Citation`` for each URI, of the 4,096 that were cited last, and is as
    long-lived as its owner makes it. A URI that was forgotten gets a new id: none is used twice.
    """

    __slots__ = ("_by_url", "_count", "_lock")

    def __init__(self) -> None:
        self._by_url: OrderedDict[str, Citation] = OrderedDict()
        self._count = 0
        self._lock = Lock()

    def cite(self, url: str, *, source: Source, content: str, provider: str = "") -> Citation:
        """The citation of ``url``, made from the other arguments when the turn has not cited it before.

        ``url`` has passed the URI policy; ``source`` and ``content`` are normalised. Ids count from ``source_1``.
        """
        # Two threads that count at the same time would give one id to two URIs.
        with self._lock:
            known = self._by_url.get(url)
            if known is None:
                self._count += 1
                known = self._by_url[url] = _citation(self._count, url, source, content, provider)
            # Clause 8.9: bounded, and what was cited least recently goes first.
            self._by_url.move_to_end(url)
            if len(self._by_url) > _LINKS_MAX:
                self._by_url.popitem(last=False)
            return known


def _citation(place: int, url: str, source: Source, content: str, provider: str) -> Citation:
    # Rule N12.
    return Citation(
        id=f"source_{place}",
        title=source.title or source.id or _host(url),
        url=url,
        snippet=short_text(content, limits.SNIPPET_MAX),
        source=provider or None,
    )


def _host(url: str) -> str:
    # The policy's URIs are WHATWG serialisations: "scheme://host[:port]/…", without user-info.
    return _PORT.sub("", url.split("/", 3)[2])
