"""What the plugin costs: nothing while idle, a bounded multiple of the imports in a whole run, little in a fast one.

A run that proves itself takes a bounded multiple of one that does not, and with two processes at most a part of that
multiple. Those two ratios say something only where two cores have nothing else to do. How the two compare with each
other is printed: without ``-n``, too, trials that wait, or that take their process, run beside the others, so that both
cores are busy. Plugins of other packages in the environment are left out.

``python tests/bench/bench_kit.py`` prints the ratios and exits with 1 when one is over its bound.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

IDLE_SECONDS_MAX = 0.003
IMPORTS_TIMES_MAX = 3.0
RUN_SECONDS_BESIDE = 2.0
FAST_SECONDS_BESIDE = 0.3
PROVE_TIMES_MAX = 6.0
PROVE_SPREAD_TIMES_MAX = 0.65

IDLE = (
    "import pytest, time; began = time.perf_counter(); import knowledge_conformance; print(time.perf_counter() - began)"
)
IMPORTS = "import pytest, hypothesis, pydantic"
TARGET = "knowledge_fakes.handbook:provider"


KIT = ("-m", "pytest", "-q", "-p", "knowledge_conformance", f"--provider={TARGET}")


def _output(*arguments: str, folder: str) -> str:
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=alone, capture_output=True, text=True, check=True).stdout


def _seconds(*arguments: str, folder: str) -> float:
    began = time.perf_counter()
    _output(*arguments, folder=folder)
    return time.perf_counter() - began


def idle_seconds(folder: str) -> float:
    """The least of 20 imports of the plugin's entry module, each in a new process."""
    return min(float(_output("-c", IDLE, folder=folder)) for _ in range(20))


def run_seconds(folder: str) -> tuple[float, float]:
    """The medians of 5 whole runs and of 5 imports, taken in turn."""
    runs, imports = [], []
    for _ in range(5):
        imports.append(_seconds("-c", IMPORTS, folder=folder))
        runs.append(_seconds(*KIT, folder=folder))
    return statistics.median(runs), statistics.median(imports)


def fast_seconds(folder: str) -> float:
    """What the fast profile takes beyond the same process that opens the provider and runs one check; medians of 7."""
    beside = []
    for _ in range(7):
        one = _seconds(*KIT, "provider::KP-101", folder=folder)
        fast = _seconds(*KIT, "--provider-profile=fast", folder=folder)
        beside.append(fast - one)
    return statistics.median(beside)


def prove_seconds(folder: str) -> tuple[float, float]:
    """The medians of 3 runs with ``--prove``, alone and with two processes, taken in turn."""
    alone, spread = [], []
    for _ in range(3):
        alone.append(_seconds(*KIT, "--prove", folder=folder))
        spread.append(_seconds(*KIT, "--prove", "-p", "xdist", "-n", "2", folder=folder))
    return statistics.median(alone), statistics.median(spread)


def main() -> int:
    """Measure and compare."""
    with tempfile.TemporaryDirectory() as folder:
        idle = idle_seconds(folder)
        run, imports = run_seconds(folder)
        fast = fast_seconds(folder)
        prove, spread = prove_seconds(folder)
    bound = IMPORTS_TIMES_MAX * imports + RUN_SECONDS_BESIDE
    idle_bound = IDLE_SECONDS_MAX * 1000
    print(f"idle import   {idle * 1000:6.2f} ms of {idle_bound:g} ms ({idle / IDLE_SECONDS_MAX:.2f})")
    print(f"whole run     {run:6.2f} s of {bound:.2f} s, 3 x imports of {imports:.2f} s + 2 s ({run / bound:.2f})")
    print(f"fast profile  {fast:6.2f} s of {FAST_SECONDS_BESIDE} s beyond start-up ({fast / FAST_SECONDS_BESIDE:.2f})")
    print(f"--prove       {prove:6.2f} s of {PROVE_TIMES_MAX:g} whole runs ({prove / run / PROVE_TIMES_MAX:.2f})")
    spread_bound = PROVE_SPREAD_TIMES_MAX * PROVE_TIMES_MAX * run
    print(
        f"--prove -n 2  {spread:6.2f} s of {PROVE_SPREAD_TIMES_MAX} of that bound ({spread / spread_bound:.2f}); "
        f"{spread / prove:.2f} of --prove alone"
    )
    over = (
        idle > IDLE_SECONDS_MAX,
        run > bound,
        fast > FAST_SECONDS_BESIDE,
        prove > PROVE_TIMES_MAX * run,
        spread > spread_bound,
    )
    return int(any(over))


if __name__ == "__main__":
    sys.exit(main())
