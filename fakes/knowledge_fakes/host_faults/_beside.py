"""Mistakes with what a provider answers beside its results; knows clause 8.8, rule N13, no way of catching them."""

from typing import Any, ClassVar

from pydantic import ConfigDict

from knowledge_fakes import _plain_reading as read
from knowledge_fakes.host_faults._host_fault import host_fault
from knowledge_fakes.plain_host import PlainHost
from knowledge_provider import Outcome, RetrievalContext


@host_fault("KP-867", fragment="a name or a count")
class TheRestHandedOn(PlainHost):
    """The answer's own fields are handed on beside the outcome's, whatever a back end puts there."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        made = super().outcome(answer, query, limit, context)
        return {**answer, **made.to_dict()} if type(read.argument(answer, "total")) is int else made


@host_fault("KP-867", fragment="in outcome['total']")
class TotalToldToTheModel(PlainHost):
    """How many results there would be is told, those that the reader may not see included."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        made = super().outcome(answer, query, limit, context)
        total = read.argument(answer, "total")
        return {**made.to_dict(), "total": total} if type(total) is int else made


class _OpenOutcome(Outcome):
    """An outcome that allows any field."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow")


@host_fault("KP-867", fragment="in outcome['failures']")
class FailuresHandedOn(PlainHost):
    """What a provider calls failures is handed on, and names the sources that the reader must not know of."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        made = super().outcome(answer, query, limit, context)
        failures = read.argument(answer, "failures")
        return _OpenOutcome.model_validate({**dict(made), "failures": failures}) if type(failures) is list else made


@host_fault("KP-867", fragment="in outcome['notice']")
class WithheldInTheNotice(PlainHost):
    """The notice says what was withheld, so that the model can tell the user."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        made = super().outcome(answer, query, limit, context)
        said = read.argument(answer, "message")
        return made.model_copy(update={"notice": f"{made.notice} {said}"}) if type(said) is str else made
