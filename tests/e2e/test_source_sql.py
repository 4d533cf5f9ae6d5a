"""The source sql against a real PostgreSQL: what it reads, what it cannot write, and what it says of a server that fails."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from collectors._base import Cause, CollectError
from collectors._source import Limits, Source
from collectors.sql import SOURCE, SqlSpec
from tests.e2e.conftest import demand
from tests.e2e.controlplane.pki import FiledAuthority
from tests.e2e.sources import postgresql
from tests.e2e.sources.collecting import Collecting, Objects, example
from tests.e2e.sources.postgresql import PASSWORD, PostgreSQLServer
from tests.fakes.means import Values, means

COUNT = "SELECT state, count(*) AS orders FROM orders GROUP BY state ORDER BY state"
TWO = [{"state": "done", "orders": 1}, {"state": "new", "orders": 2}]

_SCHEMA = (
    "CREATE TABLE orders (id serial PRIMARY KEY, state text, total numeric)",
    "INSERT INTO orders (state, total) VALUES ('new', 19.99), ('new', 3), ('done', 0.5)",
    "CREATE TABLE secrets (word text)",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON orders TO reader",  # so that not rights but we keep it from writing
    "GRANT USAGE ON SEQUENCE orders_id_seq TO reader",
    "CREATE FUNCTION buy() RETURNS int LANGUAGE plpgsql AS 'BEGIN INSERT INTO orders (state) VALUES (''bought''); RETURN 1; END'",
    "CREATE FUNCTION unlock() RETURNS text LANGUAGE plpgsql AS 'BEGIN SET TRANSACTION READ WRITE; RETURN ''open''; END'",
)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> FiledAuthority:
    """Who signs the server's certificate."""
    return FiledAuthority("source-ca", tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="module")
def server(authority: FiledAuthority, _end_with_us: None) -> Iterator[PostgreSQLServer]:
    """A server with orders in it."""
    demand(postgresql.skip_reason())
    with PostgreSQLServer(authority) as started:
        started.start()
        started.prepare()
        started.admin(*_SCHEMA)
        yield started


class Opened:
    """Sources of one server, which end with the test."""

    def __init__(self, server: PostgreSQLServer, authority: FiledAuthority) -> None:
        self.server = server
        self.values = Values({"pw": PASSWORD, "ca": authority.pem.decode()})
        self.sources: list[Source] = []

    def __call__(self, query: str = COUNT, *, limits: Limits | None = None, timeout: float = 20, **fields: Any) -> Source:
        spec = {
            "dialect": "postgresql",
            "host": "db.test",
            "port": self.server.port,
            "database": "shop",
            "user": {"value": "reader"},
            "password": {"valueFrom": {"secretKeyRef": {"name": "db", "key": "pw"}}},
            "tls": {"ca": {"valueFrom": {"secretKeyRef": {"name": "db", "key": "ca"}}}},
            "query": query,
        }
        parsed = SqlSpec.model_validate({name: value for name, value in (spec | fields).items() if value is not None})
        self.sources.append(SOURCE.open(parsed, means(values=self.values, limits=limits, timeout=timeout)))
        return self.sources[-1]


@pytest.fixture
async def opened(server: PostgreSQLServer, authority: FiledAuthority) -> Any:
    """Opens sources."""
    made = Opened(server, authority)
    yield made
    for source in made.sources:
        await source.aclose()


async def failure(source: Source) -> CollectError:
    """What one collection fails with."""
    with pytest.raises(CollectError) as found:
        await source.collect()
    assert PASSWORD not in found.value.message + found.value.remedy
    assert found.value.remedy
    return found.value


async def test_rows(opened: Opened) -> None:
    """Over TLS that is verified, in one session for all collections."""
    source = opened(COUNT)
    sessions = opened(
        "SELECT pid, application_name AS name, ssl FROM pg_stat_activity JOIN pg_stat_ssl USING (pid) WHERE pid = pg_backend_pid()"
    )

    assert TWO == (await source.collect()).value
    assert TWO == (await source.collect()).value
    first, second = (await sessions.collect()).value, (await sessions.collect()).value
    assert first == second
    assert ("kubeglance", True) == (first[0]["name"], first[0]["ssl"])


VALUES = {
    "NULL": "null",
    "true": "true",
    "9223372036854775807": "9223372036854775807",
    "1.5::float8": "1.5",
    "'NaN'::float8": "null",
    "'Infinity'::numeric": "null",
    "sum(x)": "6",
    "avg(x)": "2",
    "19.99::numeric": "19.99",
    "12345678901234567890123::numeric": '"12345678901234567890123"',
    "'2026-05-01 12:00+02'::timestamptz": '"2026-05-01T10:00:00Z"',
    "'2026-05-01 12:00'::timestamp": '"2026-05-01T12:00:00Z"',
    "'infinity'::timestamptz": "null",
    "'2026-05-01'::date": '"2026-05-01"',
    "'1 hour 30.5 seconds'::interval": '"3630.5s"',
    "'{\"a\": [1, 2.5, null]}'::jsonb": '{"a":[1,2.5,null]}',
    "'[true]'::json": "[true]",
    "ARRAY[[1, 2], [3, 4]]": "[[1,2],[3,4]]",
    "'\\x00ff'::bytea": '"AP8="',
    "'6ba7b810-9dad-11d1-80b4-00c04fd430c8'::uuid": '"6ba7b810-9dad-11d1-80b4-00c04fd430c8"',
    "'10.0.0.0/8'::cidr": '"10.0.0.0/8"',
    "ROW(1, true)": "[1,true]",
    "int4range(1, 5)": None,
}


async def test_values_of_every_type(opened: Opened) -> None:
    """As collectors/_sql_rows.py says; what has no form says so, and what to do."""
    for expression, expected in VALUES.items():
        written = expression.replace(":", "\\:").replace("\\:\\:", "::")
        source = opened(
            f"SELECT {written} AS v FROM generate_series(1, 3) AS x GROUP BY () LIMIT 1"
            if "(x)" in expression
            else f"SELECT {written} AS v"
        )
        if expected is None:
            error = await failure(source)
            assert "column v is of a type without a form" in error.message, expression
        else:
            assert json.loads(expected) == (await source.collect()).value[0]["v"], expression
        await source.aclose()


async def test_parameters_are_bound(opened: Opened) -> None:
    """What would be SQL, were it written into the query, is a text that nothing equals."""
    query = "SELECT count(*) AS n FROM orders WHERE state = :state"

    assert [{"n": 2}] == (await opened(query, parameters={"state": "new"}).collect()).value
    assert [{"n": 0}] == (await opened(query, parameters={"state": "new' OR 'a' = 'a"}).collect()).value
    assert [{"n": 3}] == (await opened("SELECT CAST(:n AS int) AS n", parameters={"n": 3}).collect()).value


WRITES = {
    "an INSERT": "INSERT INTO orders (state) VALUES ('x')",
    "an INSERT that gives rows": "INSERT INTO orders (state) VALUES ('x') RETURNING id",
    "a DELETE in a WITH": "WITH gone AS (DELETE FROM orders RETURNING id) SELECT * FROM gone",
    "a COPY to a program": "COPY orders TO PROGRAM 'cat >/dev/null'",
    "a COPY to us": "COPY orders TO STDOUT",
    "a function that writes": "SELECT buy()",
    "a function that opens the transaction": "SELECT unlock()",
    "a sequence": "SELECT nextval('orders_id_seq')",
    "rows that are locked": "SELECT * FROM orders FOR UPDATE",
    "the switch": "SET transaction_read_only = off",
    "the switch by its statement": "SET TRANSACTION READ WRITE",
    "the switch by a function": "SELECT set_config('transaction_read_only', 'off', false)",
    "the end of the transaction": "COMMIT",
    "a procedure": "CALL buy()",
    "a block": "DO 'BEGIN END'",
    "two statements": "SELECT 1; DELETE FROM orders",
    "two statements, the second hidden": "SELECT 1; COMMIT; DELETE FROM orders; --",
    "a table from a query": "SELECT * INTO copied FROM orders",
    "a message": "NOTIFY someone",
}


@pytest.mark.parametrize("query", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("user", ["reader", "admin"])
async def test_nothing_but_selecting(query: str, user: str, opened: Opened, server: PostgreSQLServer) -> None:
    """Loudly, whatever rights the user has, and nothing has changed; the next query is served."""
    server.admin(f"ALTER ROLE admin PASSWORD '{PASSWORD}'")
    error = await failure(opened(query, user={"value": user}))

    assert Cause.QUERY == error.cause
    assert "SQLSTATE" in error.message
    assert TWO == (await opened(COUNT).collect()).value


FAILURES: dict[str, tuple[dict[str, Any], Cause, str]] = {
    "a wrong password": ({"password": {"value": "guess"}}, Cause.UNAUTHORIZED, "28P01"),
    "a user who is not there": ({"user": {"value": "nobody"}}, Cause.UNAUTHORIZED, "28"),
    "a database that is not there": ({"database": "none"}, Cause.NOT_FOUND, "3D000"),
    "a table that may not be read": ({"query": "SELECT * FROM secrets"}, Cause.FORBIDDEN, "42501"),
    "a table that is not there": ({"query": "SELECT * FROM nowhere"}, Cause.QUERY, "42P01"),
    "a syntax error": ({"query": "SELEC 1"}, Cause.QUERY, "42601"),
    "an error in a row": ({"query": "SELECT 1 / (2 - x) AS v FROM generate_series(1, 3) AS x"}, Cause.QUERY, "22012"),
    "two columns of one name": ({"query": "SELECT 1 AS a, 2 AS a"}, Cause.QUERY, "two columns are called a"),
    "a certificate of somebody else": ({"tls": None}, Cause.CERTIFICATE, "x509"),
    "a certificate for another name": ({"host": "other.test"}, Cause.CERTIFICATE, "x509"),
    "a CA that is none": ({"tls": {"ca": {"value": "nothing"}}}, Cause.CERTIFICATE, "tls.ca"),
    "no TLS where the server wants it": ({"tls": {"mode": "disable"}}, Cause.UNAUTHORIZED, "pg_hba.conf"),
    "a slow query": ({"query": "SELECT pg_sleep(60)", "timeout": 2}, Cause.DEADLINE, "db.test"),
    "too many rows": ({"query": "SELECT generate_series(1, 100000000) AS x"}, Cause.TOO_LARGE, "more than 1000 rows"),
    "too many bytes": ({"query": "SELECT repeat('x', 2000) AS v FROM generate_series(1, 999)"}, Cause.TOO_LARGE, "more than 1048576 bytes"),
    "one value that is too large": ({"query": "SELECT repeat('x', 100000000) AS v"}, Cause.TOO_LARGE, "more than 1048576 bytes"),
}


@pytest.mark.parametrize(("asked", "cause", "says"), FAILURES.values(), ids=FAILURES)
async def test_failures(asked: dict[str, Any], cause: Cause, says: str, opened: Opened) -> None:
    """Each with its cause, the server's own words, and what to do; the next collection is served."""
    error = await failure(opened(**asked))

    assert cause == error.cause
    assert says in error.message
    assert TWO == (await opened(COUNT).collect()).value


async def test_in_the_clear_if_it_is_written(opened: Opened) -> None:
    """Then TLS is not even tried."""
    query = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"

    assert [{"ssl": False}] == (await opened(query, database="clear", tls={"mode": "disable"}).collect()).value


async def test_limits_are_exact(opened: Opened) -> None:
    """As many rows as are allowed are served."""
    source = opened("SELECT x FROM generate_series(1, 700) AS x", limits=Limits(items=700))

    assert list(range(1, 701)) == [row["x"] for row in (await source.collect()).value]


async def test_a_server_that_was_killed(opened: Opened, server: PostgreSQLServer) -> None:
    """Nobody listens; when it is back the same source reads on, without a collection that fails in between."""
    source = opened(COUNT)
    await source.collect()
    server.kill()
    try:
        down = await failure(source)
    finally:
        server.start()

    assert Cause.DIAL == down.cause
    assert TWO == (await source.collect()).value


async def test_a_session_that_is_ended(opened: Opened, server: PostgreSQLServer) -> None:
    """While it is idle nobody notices; in the middle of a query the cause says it."""
    source = opened(COUNT)
    ends = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'kubeglance'"
    await source.collect()
    server.admin(ends)
    assert TWO == (await source.collect()).value

    asked = asyncio.ensure_future(failure(opened("SELECT pg_sleep(60)")))
    while not asked.done():
        await asyncio.sleep(0.1)
        server.admin(f"{ends} AND query ~ 'FETCH'")
    assert Cause.CLOSED == (await asked).cause


async def test_a_table_that_is_locked(opened: Opened, server: PostgreSQLServer) -> None:
    """The server gives up at our deadline; it is read on when the lock is gone."""
    source = opened(COUNT, timeout=2)
    await source.collect()
    with server.locked("orders"):
        error = await failure(source)

    assert Cause.DEADLINE == error.cause
    assert TWO == (await source.collect()).value


async def test_a_server_that_stands_still(opened: Opened, server: PostgreSQLServer) -> None:
    """No answer, on a kept connection and on a new one: the deadline ends it, and the source reads on when the server does."""
    kept, new = opened(COUNT, timeout=2), opened(COUNT, timeout=2)
    await kept.collect()
    server.freeze()
    try:
        causes = [(await failure(source)).cause for source in (kept, new)]
    finally:
        server.thaw()

    assert [Cause.DEADLINE, Cause.DEADLINE] == causes
    assert TWO == (await kept.collect()).value
    assert TWO == (await new.collect()).value


async def test_a_caller_that_gives_up(opened: Opened, server: PostgreSQLServer) -> None:
    """What was asked is given up, and the next collection has a connection of its own."""
    source = opened(COUNT)
    await source.collect()
    with server.locked("orders"), pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await source.collect()

    assert TWO == (await source.collect()).value


async def test_a_password_that_changes(opened: Opened, server: PostgreSQLServer) -> None:
    """It is read for each new connection, and told of when it was refused."""
    source = opened(COUNT)
    await source.collect()
    server.admin("ALTER ROLE reader PASSWORD 'changed'", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'")
    try:
        assert Cause.UNAUTHORIZED == (await failure(source)).cause
        assert 2 == len(opened.values.refused)
        opened.values.secrets["pw"] = "changed"
        assert TWO == (await source.collect()).value
    finally:
        server.admin(f"ALTER ROLE reader PASSWORD '{PASSWORD}'")
        opened.values.secrets["pw"] = PASSWORD


async def test_the_example(server: PostgreSQLServer) -> None:
    """deploy/examples/postgres-orders.yaml, with the table that it names, as kubeglance reads it."""
    server.admin(
        "CREATE SCHEMA example CREATE TABLE orders"
        " (id bigserial PRIMARY KEY, region text NOT NULL, state text NOT NULL, created timestamptz NOT NULL DEFAULT now())",
        "GRANT USAGE ON SCHEMA example TO reader",
        "GRANT SELECT ON example.orders TO reader",
        "INSERT INTO example.orders (region, state) VALUES ('eu', 'waiting'), ('eu', 'sent'), ('us', 'sent')",
        "ALTER ROLE reader SET search_path = example, public",
    )
    known = Objects(
        secrets={"shop-db-reader": {"username": "reader", "password": PASSWORD}},
        config_maps={"shop-db-ca": {"ca.crt": server.authority.pem.decode()}},
    )
    try:
        async with Collecting(example("postgres-orders.yaml", host="localhost", port=server.port), known) as collecting:
            _, mapped = await collecting.collect()
    finally:
        server.admin("ALTER ROLE reader RESET search_path")
    status = {each.key: each.value.status for each in mapped.objects}

    assert not mapped.dropped
    assert {("shop", "eu"), ("shop", "us")} == status.keys()
    assert (1, 1) == (status["shop", "eu"]["waiting"], status["shop", "eu"]["done"])
    assert status["shop", "eu"]["oldestSeconds"] >= 0
    assert {"waiting": 0, "done": 1} == status["shop", "us"]
