"""The source redis against a real Redis: keys, streams and INFO, and what it says of a server that is killed or stands still."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from app.declared.objects import LiveValue
from collectors._base import Cause, CollectError
from collectors._source import Limits, Source
from collectors.redis import SOURCE, RedisSpec
from tests.e2e.conftest import demand
from tests.e2e.controlplane.pki import FiledAuthority
from tests.e2e.sources import redis
from tests.e2e.sources.collecting import Collecting, Objects, example
from tests.e2e.sources.redis import PASSWORD, RedisServer
from tests.fakes.means import Values, means

_CONTENT = (
    ("RPUSH", "queue:mail", "a", "b", "c"),
    ("SADD", "queue:tags", "x"),
    ("ZADD", "queue:late", "1", "x", "2", "y"),
    ("HSET", "queue:about", "owner", "shop"),
    ("SET", "queue:note", "hello", "EX", "1000"),
    ("XADD", "orders", "1-0", "secret", "word"),
    ("XADD", "orders", "2-0", "secret", "word"),
    ("XADD", "orders", "3-0", "secret", "word"),
    ("XGROUP", "CREATE", "orders", "mailer", "0"),
    ("XREADGROUP", "GROUP", "mailer", "one", "COUNT", "2", "STREAMS", "orders", ">"),
    ("ACL", "SETUSER", "reader", "on", f">{PASSWORD}", "~queue:*", "+info", "+scan", "+@read"),
    ("ACL", "SETUSER", "blind", "on", f">{PASSWORD}", "~*", "+info"),
)
QUEUES: dict[str, Any] = {"keys": {"names": ["queue:mail", "queue:none"]}}
LENGTHS = [{"key": "queue:mail", "type": "list", "length": 3}, {"key": "queue:none", "type": "none", "length": 0}]


@pytest.fixture(scope="module")
def server(_end_with_us: None) -> Iterator[RedisServer]:
    """A server with queues in it."""
    demand(redis.skip_reason())
    with RedisServer() as started:
        started.start()
        yield started


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> FiledAuthority:
    """Who signs certificates."""
    return FiledAuthority("source-ca", tmp_path_factory.mktemp("pki"))


class Opened:
    """Sources, which end with the test."""

    def __init__(self) -> None:
        self.values = Values({"pw": PASSWORD})
        self.sources: list[Source] = []

    def __call__(
        self, server: RedisServer, wanted: dict[str, Any], *, limits: Limits | None = None, timeout: float = 20, **fields: Any
    ) -> Source:
        password = {"valueFrom": {"secretKeyRef": {"name": "cache", "key": "pw"}}}
        spec = RedisSpec.model_validate({"host": "cache.test", "port": server.port, "password": password} | wanted | fields)
        self.sources.append(SOURCE.open(spec, means(values=self.values, limits=limits, timeout=timeout)))
        return self.sources[-1]


@pytest.fixture
async def opened() -> AsyncIterator[Opened]:
    """Opens sources."""
    made = Opened()
    yield made
    for source in made.sources:
        await source.aclose()


@pytest.fixture
def filled(server: RedisServer) -> RedisServer:
    """The server with the same content for each test."""
    server.admin(("FLUSHALL",), *_CONTENT)
    return server


async def failure(source: Source) -> CollectError:
    """What one collection fails with."""
    with pytest.raises(CollectError) as found:
        await source.collect()
    assert PASSWORD not in found.value.message + found.value.remedy
    assert found.value.remedy
    return found.value


async def test_keys(filled: RedisServer, opened: Opened) -> None:
    """Of each type, with its length; what expires says when."""
    found = {item.pop("key"): item for item in (await opened(filled, {"keys": {"pattern": "queue:*"}}).collect()).value}
    left = found["queue:note"].pop("expiresInSeconds")

    assert 900 < left <= 1000
    assert {
        "queue:mail": {"type": "list", "length": 3},
        "queue:tags": {"type": "set", "length": 1},
        "queue:late": {"type": "zset", "length": 2},
        "queue:about": {"type": "hash", "length": 1},
        "queue:note": {"type": "string", "length": 5},
    } == found


async def test_keys_of_one_type(filled: RedisServer, opened: Opened) -> None:
    """The server sorts them out."""
    source = opened(filled, {"keys": {"pattern": "*", "type": "list"}})

    assert ["queue:mail"] == [item["key"] for item in (await source.collect()).value]


async def test_keys_by_name(filled: RedisServer, opened: Opened) -> None:
    """An empty queue is a key that is not there."""
    source = opened(filled, QUEUES)

    assert LENGTHS == (await source.collect()).value
    filled.admin(("RPUSH", "queue:none", "x"))
    assert [3, 1] == [item["length"] for item in (await source.collect()).value]


async def test_as_many_keys_as_are_allowed(filled: RedisServer, opened: Opened) -> None:
    """Thousands, by many SCANs; one more than the limit fails as a whole."""
    filled.admin(("EVAL", "for i = 1, 5000 do redis.call('SET', 'many:' .. i, i) end", "0"))
    wanted = {"keys": {"pattern": "many:*", "count": 500}}

    assert 5000 == len((await opened(filled, wanted, limits=Limits(items=5000)).collect()).value)
    assert "more than 4999 keys" in (await failure(opened(filled, wanted, limits=Limits(items=4999)))).message
    assert "more than 2500 keys to look at" in (await failure(opened(filled, wanted, limits=Limits(items=5000, pages=5)))).message


async def test_streams(filled: RedisServer, opened: Opened) -> None:
    """Lengths, groups, pending and lag, and nothing of what entries say."""
    value = (await opened(filled, {"streams": {"pattern": "*"}}).collect()).value
    group = {"stream": "orders", "name": "mailer", "consumers": 1, "pending": 2, "lastDeliveredId": "2-0", "entriesRead": 2, "lag": 1}

    assert {"key": "orders", "length": 3, "groups": 1, "firstEntryId": "1-0", "lastEntryId": "3-0"}.items() <= value["streams"][0].items()
    assert [group] == value["groups"]
    assert "secret" not in str(value)


async def test_info(filled: RedisServer, opened: Opened) -> None:
    """Sections with numbers and pairs."""
    value = (await opened(filled, {"info": {"sections": ["server", "memory", "keyspace"]}}).collect()).value

    assert {"server", "memory", "keyspace"} == value.keys()
    assert value["memory"]["used_memory"] > 0
    assert 6 == value["keyspace"]["db0"]["keys"]
    assert filled.port == value["server"]["tcp_port"]


async def test_another_database(filled: RedisServer, opened: Opened) -> None:
    """By its number."""
    assert [] == (await opened(filled, {"keys": {"pattern": "*"}}, db=1).collect()).value
    assert Cause.QUERY == (await failure(opened(filled, QUEUES, db=99))).cause


async def test_a_user_of_the_acl(filled: RedisServer, opened: Opened) -> None:
    """Who may read is enough, and who may not is told what to grant."""
    reader: dict[str, Any] = {"username": {"value": "reader"}}
    blind: dict[str, Any] = {"username": {"value": "blind"}}

    assert LENGTHS == (await opened(filled, QUEUES, **reader).collect()).value
    refused = await failure(opened(filled, QUEUES, **blind))
    assert (Cause.FORBIDDEN, True) == (refused.cause, "+scan" in refused.remedy)


async def test_a_wrong_password(filled: RedisServer, opened: Opened) -> None:
    """Told to whoever keeps it."""
    assert Cause.UNAUTHORIZED == (await failure(opened(filled, QUEUES, password={"value": "guess"}))).cause
    assert ["guess"] == [value.value for value in opened.values.refused]


async def test_nothing_is_written(filled: RedisServer, opened: Opened) -> None:
    """All that the source asks changes nothing, by the server's own count."""
    asked = opened(filled, {"info": {"sections": ["persistence"]}})
    before = (await asked.collect()).value["persistence"]["rdb_changes_since_last_save"]
    for wanted in ({"keys": {"pattern": "*"}}, {"streams": {"pattern": "*"}}, QUEUES):
        await opened(filled, wanted).collect()

    assert before == (await asked.collect()).value["persistence"]["rdb_changes_since_last_save"]


async def test_tls(authority: FiledAuthority, opened: Opened) -> None:
    """Verified for the name that stands in the declaration."""
    ca: dict[str, Any] = {"tls": {"ca": {"value": authority.pem.decode()}}}
    with RedisServer(authority) as server:
        server.start()
        assert [0, 0] == [item["length"] for item in (await opened(server, QUEUES, **ca).collect()).value]
        unknown = await failure(opened(server, QUEUES, tls={}))
        renamed = await failure(opened(server, QUEUES, **ca, host="other.test"))
        clear = await failure(opened(server, QUEUES))

    assert (Cause.CERTIFICATE, Cause.CERTIFICATE) == (unknown.cause, renamed.cause)
    assert clear.cause in {Cause.PAYLOAD, Cause.CLOSED}


async def test_a_cluster_is_refused(opened: Opened) -> None:
    """Each of its nodes knows a part of the keys; what INFO tells of one is served."""
    with RedisServer(settings=["cluster-enabled yes"]) as server:
        server.start()
        error = await failure(opened(server, {"keys": {"pattern": "*"}}))
        mode = (await opened(server, {"info": {"sections": ["server"]}}).collect()).value["server"]["redis_mode"]

    assert (Cause.QUERY, True) == (error.cause, "cluster mode" in error.message)
    assert "cluster" == mode


async def test_a_server_that_was_killed(filled: RedisServer, opened: Opened) -> None:
    """Nobody listens; when it is back the same source reads on, without a collection that fails in between."""
    source = opened(filled, QUEUES)
    await source.collect()
    filled.kill()
    try:
        down = await failure(source)
    finally:
        filled.start()

    assert Cause.DIAL == down.cause
    assert [0, 0] == [item["length"] for item in (await source.collect()).value]


async def test_connections_that_are_ended(filled: RedisServer, opened: Opened) -> None:
    """While they are idle nobody notices."""
    source = opened(filled, QUEUES)
    await source.collect()
    filled.admin(("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"))

    assert LENGTHS == (await source.collect()).value


async def test_a_server_that_stands_still(filled: RedisServer, opened: Opened) -> None:
    """It answers nothing: the deadline ends it, and the source reads on when the server does."""
    kept, new = opened(filled, QUEUES, timeout=2), opened(filled, QUEUES, timeout=2)
    await kept.collect()
    filled.freeze()
    try:
        causes = [(await failure(source)).cause for source in (kept, new)]
    finally:
        filled.thaw()

    assert [Cause.DEADLINE, Cause.DEADLINE] == causes
    assert LENGTHS == (await kept.collect()).value
    assert LENGTHS == (await new.collect()).value


async def test_the_examples(filled: RedisServer) -> None:
    """deploy/examples/redis-queues.yaml and redis-streams.yaml as kubeglance reads them."""
    filled.admin(
        ("RPUSH", "celery", "a", "b"),
        ("XADD", "stream:orders", "*", "n", "1"),
        ("XGROUP", "CREATE", "stream:orders", "mailer", "0"),
    )
    known = Objects(secrets={"redis-reader": {"password": PASSWORD}}, config_maps={})
    found: dict[str, LiveValue] = {}
    for name in ("redis-queues.yaml", "redis-streams.yaml"):
        async with Collecting(example(name, host="localhost", port=filled.port), known) as collecting:
            _, mapped = await collecting.collect()
            assert not mapped.dropped
            found |= {each.key[1]: each.value for each in mapped.objects}

    assert {"waiting": 2, "type": "list"} == found["celery"].status
    assert {"waiting": 0, "type": "none"} == found["mails"].status
    (group,) = [value for value in found.values() if value.spec.get("group")]
    assert {"stream": "stream:orders", "group": "mailer"} == group.spec
    assert {"lag": 1, "pending": 0, "consumers": 0, "lastDeliveredId": "0-0"} == group.status
