"""``knowledge-kit``: the kit without pytest. Knows arguments and exit codes; prints what ``terminal`` makes."""

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from knowledge_conformance import api
from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.check import Check
from knowledge_conformance.copying import CopyError, copy, listing
from knowledge_conformance.diff import OtherKindError, changes, diff_lines, worse
from knowledge_conformance.following import FollowUpError, follow_up, refuse_unprovable, refuse_unwritable, replaying
from knowledge_conformance.kinds import KINDS, KindName, kind_of
from knowledge_conformance.markdown import markdown
from knowledge_conformance.proof import Proof
from knowledge_conformance.reading import UnreadableError, read_report
from knowledge_conformance.replay import TokenError, settings_of
from knowledge_conformance.report import Report, kit_version
from knowledge_conformance.results import CheckOutcome
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings, SettingsError, override, read_settings, source_of
from knowledge_conformance.summary import summary_lines
from knowledge_conformance.target import TargetError
from knowledge_conformance.terminal import explanation_lines, failure_lines, failures
from knowledge_conformance.ticker import coloured, painted, progress, showing
from knowledge_conformance.writing import SuffixError, checked, write_reports

_WRITES = "write the report there, as .json, .html or .md; repeatable"
USAGE_ERROR = 4
"""As pytest's own."""


class UnwrittenError(Exception):
    """The report cannot be written where it was asked for."""


_REFUSALS = (
    CopyError, FollowUpError, OtherKindError, SettingsError, SuffixError, TargetError, TokenError, UnreadableError,
    UnwrittenError,
)  # fmt: skip


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override] # exits, as argparse's own does
        self.print_usage(sys.stderr)
        self.exit(USAGE_ERROR, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Exit code: 0 conformant or answered, 1 not conformant or inconclusive, 4 usage."""
    given = _parser().parse_args(arguments)
    try:
        code: int = given.command(given)
    except _REFUSALS as error:
        sys.stderr.write(f"knowledge-kit: {error}\n")
        return USAGE_ERROR
    return code


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="knowledge-kit",
        description="Checks knowledge retrieval providers, sources and hosts against their contract.",
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
    run = commands.add_parser("run", help="check providers, hosts and other kinds")
    run.add_argument("targets", metavar="MODULE:OBJ", nargs="*", help="providers; default: those of the settings")
    run.add_argument("--host", metavar="MODULE:FACTORY", action="append", default=[], help="what makes a host")
    run.add_argument("--composite", metavar="MODULE:FACTORY", action="append", default=[], help="what combines several")
    run.add_argument("--source", metavar="MODULE:OBJ", action="append", default=[], help="a retrieval source")
    run.add_argument("--merging", metavar="MODULE:FACTORY", action="append", default=[], help="what merges sources")
    run.add_argument("--access", metavar="MODULE:FACTORY", action="append", default=[], help="a rule of who reads what")
    run.add_argument(
        "--renderer", metavar="MODULE:FACTORY", action="append", default=[], help="what renders for a model"
    )
    run.add_argument("--report", metavar="PATH", type=Path, action="append", default=[], help=_WRITES)
    run.add_argument("-v", "--verbose", action="store_true", help="print a line for each check")
    run.add_argument("--profile", metavar="NAME", help="fast, default or thorough: which checks, and how much of each")
    run.add_argument("--inject-network-faults", action="store_true", help="cut the provider's network in many ways")
    run.add_argument("--network-recording", metavar="FILE", help="answer the providers' calls out of this file")
    run.add_argument("--record-network", metavar="FILE", help="write what they are answered into this file")
    run.add_argument("--prove", action="store_true", help="put every known fault into the providers, too")
    run.add_argument("--replay", metavar="TOKEN", help="run one check again, as a failure's last line says")
    run.add_argument("--emit-repro", metavar="DIR", type=Path, help="write a small test there for each failed check")
    run.add_argument("--write-known-failures", action="store_true", help="write what fails into the settings")
    run.set_defaults(command=_run)
    taking = commands.add_parser("copy", help="take an adapter into your own code, with a test and a workflow")
    taking.add_argument("name", metavar="NAME", nargs="?", help="which adapter")
    taking.add_argument("folder", metavar="FOLDER", nargs="?", type=Path, help="where to; made if it is missing")
    taking.add_argument("--list", action="store_true", help="list the adapters, what they need and what they map")
    taking.set_defaults(command=_copy)
    showing = commands.add_parser("report", help="show reports again: as a page, as Markdown, on the screen")
    showing.add_argument("reports", metavar="JSON", nargs="+", type=Path, help="what --report wrote")
    showing.add_argument("-o", "--output", metavar="PATH", type=Path, action="append", default=[], help=_WRITES)
    showing.add_argument("--markdown", action="store_true", help="print Markdown, for a pull request")
    showing.add_argument("-v", "--verbose", action="store_true", help="print a line for each check")
    showing.set_defaults(command=_report)
    comparing = commands.add_parser("diff", help="say what changed from one report to another")
    comparing.add_argument("old", metavar="OLD.json", type=Path)
    comparing.add_argument("new", metavar="NEW.json", type=Path)
    comparing.set_defaults(command=_diff)
    return parser


def _report(given: argparse.Namespace) -> int:
    reports = [read_report(path) for path in given.reports]
    _write(given.output, reports, "-o")
    if given.markdown:
        print(markdown(reports), end="")
    elif not given.output:
        for report in reports:
            _refuse_unknown(report)
            _print_all(report, None, verbose=given.verbose)
    return 0


def _diff(given: argparse.Namespace) -> int:
    old, new = read_report(given.old), read_report(given.new)
    print("\n".join(diff_lines(old, new)))
    return 1 if worse(changes(old, new)) else 0


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
        *(("source", target) for target in given.source),
        *(("merging", target) for target in given.merging),
        *(("access", target) for target in given.access),
        *(("renderer", target) for target in given.renderer),
    ]
    providers = given.targets or (() if others else settings.providers)
    targets: dict[tuple[KindName, str], None] = dict.fromkeys([*(("provider", each) for each in providers), *others])
    if not targets:
        raise TargetError("name a provider, such as acme.search:provider, or set providers in the settings")
    if given.prove:
        refuse_unprovable({kind for kind, _ in targets})
    if given.emit_repro is not None:
        refuse_unwritable(given.emit_repro)
    replay = None if given.replay is None else replaying(given.replay, {kind for kind, _ in targets})
    settings = settings if replay is None else settings_of(replay, settings)
    settings = override(
        settings, inject_network_faults=given.inject_network_faults or None, profile=given.profile,
        network_recording=given.network_recording, record_network=given.record_network,
    )  # fmt: skip
    only = None if replay is None else replay.check
    named = targets if only is None else [each for each in targets if each[0] == kind_of(only).name]
    for path in given.report:
        checked(path)
    reports = [_run_one(kind, target, settings, only, given) for kind, target in named]
    asked = {"emit": given.emit_repro, "write": given.write_known_failures}
    for line in follow_up(reports, settings, Path.cwd(), replay, **asked):
        print(line)
    _write(given.report, reports, "--report")
    if replay is not None:
        return 0 if all(report.checks[0].outcome is CheckOutcome.PASSED for report in reports) else 1
    proven = all(report.proof.holds for report in reports if report.proof is not None)
    return 0 if proven and all(report.good for report in reports) else 1


def _run_one(kind: KindName, target: str, settings: Settings, only: Check | None, given: argparse.Namespace) -> Report:
    begun: list[Run] = []
    with showing(lambda: progress(begun[0]) if begun else None):
        report = api.run_sync(target, settings, kind=kind, source=source_of(Path.cwd()), only=only, begun=begun.append)
    if given.prove and kind == "provider":
        report = report.model_copy(update={"proof": _prove(report, settings)})
    _print_all(report, settings, verbose=given.verbose)
    return report


def _prove(report: Report, settings: Settings) -> Proof:
    from knowledge_conformance.proving import prove

    tried = [""]
    with showing(lambda: tried[-1] and f"--prove: {tried[-1]}"):
        return prove(report.target, settings, {check.id: check.outcome for check in report.checks}, tell=tried.append)


def _print_all(report: Report, settings: Settings | None, *, verbose: bool) -> None:
    print(f"knowledge {report.noun} {report.target}")
    for check in failures(report):
        print("\n" + "\n".join(failure_lines(check, report.target, settings)))
    print()
    colours = coloured(sys.stdout)
    for line in summary_lines(report, settings, verbose=verbose):
        print(painted(line, colours=colours))


def _refuse_unknown(report: Report) -> None:
    unknown = [check.id for check in report.checks if check.id not in BY_ID]
    if unknown:
        raise UnreadableError(
            f"{report.target}: this version of the kit has no check {unknown[0]}; a page shows it (-o)"
        )


def _write(paths: Iterable[Path], reports: Sequence[Report], option: str) -> None:
    for path in paths:
        try:
            write_reports(checked(path), reports)
        except OSError as error:
            raise UnwrittenError(f"{option}: cannot write {path}: {error.strerror}") from None


if __name__ == "__main__":
    sys.exit(main())
