"""The checks for clause 6.4: what they say where there is something to search for, and where there is not."""

import asyncio
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from knowledge_conformance import render
from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import Target, load
from knowledge_fakes.conformant import CONFORMANT, Conformant
from knowledge_fakes.handbook import HandbookProvider
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest

IDS = ("KP-604", "KP-605", "KP-606", "KP-607")
NAME = "KIT_TEST_KEY"
VALUE = "tb-live/9vX+Qe7Zk4m=2Lw"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, VALUE)
    # The providers are in this process, which would go on masking what is declared here, an ordinary word among it.
    monkeypatch.setattr(render, "_declared", set(render._declared))


def results(make: Any, *, secrets: tuple[str, ...] = (NAME,), **settings: Any) -> Mapping[str, CheckResult]:
    """What the four checks say of a provider in this process."""
    target = load(make) if isinstance(make, str) else Target("tests:<made>", make, instance=False)
    run = Run(target, Settings(secrets=secrets, timeout=0.5, **settings))
    try:
        return {check_id: run.result(BY_ID[check_id]) for check_id in IDS}
    finally:
        run.close()


def outcomes(found: Mapping[str, CheckResult]) -> set[CheckOutcome]:
    return {result.outcome for result in found.values()}


@pytest.mark.parametrize("case", CONFORMANT.values(), ids=CONFORMANT)
def test_a_conformant_provider_lets_nothing_out(case: Conformant) -> None:
    """And is observed: it passes, unless it has no close()."""
    found = results(case.target, queries=case.queries)
    assert outcomes(found) <= {CheckOutcome.PASSED, CheckOutcome.INAPPLICABLE}, found
    assert all(found[check_id].outcome is CheckOutcome.PASSED for check_id in IDS[:3])


def test_without_a_declared_secret_nothing_is_asked() -> None:
    """It costs no call, and the text says what to set."""
    found = results(HandbookProvider, secrets=())
    assert outcomes(found) == {CheckOutcome.INAPPLICABLE}
    assert [result.calls for result in found.values()] == [0, 0, 0, 0]
    assert "secrets = ['ACME_API_KEY']" in str(found["KP-604"].saw)


def test_a_variable_that_is_not_set_is_named() -> None:
    """Nothing was searched for, so nothing is said."""
    found = results(HandbookProvider, secrets=("KIT_TEST_UNSET",))
    assert outcomes(found) == {CheckOutcome.INCONCLUSIVE}
    assert str(found["KP-604"].saw).endswith("KIT_TEST_UNSET is not set")


def test_an_ordinary_word_is_not_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its value is not said either: it may be somebody's key all the same."""
    monkeypatch.setenv("KIT_TEST_WORD", "engineering")
    found = results(HandbookProvider, secrets=("KIT_TEST_WORD",))
    assert outcomes(found) == {CheckOutcome.INCONCLUSIVE}
    assert "KIT_TEST_WORD reads like an ordinary word" in str(found["KP-604"].saw)
    assert "engineering" not in str(found["KP-604"].saw)


def test_one_variable_that_is_missing_leaves_the_others_searched() -> None:
    """A leak of one is more than the doubt about the other."""

    class Leaking(HandbookProvider):
        def __repr__(self) -> str:
            return VALUE

    declared = ("KIT_TEST_UNSET", NAME)
    assert outcomes(results(HandbookProvider, secrets=declared)) == {CheckOutcome.INCONCLUSIVE}
    found = results(Leaking, secrets=declared)["KP-604"]
    assert (found.outcome, found.where) == (CheckOutcome.FAILED, "outside any call")
    assert found.saw == f"the value of {NAME}, as it is, in repr(provider)"


class Describing(HandbookProvider):
    """What a description and a health raise is looked at, too."""

    def describe(self) -> Any:
        return {**super().describe(), "label": f"at {VALUE}"}

    async def health(self, signal: CancelSignal) -> Any:
        raise ConnectionError(VALUE)


def test_several_places_are_said_and_counted() -> None:
    """With the call of the first."""
    found = results(Describing)["KP-604"]
    assert found.where == "describe()"
    assert found.saw == (
        f"the value of {NAME}, as it is, in description['label']; in the message of the exception; "
        "in repr() of the exception; and 1 more"
    )


class NeverFailing(HandbookProvider):
    """Takes every filter, and no notice of a signal."""

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        plain = RetrievalRequest(query=request.query)
        return await super().retrieve(plain, context.model_copy(update={"signal": CancelSignal()}))


def test_where_no_call_fails_no_error_was_seen() -> None:
    """That is no pass."""
    found = results(NeverFailing)
    assert found["KP-605"].outcome is CheckOutcome.INCONCLUSIVE
    assert found["KP-605"].saw == "no call failed, so no exception was seen"
    assert found["KP-606"].outcome is CheckOutcome.PASSED


class Hanging(HandbookProvider):
    """Never ends where it is refused something."""

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        if request.filters:
            await asyncio.Event().wait()
        return await super().retrieve(request, context)


class Cancelled(HandbookProvider):
    """Waits twice, and writes at the second what it holds when it is cancelled there; ``swallows`` says what then."""

    swallows = False

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        await asyncio.sleep(0)
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            sys.stderr.write(f"cancelled with {VALUE}\n")
            if not self.swallows:
                raise
        return await super().retrieve(request, context)


@pytest.mark.parametrize("swallows", [False, True])
def test_what_is_written_of_a_cancelled_call_is_heard(swallows: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """At whichever of its awaits; that the cancellation does not come out is another check's finding."""
    monkeypatch.setattr(Cancelled, "swallows", swallows)
    found = results(Cancelled)
    assert found["KP-604"].outcome is found["KP-605"].outcome is CheckOutcome.PASSED
    assert found["KP-606"].outcome is CheckOutcome.FAILED
    assert found["KP-606"].saw == f"the value of {NAME}, as it is, in standard error"
    assert str(found["KP-606"].where).endswith(", context), cancelled while it waits")


def noted(error: BaseException) -> BaseException:
    error.add_note(VALUE)
    return error


def caused(error: BaseException) -> BaseException:
    error.__cause__ = ConnectionError(VALUE)
    return error


def in_the_context(error: BaseException) -> BaseException:
    error.__context__ = ConnectionError(VALUE)
    return error


RAISED: dict[str, tuple[Callable[[BaseException], BaseException], str]] = {
    "a note": (noted, "a note of the exception"),
    "a cause": (caused, "the message of the __cause__ of the exception"),
    "a context": (in_the_context, "the message of the __context__ of the exception"),
    "another error": (lambda _: ConnectionError(VALUE), "the message of the exception"),
}


@pytest.mark.parametrize(("changed", "place"), RAISED.values(), ids=RAISED)
def test_what_a_cancellation_carries_is_looked_at(
    changed: Callable[[BaseException], BaseException], place: str
) -> None:
    """Whether it is the cancellation, what stands behind it, or what comes out instead of it."""

    class Carrying(HandbookProvider):
        async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
            context.signal.raise_if_cancelled()
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError as error:
                raise changed(error)  # noqa: B904 - how they hang together is what this is about
            return await super().retrieve(request, context)

    found = results(Carrying)
    assert found["KP-604"].outcome is found["KP-606"].outcome is CheckOutcome.PASSED
    assert found["KP-605"].outcome is CheckOutcome.FAILED
    assert place in str(found["KP-605"].saw)
    assert str(found["KP-605"].where).endswith(", context), cancelled while it waits")


def test_a_call_that_does_not_end_is_another_checks_finding() -> None:
    """The others are searched all the same."""
    assert outcomes(results(Hanging)) == {CheckOutcome.PASSED}


def test_what_comes_out_late_belongs_to_its_call() -> None:
    """A task that a call leaves behind may be what fails."""

    class Late(HandbookProvider):
        async def close(self) -> None:
            asyncio.get_running_loop().call_soon(self._fail)

        def _fail(self) -> None:
            raise ValueError(VALUE)

    found = results(Late)["KP-607"]
    assert found.outcome is CheckOutcome.FAILED
    assert found.where == "close()"


class Entered:
    """Prints what it holds when it is entered, and only then."""

    async def __aenter__(self) -> HandbookProvider:
        sys.stdout.write(f"session with {VALUE}\n")
        return HandbookProvider()

    async def __aexit__(self, *_: object) -> None:
        """It is the kit's to leave."""


def test_a_context_manager_is_heard_when_it_is_entered() -> None:
    """Whether that was for this check or for the first one."""
    for instance in (False, True):
        target = Target("tests:<made>", Entered() if instance else Entered, instance=instance)
        run = Run(target, Settings(secrets=(NAME,)))
        first = run.result(BY_ID["KP-604"])
        found = run.result(BY_ID["KP-606"])
        run.close()
        assert first.outcome is CheckOutcome.PASSED
        assert (found.outcome, found.where) == (CheckOutcome.FAILED, "making the provider")
        assert found.saw == f"the value of {NAME}, as it is, in standard output"


def test_a_module_is_heard_when_it_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider that lives for the whole run is made then."""
    (tmp_path / "loud_when_imported.py").write_text(
        "import os, warnings\n"
        "from knowledge_fakes.handbook import HandbookProvider\n"
        f"warnings.warn('made with ' + os.environ['{NAME}'])\n"
        "provider = HandbookProvider()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    run = Run("loud_when_imported:provider", Settings(secrets=(NAME,)), in_process=True)
    found = run.result(BY_ID["KP-606"])
    run.close()
    assert (found.outcome, found.where) == (CheckOutcome.FAILED, "importing its module")
    assert found.saw == f"the value of {NAME}, as it is, in a warning"
