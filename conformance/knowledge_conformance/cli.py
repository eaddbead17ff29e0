"""``knowledge-kit``: the kit without pytest. Knows arguments and exit codes; prints what ``terminal`` makes."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from knowledge_conformance import api
from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.copying import CopyError, copy, listing
from knowledge_conformance.kinds import KINDS, KindName
from knowledge_conformance.report import Report, kit_version, write_reports
from knowledge_conformance.settings import Settings, SettingsError, read_settings
from knowledge_conformance.target import TargetError
from knowledge_conformance.terminal import explanation_lines, failure_lines, failures, report_lines

USAGE_ERROR = 4
"""As pytest's own."""


class UnwrittenError(Exception):
    """The report cannot be written where it was asked for."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override] # exits, as argparse's own does
        self.print_usage(sys.stderr)
        self.exit(USAGE_ERROR, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Exit code: 0 conformant or answered, 1 not conformant or inconclusive, 4 usage."""
    given = _parser().parse_args(arguments)
    try:
        code: int = given.command(given)
    except (CopyError, SettingsError, TargetError, UnwrittenError) as error:
        sys.stderr.write(f"knowledge-kit: {error}\n")
        return USAGE_ERROR
    return code


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="knowledge-kit",
        description="Checks knowledge retrieval providers, hosts and composites against their contract.",
    )
    parser.add_argument("--version", action="version", version=f"knowledge-kit {kit_version()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)
    listing = commands.add_parser("checks", help="list the checks, and what is not tested")
    listing.set_defaults(command=_checks)
    faults = commands.add_parser("faults", help="list the faults that --prove puts into a provider")
    faults.set_defaults(command=_faults)
    explain = commands.add_parser("explain", help="say what a check is about")
    explain.add_argument("id", metavar="ID")
    explain.set_defaults(command=_explain)
    run = commands.add_parser("run", help="check providers, hosts and composites")
    run.add_argument("targets", metavar="MODULE:OBJ", nargs="*", help="providers; default: those of the settings")
    run.add_argument("--host", metavar="MODULE:FACTORY", action="append", default=[], help="what makes a host")
    run.add_argument("--composite", metavar="MODULE:FACTORY", action="append", default=[], help="what combines several")
    run.add_argument("--report", metavar="PATH", help="write the report there as JSON")
    run.set_defaults(command=_run)
    taking = commands.add_parser("copy", help="take an adapter into your own code, with a test and a workflow")
    taking.add_argument("name", metavar="NAME", nargs="?", help="which adapter")
    taking.add_argument("folder", metavar="FOLDER", nargs="?", type=Path, help="where to; made if it is missing")
    taking.add_argument("--list", action="store_true", help="list the adapters, what they need and what they map")
    taking.set_defaults(command=_copy)
    return parser


def _checks(_given: argparse.Namespace) -> int:
    for check in BY_ID.values():
        print(f"{check.id}  {check.level:6} {check.clause:4}  {check.title}")
    print("\nNot tested, because")
    for kind in KINDS.values():
        for clause, reason in kind.not_tested.items():
            print(f"  {clause:17}  {reason}")
    return 0


def _faults(_given: argparse.Namespace) -> int:
    from knowledge_fakes.faults import FAULTS

    for fault in FAULTS.values():
        print(f"{fault.name:40} {', '.join(fault.trips):22} {fault.summary}")
    print("\nOne of them in your own provider: knowledge-kit run acme.search:provider+NAME")
    return 0


def _explain(given: argparse.Namespace) -> int:
    check = BY_ID.get(given.id.upper())
    if check is None:
        raise TargetError(f"there is no check {given.id!r}; knowledge-kit checks lists them")
    print("\n".join(explanation_lines(check)))
    return 0


def _copy(given: argparse.Namespace) -> int:
    if not given.list and given.folder is None:
        raise CopyError("wanted an adapter and a folder: knowledge-kit copy NAME FOLDER; copy --list has the names")
    print("\n".join(listing() if given.list else copy(given.name, given.folder)))
    return 0


def _run(given: argparse.Namespace) -> int:
    settings = read_settings(Path.cwd())
    others: list[tuple[KindName, str]] = [
        *(("host", target) for target in given.host),
        *(("composite", target) for target in given.composite),
    ]
    providers = given.targets or (() if others else settings.providers)
    targets: dict[tuple[KindName, str], None] = dict.fromkeys([*(("provider", each) for each in providers), *others])
    if not targets:
        raise TargetError("name a provider, such as acme.search:provider, or set providers in the settings")
    reports = [_run_one(kind, target, settings) for kind, target in targets]
    if given.report is not None:
        try:
            write_reports(Path(given.report), reports)
        except OSError as error:
            raise UnwrittenError(f"--report: cannot write {given.report}: {error.strerror}") from None
    return max(report.exit_code for report in reports)


def _run_one(kind: KindName, target: str, settings: Settings) -> Report:
    report = api.run_sync(target, settings, kind=kind)
    print(f"knowledge {kind} {target}")
    for check in failures(report):
        print("\n" + "\n".join(failure_lines(check, target, settings)))
    print("\n" + "\n".join(report_lines(report)))
    return report


if __name__ == "__main__":
    sys.exit(main())
