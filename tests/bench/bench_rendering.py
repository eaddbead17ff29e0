"""What access and rendering cost, in times of normalising the same results.

Reading labels takes at most a quarter, and so does rendering prose, and this repository's own documentation and source
where contents are long or short. Of 1,000 characters, where eight of them just do not fit, it takes up to 0.29. Text
that is full of marks which could mean something takes longer, since each of them is looked at: tags and emoji 0.3 to
0.4, logs 0.4, and 0.5 to 0.6 code, transcripts, and pages in any language with a link in every sentence, whose titles
have marks, too.

``python tests/bench/bench_rendering.py`` prints the ratios and exits with 1 when one is over its bound.
"""

import sys
from functools import partial
from pathlib import Path
from typing import Any

from bench_normalize import CONTENT_CHARS, RESULTS, TEXTS, answer, interleaved, normalize, report

from knowledge_provider.access import AccessMode, AccessScope, allows
from knowledge_provider.normalize import normalize_response
from knowledge_provider.untrusted import render_block

QUARTER = 0.25
MARKED_TEXTS = {
    "html": ("<p>Two <b>owners</b> approve.</p>\n", 0.35),
    "emoji": ("Refunds 👩\u200d👩\u200d👧 take 14 days. ", 0.45),
    "code": ("if (a < b && c[i] > 0) { x: y<<2; } // note: see\n", 0.7),
    "log": ("2026-01-02 10:11:12 INFO [main] a.b.C: started in 3 ms\n", 0.45),
    "markdown": ("See [the guide](https://docs.example.com/a) and `code`.\n", 0.7),
    "transcript": ("User: how?\nAssistant: so it goes.\n", 0.6),
    "russian": ("«Выпуск» требует двух согласований: номер, дата, причина.\n", 0.45),
    "french": ("La version « 2.0 » : voir [le guide](https://docs.example.com/a).\n", 0.6),
    "chinese page": ("两个批准[1]（见 [手册](https://docs.example.com/a)）。例外：必须记录。\n", 0.7),
}
ROOT = Path(__file__).parents[2]
REAL_TEXTS = {"documentation": "docs/*.md", "source": "conformance/*/*.py", "tests": "tests/*/*.py"}
# The middle one is the worst: as much as is normalised is rendered, and then cut.
REAL_BOUNDS = {CONTENT_CHARS: QUARTER, 1000: 0.3, 500: QUARTER}
ALICE = AccessScope(AccessMode.DENY_IF_UNLABELED, tenant_id="acme", user_id="alice", roles=frozenset({"editor"}))
LABELED = {"tenant_id": "acme", "allowed_users": "bob, carol, alice", "allowed_roles": "reader, editor"}


def labeled(response: dict[str, Any]) -> list[dict[str, Any]]:
    """The metadata of each result, with three labels behind the other entries."""
    return [{**result["metadata"], **LABELED} for result in response["results"]]


def judge(metadata: list[dict[str, Any]], expected: int) -> None:
    """Ask for each of them, and see that the answer is the right one."""
    if sum(allows(labels, ALICE) for labels in metadata) != expected:
        raise AssertionError("the labels that are measured do not authorise")


def real(pattern: str, chars: int) -> dict[str, Any]:
    """An answer of 8 results, from places all over the repository's files of that kind."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(ROOT.glob(pattern)))
    response = answer("Release handbook ", chars)
    for place, result in enumerate(response["results"]):
        begin = place * len(text) // RESULTS
        result["content"] = text[begin : begin + chars].strip()
    return response


def rendered(name: str, response: dict[str, Any], chars: int, bound: float) -> bool:
    """Print what rendering takes, in times of normalising; True when it is over its bound."""
    outcome = normalize_response(response, query="release", limit=RESULTS, max_content_chars=chars)
    ratios = interleaved(partial(render_block, outcome), normalize(response, chars))
    return report(f"{name} {chars}, render", ratios, bound, "times normalising")


def judged(name: str, response: dict[str, Any], chars: int) -> bool:
    """The same of reading labels."""
    ratios = interleaved(partial(judge, labeled(response), RESULTS), normalize(response, chars))
    return report(f"{name} {chars}, allows", ratios, QUARTER, "times normalising")


def main() -> int:
    """Measure and compare, with the longest content and with a short one."""
    over = [
        rendered(name, real(pattern, chars), chars, bound)
        for chars, bound in REAL_BOUNDS.items()
        for name, pattern in REAL_TEXTS.items()
    ]
    for chars in (CONTENT_CHARS, 500):
        for name, text in TEXTS.items():
            over.append(rendered(name, answer(text, chars), chars, QUARTER))
            over.append(judged(name, answer(text, chars), chars))
        over += [rendered(name, answer(text, chars), chars, bound) for name, (text, bound) in MARKED_TEXTS.items()]
    return int(any(over))


if __name__ == "__main__":
    sys.exit(main())
