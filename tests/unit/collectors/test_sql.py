"""The source sql as a declaration writes it, and SQLite for real."""

import asyncio
import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from sqlalchemy import text

from collectors._base import Cause, CollectError
from collectors._source import Limits, Source, values_of
from collectors.sql import SOURCE, SqlSpec
from tests.fakes.means import means

POSTGRESQL: dict[str, Any] = {
    "dialect": "postgresql",
    "host": "db.shop.svc",
    "database": "shop",
    "user": {"value": "ro"},
    "password": {"valueFrom": {"secretKeyRef": {"name": "shop-db", "key": "pw"}}},
    "query": "SELECT region, count(*) AS waiting FROM orders WHERE state = :state GROUP BY region",
    "parameters": {"state": "waiting"},
}
SQLITE: dict[str, Any] = {"dialect": "sqlite", "file": "shop.db", "query": "SELECT 1 AS one"}


def test_what_is_shown_of_a_server() -> None:
    """No credentials and no query; an IPv6 address in brackets."""
    spec = SqlSpec.model_validate(POSTGRESQL)
    other = SqlSpec.model_validate(POSTGRESQL | {"host": "fd00::1", "port": 6432})

    assert ("postgresql://db.shop.svc:5432/shop", "postgresql://[fd00::1]:6432/shop") == (SOURCE.endpoint(spec), SOURCE.endpoint(other))
    assert [("db.shop.svc", 5432)] == list(SOURCE.hosts(spec))
    assert not SOURCE.uses_files(spec)
    assert 2 == len(values_of(spec))


def test_what_is_shown_of_a_file() -> None:
    """It reaches no host, and uses a file."""
    spec = SqlSpec.model_validate(SQLITE)

    assert ("sqlite:shop.db", [], True) == (SOURCE.endpoint(spec), list(SOURCE.hosts(spec)), SOURCE.uses_files(spec))


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a URL is no host": (POSTGRESQL | {"host": "postgresql://ro:pw@db/shop"}, "a name or an address alone"),
    "credentials are no part of a host": (POSTGRESQL | {"host": "ro:pw@db"}, "a name or an address alone"),
    "a port has a field of its own": (POSTGRESQL | {"host": "db:5432"}, "a name or an address alone"),
    "PostgreSQL needs a host": ({key: POSTGRESQL[key] for key in POSTGRESQL if key != "host"}, "dialect postgresql needs host"),
    "PostgreSQL has no file": (POSTGRESQL | {"file": "x.db"}, "dialect postgresql has no file"),
    "SQLite needs a file": ({"dialect": "sqlite", "query": "SELECT 1"}, "dialect sqlite needs file"),
    "SQLite has no password": (SQLITE | {"password": {"value": "x"}}, "dialect sqlite has no password"),
    "a parameter without a value": (POSTGRESQL | {"parameters": {}}, "the query has :state, which parameters lacks"),
    "a value without a parameter": (SQLITE | {"parameters": {"a": 1}}, "parameters has a, but the query has no :a"),
    "a CA without TLS": (POSTGRESQL | {"tls": {"mode": "disable", "ca": {"value": "x"}}}, "ca has no use with mode disable"),
    "TLS that verifies nothing": (POSTGRESQL | {"tls": {"mode": "require"}}, "'verify-full' or 'disable'"),
    "another database": (SQLITE | {"dialect": "mysql"}, "'postgresql' or 'sqlite'"),
    "a typing error": (SQLITE | {"querry": "x"}, "querry"),
}


@pytest.mark.parametrize(("spec", "says"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_before_anything_is_asked(spec: dict[str, Any], says: str) -> None:
    """By `kubeglance check` and by the loader."""
    with pytest.raises(ValidationError) as fault:
        SqlSpec.model_validate(spec)

    assert says in str(fault.value)


@given(st.text(alphabet=":\\ab1 '", max_size=30))
def test_parameters_are_found_as_sqlalchemy_finds_them(query: str) -> None:
    """So that no query passes the check and then lacks a parameter, or has one too many."""
    named = set(text(query).compile().params)
    spec = {"dialect": "sqlite", "file": "x", "query": f"{query} "}

    assert SqlSpec.model_validate(spec | {"parameters": dict.fromkeys(named, 1)}).parameters.keys() == named


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a database."""
    with sqlite3.connect(tmp_path / "shop.db") as database:
        database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, state TEXT, total REAL, note BLOB)")
        database.executemany(
            "INSERT INTO orders (state, total, note) VALUES (?, ?, ?)", [("new", 1.5, None), ("done", 2.0, b"\x01"), ("new", 9, None)]
        )
    database.close()
    return tmp_path


def opened(
    folder: Path | None, query: str, *, limits: Limits | None = None, file: str = "shop.db", timeout: float = 30, **parameters: Any
) -> Source:
    """The source for a query."""
    spec = SqlSpec.model_validate({"dialect": "sqlite", "file": file, "query": query, "parameters": parameters})
    return SOURCE.open(spec, means(folder=folder, limits=limits, timeout=timeout))


async def test_rows_of_sqlite(folder: Path) -> None:
    """By column name, with their types; it can be asked again."""
    source = opened(folder, "SELECT id, state, total, note FROM orders ORDER BY id LIMIT 2")
    expected = [{"id": 1, "state": "new", "total": 1.5, "note": None}, {"id": 2, "state": "done", "total": 2.0, "note": "AQ=="}]

    assert expected == (await source.collect()).value
    assert expected == (await source.collect()).value
    await source.aclose()


async def test_parameters_are_bound(folder: Path) -> None:
    """What would be SQL, were it written into the query, is a text that nothing equals."""
    query = "SELECT id FROM orders WHERE state = :state"

    assert [{"id": 1}, {"id": 3}] == (await opened(folder, query, state="new").collect()).value
    assert [] == (await opened(folder, query, state="new' OR '1'='1").collect()).value


async def test_a_colon_can_be_written(folder: Path) -> None:
    """In times it is no parameter anyway; elsewhere a backslash says so."""
    assert [{"t": "12:30 :x"}] == (await opened(folder, "SELECT '12:30 \\:x' AS t").collect()).value


async def test_a_file_that_was_replaced_is_seen(folder: Path) -> None:
    """It is opened for each collection."""
    source = opened(folder, "SELECT count(*) AS n FROM orders")
    await source.collect()
    with sqlite3.connect(folder / "new.db") as database:
        database.execute("CREATE TABLE orders (id INTEGER)")
    database.close()
    (folder / "new.db").replace(folder / "shop.db")

    assert [{"n": 0}] == (await source.collect()).value


WRITES: dict[str, str] = {
    "an INSERT": "INSERT INTO orders (state) VALUES ('x')",
    "a DELETE": "DELETE FROM orders",
    "an UPDATE that gives rows": "UPDATE orders SET state = 'x' RETURNING id",
    "a table": "CREATE TABLE other (id INTEGER)",
    "a temporary table": "CREATE TEMP TABLE other (id INTEGER)",
    "another file": "ATTACH DATABASE 'other.db' AS other",
    "a switch": "PRAGMA query_only = OFF",
    "a switch as a table": "SELECT * FROM pragma_query_only",
    "a vacuum into a file": "VACUUM INTO 'other.db'",
    "a transaction": "BEGIN IMMEDIATE",
    "two statements": "SELECT 1; DELETE FROM orders",
    "an extension": "SELECT load_extension('x')",
}


@pytest.mark.parametrize("query", WRITES.values(), ids=WRITES)
async def test_nothing_but_selecting(query: str, folder: Path) -> None:
    """Loudly, and nothing has changed."""
    before = (folder / "shop.db").read_bytes()

    with pytest.raises(CollectError) as failure:
        await opened(folder, query).collect()

    assert Cause.QUERY == failure.value.cause
    assert failure.value.remedy
    assert before == (folder / "shop.db").read_bytes()
    assert {"shop.db"} == set(os.listdir(folder))  # noqa: PTH208 -- asked once, in a test


FAILURES: dict[str, tuple[dict[str, Any], Cause, str]] = {
    "a table that is not there": ({"query": "SELECT * FROM nowhere"}, Cause.QUERY, "no such table: nowhere"),
    "a syntax error": ({"query": "SELEC 1"}, Cause.QUERY, "syntax error"),
    "too many rows": ({"query": "SELECT * FROM orders", "limits": Limits(items=2)}, Cause.TOO_LARGE, "more than 2 rows"),
    "endless rows end at the limit": (
        {"query": "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"},
        Cause.TOO_LARGE,
        "more than 1000 rows",
    ),
    "a value that is too large is not made": ({"query": "SELECT zeroblob(2000000) AS z"}, Cause.TOO_LARGE, "more than 1048576 bytes"),
    "a file that is not there": ({"query": "SELECT 1", "file": "none.db"}, Cause.NOT_FOUND, "none.db"),
    "a file elsewhere": ({"query": "SELECT 1", "file": "../shop.db"}, Cause.NOT_ALLOWED, "not under --source-dir"),
    "a file elsewhere by its whole path": ({"query": "SELECT 1", "file": "/etc/passwd"}, Cause.NOT_ALLOWED, "not under --source-dir"),
    "a link that leads elsewhere": ({"query": "SELECT 1", "file": "link.db"}, Cause.NOT_ALLOWED, "not under --source-dir"),
    "a name that would be options": ({"query": "SELECT 1", "file": "shop.db?mode=rwc"}, Cause.NOT_FOUND, "no such file"),
    "what is no database": ({"query": "SELECT * FROM orders", "file": "text.db"}, Cause.PAYLOAD, "not a database"),
}


@pytest.mark.parametrize(("asked", "cause", "says"), FAILURES.values(), ids=FAILURES)
async def test_failures(asked: dict[str, Any], cause: Cause, says: str, folder: Path) -> None:
    """Each with its cause, what is wrong, and what to do; none with a path of this machine."""
    (folder / "text.db").write_text("no database at all, but long enough to be looked at" * 20, encoding="utf-8")
    (folder / "link.db").symlink_to("/etc/passwd")

    with pytest.raises(CollectError) as failure:
        await opened(folder, **asked).collect()

    assert cause == failure.value.cause
    assert says in failure.value.message
    assert failure.value.remedy
    assert str(folder) not in failure.value.message


async def test_without_a_folder_no_file_is_read() -> None:
    """As for declarations of tenants."""
    with pytest.raises(CollectError) as failure:
        await opened(None, "SELECT 1").collect()

    assert Cause.NOT_ALLOWED == failure.value.cause


async def test_a_query_ends_at_its_deadline(folder: Path) -> None:
    """By itself: nobody could end the thread that it runs in."""
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) AS c FROM n"
    source = opened(folder, endless, timeout=0.01)

    with pytest.raises(CollectError) as failure:
        await source.collect()

    assert Cause.DEADLINE == failure.value.cause


async def test_a_database_that_a_writer_holds(folder: Path) -> None:
    """Without WAL readers wait; not longer than half of the deadline."""
    writer = sqlite3.connect(folder / "shop.db")
    writer.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(CollectError) as failure:
            await opened(folder, "SELECT * FROM orders", timeout=0.02).collect()
    finally:
        writer.close()

    assert Cause.DEADLINE == failure.value.cause
    assert "locked" in failure.value.message


SERVERS: dict[str, tuple[bytes, Cause]] = {
    "one that never stops": (b"R" + (1 << 30).to_bytes(4, "big") + b"x" * 65531, Cause.TOO_LARGE),
    "one that speaks HTTP": (b"HTTP/1.1 400 Bad Request\r\n\r\n", Cause.CLOSED),
}


@pytest.mark.parametrize(("says", "cause"), SERVERS.values(), ids=SERVERS)
async def test_a_server_that_is_no_postgresql(says: bytes, cause: Cause) -> None:
    """It costs no more than the limits, from the first byte on."""

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while cause is Cause.TOO_LARGE:
                writer.write(says)
                await writer.drain()
            writer.write(says)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    spec = POSTGRESQL | {"port": server.sockets[0].getsockname()[1], "password": {"value": "x"}, "tls": {"mode": "disable"}}
    source = SOURCE.open(SqlSpec.model_validate(spec), means())
    with pytest.raises(CollectError) as failure:
        await source.collect()
    await source.aclose()
    server.close()

    assert cause == failure.value.cause
    assert failure.value.remedy
