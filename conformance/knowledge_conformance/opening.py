"""Listens while a provider is made: what is written then is written before any check looks. Knows settings, no target.

The declared secrets alone are searched for, and nothing is listened to where none is declared.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from knowledge_conformance.channels import Leak, Search
from knowledge_conformance.declared import searchable
from knowledge_conformance.listening import listening


@contextmanager
def overheard(secrets: Sequence[str], call: str, leaks: list[Leak]) -> Iterator[None]:
    """Add to ``leaks`` what the process writes of the values of these variables; ``call`` says what goes on."""
    values = searchable(secrets)
    if not values:
        yield
        return
    search = Search(values)
    search.call = call
    with listening(search):
        yield
    leaks.extend(search.ordered)
