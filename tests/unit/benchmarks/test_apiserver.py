"""The simulated kube-apiserver of the growth suite says what the plan says, in the form that kubeglance reads."""

import asyncio
from typing import Any

import msgspec
import pytest

from app.kube import decode
from benchmarks.apiserver import ApiServer
from benchmarks.loopback import Request
from benchmarks.plan import SECOND, Plan

PLAN = Plan(nodes=7, pods=5, containers=2, since=1_796_000_000)
API = ApiServer(PLAN, 10250, {"client-ca-file": "pem"})


class Transport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.written = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return False


def ask(target: str, method: str = "GET", body: bytes = b"", transport: Transport | None = None) -> tuple[bytes, bytes]:
    """Head and body of the answer."""
    head, _, content = API.answer(Request(method, target, b"", body), transport or Transport()).partition(b"\r\n\r\n")
    return head, content


def listed(resource: str, limit: int) -> list[Any]:
    found: list[Any] = []
    more = ""
    while True:
        page = msgspec.json.decode(ask(f"/api/v1/{resource}?limit={limit}{more}")[1])
        assert len(page["items"]) <= limit
        found += page["items"]
        if "continue" not in page["metadata"]:
            return found
        more = f"&continue={page['metadata']['continue']}"


@pytest.mark.parametrize("limit", [1, 4, 500])
def test_pages_hold_every_pod_once_as_it_is_planned(limit: int) -> None:
    planned = list(PLAN.all_pods())
    records = [decode.pod(msgspec.Raw(msgspec.json.encode(item))) for item in listed("pods", limit)]
    assert [(pod.namespace, pod.name, pod.uid) for pod in planned] == [(pod.namespace, pod.name, pod.uid) for pod in records]
    for pod, record in zip(planned, records, strict=True):
        assert PLAN.node_name(pod.node) == record.node
        assert dict(record.labels) == pod.labels
        assert [(container.name, container.started_ns) for container in record.containers] == [
            (name, pod.started * SECOND) for name in pod.containers
        ]
        assert record.phase == "Running"
        assert record.ready


def test_nodes_lead_to_their_kubelets() -> None:
    records = [decode.node(msgspec.Raw(msgspec.json.encode(item))) for item in listed("nodes", 3)]
    assert [PLAN.node_name(node) for node in range(7)] == [record.name for record in records]
    assert [PLAN.address(node) for node in range(7)] == [dict(record.addresses)["InternalIP"] for record in records]
    assert {(record.kubelet_port, record.ready, record.capacity.cpu) for record in records} == {(10250, True, PLAN.capacity.cpu)}


def test_everybody_may_do_everything() -> None:
    head, review = ask("/apis/authentication.k8s.io/v1/tokenreviews", "POST", b'{"spec":{"token":"x"}}')
    assert head.startswith(b"HTTP/1.1 201")
    assert msgspec.json.decode(review)["status"]["authenticated"]
    _, review = ask("/apis/authorization.k8s.io/v1/subjectaccessreviews", "POST", b'{"spec":{"user":"x"}}')
    assert msgspec.json.decode(review)["status"]["allowed"]


def test_the_trust_of_the_aggregator_is_there() -> None:
    _, found = ask("/api/v1/namespaces/kube-system/configmaps?fieldSelector=metadata.name%3Dextension-apiserver-authentication")
    (config_map,) = msgspec.json.decode(found)["items"]
    assert config_map["data"] == {"client-ca-file": "pem"}


def test_what_is_not_played_is_not_found() -> None:
    assert ask("/api/v1/secrets")[0].startswith(b"HTTP/1.1 404")


@pytest.mark.looptime
async def test_a_watch_stays_open_for_its_time() -> None:
    transport = Transport()
    head, _ = ask("/api/v1/pods?watch=true&timeoutSeconds=150", transport=transport)
    assert b"Transfer-Encoding: chunked" in head
    await asyncio.sleep(149)
    assert transport.written.count(b"BOOKMARK") == 2
    assert not transport.written.endswith(b"0\r\n\r\n")
    await asyncio.sleep(2)
    assert transport.written.endswith(b"0\r\n\r\n")
