"""What access and rendering cost, in times of normalising the same results.

Reading labels takes at most a quarter, and so does rendering prose. Text that is full of marks which could mean
something takes longer, since each of them is looked at: tags and emoji about a half; and code, logs, Markdown and
transcripts, with a bracket, an ampersand or a colon at every tenth character, up to nine tenths.

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
MARKED = 0.9
MARKED_TEXTS = {
    "html": ("<p>Two <b>owners</b> approve.</p>\n", 0.45),
    "emoji": ("Refunds 👩\u200d👩\u200d👧 take 14 days. ", 0.55),
    "code": ("if (a < b && c[i] > 0) { x: y<<2; } // note: see\n", MARKED),
    "log": ("2026-01-02 10:11:12 INFO [main] a.b.C: started in 3 ms\n", MARKED),
    "markdown": ("See [the guide](https://docs.example.com/a) and `code`.\n", MARKED),
    "transcript": ("User: how?\nAssistant: so it goes.\n", MARKED),
}
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


def rendered(name: str, text: str, chars: int, bound: float) -> bool:
    """Print what rendering takes; True when it is over its bound."""
    response = answer(text, chars)
    outcome = normalize_response(response, query="release", limit=RESULTS, max_content_chars=chars)
    rendering = ratios(partial(render_block, outcome), chars, text)
    return report(f"{name} {chars}, render", rendering, bound, "times normalising")


def main() -> int:
    """Measure and compare, with the longest content and with a short one."""
    over = False
    for chars in (CONTENT_CHARS, 500):
        for name, text in TEXTS.items():
            over |= rendered(name, text, chars, QUARTER)
            judging = ratios(partial(judge, labeled(answer(text, chars)), RESULTS), chars, text)
            over |= report(f"{name} {chars}, allows", judging, QUARTER, "times normalising")
        for name, (text, bound) in MARKED_TEXTS.items():
            over |= rendered(name, text, chars, bound)
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
