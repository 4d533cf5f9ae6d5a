"""Redis: how long keys are, what INFO tells, or streams with their consumer groups.

Only commands that read are sent, and each is bounded: SCAN, never KEYS. What stands in keys is not read. One server is asked, as it is:
of a Redis Cluster each node knows a part of the keys, so that clusters are refused, and so is a Sentinel.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from collectors._host import Host, at
from collectors._source import Means, Source, SourceType, Spec, Value

PORT = 6379

Names = Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]


class RedisTls(Spec):
    """TLS to the server, whose certificate is verified for the host."""

    ca: Value | None = Field(None, description="Certificates to trust (PEM); those of the system if it is left out.")


class _Which(Spec):
    """Keys by their names, or by a pattern. Exactly one."""

    names: Names | None = Field(
        None, description="Keys by name. One that does not exist is there with length 0, as Redis itself counts it."
    )
    pattern: str | None = Field(None, min_length=1, description="Keys by a glob pattern, such as queue:*; found by SCAN.")
    count: int = Field(1000, ge=10, le=10_000, description="Keys that one SCAN looks at; there are at most limits.pages of them.")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.names is None) == (self.pattern is None):
            raise ValueError("needs exactly one of names, pattern")
        return self


class Keys(_Which):
    """Keys with their types and lengths. `response` is a list: {key, type, length, expiresInSeconds}."""

    type: Literal["string", "list", "set", "zset", "hash", "stream"] | None = Field(
        None, description="With pattern: only keys of this type."
    )

    @model_validator(mode="after")
    def _type_goes_with_pattern(self) -> Self:
        if self.type is not None and self.pattern is None:
            raise ValueError("type goes with pattern")
        return self


class Streams(_Which):
    """Streams and their consumer groups. `response` is {streams: [...], groups: [...]}."""


class Info(Spec):
    """What the server tells of itself. `response` is an object of sections, each an object of fields."""

    sections: Annotated[list[Annotated[str, Field(pattern="^[a-z_]+$")]], Field(min_length=1)] = Field(
        description="Sections of INFO, such as memory, clients, replication, keyspace."
    )


class RedisSpec(Spec):
    """One of keys, info and streams of a Redis server (or Valkey, or what else speaks its protocol)."""

    host: Host = Field(description="Name or address of the server.")
    port: int = Field(PORT, ge=1, le=65535, description="Its port.")
    db: int = Field(0, ge=0, description="Number of the database.")
    username: Value | None = Field(None, description="User of the server's ACL; the default user if it is left out.")
    password: Value | None = Field(None, description="Password; read again for each new connection.")
    tls: RedisTls | None = Field(None, description="TLS. Without it all is sent in the clear, the password too.")
    keys: Keys | None = Field(None, description="Read types and lengths of keys.")
    info: Info | None = Field(None, description="Read INFO.")
    streams: Streams | None = Field(None, description="Read streams and their consumer groups.")

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if sum(part is not None for part in (self.keys, self.info, self.streams)) != 1:
            raise ValueError("needs exactly one of keys, info, streams")
        if self.username is not None and self.password is None:
            raise ValueError("username needs password")
        return self


def _open(spec: RedisSpec, means: Means) -> Source:
    from collectors._redis_server import Redis  # noqa: PLC0415 -- see collectors/_source.py

    return Redis(spec, means)


SOURCE = SourceType(
    name="redis",
    spec=RedisSpec,
    open=_open,
    endpoint=lambda spec: f"redis://{at(spec.host, spec.port)}/{spec.db}",
    hosts=lambda spec: ((spec.host, spec.port),),
)
