"""A list is read from each of its forms, and compared with the plan before anything is timed."""

import json
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from benchmarks import answers
from benchmarks.answers import Usages, WrongAnswer
from benchmarks.plan import Load, Plan
from tests.goldens import protobuf

PLAN = Plan(nodes=2, pods=3, containers=2, since=1_796_000_000)
PODS = answers.pods(PLAN)


def answer(body: bytes, content_type: str = "application/json", status: int = 200) -> httpx.Response:
    return httpx.Response(status, content=body, headers={"content-type": content_type}, request=httpx.Request("GET", "https://server/pods"))


def quantities(load: Load) -> dict[str, str]:
    return {"cpu": f"{load.cpu}n", "memory": f"{load.memory // 1024}Ki", "swap": "0"}


def pod_item(namespace: str, name: str, usage: Mapping[str, Load]) -> dict[str, Any]:
    containers = [{"name": container, "usage": quantities(load)} for container, load in usage.items()]
    return {"metadata": {"name": name, "namespace": namespace}, "containers": containers}


def as_json(usages: Usages) -> httpx.Response:
    return answer(json.dumps({"kind": "PodMetricsList", "items": [pod_item(*key, usage) for key, usage in usages.items()]}).encode())


def as_table(usages: Usages) -> httpx.Response:
    columns = [{"name": name} for name in ("Name", "CPU", "Memory", "Window")]
    rows = [
        {"cells": [name, f"{load.cpu}n", str(load.memory), "15s"], "object": {"metadata": {"namespace": namespace, "name": name}}}
        for (namespace, name), usage in answers.summed(usages).items()
        for load in usage.values()
    ]
    return answer(json.dumps({"kind": "Table", "columnDefinitions": columns, "rows": rows}).encode())


def as_protobuf(usages: Usages) -> httpx.Response:
    def plain(load: Load) -> list[dict[str, Any]]:
        return [{"key": name, "value": {"string": text}} for name, text in quantities(load).items()]

    items = [
        {
            "metadata": {"name": name, "namespace": namespace},
            "containers": [{"name": container, "usage": plain(load)} for container, load in usage.items()],
        }
        for (namespace, name), usage in usages.items()
    ]
    tree = {"typeMeta": {"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetricsList"}, "raw": {"metadata": {}, "items": items}}
    return answer(protobuf.encode(tree), "application/vnd.kubernetes.protobuf")


def test_all_forms_say_the_same() -> None:
    """A Table has a pod's sum."""
    answers.check("JSON", PODS, answers.read(as_json(PODS)))
    answers.check("protobuf", PODS, answers.read(as_protobuf(PODS)))
    answers.check("Table", answers.summed(PODS), answers.read(as_table(PODS)))


def test_one_object_is_read_like_a_list_of_one() -> None:
    """GET of a pod."""
    (key, usage), *_ = PODS.items()

    assert {key: usage} == answers.read(answer(json.dumps({"kind": "PodMetrics", **pod_item(*key, usage)}).encode()))


def test_a_node_uses_what_its_pods_use_and_more() -> None:
    """The plan's node has a load of its own."""
    nodes = answers.nodes(PLAN)
    items = [{"metadata": {"name": name}, "usage": quantities(usage[""])} for (_, name), usage in nodes.items()]

    answers.check("nodes", nodes, answers.read(answer(json.dumps({"kind": "NodeMetricsList", "items": items}).encode())))
    assert sum(usage[""].cpu for usage in nodes.values()) > sum(load.cpu for usage in PODS.values() for load in usage.values())


def changed(**by: float) -> Usages:
    """The plan's pods, one container of which uses more than it should."""
    (key, usage), *rest = PODS.items()
    (container, load), *others = usage.items()
    other = Load(cpu=int(load.cpu * by.get("cpu", 1)), memory=int(load.memory * by.get("memory", 1)))
    return dict([(key, {container: other, **dict(others)}), *rest])


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        pytest.param(dict(list(PODS.items())[1:]), "1 objects are missing, 0 should not be there", id="a pod is missing"),
        pytest.param({**PODS, ("team-0", "stranger"): {}}, "0 objects are missing, 1 should not be there", id="a pod too many"),
        pytest.param(changed(cpu=1.05), "the answer says", id="CPU is wrong"),
        pytest.param(changed(memory=0.9), "the answer says", id="memory is wrong"),
        pytest.param({key: dict(list(usage.items())[1:]) for key, usage in PODS.items()}, "the answer says", id="a container is missing"),
    ],
)
def test_what_differs_is_no_right_answer(seen: Usages, said: str) -> None:
    """The message names an object."""
    with pytest.raises(WrongAnswer, match=f"^the server: .*{said}"):
        answers.check("the server", PODS, seen)


def test_what_differs_by_a_rounding_is_right() -> None:
    """Times are rounded, memory swings a little."""
    answers.check("the server", PODS, changed(cpu=1.01, memory=1.015))


def test_an_error_is_no_list() -> None:
    """Its status and text are told."""
    with pytest.raises(WrongAnswer, match="https://server/pods was answered 503: not yet"):
        answers.read(answer(b"not yet", status=503))
