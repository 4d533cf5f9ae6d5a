"""The source redis: what it asks, what it makes of the answers, and what it says of those that are none."""

import asyncio
import contextlib
import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from collectors._base import Cause, CollectError
from collectors._redis_server import info
from collectors._resp import Resp
from collectors._source import Limits, Source
from collectors.redis import SOURCE, RedisSpec
from tests.fakes.means import Values, means
from tests.fakes.redis_server import FakeRedis, Replies, array, bulk, fake_redis

PATTERN: dict[str, Any] = {"keys": {"pattern": "queue:*"}}
NAMES: dict[str, Any] = {"keys": {"names": ["queue:a", "queue:b"]}}
STREAMS: dict[str, Any] = {"streams": {"names": ["orders"]}}
INFO: dict[str, Any] = {"info": {"sections": ["memory", "keyspace"]}}

KEYS: dict[str, bytes] = {
    "SCAN 0 MATCH queue:* COUNT 1000": array("17", array("queue:b", "queue:a")),
    "SCAN 17 MATCH queue:* COUNT 1000": array("0", array("queue:a", "queue:c")),
    "TYPE queue:a": b"+list\r\n",
    "TYPE queue:b": b"+hash\r\n",
    "TYPE queue:c": b"+none\r\n",
    "PTTL queue:a": b":-1\r\n",
    "PTTL queue:b": b":61500\r\n",
    "PTTL queue:c": b":-2\r\n",
    "LLEN queue:a": b":3\r\n",
    "HLEN queue:b": b":5\r\n",
}


def opened(fake: FakeRedis, wanted: dict[str, Any], *, limits: Limits | None = None, values: Values | None = None, **more: Any) -> Source:
    """The source that asks a fake server."""
    spec = RedisSpec.model_validate({"host": "cache.test", "port": fake.port} | wanted | more)
    return SOURCE.open(spec, means(limits=limits, values=values))


async def collected(replies: Replies, wanted: dict[str, Any], **options: Any) -> tuple[Any, list[str]]:
    """What one collection gives, and what it asked."""
    async with fake_redis(replies) as fake:
        source = opened(fake, wanted, **options)
        response = await source.collect()
        await source.aclose()
    return response.value, fake.asked


async def failed(replies: Replies, wanted: dict[str, Any], **options: Any) -> CollectError:
    """What a collection fails with."""
    with pytest.raises(CollectError) as failure:
        await collected(replies, wanted, **options)
    return failure.value


async def test_keys_of_a_pattern() -> None:
    """Each once, in order, with its type, its length by type and what is left of its life; one that is gone meanwhile is left out."""
    value, asked = await collected(KEYS, PATTERN)

    assert [
        {"key": "queue:a", "type": "list", "length": 3},
        {"key": "queue:b", "type": "hash", "length": 5, "expiresInSeconds": 61},
    ] == value
    assert not [command for command in asked if command.startswith("KEYS")]


async def test_keys_of_a_type() -> None:
    """The server sorts them out."""
    _, asked = await collected({"SCAN": array("0", array())}, {"keys": {"pattern": "*", "type": "list", "count": 50}})

    assert "SCAN 0 MATCH * COUNT 50 TYPE list" in asked


async def test_keys_by_name() -> None:
    """No SCAN. One that is not there has length 0, for Redis has no empty lists: a queue that is empty is a key that is not there."""
    value, asked = await collected(KEYS | {"TYPE queue:b": b"+none\r\n", "PTTL queue:b": b":-2\r\n"}, NAMES)

    assert [{"key": "queue:a", "type": "list", "length": 3}, {"key": "queue:b", "type": "none", "length": 0}] == value
    assert not [command for command in asked if command.startswith("SCAN")]


KEYS_WITHOUT_LENGTH = {
    "a type of a module": KEYS | {"TYPE queue:b": b"+ReJSON-RL\r\n"},
    "another type than a moment ago": KEYS | {"HLEN queue:b": b"-WRONGTYPE Operation against a key\r\n"},
}


@pytest.mark.parametrize("replies", KEYS_WITHOUT_LENGTH.values(), ids=KEYS_WITHOUT_LENGTH)
async def test_a_length_that_is_not_known_is_left_out(replies: dict[str, bytes]) -> None:
    """It is never 0."""
    value, _ = await collected(replies, NAMES)

    assert "length" not in value[1]
    assert 3 == value[0]["length"]


async def test_names_that_are_no_text() -> None:
    """Keys are bytes; what is no UTF-8 is shown by its code."""
    value, _ = await collected(
        {"SCAN": b"*2\r\n$1\r\n0\r\n*1\r\n$2\r\na\xff\r\n", "TYPE": b"+set\r\n", "PTTL": b":-1\r\n", "SCARD": b":1\r\n"},
        {"keys": {"pattern": "*"}},
    )

    assert "a\\xff" == value[0]["key"]


_STREAM = array(
    *("length", 4, "radix-tree-keys", 1, "last-generated-id", "9-0", "entries-added", 7, "groups", 1),
    *("first-entry", array("5-0", array("secret", "field")), "last-entry", array("9-0", array("secret", "field"))),
)
_GROUP = array(*("name", "mailer", "consumers", 2, "pending", 3, "last-delivered-id", "8-0", "entries-read", 6, "lag", 1))


async def test_streams_with_their_groups() -> None:
    """Lengths, ids and lag; never what an entry says."""
    value, _ = await collected({"XINFO STREAM orders": _STREAM, "XINFO GROUPS orders": array(_GROUP)}, STREAMS)
    stream = {
        "key": "orders",
        "length": 4,
        "groups": 1,
        "lastGeneratedId": "9-0",
        "entriesAdded": 7,
        "firstEntryId": "5-0",
        "lastEntryId": "9-0",
    }
    group = {"stream": "orders", "name": "mailer", "consumers": 2, "pending": 3, "lastDeliveredId": "8-0", "entriesRead": 6, "lag": 1}

    assert {"streams": [stream], "groups": [group]} == value


async def test_streams_of_redis_6() -> None:
    """It knows neither how many entries were added nor the lag: they are left out."""
    old = array("length", 0, "last-generated-id", "0-0", "groups", 1, "first-entry", None, "last-entry", None)
    group = array("name", "mailer", "consumers", 0, "pending", 0, "last-delivered-id", "0-0", "lag", None)
    value, _ = await collected({"XINFO STREAM orders": old, "XINFO GROUPS orders": array(group)}, STREAMS)

    assert [{"key": "orders", "length": 0, "groups": 1, "lastGeneratedId": "0-0"}] == value["streams"]
    assert [{"stream": "orders", "name": "mailer", "consumers": 0, "pending": 0, "lastDeliveredId": "0-0"}] == value["groups"]


async def test_a_stream_that_is_not_there() -> None:
    """By name it is empty, as XLEN says; one that SCAN found and that is gone is left out."""
    gone = {"XINFO": b"-ERR no such key\r\n", "SCAN 0 MATCH * COUNT 1000 TYPE stream": array("0", array("orders"))}

    assert ({"streams": [{"key": "orders", "length": 0, "groups": 0}], "groups": []}) == (await collected(gone, STREAMS))[0]
    assert {"streams": [], "groups": []} == (await collected(gone, {"streams": {"pattern": "*"}}))[0]


async def test_sections_of_info() -> None:
    """Each is asked for by itself, as servers before Redis 7 want it."""
    replies = {
        "INFO memory": bulk("# Memory\r\nused_memory:1024\r\nmem_fragmentation_ratio:1.50\r\n"),
        "INFO keyspace": bulk("# Keyspace\r\ndb0:keys=2,expires=0,avg_ttl=0\r\n"),
    }
    value, _ = await collected(replies, INFO)

    assert {
        "memory": {"used_memory": 1024, "mem_fragmentation_ratio": 1.5},
        "keyspace": {"db0": {"keys": 2, "expires": 0, "avg_ttl": 0}},
    } == value


INFO_VALUES: dict[str, tuple[str, Any]] = {
    "a number": ("42", 42),
    "a number below zero": ("-1", -1),
    "a broken number": ("0.02", 0.02),
    "a version is no number": ("7.0.15", "7.0.15"),
    "a hash is no number": ("00000000", "00000000"),
    "a share in percent stays": ("12.50%", "12.50%"),
    "a size for people stays": ("1.00M", "1.00M"),
    "pairs": ("ip=10.0.0.1,port=6379,lag=0", {"ip": "10.0.0.1", "port": 6379, "lag": 0}),
    "nothing": ("", ""),
    "more digits than there are integers": ("9" * 30, "9" * 30),
}


@pytest.mark.parametrize(("said", "expected"), INFO_VALUES.values(), ids=INFO_VALUES)
def test_values_of_info(said: str, expected: Any) -> None:
    """What is not surely a number stays text."""
    assert {"server": {"field": expected}} == info(f"# Server\r\nfield:{said}\r\n")


@given(st.text())
def test_info_takes_any_text(said: str) -> None:
    """One odd line costs itself."""
    info(said)
    assert {"a": 1} == info(f"{said}\n# Last\na:1\n")["last"]


async def test_who_we_are_comes_first() -> None:
    """With a user of the ACL and a database, and a name that people see in CLIENT LIST, which may be refused."""
    values = Values({"pw": "hunter2"})
    secret = {"valueFrom": {"secretKeyRef": {"name": "cache", "key": "pw"}}}
    replies = KEYS | {"CLIENT": b"-NOPERM no\r\n"}
    _, asked = await collected(replies, NAMES, values=values, username={"value": "ro"}, password=secret, db=3)

    assert ["AUTH ro hunter2", "CLIENT SETNAME kubeglance", "SELECT 3", "INFO server"] == asked[:4]


async def test_one_connection_for_all_collections() -> None:
    """And another one with the password as it is then, when the server closed it."""
    values = Values({"pw": "old"})
    secret = {"valueFrom": {"secretKeyRef": {"name": "cache", "key": "pw"}}}
    async with fake_redis(KEYS) as fake:
        source = opened(fake, NAMES, values=values, password=secret)
        first = (await source.collect(), await source.collect())
        connections = fake.connections
        values.secrets["pw"] = "new"
        fake.close_connections()
        again = await source.collect()
        await source.aclose()

    assert 1 == connections
    assert first[0].value == first[1].value == again.value
    assert ["AUTH old", "AUTH new"] == [command for command in fake.asked if command.startswith("AUTH")]


FAILURES: dict[str, tuple[dict[str, Any], dict[str, bytes], Cause, str]] = {
    "a wrong password": (NAMES | {"password": {"value": "x"}}, {"AUTH": b"-WRONGPASS invalid\r\n"}, Cause.UNAUTHORIZED, "WRONGPASS"),
    "no password": (NAMES, {"INFO server": b"-NOAUTH Authentication required.\r\n"}, Cause.UNAUTHORIZED, "NOAUTH"),
    "a right that is missing": (PATTERN, {"SCAN": b"-NOPERM this user has no permissions\r\n"}, Cause.FORBIDDEN, "NOPERM"),
    "a server that reads its data": (NAMES, {"TYPE": b"-LOADING Redis is loading\r\n"}, Cause.STATUS, "LOADING"),
    "a database that is not there": (NAMES | {"db": 99}, {"SELECT": b"-ERR DB index is out of range\r\n"}, Cause.QUERY, "out of range"),
    "a cluster": (NAMES, {"INFO server": bulk("# Server\r\nredis_mode:cluster\r\n")}, Cause.QUERY, "cluster mode"),
    "a Sentinel": (NAMES, {"INFO server": bulk("# Server\r\nredis_mode:sentinel\r\n")}, Cause.QUERY, "sentinel mode"),
    "another server": (NAMES, {"INFO server": b"HTTP/1.1 400 Bad Request\r\n"}, Cause.PAYLOAD, "no answer of Redis"),
    "a number that is none": (NAMES, {"PTTL": b":many\r\n"}, Cause.PAYLOAD, "for a number"),
    "a string that does not end": (NAMES, {"TYPE": b"$4\r\nlistXX"}, Cause.PAYLOAD, "does not end"),
    "lists that nest without end": (NAMES, {"TYPE": b"*1\r\n" * 100}, Cause.PAYLOAD, "too deep"),
    "another form of answer": (PATTERN, {"SCAN": b":1\r\n"}, Cause.PAYLOAD, "no answer of Redis"),
    "a reply that says it is huge": (NAMES, {"TYPE": b"$999999999999\r\n"}, Cause.TOO_LARGE, "too large"),
    "very many keys": (PATTERN, {"SCAN": array("0", array(*[f"k{n}" for n in range(1001)]))}, Cause.TOO_LARGE, "more than 1000 keys"),
    "a scan without end": (PATTERN, {"SCAN": array("1", array())}, Cause.TOO_LARGE, "more than 20000 keys to look at"),
}


@pytest.mark.parametrize(("wanted", "replies", "cause", "says"), FAILURES.values(), ids=FAILURES)
async def test_failures(wanted: dict[str, Any], replies: dict[str, bytes], cause: Cause, says: str) -> None:
    """Each with its cause, what is wrong and what to do."""
    others = {command: reply for command, reply in KEYS.items() if command.partition(" ")[0] not in replies}
    error = await failed(others | replies, wanted)

    assert cause == error.cause
    assert says in error.message
    assert error.remedy


async def test_a_connection_that_breaks() -> None:
    """In the middle of an answer."""
    error = await failed(lambda command: None if command.startswith("TYPE") else bulk("x"), NAMES)

    assert Cause.CLOSED == error.cause


async def test_nobody_listens() -> None:
    """The port is that of a server that is gone."""
    async with fake_redis({}) as fake:
        source = opened(fake, NAMES)
    with pytest.raises(CollectError) as failure:
        await source.collect()

    assert Cause.DIAL == failure.value.cause
    assert "cache.test" in failure.value.message


async def test_a_refused_password_is_read_again() -> None:
    """Who keeps values is told that this one was no good."""
    values = Values()
    await failed({"AUTH": b"-WRONGPASS invalid\r\n"}, NAMES, values=values, password={"value": "x"})

    assert ["x"] == [value.value for value in values.refused]


async def _read(said: bytes) -> Any:
    """What a client makes of bytes after which the connection ends."""
    reader = asyncio.StreamReader()
    reader.feed_data(said)
    reader.feed_eof()
    return await Resp(reader, _Nowhere(), where="cache.test:6379", room=1000).call([("PING",)])  # type: ignore[arg-type]


class _Nowhere:
    """A writer."""

    def write(self, _data: bytes) -> None: ...

    async def drain(self) -> None: ...


@given(
    st.lists(
        st.sampled_from([b"*2\r\n", b"*-1\r\n", b"$3\r\nabc\r\n", b":7\r\n", b"+OK\r\n", b"-ERR\r\n", b"$", b":", b"\r\n"])
        | st.binary(max_size=9)
    )
)
def test_no_bytes_crash_the_client(parts: list[bytes]) -> None:
    """What comes out is a reply, or an error that people are told of."""
    with contextlib.suppress(CollectError, EOFError):
        asyncio.run(_read(b"".join(parts)))


_REPLIES = st.recursive(
    st.sampled_from([b":0\r\n", b":7\r\n", b"+list\r\n", b"$-1\r\n", b"*-1\r\n", b"-ERR no such key\r\n", bulk("0"), bulk("length")]),
    lambda inner: st.lists(inner, max_size=4).map(lambda parts: array(*parts)),
    max_leaves=8,
)


@given(st.sampled_from([PATTERN, NAMES, STREAMS, {"streams": {"pattern": "*"}}]), st.lists(_REPLIES, min_size=1, max_size=4))
@settings(deadline=None, max_examples=50)
def test_no_answer_crashes_the_source(wanted: dict[str, Any], replies: list[bytes]) -> None:
    """Whatever form the answers have, what comes out is a value or a CollectError."""
    turn = itertools.cycle(replies)

    async def run() -> None:
        greeting = bulk("# Server\r\nredis_mode:standalone\r\n")
        async with fake_redis(lambda command: greeting if command == "INFO server" else next(turn)) as fake:
            source = opened(fake, wanted)
            with contextlib.suppress(CollectError):
                await source.collect()
            await source.aclose()

    asyncio.run(run())


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "nothing to read": ({"host": "h"}, "exactly one of keys, info, streams"),
    "two things to read": ({"host": "h"} | PATTERN | INFO, "exactly one of keys, info, streams"),
    "names and a pattern": ({"host": "h", "keys": {"names": ["a"], "pattern": "*"}}, "exactly one of names, pattern"),
    "neither": ({"host": "h", "keys": {}}, "exactly one of names, pattern"),
    "a type of names": ({"host": "h", "keys": {"names": ["a"], "type": "list"}}, "type goes with pattern"),
    "a user without a password": ({"host": "h", "username": {"value": "x"}} | PATTERN, "username needs password"),
    "a URL": ({"host": "redis://h:6379"} | PATTERN, "a name or an address alone"),
    "a section with a command behind it": ({"host": "h", "info": {"sections": ["memory\r\nFLUSHALL"]}}, "sections"),
}


@pytest.mark.parametrize(("spec", "says"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_before_anything_is_asked(spec: dict[str, Any], says: str) -> None:
    """By `kubeglance check` and by the loader."""
    with pytest.raises(ValidationError) as fault:
        RedisSpec.model_validate(spec)

    assert says in str(fault.value)


def test_what_is_shown_of_a_server() -> None:
    """No credentials."""
    spec = RedisSpec.model_validate({"host": "cache.test", "password": {"value": "x"}, "db": 2} | PATTERN)

    assert ("redis://cache.test:6379/2", [("cache.test", 6379)]) == (SOURCE.endpoint(spec), list(SOURCE.hosts(spec)))
