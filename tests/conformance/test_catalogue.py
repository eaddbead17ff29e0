"""The catalogue as data: permanent ids, a frozen requirement set, and no clause without a word about it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.check import REQUIREMENTS, Check, Level, section_of
from knowledge_conformance.kinds import (
    ACCESS,
    COMPOSITE,
    HOST,
    KINDS,
    MERGING,
    PROVIDER,
    RENDERER,
    SOURCE,
    Kind,
    kind_of,
)
from knowledge_conformance.settings import Settings

FROZEN = json.loads((Path(__file__).parent / "data" / "requirements-1.0.json").read_text(encoding="utf-8"))
CLAUSES = {
    PROVIDER: {
        f"{section}.{at}" for section, last in enumerate((9, 4, 8, 5, 11, 4, 6), 1) for at in range(1, last + 1)
    },
    HOST: {f"8.{at}" for at in range(1, 14)},
    COMPOSITE: {f"9.{at}" for at in range(1, 7)},
    SOURCE: {f"10.{at}" for at in range(1, 10)},
    MERGING: {f"10.{at}" for at in range(1, 10)},
    ACCESS: {f"11.{at}" for at in range(1, 6)},
    RENDERER: {f"12.{at}" for at in range(1, 3)},
}
ids = pytest.mark.parametrize("check", BY_ID.values(), ids=BY_ID)
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def test_the_requirement_set_is_frozen() -> None:
    """A check of requirements 1.0 keeps its id, clause, level and facet for ever, and none comes or goes."""
    now = {
        check.id: [check.clause, check.level, check.facet] for check in BY_ID.values() if check.since == REQUIREMENTS
    }
    assert now == FROZEN


def test_ids_are_unique() -> None:
    """An id stands for one check, of the kind that its number says."""
    assert len(BY_ID) == sum(len(kind.checks) for kind in KINDS.values()) == len({*BY_ID})
    assert all(BY_ID[check.id] is check and kind_of(check) is kind for kind in KINDS.values() for check in kind.checks)


@pytest.mark.parametrize("unknown", ["KP-001", "KP-199", "KP-1099", "KP-1300", "KP-²", "KP-", "", "provider"])
def test_an_id_that_no_check_has_is_not_found(unknown: str) -> None:
    """Whatever is written where an id should be."""
    assert unknown not in BY_ID
    assert BY_ID.get(unknown) is None


def test_a_run_loads_the_checks_of_its_kind_alone() -> None:
    """The others take a third of the time that a provider's child process needs to start."""
    looked = (
        "import sys; from knowledge_conformance import catalogue, kinds, worker; catalogue.BY_ID['KP-301'];"
        "kinds.PROVIDER.checks; print([name for name in sys.modules if name.endswith(('_catalogue', '_subject'))])"
    )
    assert subprocess.check_output([sys.executable, "-c", looked], text=True).strip() == "[]"


@each_kind
def test_every_clause_has_a_check_or_a_reason(kind: Kind) -> None:
    """Nothing in a kind's sections is passed over in silence, and nothing is said about a clause that is not there.

    A host and a composite may be held to what the clauses about providers say, too, and who merges sources to what
    those about hosts and composites do.
    """
    spoken = {check.clause for check in kind.checks} | {clause.split()[0] for clause in kind.not_tested}
    others = CLAUSES[PROVIDER] | (CLAUSES[HOST] | CLAUSES[COMPOSITE] if kind is MERGING else set())
    assert CLAUSES[kind] <= spoken <= CLAUSES[kind] | others


@ids
def test_an_id_tells_its_section(check: Check) -> None:
    """KP-304 is about section 3, and KP-1101 about section 11."""
    assert re.fullmatch(r"KP-[1-9]\d{2,3}", check.id)
    own = {HOST: "8", COMPOSITE: "9", SOURCE: "10", MERGING: "10", ACCESS: "11", RENDERER: "12"}
    assert section_of(check) == own.get(kind_of(check), check.clause[0])


@ids
def test_prerequisites_run_first(check: Check) -> None:
    """A check comes after what it needs, so that one root cause gives one red line."""
    order = [each.id for each in kind_of(check).checks]
    assert all(order.index(needed) < order.index(check.id) for needed in check.needs)


@ids
def test_a_check_says_what_it_is_about(check: Check) -> None:
    """The title is one sentence on one line; the rationale is there."""
    assert check.title.endswith(".")
    assert len(check.title) <= 120
    assert len(check.rationale) >= 40


@ids
def test_a_should_never_blocks_a_must(check: Check) -> None:
    """What is only recommended cannot keep a requirement from being looked at.

    But for what close() leaves: it cannot be looked at where KP-204 found that closing hangs, or ends the process.
    """
    if check.level is Level.MUST and not (check.closes and check.clause == "2.3"):
        assert all(BY_ID[needed].level is Level.MUST for needed in check.needs)


def test_closing_checks_come_last() -> None:
    """On a provider that lives for the whole run nothing can be asked after them."""
    closes = [check.closes for check in PROVIDER.checks]
    assert closes == sorted(closes)


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if not kind.driven], ids=lambda kind: kind.name)
def test_the_default_budget_holds_every_check(kind: Kind) -> None:
    """With the default settings nothing has to be left out."""
    settings = Settings()
    assert sum(check.calls_allowed(settings) for check in kind.checks) <= settings.max_calls
