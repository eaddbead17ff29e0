"""The doors for every kind: options, node ids, classes, functions and the console script."""

import asyncio
import json
import sys
from pathlib import Path

import pytest
from doors import SOUND, ids_in, lines, run, run_pytest

from knowledge_conformance import Settings, assert_conforms, cli
from knowledge_conformance import run as run_kit
from knowledge_conformance.api import NotConformantError
from knowledge_conformance.kinds import ACCESS, HOST, KINDS, RENDERER, kind_named, kind_of
from knowledge_conformance.report import Report
from knowledge_conformance.results import CheckOutcome
from knowledge_conformance.target import TargetError
from knowledge_fakes import faulty_composites
from knowledge_provider import CompositeProvider, KnowledgeHost

OUR_HOST = "knowledge_provider:KnowledgeHost"
OUR_COMPOSITE = "knowledge_provider:CompositeProvider"
FAULTY_HOST = "knowledge_fakes.faulty_hosts:error_text_in_the_message"
NAIVE = "knowledge_fakes.faulty_composites:naive_gather"


def test_each_check_has_one_kind() -> None:
    """Its id says which."""
    assert [kind_of(kind.checks[0]) for kind in KINDS.values()] == [*KINDS.values()]
    assert sum(len(kind.checks) for kind in KINDS.values()) == len({c.id for k in KINDS.values() for c in k.checks})


def test_an_unknown_kind_is_refused_by_name() -> None:
    """With what there is."""
    with pytest.raises(ValueError, match=r"one of provider, host, composite, .*; got 'ghost'"):
        kind_named("ghost")


def test_all_kinds_are_checked_in_one_run(tmp_path: Path) -> None:
    """Each target has its own section, verdict and report; what is wrong with one fails by name."""
    done = run_pytest(
        tmp_path, f"--host={OUR_HOST}", f"--host={FAULTY_HOST}", f"--composite={OUR_COMPOSITE}",
        f"--provider={SOUND}", "--provider-examples=1", "--provider-report=found.json", "-n0", "-p", "xdist",
    )  # fmt: skip
    assert done.returncode == 1
    assert len(lines(done.stdout, starting="verdict conformant: core")) == 3
    assert len(lines(done.stdout, starting="verdict not conformant: core")) == 1
    failed = lines(done.stdout, starting="FAILED ")
    assert [line.split()[1] for line in failed] == [f"host::{FAULTY_HOST}::KP-820"]
    reports = [Report.model_validate_json(path.read_text()) for path in tmp_path.glob("found*.json")]
    kinds = {report.target: report.kind for report in reports}
    assert kinds == {SOUND: "provider", OUR_HOST: "host", FAULTY_HOST: "host", OUR_COMPOSITE: "composite"}
    assert {frozenset(report.facets) for report in reports if report.kind != "provider"} == {frozenset({"core"})}


def test_a_failure_names_the_command_that_shows_it_again(tmp_path: Path) -> None:
    """And that command fails for the same reason, alone."""
    done = run_pytest(tmp_path, f"--host={FAULTY_HOST}", "host::KP-820")
    (again,) = {line.partition("again   ")[2] for line in done.stdout.splitlines() if "again   " in line}
    assert again.startswith(f"pytest --host={FAULTY_HOST} --replay=KP-820.1.")
    repeated = run_pytest(tmp_path, *again.split()[1:])
    assert repeated.returncode == done.returncode == 1
    assert ids_in(repeated.stdout) == ["KP-820"]
    assert lines(repeated.stdout, starting="verdict not conformant")


def test_the_naive_combination_fails_by_name(tmp_path: Path) -> None:
    """As the console script says it, with the report."""
    done = run(
        tmp_path,
        [sys.executable, "-m", "knowledge_conformance.cli", "run", "--composite", NAIVE, "--report", "naive.json"],
    )
    assert done.returncode == 1
    report = json.loads((tmp_path / "naive.json").read_text())
    assert (report["kind"], report["target"], report["verdict"]) == ("composite", NAIVE, "not conformant")
    assert "knowledge composite knowledge_fakes.faulty_composites:naive_gather" in done.stdout
    assert "KP-903 failed: " in done.stdout


def test_selected_checks_alone_are_partial(tmp_path: Path) -> None:
    """A node id, or -k, of a host's checks; spread over processes, too."""
    done = run_pytest(tmp_path, f"--host={OUR_HOST}", "-p", "xdist", "-n2", "-k", "KP-801 or KP-805", "-v")
    assert done.returncode == 0, done.stdout
    assert ids_in(done.stdout) == ["KP-801", "KP-805"]
    assert lines(done.stdout, starting=f"verdict partial: 2 of {len(HOST.checks)} checks were run, which says nothing")


UNUSABLE = {
    f"--host={SOUND}": f"cannot use {SOUND}: TypeError: too many positional arguments; wanted {HOST.wanted}",
    "--host=knowledge_fakes.conformant:CONFORMANT": f"wanted {HOST.wanted}",
    f"--host={OUR_HOST} provider::KP-101": "provider::KP-101: there is no provider in this run",
    f"--host={OUR_HOST} host::KP-101": "host::KP-101: there is no check 'KP-101' of a host",
    f"--access={OUR_HOST}": f"wanted {ACCESS.wanted}",
    "--access=knowledge_fakes.plain_access:factory access::KP-101": "there is no check 'KP-101' of an access rule",
    f"--renderer={OUR_HOST}": f"wanted {RENDERER.wanted}",
    "--composite=nowhere:factory": "there is no module 'nowhere' on the path",
}


@pytest.mark.parametrize(("arguments", "fragment"), UNUSABLE.items(), ids=UNUSABLE)
def test_what_cannot_be_used_is_one_line_and_4(arguments: str, fragment: str, tmp_path: Path) -> None:
    """What was wanted of a factory, and what came."""
    done = run_pytest(tmp_path, *arguments.split())
    assert done.returncode == 4, done.stdout
    (line,) = lines(done.stdout, starting="ERROR: ")
    assert fragment in line


CLASSES = """
from knowledge_conformance import CompositeConformance, HostConformance
from knowledge_fakes import faulty_hosts
from knowledge_provider import CompositeProvider, KnowledgeHost

class TestHost(HostConformance):
    host = KnowledgeHost

class TestLocal(HostConformance):
    host = staticmethod(lambda provider, *, timeout: KnowledgeHost(provider, timeout=timeout))

class TestFaulty(HostConformance):
    host = "knowledge_fakes.faulty_hosts:error_text_in_the_message"

class TestComposite(CompositeConformance):
    composite = CompositeProvider

class TestUnset(HostConformance):
    pass
"""


def test_the_same_through_classes(tmp_path: Path) -> None:
    """One test for each check and one for the verdict, also of a factory that only this process has."""
    (tmp_path / "test_mine.py").write_text(CLASSES)
    few = "KP-801 or KP-812 or KP-820 or KP-907"
    done = run_pytest(tmp_path, "test_mine.py", "-q", "-k", few, "-rA", "--tb=short")
    passed = lines(done.stdout, starting="PASSED ")
    sound = [f"{name}::test_check[KP-{number}]" for name in ("TestHost", "TestLocal") for number in (801, 812, 820)]
    faulty = ["TestFaulty::test_check[KP-801]", "TestFaulty::test_check[KP-812]"]
    expected = sorted([*sound, *faulty, "TestComposite::test_check[KP-907]"])
    assert sorted(line.split("::", 1)[1] for line in passed) == expected
    assert "KP-820 failed: " in done.stdout
    assert "TestUnset.host is not set: 'module:obj', or what makes a host" in done.stdout


def test_the_same_through_functions() -> None:
    """``run`` reports, ``assert_conforms`` raises with everything in it."""
    report = asyncio.run(run_kit(KnowledgeHost, kind="host"))
    assert (report.kind, report.target, report.conformant) == ("host", "knowledge_provider.host:KnowledgeHost", True)
    with pytest.raises(NotConformantError, match="KP-903 failed") as caught:
        assert_conforms(faulty_composites.naive_gather, kind="composite")
    assert caught.value.report.kind == "composite"


def test_a_factory_of_this_process_alone_is_driven_in_it() -> None:
    """A lambda has no name that another process could import."""
    report = assert_conforms(
        lambda children, *, timeout: CompositeProvider(children, timeout=timeout), kind="composite"
    )
    assert {check.outcome for check in report.checks} <= {CheckOutcome.PASSED, CheckOutcome.INAPPLICABLE}


def test_a_wrong_factory_is_refused_before_it_is_driven() -> None:
    """One that takes no time-out cannot be given a deadline."""
    with pytest.raises(TargetError, match="wanted what makes a host, called as factory"):
        assert_conforms(lambda provider: KnowledgeHost(provider), kind="host")


def test_a_budget_of_calls_is_the_providers_alone() -> None:
    """A host is driven with providers of the kit's own, which cost nobody anything."""
    report = asyncio.run(run_kit(KnowledgeHost, Settings(max_calls=0), kind="host"))
    assert report.conformant


def test_the_script_knows_all_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    """What it lists is every check of every kind."""
    cli.main(["checks"])
    printed = capsys.readouterr().out
    assert all(f"{check.id}  " in printed for kind in KINDS.values() for check in kind.checks)


PLAIN = {"access": "knowledge_fakes.plain_access:factory", "renderer": "knowledge_fakes.plain_renderer:factory"}
FAULTY = {
    "access": ("knowledge_fakes.faulty_access:permissive_by_default", "KP-1102"),
    "renderer": ("knowledge_fakes.faulty_renderers:tags_without_escaping", "KP-1209"),
}


@pytest.mark.parametrize("kind", PLAIN)
def test_rules_and_renderers_are_checked_by_option(kind: str, tmp_path: Path) -> None:
    """In a child process, with a verdict; a failure names the command that shows it again."""
    sound = run_pytest(tmp_path, f"--{kind}={PLAIN[kind]}")
    assert (sound.returncode, len(lines(sound.stdout, starting="verdict conformant: core"))) == (0, 1), sound.stdout
    target, check_id = FAULTY[kind]
    faulty = run_pytest(tmp_path, f"--{kind}={target}", f"{kind}::{check_id}")
    assert faulty.returncode == 1
    assert f"{check_id} failed: " in faulty.stdout
    assert f"pytest --{kind}={target} --replay={check_id}.1." in faulty.stdout


MORE_CLASSES = """
from knowledge_conformance import AccessConformance, RendererConformance
from knowledge_fakes import plain_access
from knowledge_provider import untrusted

class TestRule(AccessConformance):
    access = staticmethod(plain_access.factory)

class TestRenderer(RendererConformance):
    renderer = staticmethod(lambda: untrusted)

class TestFaulty(RendererConformance):
    renderer = "knowledge_fakes.faulty_renderers:the_systems_word"
"""


def test_rules_and_renderers_through_classes(tmp_path: Path) -> None:
    """One test for each check, also of a factory that only this process has."""
    (tmp_path / "test_mine.py").write_text(MORE_CLASSES)
    done = run_pytest(tmp_path, "test_mine.py", "-q", "-k", "KP-1101 or KP-1203", "-rA", "--tb=short")
    passed = {line.split("::", 1)[1] for line in lines(done.stdout, starting="PASSED ")}
    assert passed == {"TestRule::test_check[KP-1101]", "TestRenderer::test_check[KP-1203]"}
    assert "KP-1203 failed: " in done.stdout


def test_rules_and_renderers_through_functions() -> None:
    """``assert_conforms`` raises with everything in it; what takes other arguments is refused."""
    with pytest.raises(NotConformantError, match="KP-1102 failed"):
        assert_conforms(FAULTY["access"][0], kind="access")
    with pytest.raises(TargetError, match=r"wanted what makes an access rule, called as factory\(provider, scope"):
        assert_conforms(lambda provider, scope: provider, kind="access")
    with pytest.raises(TargetError, match=r"wanted what makes a renderer, called as factory\(\)"):
        assert_conforms(lambda outcome: "", kind="renderer")
