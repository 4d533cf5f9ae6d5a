"""Real containers on a real kubelet: what kubeglance says of them, beside the kernel's own figures and metrics-server's.

While anything happens an observer looks at the metrics as every consumer does and holds each answer to tests/e2e/invariants.py: a value is
right or it is absent. Each test ends with "nobody saw anything wrong".
"""

import json
import os
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from app.clock import SystemClock
from tests.e2e import node
from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.invariants import LAG, running
from tests.e2e.measurement import Compared, Measured, Recorder, compare
from tests.e2e.node.containerd import SLOW, SLOW_SECONDS
from tests.e2e.node.real_node import DISK_SIZE
from tests.e2e.node.work import MIB, Pod, Work
from tests.e2e.observer import Observer, Seen
from tests.e2e.peer import MetricsServer
from tests.e2e.stage import API, Stage, on_stage

pytestmark = [pytest.mark.e2e, pytest.mark.real_node]

NAMESPACE = "real"
NODE = "real-0"
RESOLUTION = "10s"
"""The shortest that metrics-server takes."""
FLAGS = [f"--metric-resolution={RESOLUTION}", "--kubelet-request-timeout=5s", "--kubelet-summary-interval=15s"]

# All hold some memory: of one that holds next to nothing the kernel's own batches are more than 5 %.
BURNER = Pod("burner", {"main": Work(burn=250, hold=48)})
WAVE = Pod("wave", {"main": Work(burn=50, burn_high=350, phase=17, hold=48)})
HOLDER = Pod("holder", {"main": Work(burn=10, hold=96, cache=48)})
STEADY = (BURNER, WAVE, HOLDER)
LAYERED = Pod(
    "layered",
    {"main": Work(burn=20, hold=8)},
    init={"first": Work(burn=100, exit_after=4)},
    sidecars={"helper": Work(burn=10, hold=16)},
)
HOST = Pod("host", {"main": Work(burn=20), "second": Work(burn=10)}, host_network=True)
STATIC = Pod("static", {"main": Work(burn=30, hold=32)})
MIRROR = replace(STATIC, name=f"{STATIC.name}-{NODE}")
CRASHING = Pod("crashing", {"main": Work(burn=20), "crash": Work(burn=20, exit_after=3, exit_code=1)})
STORED = Pod(
    "stored",
    {"main": Work(burn=20, hold=32)},
    volumes={
        "scratch": {"emptyDir": {}},
        "data": {"persistentVolumeClaim": {"claimName": "data"}},
        "export": {"persistentVolumeClaim": {"claimName": "export"}},
    },
)
SLOW_START = Pod("slow", {"main": Work(burn=40, hold=32)}, runtime_class=SLOW)
FROM_THE_START = (*STEADY, LAYERED, HOST, CRASHING, SLOW_START, STORED)
RUNTIME_CLASS = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": SLOW}, "handler": SLOW}

LIVE = "/apis/live.kubeglance.io/v1alpha1"


def claims(disk: Path) -> list[dict[str, Any]]:
    """Claims with local volumes: one as large as the disk, one that asks for a little of it; and one that has no volume."""
    made: list[dict[str, Any]] = []
    for name, size in (("data", DISK_SIZE), ("export", DISK_SIZE // 8), ("waits", DISK_SIZE)):
        spec: dict[str, Any] = {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "",
            "resources": {"requests": {"storage": str(size)}},
        }
        metadata = {"name": name, "namespace": NAMESPACE, "labels": {"app": "store"}}
        if name == "waits":
            made.append({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec})
            continue
        here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [NODE]}
        volume = {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": str(size)},
            "storageClassName": "",
            "claimRef": {"namespace": NAMESPACE, "name": name},
            "local": {"path": str(disk)},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
        }
        made.append({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"real-{name}"}, "spec": volume})
        spec["volumeName"] = f"real-{name}"
        made.append({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec})
    return made


clock = SystemClock()


@dataclass(frozen=True)
class Scene:
    """A node with pods, kubeglance and metrics-server, and who looks at them."""

    plane: ControlPlane
    node: node.RealNode
    stage: Stage
    observer: Observer
    recorder: Recorder

    def create(self, pod: Pod) -> float:
        """Make a pod; the time (Unix seconds) it was made at."""
        self.observer.expect(pod)
        self.plane.kubectl("create", "-n", NAMESPACE, "-f", "-", text=json.dumps(pod.as_object(NODE)))
        return clock.wall()

    def record(self, name: str) -> None:
        """Read the kernel's figures of a pod's only container, as soon as it runs."""
        self.recorder.watch(name, "main", self.node.container(self.wait_running(name, "main"), "main"))

    def pod(self, name: str) -> dict[str, Any] | None:
        """The pod in kube-apiserver, None if it is not there."""
        done = self.plane.kubectl("get", "pod", name, "-n", NAMESPACE, "-o", "json", "--ignore-not-found")
        found: dict[str, Any] | None = json.loads(done.stdout) if done.stdout.strip() else None
        return found

    def wait_running(self, name: str, *containers: str) -> dict[str, Any]:
        """Until just these containers of a pod run."""

        def look() -> dict[str, Any] | None:
            pod = self.pod(name)
            assert pod is not None, "no such pod"
            assert set(containers) == set(running(pod))
            return pod

        return wait_until(f"containers of {name} run", look, seconds=60)

    def wait_value(self, name: str, *, after: float = 0.0, seconds: float = 90) -> Measured:
        """The first value of a pod whose whole window is after a time (Unix seconds)."""

        def look() -> Measured | None:
            found = self.observer.now().pods.get(name)
            return found if found is not None and found.time - found.window > after else None

        try:
            return wait_until(f"a value of {name}", look, seconds=seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; {self.refusal(f'namespaces/{NAMESPACE}/pods/{name}')}") from None

    def live(self, resource: str, name: str) -> dict[str, Any]:
        """An object of a live kind through the aggregator; AssertionError while it is not there."""
        done = self.plane.kubectl("get", "--raw", f"{LIVE}/namespaces/{NAMESPACE}/{resource}/{name}", check=False)
        assert not done.returncode, done.stderr.strip()
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def refusal(self, path: str) -> str:
        """The words with which kubeglance has no value for something."""
        done = self.plane.kubectl("get", "--raw", f"{API}/{path}", check=False)
        return done.stderr.strip() if done.returncode else ""


@pytest.fixture(scope="module")
def whole(plane: ControlPlane) -> Iterator[Scene]:
    plane.kubectl("create", "namespace", NAMESPACE)
    with node.RealNode(plane, NODE) as real, on_stage(plane, "real", real.authority, flags=FLAGS) as stage:
        with (
            MetricsServer(plane, resolution=RESOLUTION, flags=["--kubelet-request-timeout=5s"]).wait_alive() as peer,
            Recorder() as recorder,
            Observer(plane, NAMESPACE, peer) as observer,
        ):
            made = Scene(plane, real, stage, observer, recorder)
            plane.apply([RUNTIME_CLASS, *claims(real.disk)])
            for pod in FROM_THE_START:
                made.create(pod)
            observer.expect(MIRROR)
            real.static_pod(
                STATIC.as_object(NODE) | {"metadata": {"name": STATIC.name, "namespace": NAMESPACE, "labels": {"app": MIRROR.name}}}
            )
            for pod in (*STEADY, MIRROR):
                made.record(pod.name)
            yield made
        print("the end of kubeglance's log:\n" + "\n".join(stage.replicas[0].log.splitlines()[-15:]), flush=True)
    plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")
    plane.kubectl("delete", "pv", "real-data", "real-export", "--wait=false")


@pytest.fixture
def scene(whole: Scene) -> Iterator[Scene]:
    """The scene; and what any consumer saw while the test ran was right: possible, and what the kernel says where that was read."""
    begin = clock.wall()
    yield whole
    assert [] == whole.observer.breaches()
    assert [] == against_the_kernel(whole, begin)


def against_the_kernel(scene: Scene, begin: float) -> list[str]:
    """Those values served since `begin` that the kernel's figures contradict."""
    looks = [look for look in scene.observer.seen if look.time >= begin]
    wrong = []
    for pod, container in scene.recorder.watched:
        truth = scene.recorder.truth(pod, container)
        parts = [compare(truth, container, value) for value in distinct(looks, pod)]
        wrong += [f"{pod}: {part}" for part in parts if part is not None and not part.is_right]
    return wrong


def first_seen(looks: list[Seen], name: str) -> float | None:
    return next((look.time for look in looks if name in look.pods), None)


def distinct(looks: list[Seen], name: str) -> list[Measured]:
    """The different values of a pod, in the order they were served."""
    return list({found.time: found for look in looks if (found := look.pods.get(name)) is not None}.values())


def test_a_pod_gets_its_first_value(scene: Scene) -> None:
    """The first value is right like all others. How soon it comes is noted beside metrics-server, not judged."""
    pods = [Pod(f"first-{i}", {"main": Work(burn=60, hold=32)}) for i in range(3)]
    begun = {}
    for pod in pods:
        begun[pod.name] = scene.create(pod)
        scene.record(pod.name)
        wait_until("the next pod's turn", lambda: clock.wall() > max(begun.values()) + 4, seconds=10)

    def both() -> bool:
        for name in begun:
            assert first_seen(scene.observer.seen, name), f"{name} not in kubeglance"
            assert first_seen(scene.observer.peer, name), f"{name} not in metrics-server"
        return True

    wait_until("first values from both", both, seconds=120)
    ours, theirs = (
        [round((first_seen(looks, name) or 0) - begin, 1) for name, begin in begun.items()]
        for looks in (scene.observer.seen, scene.observer.peer)
    )
    ratio = statistics.median(theirs) / statistics.median(ours)
    print(f"noted: from creation to first value: kubeglance {ours} s, metrics-server {theirs} s, ratio of the medians {ratio:.1f}")
    for name in begun:
        print(f"noted: {name} was first {distinct(scene.observer.seen, name)[0]}")
        scene.plane.kubectl("delete", "pod", name, "-n", NAMESPACE, "--wait=false")


def compared(scene: Scene, looks: list[Seen], name: str) -> list[Compared]:
    """A pod's values that are differences of counters, beside the kernel's figures."""
    truth = scene.recorder.truth(name, "main")
    return [part for value in from_counters(looks, name) if (part := compare(truth, "main", value)) is not None]


def from_counters(looks: list[Seen], name: str) -> list[Measured]:
    """The values that are differences of counters: their windows are exact."""
    return [each for each in distinct(looks, name) if each.source == "resource"]


def test_values_are_those_of_the_kernel(scene: Scene) -> None:
    """CPU within 10 % and memory within 5 % of the container's own control group over the same window, also when the load changes."""

    def enough() -> bool:
        for pod in STEADY:
            found = len(compared(scene, scene.observer.seen, pod.name))
            assert found >= 4, f"{found} values of {pod.name}"
        return True

    wait_until("four values of each pod", enough, seconds=120)
    for pod in STEADY:
        parts = compared(scene, scene.observer.seen, pod.name)
        print(f"noted: {pod.name}: {'; '.join(map(str, parts))}")
        assert [] == [str(part) for part in parts if not part.is_right], pod.name
    container = scene.node.container(scene.wait_running(HOLDER.name, "main"), "main")
    holder = HOLDER.works["main"]
    assert container.inactive() > holder.cache * MIB / 2, "there is page cache that is no working set"
    newest = distinct(scene.observer.seen, HOLDER.name)[-1].usages["main"].memory
    assert holder.hold * MIB < newest < holder.memory_bound - holder.cache * MIB


def test_values_are_those_of_metrics_server(scene: Scene) -> None:
    """What both measured over the same window is equal to the last digit."""

    def same() -> list[tuple[Measured, Measured]]:
        pairs = []
        for pod in STEADY:
            ours = {(each.time, each.window): each for each in from_counters(scene.observer.seen, pod.name)}
            theirs = {(each.time, each.window): each for each in distinct(scene.observer.peer, pod.name)}
            pairs += [(ours[key], theirs[key]) for key in ours.keys() & theirs.keys()]
        return pairs

    pairs = wait_until("three values over the same windows", lambda: pairs if len(pairs := same()) >= 3 else None, seconds=90)
    for pod in STEADY:
        print(f"noted: metrics-server's {pod.name}: {'; '.join(map(str, compared(scene, scene.observer.peer, pod.name)))}")
    print(f"noted: {len(pairs)} values are of the same window as metrics-server's, and equal")
    assert [theirs.usages for _, theirs in pairs] == [ours.usages for ours, _ in pairs]


def test_a_native_sidecar_counts_and_an_init_container_does_not(scene: Scene) -> None:
    """While the init container runs there is no value (the pod is Pending); then there are the sidecar and the main container."""
    value = scene.wait_value(LAYERED.name)
    assert ["helper", "main"] == sorted(value.usages)
    assert value.usages["helper"].memory > 16 * MIB
    # The observer would have told of an item while only the init container ran.
    pod = scene.pod(LAYERED.name)
    assert pod is not None
    ended = next(each for each in pod["status"]["initContainerStatuses"] if each["name"] == "first")
    assert "terminated" in ended["state"]


def test_a_pod_on_the_hosts_network_is_like_any_other(scene: Scene) -> None:
    """Its network block is the node's, its CPU and memory are its own."""
    value = scene.wait_value(HOST.name)
    assert {"main", "second"} == set(value.usages)


def test_a_static_pod_is_served_under_its_mirrors_name(scene: Scene) -> None:
    """The kubelet knows it by the hash of its file, kube-apiserver by the mirror's uid."""
    mirror = scene.pod(MIRROR.name)
    assert mirror is not None
    assert mirror["metadata"]["annotations"]["kubernetes.io/config.hash"] != mirror["metadata"]["uid"]
    assert {"main"} == set(scene.wait_value(MIRROR.name).usages)


def test_a_container_that_is_slow_to_start(scene: Scene) -> None:
    """Kubelets report when a container was created, the pod's status when it was started: seconds lie between, and it is one instance."""
    scene.record(SLOW_START.name)
    value = scene.wait_value(SLOW_START.name)
    print(f"noted: started {SLOW_SECONDS} s after it was created it has {value}")


def volumes(scene: Scene) -> dict[str, dict[str, Any]]:
    """The volumes that podstats tells of the pod that stores."""
    told = scene.live("podstats", STORED.name)["status"].get("volumes", [])
    return {volume["name"]: volume for volume in told}


def test_an_empty_dir_that_fills(scene: Scene) -> None:
    """podstats tells what a pod's emptyDir holds, and that it grows; its own disk usage grows with it."""
    pod = scene.wait_running(STORED.name, "main")

    def look(least: int) -> int:
        used = int(volumes(scene)["scratch"]["usedBytes"]) if "scratch" in volumes(scene) else -1
        assert used >= least, f"{used} bytes are told"
        return used + 1

    before = wait_until("the emptyDir is told of", lambda: look(0), seconds=90)
    assert before < MIB
    (scene.node.empty_dir(pod, "scratch") / "filling").write_bytes(bytes(24 * MIB))
    after = wait_until("the emptyDir is told to have grown", lambda: look(24 * MIB), seconds=120)
    assert after < 26 * MIB
    status = scene.live("podstats", STORED.name)["status"]
    assert status["ephemeralStorage"]["usedBytes"] >= 24 * MIB
    print(f"noted: a pod with an emptyDir of 24 MiB is {status}")


def test_how_full_a_local_volume_is(scene: Scene) -> None:
    """A claim on a local volume: what statfs tells, where it is mounted, and as the file system fills its share."""
    scene.wait_running(STORED.name, "main")

    def look(least: int) -> dict[str, Any]:
        found = scene.live("volumestats", "data")
        assert found["status"]["state"] == "Reported", found["status"]
        assert found["status"]["usedBytes"] >= least, found["status"]
        return found

    wait_until("the claim is told of", lambda: look(0), seconds=90)
    (scene.node.disk / "filling").write_bytes(bytes(DISK_SIZE // 4))
    found = wait_until("the claim is told to have filled", lambda: look(DISK_SIZE // 4), seconds=120)
    status = found["status"]
    assert (status["capacityBytes"], status["usedPercent"]) == (DISK_SIZE, 25)
    assert status["mounts"] == [{"pod": STORED.name, "node": NODE}]
    assert "sharedFilesystem" not in status
    assert found["metadata"]["labels"] == {"app": "store"}
    assert found["spec"]["requestedBytes"] == DISK_SIZE


def test_a_local_volume_that_is_part_of_a_disk(scene: Scene) -> None:
    """The kubelet sees the whole disk: volumestats says that the figures are not the claim's alone. A claim without a volume says so."""
    scene.wait_running(STORED.name, "main")

    def look() -> dict[str, Any]:
        status: dict[str, Any] = scene.live("volumestats", "export")["status"]
        assert status["state"] == "Reported", status
        return status

    status = wait_until("the claim is told of", look, seconds=90)
    assert (status["capacityBytes"], status["sharedFilesystem"]) == (DISK_SIZE, True)
    assert scene.live("volumestats", "waits")["status"]["state"] == "Unbound"
    table = scene.plane.kubectl("get", "volumestats", "-n", NAMESPACE).stdout
    print(f"noted:\n{table}")
    assert [line.split()[0] for line in table.splitlines()] == ["NAME", "data", "export", "waits"]


def test_container_stats_are_those_of_the_kubelet(scene: Scene) -> None:
    """A container's figures are those that metrics.k8s.io has, with what only the full summary tells: anonymous memory, its own disk."""
    scene.wait_value(HOLDER.name)

    def look() -> dict[str, Any]:
        status: dict[str, Any] = scene.live("containerstats", f"{HOLDER.name}.main")["status"]
        assert status.get("memory", {}).keys() >= {"workingSetBytes", "rssBytes"}, status
        return status

    status = wait_until("a container's figures", look, seconds=90)
    holder = HOLDER.works["main"]
    assert holder.hold * MIB < status["memory"]["rssBytes"] <= holder.memory_bound - holder.cache * MIB
    assert status["memory"]["rssBytes"] <= status["memory"]["workingSetBytes"] <= holder.memory_bound
    assert 0 <= status["cpu"]["usageNanoCores"] <= holder.cpu_bound
    assert status["rootfs"]["usedBytes"] >= holder.cache * MIB, "the page cache is of a file in its own layer"
    sidecar = scene.live("containerstats", f"{LAYERED.name}.helper")
    assert (sidecar["spec"]["type"], sidecar["spec"]["nodeName"]) == ("sidecar", NODE)


def test_node_stats_are_those_of_the_node(scene: Scene) -> None:
    """A real kubelet tells its disk, its network and its processes; the disk is as full as the kernel says, in df's words."""

    def look() -> dict[str, Any]:
        done = scene.plane.kubectl("get", "--raw", f"{LIVE}/nodestats/{NODE}")
        found: dict[str, Any] = json.loads(done.stdout)
        assert found["status"].keys() >= {"cpu", "fs", "imageFs", "network", "processes"}, found
        return found

    found = wait_until("the node's figures", look, seconds=90)
    status, disk = found["status"], os.statvfs("/")
    used, free = disk.f_blocks - disk.f_bfree, disk.f_bavail
    assert abs(status["fs"]["usedPercent"] - 100 * used / (used + free)) <= 2
    assert 0 < status["processes"]["running"] < status["processes"]["max"]
    assert status["pods"]["running"] >= len(STEADY)
    assert 0 < status["cpu"]["usedPercent"] <= 100
    assert 0 < status["memory"]["usedPercent"] <= 100
    assert {interface["name"] for interface in status["network"]["interfaces"]}
    row = scene.plane.kubectl("get", "nst").stdout
    print(f"noted:\n{row}")
    assert row.splitlines()[1].split()[0] == NODE


def test_a_crash_loop(scene: Scene) -> None:
    """The pod is served with what runs, over and over: while the crashed one waits that is the other container alone, never a zero."""

    def restarts() -> bool:
        pod = scene.pod(CRASHING.name)
        assert pod is not None
        (crash,) = [each for each in pod["status"]["containerStatuses"] if each["name"] == "crash"]
        return int(crash["restartCount"]) >= 4

    wait_until("four restarts", restarts, seconds=90)
    looks = [look for look in scene.observer.seen if CRASHING.name in look.pods]
    shapes = [tuple(sorted(look.pods[CRASHING.name].usages)) for look in looks]
    counts = {shape: shapes.count(shape) for shape in shapes}
    print(f"noted: a crash loop was seen as {counts}, absent {absent(scene, CRASHING.name)} times")
    assert ("main",) in shapes
    status = scene.live("containerstats", f"{CRASHING.name}.crash")["status"]
    assert status["restartCount"] >= 4
    assert status["lastTerminationReason"] == "Error"
    assert all(usage.cpu > 0 for look in looks for usage in look.pods[CRASHING.name].usages.values())


def absent(scene: Scene, name: str) -> int:
    """How many looks since its first value did not have the pod."""
    begin = first_seen(scene.observer.seen, name) or clock.wall()
    return sum(1 for look in scene.observer.seen if look.time > begin and name not in look.pods)


def test_a_killed_container(scene: Scene) -> None:
    """A restart is a new instance: absent until the new one was measured, then over a window that began after it did."""
    pod = Pod("killed", {"main": Work(burn=100, hold=32)})
    scene.create(pod)
    scene.record(pod.name)
    scene.wait_value(pod.name)
    killed = clock.wall()
    scene.node.container(scene.wait_running(pod.name, "main"), "main").kill()

    def restarted() -> float | None:
        found = scene.pod(pod.name)
        assert found is not None
        started = running(found).get("main", 0.0)
        return started if started > killed - 1 else None

    started = wait_until("the container runs again", restarted, seconds=60)
    scene.record(pod.name)
    value = scene.wait_value(pod.name, after=started - 2)
    print(f"noted: {clock.wall() - started:.1f} s after its restart a container was {value}, absent for {absent(scene, pod.name)} looks")


def test_a_deleted_pod(scene: Scene) -> None:
    """Gone when the pod is gone; one of the same name that comes after has nothing of it."""
    name = "deleted"
    scene.create(Pod(name, {"main": Work(burn=150, hold=64)}))
    scene.record(name)
    scene.wait_value(name)
    scene.plane.kubectl("delete", "pod", name, "-n", NAMESPACE, "--timeout=60s")
    gone = clock.wall()
    wait_until("no value of the deleted pod", lambda: scene.refusal(f"namespaces/{NAMESPACE}/pods/{name}"), seconds=LAG, every=0.05)
    refused = clock.wall()
    print(f"noted: {refused - gone:.2f} s after a pod was gone its value was, too")
    # A look is judged in the round after it: what was seen of the old pod must not be held to the new one's bounds.
    wait_until(
        "what was seen of the old pod is judged", lambda: sum(look.time > refused for look in scene.observer.seen) > 1, seconds=4 * LAG
    )
    created = scene.create(Pod(name, {"main": Work(burn=20, hold=24)}))
    scene.record(name)
    # The invariants hold it to the new pod's bounds: what the old one used would be too much.
    value = scene.wait_value(name, after=created - 2)
    assert value.usages["main"].memory < 64 * MIB


def test_a_kubelet_that_restarts(scene: Scene) -> None:
    """While it is away values stay, with their true time; after it they go on. No dip, no leap."""
    before = scene.observer.now()
    assert BURNER.name in before.pods
    scene.node.stop_kubelet()
    begin = clock.wall()
    wait_until("two rounds without a kubelet", lambda: clock.wall() > begin + 22, seconds=40)
    away = scene.observer.now()
    assert BURNER.name in away.pods
    assert away.pods[BURNER.name].time <= begin + 1
    scene.node.start_kubelet()
    back = clock.wall()
    value = scene.wait_value(BURNER.name, after=begin)
    print(f"noted: {clock.wall() - back:.1f} s after a kubelet was back there was a value of after its start: {value}")
    assert 0 == sum(1 for look in scene.observer.seen if look.time > before.time and BURNER.name not in look.pods)


def test_a_node_that_registers_again(scene: Scene) -> None:
    """A deleted node takes its and its pods' values with it at once; another of the same name begins anew."""
    scene.node.stop_kubelet()
    scene.plane.kubectl("delete", "node", NODE)
    deleted = clock.wall()

    def gone() -> bool:
        now = scene.observer.now()
        return now.time > deleted and NODE not in now.nodes and not now.pods

    wait_until("no values of the deleted node", gone, seconds=LAG, every=0.1)
    print(f"noted: {clock.wall() - deleted:.2f} s after a node was deleted no consumer saw anything of it")
    assert "not in the cluster" in scene.refusal(f"namespaces/{NAMESPACE}/pods/{BURNER.name}")
    scene.node.start_kubelet()
    value = scene.wait_value(BURNER.name, after=0)
    again = clock.wall()
    print(f"noted: {again - deleted:.1f} s after the node was deleted its pod has a value again: {value}")
    assert value.time > deleted
    wait_until("the node's own value", lambda: NODE in scene.observer.now().nodes, seconds=60)
    assert scene.observer.tops > 10, "kubectl top was among the consumers"
