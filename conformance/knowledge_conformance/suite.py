"""The class doors: ``class TestMine(ProviderConformance)`` in a user's own test file. Knows pytest and ``Run``."""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

from knowledge_conformance.api import resolve
from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.kinds import (
    ACCESS,
    COMPOSITE,
    HOST,
    MERGING,
    PROVIDER,
    RENDERER,
    SOURCE,
    Kind,
)
from knowledge_conformance.profiles import selected
from knowledge_conformance.results import FAILING, CheckOutcome
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import TargetError
from knowledge_conformance.terminal import failure_lines, note_lines, verdict_lines
from knowledge_conformance.verdict import Verdict


class _Conformance:
    """What the classes below have in common; the attribute that is named as the kind is the target."""

    settings: ClassVar[Settings] = Settings()
    test_check: ClassVar[Callable[..., None]]
    test_verdict: ClassVar[Callable[..., None]]
    _kind: ClassVar[Kind]

    def __init_subclass__(cls, *, kind: Kind | None = None) -> None:
        """Give a class of a ``kind`` its tests; one of a user's is of the kind of the class that it is made of."""
        super().__init_subclass__()
        if kind is not None:
            # The verdict after the checks: pytest runs a class in the order of its names.
            cls._kind, cls.test_check, cls.test_verdict = kind, _each_check(kind), _verdict

    @pytest.fixture(scope="class")
    @classmethod
    def conformance_run(cls, request: pytest.FixtureRequest) -> Iterator[Run]:
        """The run that all tests of the class share."""
        owner, kind = request.cls, cls._kind
        target = getattr(owner, kind.name)
        if target is None:
            pytest.fail(f"{owner.__name__}.{kind.name} is not set: 'module:obj', or {kind.wanted}", pytrace=False)
        run = _opened(target, owner.settings, kind)
        if isinstance(run, TargetError):
            # Outside the handler, or the message would be printed twice.
            pytest.fail(str(run), pytrace=False)
        yield run
        before = dict(run.results)
        run.close()
        for result in run.results.values():
            if result != before[result.id]:
                pytest.fail("\n".join(failure_lines(result, run.name, run.settings)), pytrace=False)


def _opened(target: Any, settings: Settings, kind: Kind) -> Run | TargetError:
    try:
        run = Run(resolve(target), settings, kind=kind)
        run.runner.open()
    except TargetError as error:
        return error
    return run


def _each_check(kind: Kind) -> Callable[..., None]:
    def test_check(case: _Conformance, conformance_run: Run, check_id: str) -> None:
        """The target keeps the rule of this check."""
        del case  # as every method has one
        if BY_ID[check_id] not in selected(kind, conformance_run.settings):
            pytest.skip("not in the fast profile")
        if BY_ID[check_id].closes:
            # Whatever shuffles the tests: nothing can be asked of a closed provider.
            conformance_run.complete()
        result = conformance_run.result(BY_ID[check_id])
        text = "\n".join(failure_lines(result, conformance_run.name, conformance_run.settings))
        accepted = result.outcome is CheckOutcome.KNOWN
        if accepted:
            pytest.xfail(f"known failure: {result.known}")  # which does nothing with --runxfail
        if accepted or result.outcome in FAILING:
            pytest.fail(text, pytrace=False)
        if result.outcome not in (CheckOutcome.PASSED, CheckOutcome.ADVISORY):
            pytest.skip(f"{result.outcome}: {result.saw}")

    each: Callable[..., None] = pytest.mark.parametrize("check_id", [check.id for check in kind.checks])(test_check)
    return each


def _verdict(case: _Conformance, conformance_run: Run) -> None:
    """All checks together make the target conformant; those that were not run yet are run now."""
    del case  # as every method has one
    conformance_run.complete()
    report = conformance_run.report()
    if report.good and report.verdict is Verdict.PARTIAL:
        pytest.skip(report.sentence)
    if not report.accepted:
        lines = [*note_lines(report, conformance_run.settings), *verdict_lines(report)]
        pytest.fail("\n".join(lines), pytrace=False)


class ProviderConformance(_Conformance, kind=PROVIDER):
    """One test for each check, and one for the verdict. Set ``provider``; ``settings`` where the defaults do not fit.

    ``provider`` is ``"module:obj"``, or a function or class that makes a provider (a function as ``staticmethod``).
    One that cannot be imported by its name runs without a child process, and so without protection.
    """

    provider: ClassVar[Any] = None


class HostConformance(_Conformance, kind=HOST):
    """The same for a host: set ``host`` to ``"module:factory"`` or the factory itself (a function as ``staticmethod``).

    The factory is called as ``factory(provider, *, timeout=…)`` and gives a host, or something to await that does.
    """

    host: ClassVar[Any] = None


class CompositeConformance(_Conformance, kind=COMPOSITE):
    """The same for what puts several providers behind one: set ``composite`` as ``host`` is set.

    The factory is called as ``factory(children, *, timeout=…)``, with providers by their names, and gives a provider.
    """

    composite: ClassVar[Any] = None


class SourceConformance(_Conformance, kind=SOURCE):
    """The same for a retrieval source: set ``source`` as ``provider`` is set, and references in the ``settings``."""

    source: ClassVar[Any] = None


class MergingConformance(_Conformance, kind=MERGING):
    """The same for what merges a task's sources with its own knowledge: set ``merging`` as ``host`` is set.

    The factory is called as ``factory(built_in, sources, *, timeout=…)``. It gives an ``async`` function, called as
    ``merge(query, *, context, refs)``. ``built_in(query, context)`` is awaited for what the host knows itself.
    """

    merging: ClassVar[Any] = None


class AccessConformance(_Conformance, kind=ACCESS):
    """The same for a rule about who may read what: set ``access`` as ``host`` is set.

    The factory is called as ``factory(provider, scope, *, identity)``. ``scope`` is the configured ``AccessScope``, or
    None where nothing is configured. ``identity(context)`` gives a mapping of what the run knows of who asks:
    ``tenant_id``, ``user_id`` and ``roles``, or nothing. It gives a provider that shows what that reader may see.
    """

    access: ClassVar[Any] = None


class RendererConformance(_Conformance, kind=RENDERER):
    """The same for what puts an outcome in front of a model: set ``renderer`` as ``host`` is set.

    The factory, or a class, is called without arguments and gives an object with ``inject(messages, block)`` and
    ``render_block(outcome, *, max_chars)``, where ``max_chars`` may be left out.
    """

    renderer: ClassVar[Any] = None
