"""Profiles, the order of a run, and the shares of several processes: by what the catalogue of faults says."""

import dataclasses
import json
from itertools import combinations
from pathlib import Path

import pytest
from doors import SOUND, run_pytest

from knowledge_conformance.catalogue import BY_ID, CHECKS
from knowledge_conformance.check import Check, Facet, Phase
from knowledge_conformance.kinds import KINDS, PROVIDER, Kind
from knowledge_conformance.profiles import (
    SLOW,
    calls_needed,
    fast_checks,
    kill_power,
    left_out_lines,
    ordered,
    selected,
    smallest,
    trips_of,
)
from knowledge_conformance.report import make_report
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.settings import Profile, Settings, override
from knowledge_conformance.spreading import shares
from knowledge_conformance.verdict import Verdict, verdict

each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
FAST = Settings(profile=Profile.FAST)


def check(name: str, calls: int = 0) -> Check:
    """A check without needs under another name and cost."""
    return dataclasses.replace(BY_ID[name], needs=(), calls=calls)


# Phases.


@pytest.mark.parametrize("each", BY_ID.values(), ids=BY_ID)
def test_no_check_needs_one_of_a_later_phase(each: Check) -> None:
    """So that phases never part a check from what it needs; closing ones are last whatever their phase."""
    order = list(Phase)
    assert each.closes or all(order.index(BY_ID[name].phase) <= order.index(each.phase) for name in each.needs)


@each_kind
def test_phases_follow_one_another(kind: Kind) -> None:
    """Examples, boundaries, fuzzing, interleavings; then what closes the provider."""
    ranks = [(each.closes, list(Phase).index(each.phase)) for each in kind.checks]
    assert ranks == sorted(ranks)


# The fast profile.


@each_kind
def test_the_fast_profile_catches_every_fault_that_a_quick_check_catches(kind: Kind) -> None:
    """By the same data that the matrix proves."""
    quick = {each.id for each in kind.checks} - SLOW.keys()
    catchable = [trips for trips in trips_of(kind) if quick.intersection(trips)]
    assert catchable
    assert all(fast_checks(kind).intersection(trips) for trips in catchable)
    assert not fast_checks(kind) & SLOW.keys()


@each_kind
def test_no_check_can_be_spared(kind: Kind) -> None:
    """Without any of them a fault is missed, or another check lacks what it needs."""
    quick = {each.id for each in kind.checks} - SLOW.keys()
    catchable = [quick.intersection(trips) for trips in trips_of(kind) if quick.intersection(trips)]
    for name in fast_checks(kind):
        rest = fast_checks(kind) - {name}
        missed = any(not rest & found for found in catchable)
        assert missed or any(name in BY_ID[other].needs for other in rest), name


def test_of_checks_that_catch_the_same_the_cheapest_is_taken() -> None:
    """And of equally cheap ones the first."""
    checks = [check("KP-301", calls=9), check("KP-302", calls=1), check("KP-304", calls=1)]
    assert smallest([("KP-301", "KP-302", "KP-304")], checks) >= {"KP-302"}
    assert "KP-304" not in smallest([("KP-301", "KP-302", "KP-304")], checks)


def test_the_fast_profile_of_providers_is_as_small_as_can_be() -> None:
    """Almost every check alone catches some fault: what is not forced by one is not in it, but for what others need."""
    quick = {each.id for each in CHECKS} - SLOW.keys()
    found = [quick.intersection(trips) for trips in trips_of(PROVIDER) if quick.intersection(trips)]
    forced = {name for each in found if len(each) == 1 for name in each}
    assert all(forced & each for each in found)
    assert fast_checks(PROVIDER) == forced | {need for name in forced for need in BY_ID[name].needs}


def test_a_fast_run_never_is_conformant() -> None:
    """Whatever passed, and it says what it did not look at."""
    passed = [CheckResult(id=each.id, outcome=CheckOutcome.PASSED) for each in CHECKS]
    assert verdict(passed, Settings()) is Verdict.CONFORMANT
    assert verdict(passed, FAST) is Verdict.PARTIAL
    (line,) = left_out_lines(PROVIDER, FAST)
    assert all(name in line for name in {each.id for each in CHECKS} - fast_checks(PROVIDER))
    assert left_out_lines(PROVIDER, Settings()) == []


def test_a_fast_run_is_good_where_a_whole_one_would_be_accepted() -> None:
    """What is open in a facet that nobody requires does not make it fail; what was selected of it is judged as ever."""
    fast = fast_checks(PROVIDER)
    bases = {each.id for each in CHECKS if each.facet is Facet.BASES}
    named = {name: CheckOutcome.INCONCLUSIVE if name in bases else CheckOutcome.PASSED for name in fast}
    results = [CheckResult(id=name, outcome=outcome) for name, outcome in named.items()]
    required = Settings(profile=Profile.FAST, require=(Facet.BASES,))
    assert make_report("x:y", results, FAST).good
    assert not make_report("x:y", results, required).good
    assert not make_report("x:y", [each for each in results if each.id != "KP-101"], FAST).good
    assert not make_report("x:y", [*results, CheckResult(id="KP-303", outcome=CheckOutcome.FAILED)], FAST).good


# What a profile sets.


def test_a_profile_is_a_set_of_defaults() -> None:
    """What was set goes before it, in a file as on the command line, whichever came first."""
    thorough = Settings(profile=Profile.THOROUGH)
    assert (thorough.examples, thorough.concurrency, thorough.max_calls) == (500, 32, 3000)
    assert override(Settings(examples=7), profile="thorough").examples == 7
    assert override(Settings(profile=Profile.FAST), profile="thorough").examples == 500
    assert override(override(Settings(), profile="thorough"), profile="default") == Settings()


def test_what_a_thorough_run_may_call_fits_its_budget() -> None:
    """With every facet; else more effort would leave more out."""
    owners = {name: {"query": "x"} for name in ("a", "b")}
    given = {"owners": owners, "bases": {"one": ["x"], "two": ["y"]}, "inject_network_faults": True}
    for profile in (Profile.DEFAULT, Profile.THOROUGH):
        settings = Settings.model_validate({"profile": profile, **given})
        assert sum(each.calls_allowed(settings) for each in CHECKS) <= settings.max_calls


# The order under a budget.


def test_with_enough_calls_the_order_is_the_catalogues() -> None:
    """Kill power matters only where something may be left out."""
    assert ordered(CHECKS, PROVIDER, Settings()) == CHECKS


def test_with_few_calls_those_run_first_that_catch_most_for_a_call() -> None:
    """After what they need; of a facet that is not set up none is worth a call; closing ones stay last."""
    settings = Settings(max_calls=60)
    order = ordered(CHECKS, PROVIDER, settings)
    places = {each.id: place for place, each in enumerate(order)}
    power = kill_power(PROVIDER, settings)
    assert sorted(places) == sorted(each.id for each in CHECKS)
    assert all(places[need] < places[each.id] for each in CHECKS for need in each.needs)
    assert [each.closes for each in order] == sorted(each.closes for each in order)
    needed = {need for each in CHECKS for need in each.needs}
    free = [each for each in order if not each.closes and each.id not in needed]
    assert all(power[one.id] >= power[two.id] for one, two in combinations(free, 2))
    assert power["KP-601"] > power["KP-302"] > power["KP-402"] == 0


def test_selecting_is_the_profiles() -> None:
    """All but in the fast one."""
    assert selected(PROVIDER, Settings()) == CHECKS == selected(PROVIDER, Settings(profile=Profile.THOROUGH))
    assert {each.id for each in selected(PROVIDER, FAST)} == fast_checks(PROVIDER)


# Several processes.


@pytest.mark.parametrize("max_calls", [0, 60, 600, 700, 5000])
@pytest.mark.parametrize("processes", [1, 2, 3, 8])
def test_shares_hold_every_check_once_and_can_be_paid(processes: int, max_calls: int) -> None:
    """Each with what all of its checks may call, so that none is left out that one process would run."""
    settings = Settings(max_calls=max_calls)
    made = shares(CHECKS, PROVIDER, settings, processes)
    assert 1 <= len(made) <= processes
    assert sorted(name for share in made for name in share.ids) == sorted(each.id for each in CHECKS)
    assert sum(share.calls for share in made) <= max_calls
    if len(made) > 1:
        assert all(calls_needed([BY_ID[name] for name in share.ids], settings) <= share.calls for share in made)
    closing = {each.id for each in CHECKS if each.closes}
    assert closing <= made[-1].ids


def test_fuzzing_runs_beside_other_checks() -> None:
    """The default budget is enough for two processes."""
    one, two = shares(CHECKS, PROVIDER, Settings(), 2)
    assert ("KP-303" in one.ids) is not ("KP-705" in one.ids)
    assert min(len(one.ids), len(two.ids)) >= 10


def report_of(folder: Path, processes: int, *arguments: str) -> bytes:
    path = folder / f"{processes}.json"
    done = run_pytest(folder, "-p", "xdist", f"-n{processes}", *arguments, f"--provider-report={path.name}")
    assert done.returncode in (0, 1), done.stdout
    return path.read_bytes()


@pytest.mark.parametrize(
    "arguments",
    [
        [f"--provider={SOUND}"],
        [f"--provider={SOUND}", "--max-calls=60"],
        ["--provider=target_kinds:instance", "--provider-examples=3"],
        [f"--provider={SOUND}+score_is_text"],
        [f"--provider={SOUND}+unescaped_quote", "--provider-timeout=2"],
        [f"--provider={SOUND}+lock_not_released", "--provider-timeout=0.5"],
    ],
    ids=["sound", "few-calls", "instance", "wrong-shape", "raises", "hangs"],
)
def test_several_processes_report_what_one_does(arguments: list[str], tmp_path: Path) -> None:
    """Byte for byte."""
    alone, spread = report_of(tmp_path, 0, *arguments), report_of(tmp_path, 2, *arguments)
    assert alone == spread
    assert len(json.loads(alone)["checks"]) == len(CHECKS)


def test_a_fast_run_says_so_and_a_named_check_is_run_in_it(tmp_path: Path) -> None:
    """Its exit code says whether what it ran passed."""
    done = run_pytest(tmp_path, f"--provider={SOUND}", "--provider-profile=fast")
    assert done.returncode == 0, done.stdout
    assert f"{len(fast_checks(PROVIDER))} of {len(CHECKS)} checks were run in the fast profile" in done.stdout
    assert "verdict conformant" not in done.stdout
    named = run_pytest(tmp_path, f"--provider={SOUND}", "--provider-profile=fast", "provider::KP-704")
    assert "1 passed" in named.stdout
