"""The contract's page has every clause and rule, with the checks that look at it."""

import re
from pathlib import Path

import pytest

from knowledge_conformance.catalogue import BY_ID, CHECKS
from knowledge_conformance.check import Check, number_of

PAGE = (Path(__file__).parents[2] / "docs" / "contract.md").read_text(encoding="utf-8")


def clause_paragraphs() -> dict[str, str]:
    return dict(re.findall(r"^\*\*(\d+\.\d+)\*\* (.+?)(?=\n\n)", PAGE, re.MULTILINE | re.DOTALL))


def test_the_contract_has_every_clause() -> None:
    """Sections 1 to 12, each clause once and under its number."""
    last = {1: 9, 2: 4, 3: 8, 4: 5, 5: 11, 6: 4, 7: 6, 8: 13, 9: 6, 10: 9, 11: 5, 12: 2}
    wanted = [f"{section}.{at}" for section, count in last.items() for at in range(1, count + 1)]
    assert list(clause_paragraphs()) == wanted


@pytest.mark.parametrize("clause", clause_paragraphs())
def test_a_clause_names_its_checks(clause: str) -> None:
    """The contract links exactly the checks that the catalogue has for the clause, those of providers first."""
    named = re.findall(r"\[(KP-\d+)\]\(checks\.md#kp-\d+\)", clause_paragraphs()[clause])
    about = [check for check in BY_ID.values() if check.clause == clause]
    assert named == [check.id for check in sorted(about, key=number_of)]


@pytest.mark.parametrize("clause", [key for key in clause_paragraphs() if int(key.partition(".")[0]) <= 7])
def test_a_clause_about_providers_says_when_it_is_not_tested(clause: str) -> None:
    """A clause that no check of providers stands for says so."""
    tested = clause in {check.clause for check in CHECKS}
    assert ("*Not" in clause_paragraphs()[clause]) == (not tested)


@pytest.mark.parametrize("check", BY_ID.values(), ids=lambda check: check.id)
def test_a_clause_names_the_level_of_its_checks(check: Check) -> None:
    """What a check calls a MUST is a MUST in the contract, too."""
    assert str(check.level) in clause_paragraphs()[check.clause]


def test_the_contract_has_every_rule_of_normalising() -> None:
    """N1 to N13."""
    assert re.findall(r"^\| (N\d+) \|", PAGE, re.MULTILINE) == [f"N{at}" for at in range(1, 14)]
