"""`python -m benchmarks.kubelets`: all kubelets of a plan in one process, over TLS, cheap enough not to be what is measured.

Each node has an address of its own in 127.0.0.0/8 and all share one port, so nothing can be reached from outside. Any bearer token will do.
As a real kubelet does, they answer /metrics/resource in gzip to whoever accepts it, and /stats/summary never.

`GET http://127.0.0.1:CONTROL/` tells in JSON what was answered, by User-Agent, end of the token and path, how far apart the scrapes of one
node were, and the CPU seconds that this process has used.
"""

import argparse
import asyncio
import gc
import resource
import ssl
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import uvloop

from app.certs import Authority, write_key
from app.clock import SystemClock
from app.simulation.exposition import CONTENT_TYPE as RESOURCE_TYPE
from app.simulation.summary import CONTENT_TYPE as SUMMARY_TYPE
from benchmarks.kubelet_bodies import NodeBodies
from benchmarks.loopback import Connection, Request, response
from benchmarks.plan import SECOND, Plan, add_plan_arguments, plan_of

_ONE_CERTIFICATE = 10
"""Nodes that share a certificate: to make one takes 2 ms. One that named thousands of nodes would cost its readers what no kubelet's does,
in time and, for as long as the connection lasts, in memory."""

_END_OF_TOKEN = 8
"""Characters that tell the clients of one benchmark apart, and are no secret."""

_BACKLOG = 16


class Kubelets:
    """The kubelets of a plan. `uids` are those of pods by "namespace/name", for pods whose uid is not the plan's."""

    def __init__(self, plan: Plan, uids: Mapping[str, str], *, compress: bool = True) -> None:
        self.plan = plan
        self.nodes = [NodeBodies(plan, node, uids) for node in range(plan.nodes)]
        self._answered: Counter[tuple[str, str, str]] = Counter()
        self._last: dict[tuple[str, str, str], float] = {}
        self._gaps: dict[tuple[str, str], Counter[float]] = {}
        self._compress = compress
        self._clock = SystemClock()

    async def listen(self, port: int, authority: Authority) -> None:
        """Open the listeners of all nodes. Raises OSError if the port is taken at one of them."""
        loop = asyncio.get_running_loop()
        for first in range(0, self.plan.nodes, _ONE_CERTIFICATE):
            nodes = range(first, min(first + _ONE_CERTIFICATE, self.plan.nodes))
            context = self._context(nodes, authority)
            for node in nodes:
                connection = partial(Connection, partial(self._answer, self.nodes[node]))
                await loop.create_server(connection, self.plan.address(node), port, ssl=context, backlog=_BACKLOG)

    def counts(self) -> dict[str, Any]:
        """What the control port tells. `gaps` counts, for one who scrapes, the seconds since the last scrape of the node, to the tenth."""
        answers = [
            {"client": client, "token": token, "path": path, "answers": number}
            for (client, token, path), number in sorted(self._answered.items())
        ]
        gaps = [{"token": token, "path": path, "gaps": sorted(found.items())} for (token, path), found in sorted(self._gaps.items())]
        return {"answered": answers, "gaps": gaps, "cpuSeconds": time.process_time()}

    def _answer(self, node: NodeBodies, request: Request, _transport: asyncio.Transport) -> bytes:
        url = urlsplit(request.target)
        authorization = request.header("Authorization")
        token = authorization[-_END_OF_TOKEN:]
        self._answered[request.header("User-Agent").partition("/")[0], token, url.path] += 1
        self._measure_gap(node, token, url.path)
        if not authorization.startswith("Bearer "):
            return response(401, "text/plain", b"Unauthorized")
        now = int(self._clock.wall() * SECOND)
        match url.path:
            case "/metrics/resource":
                body = node.resource.at(now)
                if self._compress and "gzip" in request.header("Accept-Encoding"):
                    return response(200, RESOURCE_TYPE, zlib.compress(body, wbits=31), "Content-Encoding: gzip")
                return response(200, RESOURCE_TYPE, body)
            case "/stats/summary" if parse_qs(url.query).get("only_cpu_and_memory") == ["true"]:
                return response(200, SUMMARY_TYPE, node.summary.at(now))
            case "/stats/summary":
                return response(200, SUMMARY_TYPE, node.full_summary.at(now))
            case _:
                return response(404, "text/plain", b"404 page not found\n")

    def _measure_gap(self, node: NodeBodies, token: str, path: str) -> None:
        now, asked = self._clock.monotonic(), (node.name, token, path)
        before, self._last[asked] = self._last.get(asked), now
        if before is not None:
            self._gaps.setdefault((token, path), Counter())[round(now - before, 1)] += 1

    def _context(self, nodes: range, authority: Authority) -> ssl.SSLContext:
        names, addresses = map(self.plan.node_name, nodes), map(self.plan.address, nodes)
        certificate, key = authority.issue(f"kubelets-{nodes.start}", dns=names, ips=addresses, server=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["http/1.1"])
        with tempfile.TemporaryDirectory(prefix="kubeglance-kubelets-") as folder:  # SSLContext reads files only
            files = Path(folder) / "tls.crt", Path(folder) / "tls.key"
            files[0].write_bytes(certificate)
            write_key(files[1], key)
            context.load_cert_chain(*files)
        return context


async def _serve(arguments: argparse.Namespace) -> None:
    uids: dict[str, str] = msgspec.json.decode(arguments.uids.read_bytes()) if arguments.uids else {}
    kubelets = Kubelets(plan_of(arguments), uids, compress=not arguments.identity)
    authority = Authority.load(arguments.ca_certificate, arguments.ca_key, SystemClock())
    await kubelets.listen(arguments.port, authority)
    control = partial(Connection, lambda _request, _transport: response(200, "application/json", msgspec.json.encode(kubelets.counts())))
    await asyncio.get_running_loop().create_server(control, "127.0.0.1", arguments.control_port)
    # What was made now stays: the collector need not walk through it again and again.
    gc.collect()
    gc.freeze()
    plan = kubelets.plan
    print(f"listening: {plan.nodes} kubelets on {plan.address(0)} to {plan.address(plan.nodes - 1)} port {arguments.port}", flush=True)
    await asyncio.Event().wait()


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kubelets", description="All kubelets of a plan in one process.")
    add_plan_arguments(parser)
    parser.add_argument("--port", type=int, required=True, help="where each node listens on its own address")
    parser.add_argument("--control-port", type=int, required=True, help="where counts are told, on 127.0.0.1, plain HTTP")
    parser.add_argument("--ca-certificate", type=Path, required=True, help="the authority that the scrapers trust, PEM")
    parser.add_argument("--ca-key", type=Path, required=True, help="its key, with which serving certificates are signed")
    parser.add_argument("--uids", type=Path, help="a JSON object of pods' uids by namespace/name (default: the plan's own)")
    parser.add_argument("--identity", action="store_true", help="answer in gzip to nobody")
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    uvloop.run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
