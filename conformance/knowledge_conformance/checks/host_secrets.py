"""Clause 6.4 of a host: what a provider's failure says stays behind it. Knows every place where a host says something.

The secret is the kit's own and new in each run; it is in nothing but what the provider raises.
"""

from typing import Final

from knowledge_conformance.calls import Ending
from knowledge_conformance.channels import Search, texts_of_answer, texts_of_message, texts_of_value
from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.host_subject import HostSubject
from knowledge_conformance.taint import canary
from knowledge_fakes.scripted import ScriptedProvider
from knowledge_provider import KnowledgeFiltersUnsupportedError, KnowledgeUnavailableError

_ANSWER: Final = [{"id": "approvals", "content": "Releases are approved by two people."}]
_FAILURES: Final = (ConnectionError, KnowledgeUnavailableError, KnowledgeFiltersUnsupportedError)
_SAID: Final = ("describe", "tool_definition", "capabilities")


def quoting(secret: str, kind: type[Exception] = ConnectionError) -> Exception:
    """An exception with a key in all that is said of it: message, arguments, a note and its cause."""
    error = kind(f"GET https://back.end.example/search, Authorization: Bearer {secret}")
    error.add_note(f"the key was {secret}")
    error.__cause__ = OSError(f"refused {secret}")
    return error


# Clauses 6.4 and 8.11
@check("KP-866", clause="6.4", level=Level.MUST, needs=("KP-820",))
async def no_secret_of_a_failure_comes_out(subject: HostSubject) -> None:
    """What a provider raises comes out of nothing that a host says: search, tool, description or close.

    Exceptions of back ends quote keys. Looked at are answers, and of exceptions the message, arguments and notes, after
    a failure, an outage and a refusal, by search and by the tool, and while the provider is closed. What stands in
    __cause__ is for whoever debugs, and is left alone; at the health KP-850 looks.
    """
    secret = canary("host", subject.settings.seed)
    search = Search({"a provider's key": secret})
    # Each twice: by search, and by the tool.
    script = [quoting(secret, kind) for kind in _FAILURES for _ in range(2)]
    provider = ScriptedProvider([*script, _ANSWER], closing=quoting(secret))
    async with subject.host(provider) as host:
        for _ in (*_FAILURES, _ANSWER):
            async for call, ending in host.attempt_each_way({"query": "release policy"}):
                _look(subject, search, call, ending)
        for name in _SAID:
            _look(subject, search, f"host.{name}", await host.asked(name))
        search.call = "outside any call"
        search.look_at(texts_of_value("host", host.made))
        _look(subject, search, "host.close()", await host.close())
    refuse_leaks(
        search, "raise the contract's errors with words of the host's own, and keep those of the provider in __cause__"
    )


def _look(subject: HostSubject, search: Search, call: str, ending: Ending) -> None:
    search.call = call
    if ending.error is not None:
        search.look_at(texts_of_message(ending.error))
    search.look_at(texts_of_answer(ending.value))
    subject.observe()


def refuse_leaks(search: Search, hint: str) -> None:
    """Raise ``Violation`` for the first of the leaks that a search found."""
    for leak in search.ordered[:1]:
        raise Violation(
            wanted="nothing of what a provider raised in anything that is said of it",
            saw=f"{leak.found}, in {leak.channel}",
            hint=hint,
            where=leak.call,
        )


CHECKS: Final[tuple[Check, ...]] = (no_secret_of_a_failure_comes_out,)
