"""Writes a small test for each failure that one provider and one request show; runs nothing.

The tests import nothing of the kit: the author's provider, the contract, and pytest where one needs it. Where a few
lines cannot show a failure, none is written and a line says so: a test that asserts nothing would be a promise.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from knowledge_conformance.kinds import KINDS
from knowledge_conformance.report import CheckReport, Report
from knowledge_conformance.repro_bodies import ANSWERED, BODIES, REFUSED
from knowledge_conformance.results import BROKEN
from knowledge_conformance.settings import Settings
from knowledge_conformance.subject import DEFAULT_OWNER
from knowledge_conformance.terminal import WIDTH

_ASKS: Final = re.compile(r"\b(answer|results|rows)\b")
_AFTER: Final = ", after retrieve("
"""Where a failure needs another call before it."""
_JUDGE: Final = re.compile(r"\((KP-\d+), which ordinary answers keep\)")
_MODULES: Final = ("contextlib", "math", "re", "time")
_CONTRACT: Final = (
    "CancelSignal", "ProviderDescription", "RetrievalContext", "RetrievalRequest", "RetrievalResult", "Source",
    "normalize_response", "public_uri", "uri_fault",
)  # fmt: skip

_TEMPLATE: Final = '''"""{id}: {title}

{evidence}
Run it from the folder of your provider: python -m pytest {file}
"""

{imports}

{request}SIGNAL = CancelSignal()
CONTEXT = RetrievalContext(owner_id={owner!r}, session_id="s", turn_id="t", trace_id="t", signal=SIGNAL)


async def waited(value):
    return await asyncio.wait_for(value, {timeout:g}) if inspect.isawaitable(value) else value


async def main():
    async with AsyncExitStack() as stack:
        provider = await waited({made})
        if not hasattr(provider, "describe") and not hasattr(provider, "retrieve"):
            enter = hasattr(provider, "__aenter__")
            provider = await stack.enter_async_context(provider) if enter else stack.enter_context(provider)
{body}


def test_{name}():
    asyncio.run(main())
'''
_MADE: Final = (
    'target if hasattr(target, "retrieve") and not inspect.isclass(target) or not callable(target) else target()'
)


def write_repros(report: Report, settings: Settings, folder: Path) -> Iterator[str]:
    """Write a test into ``folder`` for each failed check; for each one line with its file, or why there is none.

    Raises ``OSError``.
    """
    failed = [check for check in report.checks if check.outcome in BROKEN]
    for check in failed:
        why = _unshown(report, check)
        if why is not None:
            yield f"no test for {check.id}: {why}"
            continue
        folder.mkdir(parents=True, exist_ok=True)
        slug = re.sub(r"\W+", "_", f"{report.target}_{check.id}").lower()
        path = folder / f"test_{slug}.py"
        path.write_text(repro(report.target, check, settings, path.name), encoding="utf-8")
        yield f"{path.name} shows {check.id}"
    if not failed:
        yield f"no test for {report.target}: nothing failed"


def _unshown(report: Report, check: CheckReport) -> str | None:
    if report.kind != "provider":
        return f"tests are written for providers only; --replay asks {KINDS[report.kind].what} again"
    if "<" in report.target or "+" in report.target:
        return "the provider cannot be imported by its name"
    if _body(check) is None or (check.input is None and "REQUEST" in _with_asking(_body(check) or "")):
        return "one provider and one request do not show it; --replay runs the check again"
    if _is_lost(check):
        return "the provider took its process away; --replay runs the check again"
    return None


def _is_lost(check: CheckReport) -> bool:
    return (check.wanted or "").startswith("the provider to answer, or raise, and leave")


def repro(target: str, check: CheckReport, settings: Settings, file: str) -> str:
    """The test of one failure as text; ``_unshown`` has found nothing against it."""
    body = _with_asking(_body(check) or "")
    evidence = "\n".join(_comment(name, text) for name, text in (("wanted", check.wanted), ("saw", check.saw)) if text)
    needs_request = "REQUEST" in body
    request = "" if not needs_request else f"REQUEST = RetrievalRequest({_arguments(check.input)})\n"
    text = _TEMPLATE.format(
        id=check.id,
        title=check.title,
        evidence=evidence,
        file=file,
        imports="{imports}",
        request=request,
        owner=next(iter(settings.owners), DEFAULT_OWNER),
        timeout=settings.timeout,
        made=_MADE,
        body="\n".join(f"        {line}" if line else "" for line in body.splitlines()),
        name=check.id.lower().replace("-", "_"),
    )
    return text.replace("{imports}", "\n".join(_imports(target, text)), 1)


def _comment(name: str, text: str) -> str:
    # Inside a docstring of Python: nothing in it may end it, or be an escape.
    shown = text.encode("unicode_escape").decode().replace("\\", "/").replace('"', "'")
    return f"{name}: {shown}"[:WIDTH]


def _body(check: CheckReport) -> str | None:
    judge, saw = _JUDGE.search(check.wanted or ""), check.saw or ""
    if judge:
        return BODIES.get(judge[1])
    if (check.wanted or "").startswith("an answer within"):
        return ANSWERED
    if saw.startswith("the events "):  # what it opens is heard by the kit alone
        return None
    if _AFTER in (check.where or ""):
        return None
    if saw.startswith("raised ") and check.id not in ("KP-307", "KP-202", "KP-204", "KP-701", "KP-706"):
        return ANSWERED if check.input is not None else BODIES.get(check.id)
    if check.id in ("KP-301", "KP-302", "KP-303"):
        return None
    return REFUSED if check.id == "KP-307" else BODIES.get(check.id)


def _with_asking(body: str) -> str:
    lines = body.strip("\n").replace("\n\n", "\n")
    if "provider.retrieve(" in lines or not _ASKS.search(lines):
        return lines
    asked = ["answer = await waited(provider.retrieve(REQUEST, CONTEXT))"]
    if re.search(r"\b(results|rows)\b", lines):
        asked.append('results = answer.get("results") if isinstance(answer, dict) else answer')
    if re.search(r"\brows\b", lines):
        asked.append(
            "rows = [{name: value for name, value in dict(each).items() if value is not None} for each in results]"
        )
    return "\n".join([*asked, lines])


def _arguments(given: dict[str, Any] | None) -> str:
    request = (given or {}).get("request", {})
    return ", ".join(f"{name}={value!a}" for name, value in request.items())


def _imports(target: str, text: str) -> Iterator[str]:
    module, _, path = target.partition(":")
    first, _, rest = path.partition(".")
    yield "import asyncio"
    yield "import inspect"
    yield from (f"import {name}" for name in _MODULES if re.search(rf"\b{name}\.", text))
    if "Mapping" in text:
        yield "from collections.abc import Mapping"
    yield "from contextlib import AsyncExitStack"
    if "pairwise(" in text:
        yield "from itertools import pairwise"
    yield ""
    if "pytest." in text:
        yield "import pytest"
    yield f"from {module} import {first}"
    yield f"from knowledge_provider import {', '.join(name for name in _CONTRACT if _speaks_of(name, text))}"
    if "is_blank" in text:
        yield "from knowledge_provider.text import is_blank"
    yield ""
    yield f"target = {first}{f'.{rest}' if rest else ''}"


def _speaks_of(name: str, text: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None
