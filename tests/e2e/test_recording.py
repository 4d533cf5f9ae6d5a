"""What a real kubelet v1.37.2 said, replayed through the whole server: node and pods come out as that kubelet's containers were."""

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.objects import Inventory
from tests.e2e.stage import Stage, on_stage
from tests.fakes.kubelet_server import NOT_FOUND, KubeletAnswer, KubeletRequest, KubeletServer

pytestmark = pytest.mark.e2e

RECORDING = Path(__file__).resolve().parents[1] / "recordings" / "kubelet-v1.37.2"
MOMENTS = len(list(RECORDING.glob("*.resource.txt")))
ADDRESS = "127.40.0.1"
CONTAINERS = {"burnh": ["a", "b"], "web-0": ["init", "app"]}
STARTED_WITH_THE_BODIES = "2026-11-30T09:53:05Z"
FLAGS = ["--metric-resolution=10s", "--kubelet-request-timeout=5s", "--kubelet-summary-interval=10s", "--kubelet-summary-timeout=5s"]

Points = dict[tuple[str, str], tuple[float, int]]
"""(pod, container) -> CPU seconds, Unix milliseconds. The node is ("", "")."""


class Replay:
    """The recorded kubelet at one moment; the test moves it on."""

    def __init__(self) -> None:
        self.moment = 0

    def __call__(self, asked: KubeletRequest) -> KubeletAnswer:
        path = asked.path.partition("?")[0]
        if path == "/metrics/resource":
            body = (RECORDING / f"{self.moment:02}.resource.txt").read_bytes()
            return KubeletAnswer(200, "text/plain; version=0.0.4; charset=utf-8; escaping=underscores", body)
        if path == "/stats/summary":
            return KubeletAnswer(200, "application/json", (RECORDING / f"{self.moment:02}.summary.json").read_bytes())
        return NOT_FOUND


def cpu_points(moment: int) -> Points:
    """The CPU counters of one recorded body, read with no help of the product."""
    text = (RECORDING / f"{moment:02}.resource.txt").read_text(encoding="utf-8")
    points: Points = {}
    pattern = r'^container_cpu_usage_seconds_total\{container="([^"]+)",namespace="default",pod="([^"]+)"\} (\S+) (\d+)$'
    for container, pod, value, at in re.findall(pattern, text, re.MULTILINE):
        points[pod, container] = (float(value), int(at))
    for value, at in re.findall(r"^node_cpu_usage_seconds_total (\S+) (\d+)$", text, re.MULTILINE):
        points["", ""] = (float(value), int(at))
    return points


def memory_bytes(moment: int, pod: str, container: str) -> int:
    """The working set in one recorded body."""
    text = (RECORDING / f"{moment:02}.resource.txt").read_text(encoding="utf-8")
    line = f'container_memory_working_set_bytes{{container="{container}",namespace="default",pod="{pod}"}} '
    return int(float(text.partition(line)[2].split()[0]))


def millicores_at(moment: int) -> dict[tuple[str, str], float]:
    """The rate between the two last different stamps up to a moment; only those for which there are two."""
    rates: dict[tuple[str, str], float] = {}
    last = cpu_points(0)
    for step in range(1, moment + 1):
        for key, (cpu, at) in cpu_points(step).items():
            before, since = last[key]
            if at > since:
                rates[key] = (cpu - before) / (at - since) * 1e6
                last[key] = (cpu, at)
    return rates


def as_new(recorded: dict[str, Any]) -> dict[str, Any]:
    """A recorded object as it may be created: without what kube-apiserver writes itself."""
    thing = copy.deepcopy(recorded)
    thing.pop("status", None)
    for field in ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "ownerReferences"):
        thing["metadata"].pop(field, None)
    return thing


@pytest.fixture(scope="module")
def replay(plane: ControlPlane) -> Iterator[tuple[Replay, KubeletServer]]:
    script = Replay()
    pair = plane.pki.kubelets.server("recorded-kubelet", "recorded", dns=["real-0"], ips=[ADDRESS])
    with KubeletServer(script, *pair, address=ADDRESS) as server:
        yield script, server


@pytest.fixture(scope="module")
def stage(plane: ControlPlane, replay: tuple[Replay, KubeletServer]) -> Iterator[Stage]:
    inventory = Inventory(plane)
    node = json.loads((RECORDING / "node.json").read_text(encoding="utf-8"))
    inventory.post("/api/v1/nodes", as_new(node))
    node["status"]["addresses"][0]["address"] = ADDRESS
    node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"] = replay[1].port
    inventory.patch_status("/api/v1/nodes/real-0", node["status"])
    for pod in json.loads((RECORDING / "pods.json").read_text(encoding="utf-8"))["items"]:
        for container in pod["status"]["containerStatuses"]:
            if (pod["metadata"]["name"], container["name"]) == ("web-0", "app"):
                # The object was taken after this container was restarted; the bodies are from its run before (see the README there).
                container["state"]["running"]["startedAt"] = STARTED_WITH_THE_BODIES
                container["lastState"] = {}
        inventory.post("/api/v1/namespaces/default/pods", as_new(pod))
        inventory.patch_status(f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}", pod["status"])
    try:
        with on_stage(plane, "recording", plane.pki.kubelets.certificate, flags=FLAGS) as made:
            yield made
    finally:
        inventory.close()


def usage(stage: Stage) -> dict[tuple[str, str], tuple[float, int]]:
    """(pod, container) -> millicores, bytes, as served. The node is ("", "")."""
    found = {}
    for pod in stage.items("namespaces/default/pods"):
        for container in pod["containers"]:
            found[pod["metadata"]["name"], container["name"]] = parsed(container["usage"])
    for node in stage.items("nodes"):
        if node["metadata"]["name"] == "real-0":
            found["", ""] = parsed(node["usage"])
    return found


def parsed(served: dict[str, str]) -> tuple[float, int]:
    number, unit = re.fullmatch(r"(\d+)([num]?)", served["cpu"]).groups()  # type: ignore[union-attr]  # no match fails the test
    millicores = int(number) * {"n": 1e-6, "u": 1e-3, "m": 1.0, "": 1e3}[unit]
    size, scale = re.fullmatch(r"(\d+)(Ki|Mi|Gi|)", served["memory"]).groups()  # type: ignore[union-attr]  # as above
    return millicores, int(size) * {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}[scale]


def test_one_scrape_is_enough_for_a_first_value(stage: Stage) -> None:
    """From the first pair of bodies alone: web-0 and the node are there, its burners near 50 millicores and 52 MiB.

    burnh has to wait for the second body: the summary says 0 for its sleeper, which a kubelet also says when it has not measured yet,
    and this kubelet does not tell how long it has been running.
    """

    def look() -> bool:
        found = usage(stage)
        assert {("", ""), ("web-0", "init"), ("web-0", "app")} == set(found)
        for container in ("init", "app"):
            cpu, memory = found["web-0", container]
            assert cpu == pytest.approx(50, abs=5)
            assert memory == pytest.approx(52 * 2**20, abs=2**20)
        return True

    wait_until("first values from one scrape", look, seconds=60, every=1)


def test_each_body_moves_the_values_to_what_the_kubelet_counted(stage: Stage, replay: tuple[Replay, KubeletServer]) -> None:
    """Moment by moment the served rates are those between the two last different stamps, and memory is the last one said."""
    for moment in range(1, MOMENTS):
        replay[0].moment = moment
        expected = millicores_at(moment)

        def look(moment: int = moment, expected: dict[tuple[str, str], float] = expected) -> bool:
            found = usage(stage)
            for pod, names in CONTAINERS.items():
                if not all((pod, name) in expected for name in names):
                    continue  # not yet two stamps of each container: a pod's values are wholly of one source
                for name in names:
                    assert (pod, name) in found, (moment, pod, name)
                    assert found[pod, name][0] == pytest.approx(expected[pod, name], rel=1e-3, abs=0.01), (moment, pod, name)
                    assert memory_bytes(moment, pod, name) == found[pod, name][1], (moment, pod, name)
            if ("", "") in expected:
                assert found["", ""][0] == pytest.approx(expected["", ""], rel=1e-3)
            return True

        wait_until(f"values of moment {moment}", look, seconds=60, every=1)
    assert {("", ""), *((pod, name) for pod, names in CONTAINERS.items() for name in names)} == set(millicores_at(MOMENTS - 1))


def test_kubectl_top_prints_them(stage: Stage) -> None:
    """The burner is near 50m and 52Mi in kubectl's own words; the sleeper is 1m at most; a native sidecar is a container like others."""
    lines = [
        line.split() for line in stage.plane.kubectl("top", "pods", "-n", "default", "--containers", "--no-headers").stdout.splitlines()
    ]
    printed = {(pod, name): (int(cpu.removesuffix("m")), int(memory.removesuffix("Mi"))) for pod, name, cpu, memory in lines}
    assert {(pod, name) for pod, names in CONTAINERS.items() for name in names} == set(printed)
    for burner in (("burnh", "a"), ("web-0", "app"), ("web-0", "init")):
        assert printed[burner][0] == pytest.approx(50, abs=6), burner
        assert printed[burner][1] == pytest.approx(52, abs=1), burner
    assert printed["burnh", "b"][0] <= 1
    node = stage.plane.kubectl("top", "nodes", "--no-headers").stdout.split()
    assert "real-0" == node[0]
    assert int(node[1].removesuffix("m")) == pytest.approx(millicores_at(MOMENTS - 1)["", ""], abs=2)
