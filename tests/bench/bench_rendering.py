"""What access and rendering cost: at most a quarter of normalising the same results.

``python tests/bench/bench_rendering.py`` prints the ratios and exits with 1 when one is over its bound.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from bench_normalize import CONTENT_CHARS, RESULTS, TEXTS, answer, interleaved, normalize, report

from knowledge_provider.access import AccessMode, AccessScope, allows
from knowledge_provider.normalize import normalize_response
from knowledge_provider.untrusted import render_block

QUARTER = 0.25
ALICE = AccessScope(AccessMode.DENY_IF_UNLABELED, tenant_id="acme", user_id="alice", roles=frozenset({"editor"}))
LABELED = {"tenant_id": "acme", "allowed_users": "bob, carol, alice", "allowed_roles": "reader, editor"}


def labeled(response: dict[str, Any]) -> list[dict[str, Any]]:
    """The metadata of each result, with three labels behind the other entries."""
    return [{**result["metadata"], **LABELED} for result in response["results"]]


def judge(metadata: list[dict[str, Any]], expected: int) -> None:
    """Ask for each of them, and see that the answer is the right one."""
    if sum(allows(labels, ALICE) for labels in metadata) != expected:
        raise AssertionError("the labels that are measured do not authorise")


def ratios(call: Callable[[], object], content_chars: int, text: str) -> tuple[float, float]:
    """The call, in times of normalising the results."""
    return interleaved(call, normalize(answer(text, content_chars), content_chars))


def main() -> int:
    """Measure and compare, with the longest content and with a short one."""
    over = False
    for name, text in TEXTS.items():
        for chars in (CONTENT_CHARS, 500):
            response = answer(text, chars)
            outcome = normalize_response(response, query="release", limit=RESULTS, max_content_chars=chars)
            rendering = ratios(partial(render_block, outcome), chars, text)
            judging = ratios(partial(judge, labeled(response), RESULTS), chars, text)
            over |= report(f"{name} {chars}, render", rendering, QUARTER, "times normalising")
            over |= report(f"{name} {chars}, allows", judging, QUARTER, "times normalising")
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
