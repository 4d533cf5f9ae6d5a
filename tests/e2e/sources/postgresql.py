"""PostgreSQL: a cluster of its own, over TLS too, with a superuser `admin` and a user `reader` who may read."""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.controlplane.pki import FiledAuthority
from tests.e2e.controlplane.processes import plain_environment
from tests.e2e.sources.server import Server

PASSWORD = "a secret of tests"
_DEBIAN = Path("/usr/lib/postgresql")
_ACCESS = """
local all all trust
hostnossl clear all 127.0.0.1/32 scram-sha-256
hostssl all all 127.0.0.1/32 scram-sha-256
"""
_SETTINGS = """
listen_addresses = '127.0.0.1'
fsync = off
max_connections = 20
shared_buffers = 16MB
autovacuum = off
ssl = on
"""


def programs() -> Path | None:
    """The folder of its programs: that of Debian's newest package, or where PATH leads."""
    for folder in sorted(_DEBIAN.glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True):
        if (folder / "initdb").exists():
            return folder
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found else None


def skip_reason() -> str | None:
    """One line if it cannot run here, else None."""
    return None if programs() else "no PostgreSQL server: install the Debian package postgresql"


class PostgreSQLServer(Server):
    """Database `shop` over TLS alone, database `clear` without."""

    name = "postgresql"
    user = "postgres"

    def __init__(self, authority: FiledAuthority) -> None:
        """Make the cluster; `authority` signs its certificate for db.test and localhost."""
        super().__init__()
        self.authority = authority
        found = programs()
        assert found is not None
        self._programs = found
        self._data = self.folder / "data"
        self._run("initdb", "--pgdata", str(self._data), "--username=admin", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
        with (self._data / "postgresql.conf").open("a", encoding="utf-8") as settings:
            settings.write(f"{_SETTINGS}port = {self.port}\nunix_socket_directories = '{self.folder}'\n")
        (self._data / "pg_hba.conf").write_text(_ACCESS, encoding="utf-8")
        pair = authority.server("postgresql", "db.test", dns=["db.test", "localhost"])
        for source, name in ((pair.certificate, "server.crt"), (pair.key, "server.key")):
            target = self._data / name
            target.write_bytes(source.read_bytes())
            self.own(target, 0o600)

    def command(self) -> Sequence[str | Path]:
        return [self._programs / "postgres", "-D", self._data]

    def answers(self) -> bool:
        return (self.folder / f".s.PGSQL.{self.port}").exists() and self._ready()

    def prepare(self) -> None:
        """Make the databases and the user. Once, after the first start."""
        self._psql("postgres", f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'", "CREATE DATABASE shop", "CREATE DATABASE clear")

    def admin(self, *statements: str) -> None:
        """Run statements as the superuser, in database shop."""
        self._psql("shop", *statements)

    @contextmanager
    def locked(self, table: str) -> Iterator[None]:
        """Within, nobody reads a table of database shop."""
        lock = f"BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE;\n\\echo locked\n"
        command = self.as_user([self._programs / "psql", *self._session("shop")])
        holder = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=self.folder, env=plain_environment(LC_ALL="C")
        )
        with holder as running:
            assert running.stdin is not None
            assert running.stdout is not None
            running.stdin.write(lock)
            running.stdin.flush()
            assert running.stdout.readline() == "locked\n"
            try:
                yield
            finally:
                running.stdin.close()  # psql ends, and the lock with its session
                running.wait(20)

    def _psql(self, database: str, *statements: str) -> None:
        each = [argument for statement in statements for argument in ("-c", statement)]
        self._run("psql", *self._session(database), *each)

    def _session(self, database: str) -> list[str]:
        """psql's flags for a session of the superuser, which a first error ends."""
        return ["-h", str(self.folder), "-p", str(self.port), "-U", "admin", "-d", database, "-qX", "-v", "ON_ERROR_STOP=1"]

    def _ready(self) -> bool:
        done = subprocess.run(
            [self._programs / "pg_isready", "-q", "-h", str(self.folder), "-p", str(self.port)], check=False, env=plain_environment()
        )
        return done.returncode == 0

    def _run(self, program: str, *arguments: str) -> None:
        command = self.as_user([self._programs / program, *arguments])
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=self.folder, env=plain_environment(LC_ALL="C"))
        if done.returncode != 0:
            raise RuntimeError(f"{program} failed: {done.stderr}{done.stdout}")
