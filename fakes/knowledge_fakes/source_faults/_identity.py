"""Mistakes with what a source says of itself; knows clause 10.1, no way of catching them."""

import itertools

from knowledge_fakes.source_faults._declared import fault
from knowledge_fakes.sources import HandbookSource


@fault("KP-1001", fragment="lowercase letters")
class NameForPeople(HandbookSource):
    """The name is what people call it, with a space and capitals, and no reference can carry it."""

    name = "The Handbook"


@fault("KP-1001", fragment="True or False")
class CapabilitiesAsAList(HandbookSource):
    """Capabilities are a list of names, as another protocol has them."""

    capabilities = ["list_documents"]  # type: ignore[assignment] # noqa: RUF012 - the mistake


@fault("KP-1001", fragment="a callable validate_refs")
class ValidationAsAFlag(HandbookSource):
    """validate_refs is True, to say that references are validated."""

    validate_refs = True  # type: ignore[assignment] # the mistake


@fault("KP-1001", fragment="a callable retrieve")
class RetrieveRenamed(HandbookSource):
    """The method is called search, and retrieve is not there."""

    retrieve = None  # type: ignore[assignment] # the mistake


_MADE = itertools.count()


@fault("KP-1002", fragment="the same name and capabilities")
class NameOfTheInstance(HandbookSource):
    """The name ends in a number that counts, so that a task's references name what is not there any more."""

    @property
    def name(self) -> str:  # type: ignore[override] # the mistake
        return f"handbook-{next(_MADE)}"


@fault("KP-1002", fragment="the same name and capabilities")
class CapabilitiesOfTheClass(HandbookSource):
    """The mapping is the source's own, and what a host adds to it stays."""

    capabilities = {"list_documents": True}  # noqa: RUF012 - the mistake


@fault("KP-1003", fragment="a method list_documents")
class ListingClaimed(HandbookSource):
    """A listing is claimed, since the back end has one, and the method was never written."""

    list_documents = None  # type: ignore[assignment] # the mistake
