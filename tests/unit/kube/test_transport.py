import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
import trustme

from app.kube.config import client_context
from app.kube.transport import no_cookies, pooled_transport

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nSet-Cookie: a=b\r\n\r\nok"
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class _Server:
    """An HTTPS server on loopback, in the test's own loop, that keeps what it was sent, by connection."""

    def __init__(self) -> None:
        self.requests: list[list[bytes]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        mine: list[bytes] = []
        self.requests.append(mine)
        try:
            while True:
                mine.append(await reader.readuntil(b"\r\n\r\n"))
                writer.write(_ANSWER)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


@asynccontextmanager
async def _listening(server: _Server, ca: trustme.CA, name: str = "127.0.0.1") -> AsyncIterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert(name).configure_cert(context)
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=context)
    async with listener:
        yield f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}"


@asynccontextmanager
async def _client(tmp_path: Path, ca: trustme.CA) -> AsyncIterator[httpx.AsyncClient]:
    ca.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    transport = pooled_transport(client_context(tmp_path / "ca.pem"), keepalive=30.0)
    headers = {"User-Agent": "kubeglance", "Accept-Encoding": "identity"}
    async with httpx.AsyncClient(transport=transport, cookies=no_cookies(), headers=headers, trust_env=False) as client:
        yield client


async def test_connections_are_kept_and_carry_only_what_was_asked(tmp_path: Path) -> None:
    """Two requests share one TLS connection; no cookie is kept, no encoding offered, nothing added."""
    ca, server = trustme.CA(), _Server()
    async with _listening(server, ca) as url, _client(tmp_path, ca) as client:
        answers = [(await client.get(f"{url}/x")).text for _ in range(2)]

    ((first, second),) = server.requests
    names = {line.split(b":")[0].lower() for line in second.split(b"\r\n")[1:] if line}
    assert answers == ["ok", "ok"]
    assert first.startswith(b"GET /x HTTP/1.1\r\n")
    assert names == {b"host", b"accept", b"accept-encoding", b"connection", b"user-agent"}


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        pytest.param("other.example", ssl.SSLCertVerificationError, id="certificate for another name"),
        pytest.param(None, ConnectionRefusedError, id="nobody listens"),
    ],
)
async def test_the_cause_of_a_failed_connection_is_in_the_chain(tmp_path: Path, name: str | None, cause: type[Exception]) -> None:
    """httpx has one class for all; what happened is found under __cause__."""
    ca = trustme.CA()
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"https://127.0.0.1:{unused.getsockname()[1]}"
        async with _listening(_Server(), ca, name or "127.0.0.1") as listening, _client(tmp_path, ca) as client:
            with pytest.raises(httpx.TransportError) as caught:
                await client.get(listening if name else url)

    chain: list[BaseException] = [caught.value]
    while (link := chain[-1].__cause__ or chain[-1].__context__) is not None:
        chain.append(link)
    assert any(isinstance(link, cause) for link in chain)


async def test_an_unknown_name_is_a_dns_failure(tmp_path: Path) -> None:
    """The resolver's own error is in the chain (.invalid never resolves, RFC 2606)."""
    async with _client(tmp_path, trustme.CA()) as client:
        with pytest.raises(httpx.TransportError) as caught:
            await client.get("https://no-such-host.invalid/")

    assert caught.value.__cause__ is not None
    assert isinstance(caught.value.__cause__.__cause__, socket.gaierror)
