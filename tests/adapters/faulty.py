"""What the tests of kinds of fault share: one answer of all six vendors, and what came of it."""

import asyncio
import json
from typing import Any, Final

import pytest
from equivalence import SUBJECTS, asked, opened
from six_vendors import Record, answering

from knowledge_provider import KnowledgeError, RetrievalResult

PLANTED: Final = "sk-hunter2-0c55ae"
NAN: Final = float("nan")
SOUND: Final = Record("Refunds take 14 days.", "refunds")

each_adapter = pytest.mark.parametrize("name", SUBJECTS)


async def outcome_of(provider: Any, **fields: Any) -> list[RetrievalResult] | KnowledgeError:
    async with opened(provider):
        return await asked(provider, **fields)


def results_of(name: str, *records: Record, scored: bool = False, **fields: Any) -> list[RetrievalResult]:
    outcome = asyncio.run(outcome_of(answering(name, records, scored=scored), **fields))
    assert not isinstance(outcome, KnowledgeError), outcome
    return outcome


def failure_of(provider: Any, **fields: Any) -> KnowledgeError:
    outcome = asyncio.run(outcome_of(provider, **fields))
    assert isinstance(outcome, KnowledgeError), outcome
    return outcome


def texts(results: list[RetrievalResult]) -> list[str]:
    return [result.content for result in results]


def ids(results: list[RetrievalResult]) -> list[str]:
    return [result.id for result in results]


def shown(results: list[RetrievalResult]) -> str:
    """All of it, as strict JSON, which has neither NaN nor lone surrogates."""
    plain = [result.model_dump(by_alias=True) for result in results]
    return json.dumps(plain, allow_nan=False, ensure_ascii=False).encode().decode()
