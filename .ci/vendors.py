"""Each adapter over the lowest and the newest supported version of its vendor: knows the extras, and no version.

Called as ``vendors.py WHEEL FOLDER`` by the Python of the README's environment, with uv in the path. Where there is the
wheel instead of this clone, and one vendor, it copies each adapter alone into an empty folder and runs the test that
came with it, once at each end. Then it runs the adapters' own tests over all lowest versions at once, and makes sure
that what ran before, in the README's environment, ran over the newest.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import distributions, version
from itertools import product
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from packaging.requirements import Requirement

from knowledge_conformance.copying import ADAPTERS, KIT, Adapter

ROOT: Final = Path(__file__).parents[1]
OWN: Final = ROOT / "tests" / "adapters"
ENDS: Final = ("lowest", "newest")
# A copied test runs every check of the kit: with fewer, something was skipped that should not be.
CHECKS_THAT_CONCERN_A_COPY: Final = 41
# Engines that want a later version of a vendor than its adapter does, and the files of tests that need them.
WANT_LATER: Final = {"langchain-postgres": "test_langchain_pgvector"}


@dataclass(frozen=True, slots=True)
class Place:
    """What is tested and where: the wheel, the folder for environments, and the vendors by the names of adapters."""

    wheel: Path
    folder: Path
    vendors: dict[str, Requirement]


def main(wheel: str, folder: str) -> None:
    """Run everything; the first thing that does not hold ends it with a line that says so, and another code than 0."""
    place = Place(Path(wheel).resolve(), Path(folder).resolve(), vendors())
    place.folder.mkdir()
    lowest = [f"{it.name}=={floor(it)}" for it in place.vendors.values()]
    (place.folder / "lowest.txt").write_text("\n".join(lowest))
    with ThreadPoolExecutor(2) as pool:
        for line in pool.map(lambda pair: copied(place, *pair), product(ADAPTERS, ENDS)):
            print(line, flush=True)
    for line in own_tests(place):
        print(line, flush=True)


def vendors() -> dict[str, Requirement]:
    """The one package that the extra of each adapter brings."""
    found = {adapter.name: extra(adapter.name) for adapter in ADAPTERS}
    need(all(len(packages) == 1 for packages in found.values()), f"the extra of an adapter brings one package: {found}")
    return {name: packages[0] for name, packages in found.items()}


def extra(name: str) -> list[Requirement]:
    """What an extra brings."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return [Requirement(text) for text in project["optional-dependencies"][name]]


def floor(vendor: Requirement) -> str:
    """The lowest version that a requirement admits; it has to be one that was published, or nothing installs it."""
    bounds = [it.version for it in vendor.specifier if it.operator == ">="]
    need(len(bounds) == 1, f"{vendor}: say the lowest version, with >=")
    return bounds[0]


def copied(place: Place, adapter: Adapter, end: str) -> str:
    """Copy an adapter into an empty folder, where there is the wheel and its vendor, and run what was copied."""
    home = place.folder / f"{adapter.name}-{end}"
    programs, copy = install(place, home, end, {"conformance", "fakes", adapter.name}), home / "copy"
    call([programs / "knowledge-kit", "copy", adapter.name, copy], home)
    # So a copy that leans on where it came from, or on its siblings, fails.
    shutil.rmtree(packages_in(home) / "knowledge_adapters")
    counts = run_pytest(programs, copy, "-q", "-W", "error")
    enough = counts["passed"] >= CHECKS_THAT_CONCERN_A_COPY
    need(enough, f"{home.name}: wanted {CHECKS_THAT_CONCERN_A_COPY} that pass or more, ran {dict(counts)}")
    vendor = f"{place.vendors[adapter.name].name} {version_in(place, home, adapter.name)}"
    return f"{adapter.name}, copied alone, {end}: {vendor}, {counts['passed']} passed, {counts['skipped']} skipped"


def own_tests(place: Place) -> Iterator[str]:
    """Run the tests of all adapters over the lowest versions at once, from the wheel."""
    for adapter in ADAPTERS:
        newest, ran = version_in(place, place.folder / f"{adapter.name}-newest", adapter.name), here(place, adapter)
        need(newest == ran, f"the tests ran over {adapter.name} {ran}, and {newest} is out: find what holds it back")
    home = place.folder / "own-lowest"
    wanted = [it for it in extra("dev") if it.name not in WANT_LATER]
    ours = {name for it in wanted for name in it.extras if it.name == KIT}
    others = [str(it) for it in wanted if it.name != KIT]
    counts = run_pytest(install(place, home, "lowest", ours, *others), ROOT, "-q", "-n", "2", str(OWN))
    for adapter in ADAPTERS:
        files = {file.stem for file in OWN.glob(f"test_{adapter.name.replace('-', '_')}_*.py")}
        idle = {file for file in files - {*WANT_LATER.values()} if not counts[file]}
        need(bool(files) and not idle, f"{adapter.name}, lowest: nothing passed in {sorted(idle) or 'any file'}")
        lowest, passed = version_in(place, home, adapter.name), sum(counts[file] for file in files)
        yield f"{adapter.name}, its own tests, lowest: {place.vendors[adapter.name].name} {lowest}, {passed} passed"
    yield f"all adapters' tests, lowest: {counts['passed']} passed, {counts['skipped']} skipped"


def install(place: Place, home: Path, end: str, extras: AbstractSet[str], *others: str) -> Path:
    """Make an environment with the wheel, its extras and others; the folder of its programs."""
    environment = home / "venv"
    bounds: list[str | Path] = ["-c", place.folder / "lowest.txt"] if end == "lowest" else []
    home.mkdir()
    call(["uv", "venv", "-q", "--python", sys.executable, environment], home)
    wanted = [f"{place.wheel}[{','.join(sorted(extras))}]", *others]
    call(["uv", "pip", "install", "-q", "--python", environment, *bounds, *wanted], home)
    return environment / "bin"


def run_pytest(programs: Path, folder: Path, *arguments: str) -> Counter[str]:
    """Run a pytest in a folder; how many passed and were skipped, and how many passed in each file, by its stem."""
    report = programs.parents[1] / "report.xml"
    call([programs / "pytest", "-p", "no:cacheprovider", f"--junit-xml={report}", *arguments], folder)
    cases = [*ElementTree.parse(report).iter("testcase")]
    passed = [case for case in cases if case.find("skipped") is None]
    files = Counter(part for case in passed for part in case.get("classname", "").split(".") if part[:5] == "test_")
    return files + Counter(passed=len(passed), skipped=len(cases) - len(passed))


def version_in(place: Place, home: Path, name: str) -> str:
    """The version of an adapter's vendor in an environment."""
    found = distributions(name=place.vendors[name].name, path=[str(packages_in(home))])
    return next(iter(found)).version


def packages_in(home: Path) -> Path:
    """Where an environment keeps what is installed in it."""
    return next(home.glob("venv/lib/python*/site-packages"))


def here(place: Place, adapter: Adapter) -> str:
    """The version that the README's environment has of an adapter's vendor."""
    return version(place.vendors[adapter.name].name)


def call(command: Sequence[str | Path], folder: Path) -> None:
    """Run a command to its end, and show what it said if that was bad."""
    # Without it, a module of this clone could stand in for one of the wheel.
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        command, cwd=folder, env=clean, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    shown = " ".join(map(str, command))
    need(done.returncode == 0, f"{done.stdout}\nended with {done.returncode}: {shown}")


def need(holds: bool, otherwise: str) -> None:
    """End with a message unless something holds."""
    if not holds:
        raise SystemExit(otherwise)


if __name__ == "__main__":
    main(*sys.argv[1:])
