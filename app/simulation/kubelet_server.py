"""All simulated kubelets behind real sockets: HTTPS with keep-alive, one listener a node.

A node is told by its own address, 127.x.y.z, so that all of them may share one port, as in a real cluster; and because every listener
is bound to a loopback address, nothing is reachable from outside. A refusing kubelet is one whose listener is closed.
"""

import asyncio
import errno
import ssl
import tempfile
from collections.abc import Iterable
from pathlib import Path

import httptools

from app.certs import Authority, write_key
from app.errors import KubeglanceError
from app.simulation.kubelet import Answer, answer
from app.simulation.model import Fault, SimulatedCluster, SimulatedNode

_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed"}
_DRIP_INTERVAL = 1.0
_BACKLOG = 32
_PORT_TRIES = 20


class KubeletServerError(KubeglanceError):
    """The simulated kubelets cannot listen. The message says where and why."""


class KubeletServer:
    """The kubelets of one cluster, from `start()` to `close()`; to be used in the one event loop that owns the cluster.

    `authority` signs their serving certificate (CN system:node:NAME is not checked by anybody; names and addresses of all nodes are in
    it). `token`, if given, is the bearer token that a caller must show.
    """

    def __init__(self, cluster: SimulatedCluster, authority: Authority, *, token: str = "") -> None:
        self.cluster = cluster
        self.token = token
        self.requests = 0
        self._authority = authority
        self._certified: set[str] = set()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._listeners: dict[str, asyncio.Server] = {}
        self._connections: dict[str, set[asyncio.Transport]] = {}

    async def start(self, port: int = 0) -> int:
        """Listen for every node on one port (0: any that is free at all addresses) and write it into the nodes. Returns the port."""
        for _ in range(_PORT_TRIES):
            chosen = port
            try:
                for node in self.cluster.nodes.values():
                    chosen = await self._listen(node, chosen)
            except OSError as exc:
                await self.close()
                if exc.errno == errno.EADDRINUSE and not port:
                    continue  # free at the first node's address and taken at another's
                raise KubeletServerError(f"the simulated kubelets cannot listen: {exc.strerror or exc}") from exc
            return chosen
        raise KubeletServerError(f"no port was free at all {len(self.cluster.nodes)} loopback addresses in {_PORT_TRIES} tries")

    async def start_on_one_address(self, address: str = "127.0.0.1") -> None:
        """For machines that know no loopback address but one: every node listens there, on a port of its own."""
        for node in self.cluster.nodes.values():
            node.address = address
            await self._listen(node, 0)

    async def refresh(self) -> None:
        """Follow the cluster: open listeners of new nodes, close those of deleted and refusing ones."""
        nodes = self.cluster.nodes
        for name in list(self._listeners):
            if name not in nodes or nodes[name].fault is Fault.REFUSE:
                await self._shut(name)
        for node in list(nodes.values()):
            if node.name not in self._listeners:
                await self._listen(node, node.kubelet_port)

    async def set_fault(self, fault: Fault, nodes: Iterable[str] | None = None) -> None:
        """Break or mend kubelets: the named ones, or all. Connections of those are cut, so that the fault holds at once."""
        names = list(self.cluster.nodes if nodes is None else nodes)
        self.cluster.set_fault(fault, names)
        for name in names:
            self._cut(name)
        await self.refresh()

    async def close(self) -> None:
        """Stop listening and cut every connection."""
        for name in list(self._listeners):
            await self._shut(name)

    async def _listen(self, node: SimulatedNode, port: int) -> int:
        if node.fault is Fault.REFUSE:
            return port
        self._certify()
        loop = asyncio.get_running_loop()
        connections = self._connections.setdefault(node.name, set())
        server = await loop.create_server(
            lambda: _Connection(self, node, connections),
            node.address,
            port,
            ssl=self._context,
            backlog=_BACKLOG,
            ssl_handshake_timeout=10,
        )
        self._listeners[node.name] = server
        node.kubelet_port = int(server.sockets[0].getsockname()[1])
        return node.kubelet_port

    def _certify(self) -> None:
        """One certificate for all nodes of now; a new one when a node came that it does not name."""
        names = {name for node in self.cluster.nodes.values() for name in (node.name, node.address)}
        if names <= self._certified:
            return
        nodes = self.cluster.nodes.values()
        certificate, key = self._authority.issue(
            "kubelets", ["system:nodes"], dns=sorted(node.name for node in nodes), ips=sorted({node.address for node in nodes}), server=True
        )
        with tempfile.TemporaryDirectory(prefix="kubeglance-kubelets-") as folder:  # SSLContext loads keys from files only
            (Path(folder) / "tls.crt").write_bytes(certificate)
            write_key(Path(folder) / "tls.key", key)
            self._context.load_cert_chain(Path(folder) / "tls.crt", Path(folder) / "tls.key")
        self._certified = names

    async def _shut(self, name: str) -> None:
        server = self._listeners.pop(name)
        server.close()
        self._cut(name)
        await server.wait_closed()

    def _cut(self, name: str) -> None:
        for transport in list(self._connections.get(name, ())):
            transport.abort()


class _Connection(asyncio.Protocol):
    """One keep-alive connection to one kubelet; requests are answered in the order they come."""

    def __init__(self, server: KubeletServer, node: SimulatedNode, connections: set[asyncio.Transport]) -> None:
        self._server = server
        self._node = node
        self._connections = connections
        self._parser = httptools.HttpRequestParser(self)
        self._target = b""
        self._authorization = ""
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self._transport = transport
            self._connections.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # asyncio gives it; a cut connection is no news here
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is not None:
            self._connections.discard(self._transport)
            self._transport = None

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._finish(Answer(400, "text/plain", b"400 Bad Request"), close=True)
        except httptools.HttpParserError:
            self._finish(Answer(400, "text/plain", b"400 Bad Request"), close=True)

    # The callbacks below are httptools' names.

    def on_message_begin(self) -> None:
        self._target = b""
        self._authorization = ""

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"authorization":
            self._authorization = value.decode("latin-1")

    def on_message_complete(self) -> None:
        server = self._server
        server.requests += 1
        method = self._parser.get_method().decode("ascii")
        target = self._target.decode("latin-1")
        reply = answer(self._node, method, target, self._authorization, server.cluster.now(), token=server.token)
        self._finish(reply, close=not self._parser.should_keep_alive(), head=method == "HEAD")

    def _finish(self, reply: Answer, *, close: bool, head: bool = False) -> None:
        transport = self._transport
        if transport is None or reply.pace == "never":
            return
        lines = (
            f"HTTP/1.1 {reply.status} {_REASONS.get(reply.status, 'Internal Server Error')}",
            f"Content-Type: {reply.content_type}",
            f"Content-Length: {len(reply.body)}",
            *(("Connection: close",) if close else ()),
        )
        whole = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (b"" if head else reply.body)
        if reply.pace == "drip":
            self._drip(whole, 0)
            return
        transport.write(whole)
        if close:
            transport.close()

    def _drip(self, whole: bytes, sent: int) -> None:
        if self._transport is None or sent >= len(whole):
            return
        self._transport.write(whole[sent : sent + 1])
        self._timer = asyncio.get_running_loop().call_later(_DRIP_INTERVAL, self._drip, whole, sent + 1)
