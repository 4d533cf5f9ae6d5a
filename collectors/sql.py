"""Rows of a query: PostgreSQL through asyncpg, SQLite through aiosqlite, both through SQLAlchemy.

`response` is the list of rows, each an object by column name (collectors/_sql_rows.py has the values). Nothing can be written: the server
itself refuses, in a transaction or on a connection that is read-only. Rows are read some at a time and reading ends at a limit.
"""

import asyncio
import re
from collections.abc import Callable
from typing import Literal, Self

from pydantic import Field, model_validator

from collectors._host import Host, at
from collectors._source import Means, Response, Source, SourceType, Spec, Value

PORT = 5432

_PARAMETER = re.compile(r"(?<![:\w\\]):(\w+)(?![:\w])")
"""A parameter in a query, by SQLAlchemy's rule: no part of `::`, no `\\:`, not behind a word as in '12:30'."""


class SqlTls(Spec):
    """TLS to PostgreSQL. Left out, the certificate is verified with the system's CAs."""

    mode: Literal["verify-full", "disable"] = Field(
        "verify-full",
        description="verify-full verifies the server's certificate and name; disable sends all in the clear, the password too.",
    )
    ca: Value | None = Field(None, description="Certificates to trust (PEM); those of the system if it is left out.")

    @model_validator(mode="after")
    def _no_ca_in_the_clear(self) -> Self:
        if self.mode == "disable" and self.ca is not None:
            raise ValueError("ca has no use with mode disable")
        return self


class SqlSpec(Spec):
    """A query whose rows are the items."""

    dialect: Literal["postgresql", "sqlite"] = Field(description="What is asked: a PostgreSQL server or an SQLite file.")
    host: Host | None = Field(None, description="PostgreSQL: name or address of the server.")
    port: int = Field(PORT, ge=1, le=65535, description="PostgreSQL: its port.")
    database: str | None = Field(None, min_length=1, description="PostgreSQL: the database.")
    user: Value | None = Field(None, description="PostgreSQL: the user. Give it SELECT on what the query reads and nothing else.")
    password: Value | None = Field(None, description="PostgreSQL: the password; read again for each new connection.")
    tls: SqlTls | None = Field(None, description="PostgreSQL: TLS, which is verified unless it is disabled here.")
    file: str | None = Field(None, min_length=1, description="SQLite: the database file, by its path from --source-dir.")
    query: str = Field(min_length=1, max_length=65536, description="One SELECT, VALUES, TABLE or WITH; :name stands for a parameter.")
    parameters: dict[str, bool | int | float | str] = Field(
        default_factory=dict, description="Values of the query's parameters. They are bound, never written into the query."
    )

    @model_validator(mode="after")
    def _fields_of_the_dialect(self) -> Self:
        needed = {"postgresql": ("host", "database", "user"), "sqlite": ("file",)}[self.dialect]
        foreign = {"postgresql": ("file",), "sqlite": ("host", "port", "database", "user", "password", "tls")}[self.dialect]
        missing = [name for name in needed if getattr(self, name) is None]
        if missing:
            raise ValueError(f"dialect {self.dialect} needs {', '.join(missing)}")
        given = [name for name in foreign if name in self.model_fields_set]
        if given:
            raise ValueError(f"dialect {self.dialect} has no {', '.join(given)}")
        return self

    @model_validator(mode="after")
    def _parameters_are_those_of_the_query(self) -> Self:
        named = set(_PARAMETER.findall(self.query))
        unknown = sorted(named - self.parameters.keys())
        if unknown:
            raise ValueError(
                f"the query has :{unknown[0]}, which parameters lacks; give it a value, or write \\:{unknown[0]} where it is no parameter"
            )
        unused = sorted(self.parameters.keys() - named)
        if unused:
            raise ValueError(f"parameters has {unused[0]}, but the query has no :{unused[0]}")
        return self


class Sql:
    """Loads its dialect in a thread at the first collection: SQLAlchemy takes most of a second, in which requests are served."""

    changed: asyncio.Event | None = None

    def __init__(self, spec: SqlSpec, means: Means) -> None:
        self._spec = spec
        self._means = means
        self._source: Source | None = None

    async def collect(self) -> Response:
        if self._source is None:
            opened = await asyncio.to_thread(_dialect, self._spec.dialect)
            self._source = opened(self._spec, self._means)
        return await self._source.collect()

    async def aclose(self) -> None:
        if self._source is not None:
            await self._source.aclose()


def _dialect(name: str) -> Callable[[SqlSpec, Means], Source]:
    if name == "sqlite":
        from collectors._sqlite import Sqlite  # noqa: PLC0415 -- see Sql

        return Sqlite
    from collectors._postgresql import PostgreSQL  # noqa: PLC0415 -- see Sql

    return PostgreSQL


def _endpoint(spec: SqlSpec) -> str:
    if spec.dialect == "sqlite":
        return f"sqlite:{spec.file}"
    return f"postgresql://{at(spec.host, spec.port)}/{spec.database}"


def _hosts(spec: SqlSpec) -> tuple[tuple[str, int], ...]:
    return ((spec.host, spec.port),) if spec.host is not None else ()


SOURCE = SourceType(name="sql", spec=SqlSpec, open=Sql, endpoint=_endpoint, hosts=_hosts, uses_files=lambda spec: spec.file is not None)
