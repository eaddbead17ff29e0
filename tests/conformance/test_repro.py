"""Emitted tests: each fails on the mistake that it was written for, and passes on the same provider without it."""

import ast
import gc
import importlib.util
import io
import re
import statistics
import sys
import tokenize
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest
from doors import SOUND, lines, run, run_pytest

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.manner import Manner
from knowledge_conformance.report import Report, make_report
from knowledge_conformance.repro import write_repros
from knowledge_conformance.repro_bodies import BODIES
from knowledge_conformance.repro_evidence import body_of
from knowledge_conformance.repro_owners import CROSSINGS
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import target_of
from knowledge_fakes.faults import FAULTS

# Those of several requests are shown where a call raises, and a refusal by a body of its own.
SHOWN_CHECKS = {name[:6] for name in BODIES}.difference(CROSSINGS) | {"KP-301", "KP-302", "KP-303", "KP-307"}
# All, for a body that shows one mistake may be wrong about another; but for one that takes ten seconds.
SHOWN = {
    name: fault for name, fault in FAULTS.items()
    if fault.trips[0] in SHOWN_CHECKS and not fault.lethal and fault.over == SOUND and name != "health_hangs"
}  # fmt: skip
# A body cannot hear what a call opens, the deadline of a hang is tried once, and one request finds or finds nothing.
UNSHOWN = {"description_from_a_file", "second_close_hangs", "plain_method_reads_the_signal_too_late"}
UNSHOWN |= {"signal_is_read_too_late", "signal_is_read_too_late_in_a_thread", "last_answer_sticks"}
# One task makes all calls of a test.
UNSHOWN |= {"session_of_its_first_task"}
# Of owners, all but those who have to ask at the same time.
CROSSED = {name for name, fault in FAULTS.items() if fault.trips[0] in CROSSINGS}
EMITTED = sorted((SHOWN.keys() - UNSHOWN) | CROSSED)
# Whoever mends a provider keeps how it is called, and so does what stands in for the mended one.
MENDED = {name: "repro_targets:quiet_health" for name in SHOWN if name.startswith("health_") and "value" not in name}
MENDED["shared_model"] = "repro_targets:model_description"
# What no fault of the catalogue trips first.
OTHERS = {
    ("knowledge_fakes.faulty:whole_documents", "KP-516"): SOUND,
    ("knowledge_fakes.faulty:overlong_locator", "KP-516"): SOUND,
    ("repro_targets:Stuck", "KP-101"): SOUND,
    ("repro_targets:Tagged", "KP-512"): SOUND,
    ("repro_targets:Waiting", "KP-301"): "repro_targets:Unsuspended",
    ("repro_targets:Crowded", "KP-706"): "repro_targets:Unsuspended",
    ("repro_targets:OnALoop", "KP-104"): "repro_targets:SoundOnALoop",
    ("repro_targets:retrieve", "KP-506"): "repro_targets:Sound",
}
WAYS = (
    "instance", "factory", "async_factory", "manager", "async_manager", "awaited_manager", "unsuspended",
    "unsuspended_manager", "listing", "tuples", "modelled", "modelled_below", "aliased", "decorated",
)  # fmt: skip
# One that is no more than there is closed for all others, too.
OPENED = [each for each in product(WAYS, ("KP-104", "KP-201", "KP-204", "KP-506")) if each != ("instance", "KP-204")]


@cache
def checked(
    target: str, check_id: str, changes: tuple[tuple[str, Any], ...] = (), fault: str | None = None
) -> tuple[Report, Settings]:
    """The report of one check on a target, under the settings of ``fault``."""
    wanted = {} if fault is None else FAULTS[fault].settings
    settings = Settings(**{"strict_should": True, "timeout": 2.0, "queries": ("policy",), **wanted, **dict(changes)})
    running = Run(target_of(resolve_name(target), target), settings)
    try:
        return running.only(BY_ID[check_id]), settings
    finally:
        running.runner.kill()


def reported(name: str) -> tuple[Report, Settings]:
    """The report of the check that a fault trips first, with the fault."""
    return checked(f"knowledge_fakes.faulty:{name}", FAULTS[name].trips[0], fault=name)


def written(report: Report, settings: Settings, folder: Path) -> Path:
    """The only test that is written for a report."""
    (line,) = write_repros(report, settings, folder)
    assert " shows " in line, line
    return folder / line.split()[0]


def emitted(path: Path) -> Callable[[], None]:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (found,) = (value for name, value in vars(module).items() if name.startswith("test_"))
    return found  # type: ignore[no-any-return] # a module's names have no types


def mended(path: Path, target: str, by: str) -> Path:
    """The same test of another provider."""
    text = path.read_text(encoding="utf-8")
    (module, _, name), (sound_module, _, sound_name) = target.partition(":"), by.partition(":")
    first, sound_first = name.partition(".")[0], sound_name.partition(".")[0]
    known = re.search(rf"^from {module} import {first}(?: as (\w+))?$", text, flags=re.MULTILINE)
    assert known is not None
    place = path.with_stem(f"{path.stem}_mended")
    instead = f"from {sound_module} import {sound_first} as {known[1] or first}"
    place.write_text(text.replace(known[0], instead), encoding="utf-8")
    return place


def fails_and_passes(path: Path, target: str, by: str) -> type[BaseException]:
    """What a test raises that fails on the target, and passes on the provider that is mended."""
    with pytest.raises(BaseException) as raised:  # noqa: PT011 - a provider may raise anything
        emitted(path)()
    kind = raised.type
    assert not issubclass(kind, (NameError, SyntaxError, ImportError))
    emitted(mended(path, target, by))()
    return kind


def code_lines(text: str) -> int:
    """How many lines of a module hold code: no docstring, no comment, and no blank one."""
    docstring = ast.parse(text).body[0]
    silent = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    lines = {each for token in tokens if token.type not in silent for each in range(token.start[0], token.end[0] + 1)}
    return len(lines - {*range(docstring.lineno, (docstring.end_lineno or 0) + 1)})


@pytest.mark.parametrize("name", EMITTED)
@pytest.mark.filterwarnings("ignore")  # what the faults leave behind is their own matter
def test_an_emitted_test_fails_on_the_fault_and_passes_without_it(name: str, tmp_path: Path) -> None:
    """As the check does."""
    report, settings = reported(name)
    assert report.checks[0].outcome in (CheckOutcome.FAILED, CheckOutcome.ERRORED), report.checks[0]
    path = written(report, settings, tmp_path)
    fails_and_passes(path, report.target, MENDED.get(name, SOUND))
    if name == "async_describe":
        # What nobody awaited is said now, and not in whichever test comes next.
        gc.collect()


@pytest.mark.parametrize(("target", "check_id"), OTHERS)
@pytest.mark.filterwarnings("ignore")
def test_so_does_one_of_another_provider(target: str, check_id: str, tmp_path: Path) -> None:
    """Bodies that no fault of the catalogue needs first, and providers that live in a thread, or need a loop."""
    report, settings = checked(target, check_id, (("timeout", 0.5),))
    fails_and_passes(written(report, settings, tmp_path), target, OTHERS[target, check_id])


@pytest.mark.parametrize(
    ("way", "check_id"),
    OPENED,
)
def test_a_provider_is_opened_and_called_in_its_own_way(way: str, check_id: str, tmp_path: Path) -> None:
    """However it comes about, and whichever forms it answers in: the test has the line for that, and no other."""
    report, settings = checked(f"repro_targets:broken.{way}", check_id)
    path = written(report, settings, tmp_path)
    raised = fails_and_passes(path, report.target, f"repro_targets:sound.{way}")
    assert raised is (RuntimeError if check_id == "KP-204" else AssertionError)


@pytest.mark.parametrize(
    ("way", "line"),
    [
        ("instance", "    return await broken.instance.retrieve(RetrievalRequest(query="),
        ("factory", "    return await broken.factory().retrieve(RetrievalRequest(query="),
        ("async_factory", "    opened = await broken.async_factory()\n    return await opened.retrieve("),
        ("manager", "    with broken.manager() as opened:\n        return await opened.retrieve("),
        ("async_manager", "    async with broken.async_manager() as opened:\n        return await opened.retrieve("),
        (
            "awaited_manager",
            "    with await broken.awaited_manager() as opened:\n        return await opened.retrieve(",
        ),
        ("unsuspended", "def retrieve():\n    return broken.unsuspended().retrieve("),
        ("unsuspended_manager", "    with broken.unsuspended_manager() as opened:\n        return opened.retrieve("),
        ("modelled", "    return [dict(result) for result in answer]\n"),
        ("modelled_below", '    return [dict(result) for result in answer["results"]]\n'),
        ("tuples", "    results = asyncio.run(retrieve())\n"),
        ("aliased", '    ids = [" ".join(result["chunkId"].split())[:160] for result in results]\n'),
    ],
)
def test_the_line_that_opens_it_is_the_one_that_it_needs(way: str, line: str, tmp_path: Path) -> None:
    """And no other."""
    assert line in written(*checked(f"repro_targets:broken.{way}", "KP-506"), tmp_path).read_text()


def test_emitted_tests_are_short_and_as_formatters_leave_them(tmp_path: Path) -> None:
    """About ten lines, as by hand; the longest has to tell a loop that is held from one that runs."""
    paths = {name: written(*reported(name), tmp_path) for name in EMITTED}
    for way, check_id in OPENED:
        written(*checked(f"repro_targets:broken.{way}", check_id), tmp_path)
    lines = {name: code_lines(path.read_text(encoding="utf-8")) for name, path in paths.items()}
    # Two owners take more, and a request has as many lines as its filters take.
    alone = {name: count for name, count in lines.items() if name not in CROSSED}
    assert statistics.median(alone.values()) <= 10
    longest = max(alone, key=lambda name: alone[name])
    assert (longest, lines[longest] <= 18) == ("blocking_refresh", True)
    for width in ("88", "120"):
        command = [sys.executable, "-m", "ruff", "format", "--isolated", "--check", f"--line-length={width}"]
        done = run(tmp_path, [*command, "."])
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", sorted(UNSHOWN & SHOWN.keys()))
def test_what_a_few_lines_cannot_show_has_no_test(name: str, tmp_path: Path) -> None:
    """And a line says so: none is better than one that passes on the mistake."""
    report, settings = reported(name)
    (line,) = write_repros(report, settings, tmp_path)
    assert line.startswith(f"no test for {FAULTS[name].trips[0]}: ")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_every_body_asserts(body: str) -> None:
    """A test that asserts nothing would be a promise."""
    assert "assert " in body or "with pytest.raises(" in body


def test_every_body_is_tried_with_a_fault(tmp_path: Path) -> None:
    """Or it may show nothing."""
    reports = [reported(name) for name in EMITTED]
    reports += [checked(*each, (("timeout", 0.5),)) for each in OTHERS]
    reports.append(untold())
    reports += [checked(f"repro_targets:broken.{way}", "KP-104") for way in WAYS]
    used = {body_of(report.checks[0]) for report, _ in reports}
    assert [name for name, body in BODIES.items() if body not in used] == []


def untold() -> tuple[Report, Settings]:
    return checked("repro_targets:Untold", "KP-401", fault="nobody_is_told_apart")


def test_so_does_one_of_owners_who_are_not_told_apart(tmp_path: Path) -> None:
    """Where one request shows it; a fault of the catalogue has to see the other owner first."""
    fails_and_passes(written(*untold(), tmp_path), "repro_targets:Untold", SOUND)


def test_a_test_of_owners_asks_as_the_one_who_got_it(tmp_path: Path) -> None:
    """With the request that brought it, and the id from the settings that must not come."""
    report, settings = reported("owner_out_of_the_filters")
    text = written(report, settings, tmp_path).read_text(encoding="utf-8")
    assert '    asker = "mara"\n' in text
    assert "[(holder, REQUEST), (holder, OWN), (asker, REQUEST)]" in text
    assert 'filters={"ownerId": "tomas"}' in text
    assert '    another = "notes-tomas#salary"\n' in text


@pytest.mark.parametrize(
    "saw",
    [
        "the content of a document under another id, which is another's, in an answer to the owner 'mara'",
        "the result 'notes-nobody#salary', which is another's, in an answer to the owner 'mara'",
        "the result 'notes-tomas#salary', which is another's, in an answer to the owner 'nobody'",
        "the result 'notes-mara#dentist', which is another's, in an answer to the owner 'mara'",
    ],
)
def test_what_names_no_id_of_the_settings_has_no_test(saw: str, tmp_path: Path) -> None:
    """It would look for nothing."""
    report, settings = reported("owner_out_of_the_filters")
    check = report.checks[0].model_copy(update={"saw": saw})
    (line,) = write_repros(report.model_copy(update={"checks": (check,)}), settings, tmp_path)
    assert line.startswith("no test for KP-402: ")
    (line,) = write_repros(report, Settings(), tmp_path)
    assert line.startswith("no test for KP-402: ")


def test_what_an_assertion_shows_may_be_a_text_with_a_line_end() -> None:
    """Shown as it is, ``acme`` and a line end would look sound, and so would a number in quotes."""
    texts = "method|said|version|key|message|score|value|part|uri|link|answer"
    bare = re.compile(rf"assert .*, (?:{texts})$", re.MULTILINE)
    assert [name for name, body in BODIES.items() if bare.search(body)] == []


def test_a_test_imports_nothing_of_the_kit(tmp_path: Path) -> None:
    """It goes to whoever mends the provider; and it reads as if it had been written for that."""
    path = written(*reported("duplicate_ids"), tmp_path)
    assert path.read_text() == EXPECTED


EXPECTED = '''"""KP-506, clause 5.3: Ids are unique within an answer.

Wanted: a different id for each result
Saw: 'handbook' at places 0 and 1
"""

import asyncio

from knowledge_fakes.faulty import duplicate_ids
from knowledge_provider import RetrievalContext, RetrievalRequest

CONTEXT = RetrievalContext(owner_id="conformance-owner")


async def retrieve():
    return await duplicate_ids().retrieve(RetrievalRequest(query="policy"), CONTEXT)


def test_kp_506():
    results = asyncio.run(retrieve())["results"]
    ids = [" ".join(result["id"].split())[:160] for result in results]
    assert len(set(ids)) == len(ids), ids
'''


@pytest.mark.parametrize("saw", ['"""\nimport os\n"""', "\\", "\ud800 \u202e", "x" * 1000])
def test_evidence_cannot_leave_the_docstring(saw: str, tmp_path: Path) -> None:
    """Whatever a provider answers, the file has the same statements."""
    report, settings = reported("duplicate_ids")

    def statements(said: str) -> list[type[ast.AST]]:
        told = report.checks[0].model_copy(update={"saw": said, "wanted": said})
        (line,) = write_repros(report.model_copy(update={"checks": (told,)}), settings, tmp_path)
        return [type(node) for node in ast.walk(ast.parse((tmp_path / line.split()[0]).read_text(encoding="utf-8")))]

    assert statements(saw) == statements("something else")


@pytest.mark.parametrize(
    ("where", "place"),
    [
        ("answer['results'][0]['href'] of retrieve(…)", 'result.get("href")'),
        ("answer[0]['source']['uri'] of retrieve(…)", 'dict(result.get("source") or {}).get("uri")'),
        ("answer['results'][0]['a\"b']['url'] of retrieve(…)", 'dict(result.get(\'a"b\') or {}).get("url")'),
        ("answer['results'][0]['note'] of retrieve(…)", 'result.get("note")'),
        ("answer['sources'][0]['reason'] of retrieve(…)", 'asyncio.run(retrieve()).get("sources")'),
        ("answer['results'][0]['a\\nb'] of retrieve(…)", None),
        ("answer['results'][0]['lon'…] of retrieve(…)", None),
        ("answer['results'][0] of retrieve(…)", None),
        ("answer['took'] of retrieve(…)", None),
    ],
)
def test_a_link_is_looked_for_where_it_was(where: str, place: str | None, tmp_path: Path) -> None:
    """By the name that it has there; a name that is shown in another way than it is would show nothing."""
    report, settings = reported("user_in_a_link")
    check = report.checks[0].model_copy(update={"where": where})
    (line,) = write_repros(report.model_copy(update={"checks": (check,)}), settings, tmp_path)
    texts = [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()]
    assert [place is not None and place in text for text in texts] == [True] * (place is not None)
    assert line.startswith("no test for") is (place is None)


@pytest.mark.parametrize("name", ["retrieve", "results", "Source", "REQUEST", "asyncio", "answer", "part"])
def test_a_target_may_be_named_as_anything_in_its_test(name: str, tmp_path: Path) -> None:
    """It gets another name there."""
    report, settings = reported("nul_in_content" if name == "part" else "duplicate_ids")
    text = written(report.model_copy(update={"target": f"acme:{name}"}), settings, tmp_path).read_text()
    assert f"from acme import {name} as target\n" in text
    assert "await target().retrieve(" in text


@pytest.mark.parametrize("query", ["REQUEST", "CONTEXT", "Source", "re.search"])
def test_what_a_query_says_is_nothing_to_the_test(query: str, tmp_path: Path) -> None:
    """Nothing is imported for it, and nothing put in its place."""
    report, settings = reported("duplicate_ids")
    plain = written(report, settings, tmp_path).read_text()
    asked = report.checks[0].model_copy(update={"input": {"request": {"query": query}}})
    text = written(report.model_copy(update={"checks": (asked,)}), settings, tmp_path).read_text()
    assert text.replace(f'"{query}"', '"policy"') == plain


@pytest.mark.parametrize("query", ['"""', "\\", "a'b\"c", "{7*7}", "{imports}", "ไทย"])
def test_a_request_is_written_as_it_was(query: str, tmp_path: Path) -> None:
    """Quotes, braces and other scripts, too."""
    report, settings = reported("duplicate_ids")
    asked = report.checks[0].model_copy(update={"input": {"request": {"query": query, "top_k": 3}}})
    (line,) = write_repros(report.model_copy(update={"checks": (asked,)}), settings, tmp_path)
    text = (tmp_path / line.split()[0]).read_text(encoding="utf-8")
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    (call,) = (node for node in nodes if getattr(node.func, "id", None) == "RetrievalRequest")
    fields = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
    assert fields == {"query": query, "top_k": 3}


def made(check: CheckResult, target: str = "acme.search:provider") -> Report:
    return make_report(target, [check], Settings())


@pytest.mark.parametrize(
    ("check", "target", "why"),
    [
        (CheckResult(id="KP-506", outcome=CheckOutcome.FAILED), "acme:p", "one request do not show it"),
        (CheckResult(id="KP-705", outcome=CheckOutcome.FAILED), "acme:p", "one request do not show it"),
        (CheckResult(id="KP-101", outcome=CheckOutcome.FAILED), "acme:<lambda>", "cannot be imported"),
        (
            CheckResult(
                id="KP-103",
                outcome=CheckOutcome.FAILED,
                wanted="the provider to answer, or raise, and leave the host's process alone",
            ),
            "acme:p",
            "took its process away",
        ),
        (
            CheckResult(
                id="KP-301",
                outcome=CheckOutcome.FAILED,
                wanted="an answer within 2 s",
                saw="it was still running after it was cancelled, too",
                input={"request": {"query": "policy"}},
                manner=Manner(awaited=("retrieve",)),
            ),
            "acme:p",
            "one request do not show it",
        ),
    ],
)
def test_no_test_is_said_with_its_reason(check: CheckResult, target: str, why: str, tmp_path: Path) -> None:
    """The reader need not guess."""
    (line,) = write_repros(made(check, target), Settings(), tmp_path / "none")
    assert why in line
    assert not (tmp_path / "none").exists()


def test_nothing_failed_is_said() -> None:
    """An empty folder explains nothing."""
    report = made(CheckResult(id="KP-506", outcome=CheckOutcome.PASSED))
    assert list(write_repros(report, Settings(), Path("nowhere"))) == [
        "no test for acme.search:provider: nothing failed"
    ]


def test_the_option_writes_what_plain_pytest_runs(tmp_path: Path) -> None:
    """Both doors; the emitted test runs without the kit's plugin."""
    target = "knowledge_fakes.faulty:nan_score"
    done = run_pytest(tmp_path, f"--provider={target}", "provider::KP-507", "--emit-repro=out", "--tb=no")
    (path,) = (tmp_path / "out").iterdir()
    assert f"repro   {path.name} shows KP-507" in done.stdout
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    plain = run(tmp_path, [*command, str(path)])
    assert plain.returncode == 1, plain.stdout
    assert "AssertionError: nan" in plain.stdout
    whole = run(
        tmp_path, [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(mended(path, target, SOUND))]
    )
    assert whole.returncode == 0, whole.stdout


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    """And exit code 4, before anything is run: a run may take long."""
    (tmp_path / "out").write_text("a file")
    done = run_pytest(
        tmp_path, "--provider=knowledge_fakes.faulty:nan_score", "provider::KP-507", "--emit-repro=out", "--tb=no"
    )
    assert done.returncode == 4
    (line,) = lines(done.stdout, starting="ERROR: --emit-repro: cannot write into ")
    assert line.endswith(": it is no folder; name a folder, which is made where it is missing")
    assert "verdict" not in done.stdout
