"""`python -m benchmarks.apiserver`: as much of a kube-apiserver as kubeglance asks of one, over a planned cluster of any size.

Lists in pages, watches that stay open with a bookmark now and then, the ConfigMap of the aggregator's trust, and reviews that say yes to
everybody.
"""

import argparse
import asyncio
import gc
import ssl
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
import uvloop

from app.auth.extension import NAME, NAMESPACE
from benchmarks.apiserver_objects import VERSION, node_json, pod_json
from benchmarks.loopback import Connection, Request, response
from benchmarks.plan import Plan, add_plan_arguments, plan_of

_JSON = "application/json"
_BOOKMARK_S = 60.0
_STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
_REVIEWS: dict[str, dict[str, Any]] = {
    "/apis/authentication.k8s.io/v1/tokenreviews": {"authenticated": True, "user": {"username": "reader", "groups": ["readers"]}},
    "/apis/authorization.k8s.io/v1/subjectaccessreviews": {"allowed": True},
}


class ApiServer:
    """What is answered for one plan, whose kubelets listen on `kubelet_port`. `trust` is the data of the ConfigMap."""

    def __init__(self, plan: Plan, kubelet_port: int, trust: dict[str, str]) -> None:
        self._plan = plan
        self._kubelet_port = kubelet_port
        metadata = {"name": NAME, "namespace": NAMESPACE, "resourceVersion": VERSION}
        self._trust = msgspec.json.encode({"metadata": metadata, "data": trust})

    def answer(self, request: Request, transport: asyncio.Transport) -> bytes:
        """The response; a watch goes on by itself."""
        url = urlsplit(request.target)
        query = dict(parse_qsl(url.query))
        if (verdict := _REVIEWS.get(url.path)) is not None:
            return response(201, _JSON, msgspec.json.encode({**msgspec.json.decode(request.body), "status": verdict}))
        match url.path:
            case "/api/v1/nodes":
                kind, total = "Node", self._plan.nodes
            case "/api/v1/pods":
                kind, total = "Pod", self._plan.nodes * self._plan.pods
            case "/api/v1/persistentvolumeclaims":
                kind, total = "PersistentVolumeClaim", 0
            case path if path == f"/api/v1/namespaces/{NAMESPACE}/configmaps":
                kind, total = "ConfigMap", 1
            case "/version":
                return response(200, _JSON, b'{"major":"1","minor":"37","gitVersion":"v1.37.2"}')
            case _:
                return response(404, _JSON, b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}')
        if query.get("watch") == "true":
            _Watch(kind, transport, float(query["timeoutSeconds"]))
            return _STREAM
        return response(200, _JSON, self._page(kind, total, int(query.get("continue", 0)), int(query.get("limit", total))))

    def _page(self, kind: str, total: int, start: int, limit: int) -> bytes:
        end = min(start + limit, total)
        more = f',"continue":"{end}","remainingItemCount":{total - end}' if end < total else ""
        head = f'{{"kind":"{kind}List","apiVersion":"v1","metadata":{{"resourceVersion":"{VERSION}"{more}}},"items":['
        return head.encode() + b",".join(self._items(kind, start, end)) + b"]}\n"

    def _items(self, kind: str, start: int, end: int) -> Iterator[bytes]:
        match kind:
            case "Node":
                return (node_json(self._plan, number, self._kubelet_port) for number in range(start, end))
            case "Pod":
                first, skipped = divmod(start, self._plan.pods)
                pods = (pod for node in range(first, self._plan.nodes) for pod in self._plan.pods_of(node))
                return (pod_json(self._plan, pod) for pod in islice(pods, skipped, skipped + end - start))
            case _:
                return iter((self._trust,))


class _Watch:
    """A watch on which nothing happens: bookmarks, and its end when its time is over."""

    def __init__(self, kind: str, transport: asyncio.Transport, seconds: float) -> None:
        self._transport = transport
        self._bookmark = _chunk(
            f'{{"type":"BOOKMARK","object":{{"kind":"{kind}","apiVersion":"v1","metadata":{{"resourceVersion":"{VERSION}"}}}}}}\n'.encode()
        )
        loop = asyncio.get_running_loop()
        self._end = loop.time() + seconds
        loop.call_later(min(_BOOKMARK_S, seconds), self._tick)

    def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        if self._transport.is_closing():
            return
        if loop.time() >= self._end:
            self._transport.write(_chunk(b""))
            return
        self._transport.write(self._bookmark)
        loop.call_later(min(_BOOKMARK_S, self._end - loop.time()), self._tick)


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def _serve(arguments: argparse.Namespace) -> None:
    trust: dict[str, str] = msgspec.json.decode(arguments.trust.read_bytes())
    api = ApiServer(plan_of(arguments), arguments.kubelet_port, trust)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["http/1.1"])
    context.load_cert_chain(arguments.certificate, arguments.key)
    await asyncio.get_running_loop().create_server(partial(Connection, api.answer), "127.0.0.1", arguments.port, ssl=context)
    gc.collect()
    gc.freeze()
    print(f"listening on 127.0.0.1 port {arguments.port}", flush=True)
    await asyncio.Event().wait()


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.apiserver", description="A kube-apiserver of a plan, as far as it is asked."
    )
    add_plan_arguments(parser)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--kubelet-port", type=int, required=True, help="what nodes say of their kubelets")
    parser.add_argument("--certificate", type=Path, required=True, help="its own, PEM")
    parser.add_argument("--key", type=Path, required=True)
    parser.add_argument("--trust", type=Path, required=True, help=f"the data of ConfigMap {NAMESPACE}/{NAME}, JSON")
    uvloop.run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
