"""What one simulated kubelet answers to one request, its faults included. No sockets here: see app/simulation/kubelet_server.py."""

from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

from app.simulation import exposition, summary
from app.simulation.model import Fault, SimulatedNode

_PLAIN = "text/plain; charset=utf-8"
_GARBAGE = b'\x00\xff<html>\ncontainer_cpu_usage_seconds_total{container="a\xc3(",pod= NaN 99999999999999999999\n}{\n'
_TRUE = {"1", "t", "T", "TRUE", "true", "True"}  # Go's strconv.ParseBool


class Answer(Struct, frozen=True):
    """A response. `pace` is "now", "drip" (one byte a second) or "never"."""

    status: int
    content_type: str
    body: bytes
    pace: str = "now"


def answer(node: SimulatedNode, method: str, target: str, authorization: str, t: int, *, token: str = "") -> Answer:
    """The kubelet's answer at Unix ns `t` to `method target`. With `token`, only "Bearer <token>" is let in, else 401."""
    url = urlsplit(target)
    if method not in {"GET", "HEAD"}:
        return Answer(405, _PLAIN, b"405: Method Not Allowed")
    if token and authorization != f"Bearer {token}":
        return _refusal(Fault.UNAUTHORIZED, node, url.path)
    match node.fault:
        case Fault.UNAUTHORIZED | Fault.FORBIDDEN | Fault.NOT_FOUND | Fault.BROKEN:
            return _refusal(node.fault, node, url.path)
        case Fault.GARBAGE:
            return Answer(200, _body_type(url.path), _GARBAGE)
        case Fault.HANG:
            return Answer(200, _PLAIN, b"", pace="never")
        case Fault.DRIP:
            whole = _served(node, url.path, url.query, t)
            return Answer(whole.status, whole.content_type, whole.body, pace="drip")
        case _:
            return _served(node, url.path, url.query, t)


def _served(node: SimulatedNode, path: str, query: str, t: int) -> Answer:
    match path:
        case "/metrics/resource":
            return Answer(200, exposition.CONTENT_TYPE, exposition.resource_metrics(node, t).encode())
        case "/stats/summary":
            only = parse_qs(query).get("only_cpu_and_memory", [""])[0] in _TRUE
            return Answer(200, summary.CONTENT_TYPE, summary.summary(node, t, only_cpu_and_memory=only))
        case "/healthz":
            return Answer(200, _PLAIN, b"ok")
        case _:
            return Answer(404, _PLAIN, b"404 page not found\n")


def _body_type(path: str) -> str:
    return summary.CONTENT_TYPE if path == "/stats/summary" else exposition.CONTENT_TYPE


def _refusal(fault: Fault, node: SimulatedNode, path: str) -> Answer:
    subresource = "stats" if path.startswith("/stats") else "metrics"
    texts = {
        Fault.UNAUTHORIZED: "Unauthorized",
        Fault.FORBIDDEN: f"Forbidden (user=system:serviceaccount:kube-system:kubeglance, verb=get, resource=nodes, "
        f"subresource(s)=[{subresource}], name={node.name})",
        Fault.NOT_FOUND: "404 page not found\n",
        Fault.BROKEN: "Internal Error: failed to list pod stats: rpc error: code = DeadlineExceeded desc = context deadline exceeded",
    }
    return Answer(int(fault.value), _PLAIN, texts[fault].encode())
