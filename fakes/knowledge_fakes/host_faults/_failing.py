"""Mistakes with what a provider raises; knows clause 8.11 of the contract, no way of catching them."""

import asyncio
from typing import Any

from knowledge_fakes.host_faults._host_fault import host_fault
from knowledge_fakes.plain_host import PlainHost
from knowledge_provider import KnowledgeError, KnowledgeFailedError, RetrievalContext, errors

# What is told of a failure.


@host_fault("KP-820", fragment="the provider's own text in the message")
class ErrorTextInTheMessage(PlainHost):
    """The message repeats the provider's, with the address, the key and the query that are in it."""

    def failure(self, error: BaseException) -> BaseException:
        made = super().failure(error)
        made.args = (f"{made}: {errors.read_or_none(lambda: str(error))}",)
        return made


@host_fault("KP-820", fragment="the provider's own text in the message")
class ErrorTextInANote(PlainHost):
    """The message is clean, and the provider's text stands in a note, which every traceback prints."""

    def failure(self, error: BaseException) -> BaseException:
        made = super().failure(error)
        made.add_note(f"the provider said: {errors.read_or_none(lambda: str(error))}")
        return made


@host_fault("KP-820", fragment="VendorError")
class ForeignErrorGoesThrough(PlainHost):
    """What the provider raises comes out as it is, and no caller can name what may come."""

    def failure(self, error: BaseException) -> BaseException:
        return error if isinstance(error, Exception) else super().failure(error)


@host_fault("KP-820", fragment="KnowledgeAllSourcesFailedError")
class ContractErrorGoesThrough(PlainHost):
    """An error of the contract's own comes out as the provider made it, with its text and its code."""

    def failure(self, error: BaseException) -> BaseException:
        return error if isinstance(error, KnowledgeError) else super().failure(error)


@host_fault("KP-820", fragment="with the code knowledge_all_sources_failed")
class CodeOfTheCause(PlainHost):
    """The failure has the code that the provider's error had, and a missing provider is reported that is there."""

    def failure(self, error: BaseException) -> BaseException:
        made, code = super().failure(error), errors.error_code(error)
        if code and isinstance(made, KnowledgeFailedError):
            made.code = code
        return made


@host_fault("KP-820", fragment="The provider  failed")
class FailureWithoutTheKey(PlainHost):
    """Which provider failed is not said."""

    def failure(self, error: BaseException) -> BaseException:
        made = super().failure(error)
        made.args = (str(made).replace(self.key, ""),)
        vars(made)["provider_key"] = None
        return made


@host_fault("KP-820", "KP-834", fragment="an outcome")
class FailureIsAnEmptyAnswer(PlainHost):
    """A provider that fails has found nothing, and the model answers from memory during an outage."""

    async def answer(self, request: Any, context: RetrievalContext) -> Any:
        try:
            return await super().answer(request, context)
        except errors.KnowledgeFailedError as error:
            if error.code == KnowledgeFailedError.code:
                return []
            raise


@host_fault("KP-820", "KP-834", fragment="an outcome")
class FailureAsAResult(PlainHost):
    """The error is given to the model as a result, with everything that the back end said."""

    async def answer(self, request: Any, context: RetrievalContext) -> Any:
        try:
            return await super().answer(request, context)
        except errors.KnowledgeFailedError as error:
            if error.code == KnowledgeFailedError.code:
                return [{"id": "error", "content": f"Search failed: {error.__cause__!r:.500}"}]
            raise


@host_fault("KP-820", fragment="no cause")
class CauseLost(PlainHost):
    """The provider's own error is thrown away, and nobody finds out why it failed."""

    async def answer(self, request: Any, context: RetrievalContext) -> Any:
        try:
            return await super().answer(request, context)
        except errors.KnowledgeError as error:
            raise error from None


@host_fault("KP-843", fragment="knowledge_filters_unsupported")
class RefusalIsAFailure(PlainHost):
    """A request that the provider refuses counts as a failure of it, and is tried again for ever."""

    def failure(self, error: BaseException) -> BaseException:
        made = super().failure(error)
        if isinstance(made, KnowledgeFailedError):
            return made
        return KnowledgeFailedError("the provider failed", provider_key=self.key)


@host_fault("KP-844", fragment="for knowledge_unauthorized")
class EverythingIsRetryable(PlainHost):
    """Every failure is worth another try, a refused credential too."""

    def failure(self, error: BaseException) -> BaseException:
        made = super().failure(error)
        vars(made)["retryable"] = True
        return made


# What looks like the host's own end.


@host_fault("KP-821", fragment="a cancellation that nobody asked for")
class CancellationOfTheProviders(PlainHost):
    """A CancelledError that the provider raises is taken for the host's own cancellation, and ends the turn."""

    def failure(self, error: BaseException) -> BaseException:
        return error if isinstance(error, asyncio.CancelledError) else super().failure(error)


@host_fault("KP-845", fragment="after timeout")
class TimeoutOfTheProviders(PlainHost):
    """Any TimeoutError is taken for the deadline, so a broken back end looks like an impatient host."""

    def failure(self, error: BaseException) -> BaseException:
        return self.late() if isinstance(error, TimeoutError) else super().failure(error)


@host_fault("KP-845", fragment="after knowledge_timeout")
class TimeoutCodeOfTheProviders(PlainHost):
    """A provider's error with the code of the deadline is given on as the deadline."""

    def failure(self, error: BaseException) -> BaseException:
        return self.late() if errors.error_code(error) == "knowledge_timeout" else super().failure(error)


@host_fault("KP-821", fragment="raised SystemExit")
class SystemExitGoesThrough(PlainHost):
    """Only Exception is caught, so a provider that calls sys.exit ends the application."""

    def failure(self, error: BaseException) -> BaseException:
        return error if isinstance(error, SystemExit) else super().failure(error)


@host_fault("KP-821", fragment="raised GeneratorExit")
class OnlyExceptionIsCaught(PlainHost):
    """Only Exception is caught, and what a generator's end raises goes through the host."""

    def failure(self, error: BaseException) -> BaseException:
        expected = isinstance(error, Exception | asyncio.CancelledError | SystemExit)
        return super().failure(error) if expected else error


@host_fault("KP-821", fragment="after group_with_a_cancellation")
class GroupsTakenApart(PlainHost):
    """Of a group of errors the first is looked at, and a cancellation in it ends the turn."""

    def failure(self, error: BaseException) -> BaseException:
        first = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else None
        return first if isinstance(first, asyncio.CancelledError | SystemExit) else super().failure(error)


@host_fault("KP-859", fragment="after stop_iteration")
class StopIterationIsTheEnd(PlainHost):
    """A StopIteration in a worker thread is taken for the end of its answer: nothing found."""

    async def answer(self, request: Any, context: RetrievalContext) -> Any:
        try:
            return await super().answer(request, context)
        except errors.KnowledgeFailedError as error:
            if isinstance(error.__cause__, StopIteration):
                return []
            raise


# What is told of it elsewhere.


def _words(error: BaseException) -> str:
    return str(errors.read_or_none(lambda: str(error)) or "")


@host_fault("KP-866", fragment="the message of the exception")
class RefusalInTheProvidersWords(PlainHost):
    """A refusal keeps its code and the provider's own words, since it is the caller's mistake and not a failure."""

    def failure(self, error: BaseException) -> BaseException:
        made = super().failure(error)
        if not isinstance(made, KnowledgeFailedError):
            made.args = (_words(error) or str(made),)
        return made


@host_fault("KP-866", fragment="answer['last_error']")
class LastErrorInTheDescription(PlainHost):
    """What went wrong last stands in the description, for whoever debugs, and goes wherever that is shown."""

    last: str = ""

    def failure(self, error: BaseException) -> BaseException:
        self.last = _words(error)
        return super().failure(error)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), **({"last_error": self.last} if self.last else {})}
