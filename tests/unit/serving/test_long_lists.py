"""Lists that are sent as they are made, over real sockets: in chunks, or with a length for those who know no chunks."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from app.auth.trust import Trust
from app.kinds._catalog import Served
from app.wire.accept import JSON, PROTOBUF
from tests.fakes.clock import ManualClock
from tests.fakes.kinds import PODS, make_collection, make_item
from tests.fakes.protobuf import decode
from tests.unit.serving.loopback import Connection, Reply, connected, run
from tests.unit.serving.whole import API, nothing_breaks, serving, whole_app

COUNT = 1_500
TABLE = f"{JSON};as=Table;g=meta.k8s.io;v=v1"
METADATA = f"{PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


@asynccontextmanager
async def client() -> AsyncIterator[Connection]:
    """Of a server with more pods than are made at once, of which each has a large label."""
    pods = make_collection(*(make_item("a", f"pod-{number:05}", labels={"app": "x" * 1_000}) for number in range(COUNT)))
    async with serving(whole_app(Trust(), ManualClock(), (Served(PODS, pods),))) as whole, connected(whole.port) as connection:
        yield connection


async def asked(connection: Connection, query: str, accept: str = JSON, *, method: str = "GET", version: str = "1.1") -> Reply:
    line = f"{method} {API}/pods{query} HTTP/{version}\r\nHost: h\r\nConnection: keep-alive\r\nAccept: {accept}\r\n\r\n"
    return await connection.send(line.encode(), head=method == "HEAD")


def counted(reply: Reply) -> int:
    """The objects of a list in any form."""
    told = decode(reply.body) if PROTOBUF == reply.headers["content-type"] else json.loads(reply.body)
    return len(told.get("items", told.get("rows", ())))


@pytest.mark.parametrize("accept", [JSON, TABLE, METADATA], ids=["json", "table", "protobuf"])
def test_a_long_list_is_whole(accept: str) -> None:
    """JSON goes in chunks, for its length is known at its end only; protobuf has it in front. The connection serves on."""

    async def test() -> None:
        async with client() as connection:
            for query in ("?labelSelector=app", "?limit=1400", "?labelSelector=app&pretty=1"):
                reply = await asked(connection, query, accept)
                framing = {"transfer-encoding", "content-length"} & reply.headers.keys()
                assert (200, 1400 if "limit" in query else COUNT) == (reply.status, counted(reply))
                assert framing == {"content-length" if PROTOBUF in accept else "transfer-encoding"}

    run("uvloop", asyncio.wait_for(test(), 8))


def test_head_of_a_long_list() -> None:
    """It has the headers of GET, and makes nothing of the list."""

    async def test() -> None:
        async with client() as connection:
            for accept in (JSON, METADATA):
                got, headed = [await asked(connection, "?labelSelector=app", accept, method=method) for method in ("GET", "HEAD")]
                assert (200, b"") == (headed.status, headed.body)
                varying = {"audit-id", "date", "transfer-encoding"}
                assert [{key: value for key, value in reply.headers.items() if key not in varying} for reply in (got, headed)] == [
                    {key: value for key, value in got.headers.items() if key not in varying}
                ] * 2

    run("uvloop", asyncio.wait_for(test(), 8))


def test_a_client_of_http_1_0() -> None:
    """It knows no chunks: the list is measured first, and has a length."""

    async def test() -> None:
        async with client() as connection:
            reply = await asked(connection, "?labelSelector=app", version="1.0")
            assert (200, COUNT, str(len(reply.body))) == (reply.status, counted(reply), reply.headers["content-length"])
            assert "transfer-encoding" not in reply.headers

    run("uvloop", asyncio.wait_for(test(), 8))


def test_nothing_is_made_for_a_client_that_is_gone() -> None:
    """The rest of a long list is not encoded for nobody."""

    async def test() -> None:
        pods = make_collection(*(make_item("a", f"pod-{number:05}", labels={"app": "x" * 2_000}) for number in range(4_000)))
        async with serving(whole_app(Trust(), ManualClock(), (Served(PODS, pods),))) as whole:
            with nothing_breaks():
                async with connected(whole.port) as connection:
                    connection.writer.write(f"GET {API}/pods?labelSelector=app HTTP/1.1\r\nHost: h\r\n\r\n".encode())
                    await connection.reader.readexactly(20)
                await whole.is_idle()
        assert any(item.body is None for item in pods.snapshot())

    run("uvloop", asyncio.wait_for(test(), 8))
