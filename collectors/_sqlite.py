"""SQLite as a source: a file that is opened read-only, in a thread of its own, for a query that can do nothing but select."""

import asyncio
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import aiosqlite
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from collectors._base import Cause, CollectError
from collectors._source import Means, Response
from collectors._sql_rows import Rows, too_many_bytes

if TYPE_CHECKING:
    from collectors.sql import SqlSpec

CHUNK = 256
"""Rows that are read at one time."""

LOOK_STEPS = 10_000
"""Steps of SQLite's machine between two looks at the clock."""

_SELECTING = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})
_ASKED_BY_SQLALCHEMY = (sqlite3.SQLITE_PRAGMA, "read_uncommitted", None)


class Sqlite:
    """The file is opened for each collection: that costs little, and a file that was replaced is seen."""

    changed: asyncio.Event | None = None

    def __init__(self, spec: "SqlSpec", means: Means) -> None:
        self._file = spec.file or ""
        self._query = text(spec.query)
        self._parameters = spec.parameters
        self._means = means
        self._deadline = 0.0
        self._engine = create_async_engine("sqlite+aiosqlite://", async_creator=self._connect, poolclass=NullPool)

    async def collect(self) -> Response:
        rows = Rows(self._means.limits)
        self._deadline = asyncio.get_running_loop().time() + self._means.timeout
        try:
            async with self._engine.connect() as connection:
                result = await connection.stream(self._query, self._parameters)
                rows.begin(list(result.keys()))
                async for chunk in result.partitions(CHUNK):
                    rows.add(chunk)
        except DBAPIError as exc:
            raise self._failed(exc.orig) from exc
        except sqlite3.Warning as exc:  # what Python 3.11 says of several statements
            raise self._failed(exc) from exc
        return Response(rows.items, rows.size)

    async def aclose(self) -> None:
        """Nothing is held between collections."""

    async def _connect(self) -> aiosqlite.Connection:
        path = _within(self._means.folder, self._file)
        open_it = partial(self._open_read_only, asyncio.get_running_loop().time)
        return await aiosqlite.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=self._means.timeout / 2, factory=open_it)

    def _open_read_only(self, time: Callable[[], float], *arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = sqlite3.Connection(*arguments, **options)
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA trusted_schema = OFF")  # views of the file call no functions with effects
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, self._means.limits.body_bytes)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.set_authorizer(_only_select)
        connection.set_progress_handler(lambda: time() > self._deadline, LOOK_STEPS)
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        return connection

    def _failed(self, error: BaseException | None) -> CollectError:
        """What people are told of what SQLite said."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without what extends it
        said = f"{self._file}: {error}"
        match code:
            case sqlite3.SQLITE_AUTH | sqlite3.SQLITE_READONLY:
                return CollectError(Cause.QUERY, f"{said}: the query would do more than select", "write a query that only selects")
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                return CollectError(Cause.DEADLINE, said, "a writer holds it; WAL mode lets readers go on beside writers")
            case sqlite3.SQLITE_INTERRUPT:
                return CollectError(Cause.DEADLINE, f"{self._file}: the query took too long", "make it cheaper, or raise timeout")
            case sqlite3.SQLITE_TOOBIG:
                return too_many_bytes(self._means.limits)
            case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM | sqlite3.SQLITE_IOERR:
                return CollectError(
                    Cause.FORBIDDEN, said, "kubeglance's user must be able to read it; in WAL mode also the files -wal and -shm"
                )
            case sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_CORRUPT:
                return CollectError(Cause.PAYLOAD, said, "is it an SQLite database, and whole?")
            case _:
                return CollectError(Cause.QUERY, said, "mend the query")


def _only_select(action: int, first: str | None, second: str | None, _database: str | None, _trigger: str | None) -> int:
    allowed = action in _SELECTING or (action, first, second) == _ASKED_BY_SQLALCHEMY
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _within(folder: Path | None, file: str) -> Path:
    """The real path of a file under `folder`. Raises CollectError if it is elsewhere, or nowhere."""
    if folder is None:
        raise CollectError(Cause.NOT_ALLOWED, "files may not be read here", "an operator may allow a folder with --source-dir")
    root = folder.resolve()
    path = (root / file).resolve()
    if not path.is_relative_to(root):
        raise CollectError(Cause.NOT_ALLOWED, f"{file} must not be read: it is not under --source-dir", "put the file there")
    if not path.is_file():
        raise CollectError(Cause.NOT_FOUND, f"{file}: no such file under --source-dir", "check source.sql.file")
    return path
