"""The conformance kit, and its pytest plugin's entry: this module is all that an idle pytest run loads of it.

Nothing is imported here until an option or a name is used, not even pytest.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    import pytest

    from knowledge_conformance.api import assert_conforms as assert_conforms
    from knowledge_conformance.api import run as run
    from knowledge_conformance.report import Report as Report
    from knowledge_conformance.settings import Settings as Settings
    from knowledge_conformance.suite import AccessConformance as AccessConformance
    from knowledge_conformance.suite import CompositeConformance as CompositeConformance
    from knowledge_conformance.suite import HostConformance as HostConformance
    from knowledge_conformance.suite import MergingConformance as MergingConformance
    from knowledge_conformance.suite import ProviderConformance as ProviderConformance
    from knowledge_conformance.suite import RendererConformance as RendererConformance
    from knowledge_conformance.suite import SourceConformance as SourceConformance

_HOMES = {
    "AccessConformance": "suite",
    "CompositeConformance": "suite",
    "HostConformance": "suite",
    "MergingConformance": "suite",
    "ProviderConformance": "suite",
    "RendererConformance": "suite",
    "Report": "report",
    "Settings": "settings",
    "SourceConformance": "suite",
    "assert_conforms": "api",
    "run": "api",
}

__all__ = [
    "AccessConformance",
    "CompositeConformance",
    "HostConformance",
    "MergingConformance",
    "ProviderConformance",
    "RendererConformance",
    "Report",
    "Settings",
    "SourceConformance",
    "assert_conforms",
    "run",
]


# No __dir__ beside it: pytest looks at every name that a plugin lists, and would load them all.
def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def pytest_addoption(parser: "pytest.Parser") -> None:
    """Add the options; pytest calls this in every run."""
    group = parser.getgroup("knowledge provider conformance")
    add = group.addoption
    add("--provider", action="append", default=[], metavar="MODULE:OBJ", help="check this provider; repeatable")
    add("--host", action="append", default=[], metavar="MODULE:FACTORY", help="check what makes a host; repeatable")
    add("--composite", action="append", default=[], metavar="MODULE:FACTORY", help="check what combines providers")
    add("--source", action="append", default=[], metavar="MODULE:OBJ", help="check this retrieval source; repeatable")
    add("--source-reference", action="append", metavar="ID", help="ask the source for this reference; repeatable")
    add("--merging", action="append", default=[], metavar="MODULE:FACTORY", help="check what merges sources")
    add("--access", action="append", default=[], metavar="MODULE:FACTORY", help="check a rule of who may read what")
    add("--renderer", action="append", default=[], metavar="MODULE:FACTORY", help="check what renders for a model")
    add("--provider-query", action="append", metavar="TEXT", help="a query that returns something; repeatable")
    add("--provider-timeout", type=float, metavar="SECONDS", help="time for one call of the provider (10)")
    add("--provider-examples", type=int, metavar="N", help="how many requests to generate (25)")
    add("--provider-seed", type=int, metavar="N", help="generate other requests (0)")
    add("--provider-profile", metavar="NAME", help="fast, default or thorough: which checks, and how much of each")
    add("--provider-report", action="append", default=[], metavar="PATH", help="write it there: .json, .html, .md")
    add("--max-calls", type=int, metavar="N", help="never call the provider more often in this run (800)")
    add("--require", action="append", metavar="FACET", help="a facet that the verdict must cover; repeatable")
    add("--strict-should", action="store_true", default=None, help="an unmet SHOULD fails the run")
    add("--inject-network-faults", action="store_true", default=None, help="cut the provider's network in many ways")
    add("--network-recording", metavar="FILE", help="answer the provider's calls out of this file, without a network")
    add("--record-network", metavar="FILE", help="write what the provider's calls are answered into this file")
    add("--prove", action="store_true", help="put every known fault into the provider: does a check catch it?")
    add("--replay", metavar="TOKEN", help="run one check again on what it failed on, as a failure's last line says")
    add("--emit-repro", metavar="DIR", help="write a small test there for each failed check of a provider")
    add("--write-known-failures", action="store_true", help="write what fails into the settings, to accept it")
    add("--in-process", action="store_true", help="run without a child process, for debuggers; without protection")


def pytest_configure(config: "pytest.Config") -> None:
    """Load the kit when something to check is named, and only then."""
    kinds = ("provider", "host", "composite", "source", "merging", "access", "renderer")
    named = any(config.getoption(kind) for kind in kinds)
    # What bounds a run, or says what of it is wanted, may stand in the configuration of a project for all runs.
    wanted = ("replay", "prove", "emit_repro", "write_known_failures", "record_network")
    asking = next((each for each in wanted if config.getoption(each) not in (None, False)), None)
    if asking is not None and not named:
        import pytest

        raise pytest.UsageError(
            f"--{asking.replace('_', '-')}: no target is named that it could be done with: "
            "add one, such as --provider=acme.search:provider"
        )
    if named:
        from knowledge_conformance.hushing import Hush
        from knowledge_conformance.plugin import Door

        config.pluginmanager.register(Door(config), "knowledge-conformance-run")
        config.pluginmanager.register(Hush(), "knowledge-conformance-hush")
