"""Real servers that sources ask, from Debian packages: each a process of its own on loopback, with a folder that goes with it."""

from tests.e2e.sources.postgresql import PostgreSQLServer
from tests.e2e.sources.redis import RedisServer

__all__ = ["PostgreSQLServer", "RedisServer"]
