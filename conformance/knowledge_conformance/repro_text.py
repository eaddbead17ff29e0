"""Puts a body, and how its provider is opened and called, together as a short test; pure, and knows no check.

The text is as formatters leave it, and each of its names stands for one thing only.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from string import Template
from typing import Final, NamedTuple

from pydantic import JsonValue

from knowledge_conformance.literals import called, is_long
from knowledge_conformance.manner import Manner, Method
from knowledge_conformance.repro_shapes import PARTS

_CONTRACT: Final = (
    "CancelSignal", "Health", "ProviderDescription", "RetrievalContext", "RetrievalRequest", "RetrievalResult",
    "Source", "error_code", "is_blank", "normalize_response", "public_uri", "uri_fault",
)  # fmt: skip
_TEXT: Final = ("finite_number",)
_MODULES: Final = ("asyncio", "contextlib", "inspect", "json", "re", "threading", "time", "timeit")
_ASKED: Final = "opened.retrieve(REQUEST, CONTEXT)"
_ASKED_AS: Final = "opened.retrieve(request, RetrievalContext(owner_id=owner))"
_SPOKEN_OF: Final = {
    "answer": "retrieve",
    "results": "retrieve",
    "whole": "retrieve",
    "described": "describe",
    "health": "health",
}
_MADE_OF: Final = {"RetrievalRequest": "REQUEST", "RetrievalContext": "CONTEXT"}
_OWN_NAMES: Final = frozenset(
    {
        *_CONTRACT,
        *_TEXT,
        *_MODULES,
        *_SPOKEN_OF.values(),
        "CONTEXT",
        "Mapping",
        "OWN",
        "REQUEST",
        "answer",
        "main",
        "opened",
    }
)
"""Beside those that stand in a body."""
_INDENT: Final = "    "


class Case(NamedTuple):
    """What a test is about: a ``body`` and what it says beside the names that this module gives it.

    ``request``: the fields that are not the defaults, as ``own`` of what another owner asks. ``seconds``: within how
    many an awaited call has to end, or None where it came to an end.
    """

    target: str
    manner: Manner
    body: str
    said: Mapping[str, str]
    request: Mapping[str, JsonValue]
    owner: str
    own: Mapping[str, JsonValue] | None = None
    seconds: float | None = None


def written(name: str, docstring: str, case: Case) -> str:
    """The module with the test ``name``; ``docstring`` may hold no quotes and no backslashes."""
    module, _, path = case.target.partition(":")
    first, _, rest = path.partition(".")
    # A target may be called anything, also as something else in the test is.
    taken = first in _OWN_NAMES or _has(first, f"{case.body}\n{PARTS}")
    known = "target" if taken else first
    made = f"{known}.{rest}" if rest else known
    code = "\n\n\n".join("\n".join(block) for block in _blocks(name, made, case))
    imported = _imports(module, f"{first} as target" if taken else first, code)
    at_once = _given_at_once(code, case)
    given: list[str] = []
    if at_once is None and _has("REQUEST", code):
        given += called("REQUEST = ", "RetrievalRequest", case.request)
    if case.own is not None and _has("OWN", code):
        given += called("OWN = ", "RetrievalRequest", case.own)
    if _has("CONTEXT", code):
        given += called("CONTEXT = ", "RetrievalContext", {"owner_id": case.owner})
    head = [f'"""{docstring}\n"""', "\n".join(imported), "\n".join(given)]
    return "\n\n".join(part for part in head if part) + f"\n\n\n{at_once or code}\n"


def _has(name: str, text: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None


def _given_at_once(code: str, case: Case) -> str | None:
    """``code`` with the request in the only place that speaks of it; None where its line has no room for it."""
    (request, *more) = called("", "RetrievalRequest", case.request)
    before, *after = re.split(r"\bREQUEST\b", code)
    if more or len(after) != 1:
        return None
    line = before.rpartition("\n")[2] + request + after[0].partition("\n")[0]
    return None if is_long(line) else f"{before}{request}{after[0]}"


def _blocks(name: str, made: str, case: Case) -> Iterator[list[str]]:
    spoken = Template(case.body).get_identifiers()
    call = next((_SPOKEN_OF[each] for each in spoken if each in _SPOKEN_OF), None)
    if call is None:
        yield from _script(name, made, case)
        return
    if call != "describe" or _needs_a_function(case.manner):
        yield _function(call, made, case, as_results="results" in spoken or ("whole" in spoken and case.manner.models))
    if _has("parts", case.body):
        yield PARTS.strip().splitlines()
    yield [f"def test_{name}():", *_indented(_lines(case, _spoken(made, case)))]


def _script(name: str, made: str, case: Case) -> Iterator[list[str]]:
    """For a provider that is called several times: what opens it and asserts is one function."""
    lines = _around(made, case.manner, _lines(case, _calls(case.manner)))
    if not case.manner.on_loop and not _has("await", case.body):
        yield [f"def test_{name}():", *_indented(lines)]
        return
    yield ["async def main():", *_indented(lines)]
    yield [f"def test_{name}():", f"{_INDENT}asyncio.run(main())"]


def _lines(case: Case, names: Mapping[str, str]) -> list[str]:
    return Template(case.body.strip()).substitute({**case.said, **names}).splitlines()


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"{_INDENT}{line}" for line in lines]


def _calls(manner: Manner) -> dict[str, str]:
    described = "opened.describe()"
    return {
        "opened": "opened",
        "asked": f"{_awaiting('retrieve', manner)}{_ASKED}",
        "asked_as": f"{_awaiting('retrieve', manner)}{_ASKED_AS}",
        "call": _ASKED if "retrieve" in manner.awaited else "asyncio.to_thread(opened.retrieve, REQUEST, CONTEXT)",
        "picked": _picked(manner),
        "close": f"{_awaiting('close', manner)}opened.close()",
        "fields": f"vars({described})" if manner.described == "model" else described,
    }


def _awaiting(method: Method, manner: Manner) -> str:
    return "await " if method in manner.awaited else ""


def _picked(manner: Manner) -> str:
    return 'answer["results"]' if manner.mapping else "answer"


def _spoken(made: str, case: Case) -> dict[str, str]:
    manner = case.manner
    ran = "asyncio.run({}())" if manner.on_loop else "{}()"
    described = ran.format("describe") if _needs_a_function(manner) else f"{_opened(made, manner)}.describe()"
    return {
        "answer": ran.format("retrieve"),
        "results": ran.format("retrieve") + ('["results"]' if manner.mapping and not manner.models else ""),
        "whole": ran.format("retrieve"),
        "health": ran.format("health"),
        "described": f"{described}.model_dump(by_alias=True)" if manner.described == "model" else described,
    }


def _needs_a_function(manner: Manner) -> bool:
    """Whether describing takes more than an expression; what is made where a loop runs may need one."""
    return bool(manner.opened) and (manner.on_loop or manner.opened[-1] == "with")


def _function(call: str, made: str, case: Case, *, as_results: bool) -> list[str]:
    """The function that opens the provider and makes one call."""
    manner = case.manner
    if call == "retrieve":
        lines = _retrieving(case, as_results=as_results)
    elif call == "health":
        signal = "CancelSignal()" if manner.signalled else ""
        lines = [f"return {_bounded('health', f'opened.health({signal})', case)}"]
    else:
        lines = ["return opened.describe()"]
    return [f"{'async ' if manner.on_loop else ''}def {call}():", *_indented(_around(made, manner, lines))]


def _retrieving(case: Case, *, as_results: bool) -> list[str]:
    manner = case.manner
    call = _bounded("retrieve", _ASKED, case)
    if not (as_results and manner.models):
        return [f"return {call}"]
    return [f"answer = {call}", f"return [dict(result) for result in {_picked(manner)}]"]


def _bounded(method: Method, call: str, case: Case) -> str:
    if method not in case.manner.awaited:
        return call
    return f"await {call}" if case.seconds is None else f"await asyncio.wait_for({call}, {case.seconds:g})"


def _opened(made: str, manner: Manner) -> str:
    called_for = f"{made}()" if "call" in manner.opened else made
    return f"await {called_for}" if "await" in manner.opened else called_for


def _around(made: str, manner: Manner, lines: list[str]) -> list[str]:
    """``lines`` about ``opened``, with what opens it: in the same line where one line speaks of it."""
    opened = _opened(made, manner)
    if manner.opened and manner.opened[-1].endswith("with"):
        return [f"{manner.opened[-1]} {opened} as opened:", *_indented(lines)]
    inline = [re.sub(r"\bopened\b", opened, line) for line in lines]
    if not manner.opened:
        return inline
    spoken = [line for line in lines for _ in re.findall(r"\bopened\b", line)]
    # In a loop it would be another each time.
    once = len(spoken) == 1 and not spoken[0].startswith(" ") and not _has("for", spoken[0])
    if once and "await" not in manner.opened and not any(map(is_long, _indented(inline))):
        return inline
    return [f"opened = {opened}", *lines]


def _imports(module: str, name: str, code: str) -> Iterator[str]:
    yield from (f"import {each}" for each in _MODULES if re.search(rf"\b{each}\.", code))
    if _has("Mapping", code):
        yield "from collections.abc import Mapping"
    if any(re.search(rf"\b{each}\.", code) for each in _MODULES) or _has("Mapping", code):
        yield ""
    if _has("pytest", code):
        yield "import pytest"
    found = [(module, [name])]
    found += [
        ("knowledge_provider", [each for each in _CONTRACT if _has(_MADE_OF.get(each, each), code) or _has(each, code)])
    ]
    found += [("knowledge_provider.text", [each for each in _TEXT if _has(each, code)])]
    for each, names in sorted(found):
        if names:
            yield from _import(each, names)


def _import(module: str, names: list[str]) -> Iterator[str]:
    line = f"from {module} import {', '.join(names)}"
    if not is_long(line):
        yield line
        return
    yield f"from {module} import ("
    yield from (f"{_INDENT}{name}," for name in names)
    yield ")"
