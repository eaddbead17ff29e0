"""The function doors: check a provider from a test of one's own, or from a script. Knows no pytest."""

import asyncio
from collections.abc import Callable
from typing import Any

from knowledge_conformance.check import Check
from knowledge_conformance.kinds import KindName, kind_named
from knowledge_conformance.report import Report
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import Target, importable_name, target_of
from knowledge_conformance.terminal import failure_lines, failures, note_lines, verdict_lines

Provided = str | Callable[..., Any] | object
"""A target: ``module:obj``, a callable or class that makes a provider, a context manager, or a provider.

A retrieval source is given in the same ways. For another ``kind`` it is the factory:
``factory(provider, *, timeout=…)`` makes a host of a provider, ``factory(children, *, timeout=…)`` a provider of
several, and ``factory(built_in, sources, *, timeout=…)`` what merges a task's sources with what the host knows itself.
``factory(provider, scope, *, identity)`` puts an access rule before a provider, and ``factory()`` makes a renderer.
"""


class NotConformantError(AssertionError):
    """The target is not conformant, or too little was observed to tell; ``report`` has everything."""

    def __init__(self, report: Report, settings: Settings) -> None:
        lines = [line for check in failures(report) for line in (*failure_lines(check, report.target, settings), "")]
        super().__init__(
            "\n".join([report.sentence, "", *lines, *note_lines(report, settings), *verdict_lines(report)])
        )
        self.report = report


async def run(
    target: Provided, settings: Settings | None = None, *, kind: KindName = "provider", in_process: bool = False
) -> Report:
    """Run all checks on a target of the given kind; the report.

    ``target`` is ``module:obj`` or the object itself. One that can be imported by its name runs in a supervised child
    process. A lambda, a local function or a finished provider exists in this process only and runs in a thread of it,
    without protection from what takes a process away. Raises ``TargetError`` when it cannot be loaded or opened.
    """
    return await asyncio.to_thread(run_sync, target, settings, kind=kind, in_process=in_process)


def run_sync(
    target: Provided,
    settings: Settings | None = None,
    *,
    kind: KindName = "provider",
    in_process: bool = False,
    source: str = "the settings",
    only: Check | None = None,
    begun: Callable[[Run], None] = lambda _run: None,
) -> Report:
    """``run`` for a caller without an event loop, who may know the settings' file, or want one check ``only``.

    ``begun`` is given the run as it begins, for whoever shows how far it is.
    """
    made = settings or Settings()
    started = Run(resolve(target), made, kind=kind_named(kind), in_process=in_process, source=source)
    begun(started)
    try:
        started.runner.open()
        return started.all() if only is None else started.only(only)
    finally:
        started.runner.kill()


def assert_conforms(
    target: Provided, settings: Settings | None = None, *, kind: KindName = "provider", in_process: bool = False
) -> Report:
    """Run all checks and raise ``NotConformantError`` unless the target is conformant; the report otherwise.

    Known failures of the settings are accepted; ``report.conformant`` tells.

    Not for use inside a running event loop: there, ``await run(...)`` and look at ``report.conformant``.
    """
    report = run_sync(target, settings, kind=kind, in_process=in_process)
    if not report.accepted:
        raise NotConformantError(report, settings or Settings())
    return report


def resolve(target: Provided) -> str | Target:
    """The name under which a child process finds the target, or the target itself where there is none."""
    if isinstance(target, str):
        return target
    name = importable_name(target) if callable(target) else None
    return name or target_of(target, _described(target))


def _described(target: object) -> str:
    named = target if hasattr(target, "__qualname__") else type(target)
    return f"{named.__module__}:{named.__qualname__}"
