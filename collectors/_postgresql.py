"""PostgreSQL as a source: one connection that is kept, and for each collection one transaction that is read-only.

What keeps the query from writing is the server itself, twice. The query is the body of a DECLARE CURSOR, which takes nothing but a
SELECT, VALUES, TABLE or WITH that changes nothing: no COPY, no SET, no CALL, no second statement. And the transaction is READ ONLY, so
that functions cannot write either; it has a snapshot before the query runs, after which PostgreSQL lets nobody make it READ WRITE.
"""

import asyncio
import ssl
from typing import TYPE_CHECKING, Any

import asyncpg
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.pool import NullPool

from collectors._base import Cause, CollectError
from collectors._dialing import broken, dial
from collectors._host import at
from collectors._kept_connection import KEEP_SECONDS, once_more
from collectors._received import Bound, Meter
from collectors._source import Means, Response
from collectors._sql_rows import Rows, too_many_bytes
from collectors._tls import verifying

if TYPE_CHECKING:
    from collectors.sql import SqlSpec

CHUNK = 256
"""Rows that are fetched at one time."""

SLACK = 64 * 1024
"""Bytes of a collection that are no rows: descriptions of columns, of types, and of TLS."""

SHARE = 0.9
"""Of the deadline, after which the server itself ends a statement: then the connection can be kept, and the server's words be told."""

_CURSOR = "kubeglance"

_BOUNDS = text(
    "SELECT set_config('statement_timeout', :milliseconds, true), set_config('lock_timeout', :milliseconds, true),"
    " set_config('idle_in_transaction_session_timeout', :milliseconds, true), set_config('timezone', 'UTC', true)"
)
"""In force until the transaction ends. Poolers such as PgBouncer refuse them as parameters of a session."""


_ONLY_SELECT = (Cause.QUERY, "the query must be one SELECT, VALUES, TABLE or WITH that changes nothing")

_STATES = {
    "08": (Cause.CLOSED, "look at the server's log"),
    "0A": _ONLY_SELECT,
    "25006": _ONLY_SELECT,
    "28": (Cause.UNAUTHORIZED, "check user and password, and the server's pg_hba.conf"),
    "3D000": (Cause.NOT_FOUND, "check source.sql.database"),
    "42501": (Cause.FORBIDDEN, "GRANT the user SELECT on what the query reads, and USAGE on its schema"),
    "42601": _ONLY_SELECT,
    "53": (Cause.STATUS, "the server lacks memory, disk or connections"),
    "55P03": (Cause.DEADLINE, "something holds a lock on a table of the query: look at pg_locks"),
    "57014": (Cause.DEADLINE, "make the query cheaper, or raise timeout"),
    "57P": (Cause.CLOSED, "the server is starting or stopping"),
    "25P": (Cause.CLOSED, "the server ended a transaction that took too long"),
}
"""By SQLSTATE, or by how it begins: its first two characters are its class."""


class _Loop:
    """The event loop as asyncpg sees it: a meter follows each connection that it makes, from the first byte on."""

    def __init__(self, loop: asyncio.AbstractEventLoop, meter: Meter) -> None:
        self._loop = loop
        self._meter = meter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    async def create_connection(self, *arguments: Any, **options: Any) -> tuple[asyncio.Transport, Any]:
        transport, protocol = await self._loop.create_connection(*arguments, **options)
        self._meter.follow(transport)
        return transport, protocol


class PostgreSQL:
    """Asks one server. A connection that failed, or that the server closed meanwhile, is replaced at the next collection."""

    changed: asyncio.Event | None = None

    def __init__(self, spec: "SqlSpec", means: Means) -> None:
        self._spec = spec
        self._means = means
        self._host = spec.host or ""
        self._where = at(spec.host, spec.port)
        self._declare = text(f"DECLARE {_CURSOR} NO SCROLL CURSOR FOR {spec.query}")
        self._meter = Meter()
        self._session: asyncpg.Connection | None = None
        self._connection: AsyncConnection | None = None
        self._opened = 0.0
        self._engine = create_async_engine(
            "postgresql+asyncpg://",
            connect_args={"async_creator_fn": self._dial, "prepared_statement_cache_size": 0},
            execution_options={"postgresql_readonly": True},
            poolclass=NullPool,
        )

    async def collect(self) -> Response:
        return await once_more(self._collect, kept=self._session is not None)

    async def _collect(self) -> Response:
        try:
            with self._meter.at_most(self._means.limits.body_bytes + SLACK, self._means.timeout):
                rows = await self._select(await self._connected())
        except BaseException as exc:
            await self._drop()
            error = self._told(exc)
            if error is None:
                raise
            raise error from exc
        return Response(rows.items, rows.size)

    async def aclose(self) -> None:
        await self._drop()

    async def _select(self, connection: AsyncConnection) -> Rows:
        rows = Rows(self._means.limits)
        async with connection.begin() as transaction:
            await connection.execute(_BOUNDS, {"milliseconds": str(round(self._means.timeout * SHARE * 1000))})
            await connection.execute(self._declare, self._spec.parameters)
            more = True
            while more:
                count = min(CHUNK, rows.room + 1)  # one more than there is room for tells that there are too many
                result = await connection.exec_driver_sql(f"FETCH FORWARD {count} FROM {_CURSOR}")
                rows.begin(list(result.keys()))
                chunk = result.all()
                rows.add(chunk)
                more = len(chunk) == count
            await transaction.rollback()
        return rows

    async def _connected(self) -> AsyncConnection:
        """The connection that is kept, or a new one."""
        now = asyncio.get_running_loop().time()
        if self._session is not None and (self._session.is_closed() or now - self._opened > KEEP_SECONDS):
            await self._drop()
        if self._connection is None:
            self._connection = await self._engine.connect()
            self._opened = now
        return self._connection

    async def _drop(self) -> None:
        """Close the connection without a word to the server, which may not answer any more."""
        session, self._session = self._session, None
        connection, self._connection = self._connection, None
        if session is not None:
            session.terminate()
        if connection is not None:
            await connection.invalidate()
            await connection.close()

    async def _dial(self) -> asyncpg.Connection:
        spec, means = self._spec, self._means
        user = await means.secret(spec.user) if spec.user is not None else ""
        password = await means.secret(spec.password) if spec.password is not None else ""
        context: ssl.SSLContext | bool = False
        if spec.tls is None or spec.tls.mode == "verify-full":
            trusted = await means.secret(spec.tls.ca) if spec.tls is not None and spec.tls.ca is not None else ""
            context = verifying(trusted, self._host)

        async def connect(address: str) -> asyncpg.Connection:
            return await asyncpg.connect(
                host=address,
                port=spec.port,
                user=user,
                password=password,
                database=spec.database,
                ssl=context,
                statement_cache_size=0,
                server_settings={"application_name": "kubeglance"},
                loop=_Loop(asyncio.get_running_loop(), self._meter),
            )

        addresses = await means.may_reach(self._host, spec.port)
        self._session = await dial(addresses, connect, where=self._where, timeout=means.timeout)
        return self._session

    def _told(self, error: BaseException) -> CollectError | None:
        """What people are told of an error; None if it is told already, or none that this source expects."""
        if self._meter.passed is Bound.BYTES:
            return too_many_bytes(self._means.limits)
        if self._meter.passed is Bound.TIME:
            return broken(TimeoutError(), self._where)
        if isinstance(error, DBAPIError) and error.orig is not None:
            error = error.orig.__cause__ or error.orig  # the driver's own: SQLAlchemy's has the whole query in its text
        match error:
            case CollectError():
                return None
            case asyncpg.ConnectionDoesNotExistError():
                return broken(ConnectionResetError(), self._where)
            case asyncpg.PostgresError():
                return self._refused(error)
            case asyncpg.DataError() | asyncpg.InterfaceError():
                return CollectError(Cause.QUERY, f"{self._where}: {_line(error)}", "check the types of parameters; cast them in the query")
            case asyncpg.InternalClientError():
                return CollectError(Cause.PAYLOAD, f"{self._where}: {_line(error)}", "is it PostgreSQL that listens there?")
            case OSError():
                return broken(error, self._where)
            case ValueError() | OverflowError() | RecursionError():
                return CollectError(Cause.PAYLOAD, f"{self._where}: a value cannot be read", "cast the column to text in the query")
            case _:
                return None

    def _refused(self, error: asyncpg.PostgresError) -> CollectError:
        """What people are told of an error of the server, by its SQLSTATE (appendix A of PostgreSQL's manual)."""
        state = error.sqlstate or ""
        cause, remedy = _STATES.get(state) or _STATES.get(state[:3]) or _STATES.get(state[:2]) or (Cause.QUERY, "mend the query")
        if cause is Cause.UNAUTHORIZED:
            for value in (self._spec.user, self._spec.password):
                if value is not None:
                    self._means.refused(value)
        return CollectError(cause, f"{self._where}: {_line(error)} (SQLSTATE {state})", remedy)


def _line(error: BaseException) -> str:
    """The first line of what an error says, without DETAIL and HINT, which may show rows."""
    said = str(error.args[0]) if error.args else type(error).__name__
    return said.partition("\n")[0][:300]
