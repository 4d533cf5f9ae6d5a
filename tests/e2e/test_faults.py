"""Faults that must not hurt the cluster: two replicas behind endpoints, as in a real cluster, and one thing at a time going wrong."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx
import pytest

from app.clock import SystemClock
from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.processes import free_port
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.kubeglance import Kubeglance
from tests.e2e.kubelets import SimulatedKubelets, load
from tests.e2e.registration import API_SERVICES
from tests.e2e.stage import API, Stage, on_stage

pytestmark = pytest.mark.e2e

NAMESPACE = "busy"
NODES = ("fault-0", "fault-1")
FLAGS = ["--metric-resolution=10s", "--kubelet-request-timeout=5s"]
OUTAGE = 60.0
"""Seconds that kube-apiserver is away: longer than any cached verdict (10 s) and than a reflector's first retries."""
STEADY = 40.0
"""Seconds to look that nothing flaps: some scrape intervals and deadlines."""

clock = SystemClock()


@pytest.fixture(scope="module")
def kubelets(routed_plane: ControlPlane) -> Iterator[SimulatedKubelets]:
    with SimulatedKubelets(routed_plane, NODES) as made:
        made.inventory.namespace(NAMESPACE)
        for i in range(4):
            made.pod(NAMESPACE, f"pod-{i}", NODES[i % 2], {"main": load(50 + i, 32)})
        yield made


@pytest.fixture(scope="module")
def whole(routed_plane: ControlPlane, kubelets: SimulatedKubelets) -> Iterator[Stage]:
    with on_stage(routed_plane, "fault", kubelets.certificate_authority, replicas=2, flags=FLAGS) as made:
        yield made


@pytest.fixture
def stage(whole: Stage, kubelets: SimulatedKubelets) -> Iterator[Stage]:
    """Both replicas in service, before and after each test."""
    all_in_service(whole)
    yield whole
    kubelets.server.resume()
    for replica in whole.replicas:
        if replica.process.exit_code is not None:
            replica.restart()
    all_in_service(whole)


def all_in_service(stage: Stage) -> None:
    prober = stage.prober
    assert prober is not None
    wait_until("all replicas in service", lambda: bool(prober.written) and all(prober.written.values()), seconds=120, every=1)
    stage.registration.wait_available()
    stage.wait_for_pods(NAMESPACE, 4)


@dataclass
class Calls:
    """Outcomes of `kubectl top` in a loop: when each began (monotonic seconds), and what it said if it failed."""

    began: list[float] = field(default_factory=list)
    failures: list[tuple[float, str]] = field(default_factory=list)


class TopInALoop:
    """Runs `kubectl top pods -A` one after the other in a thread, until the block ends."""

    def __init__(self, plane: ControlPlane) -> None:
        self.calls = Calls()
        self._plane = plane
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="top-in-a-loop")

    def __enter__(self) -> Calls:
        self._thread.start()
        return self.calls

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._end.is_set():
            began = clock.monotonic()
            done = self._plane.kubectl("top", "pods", "-A", "--no-headers", check=False)
            self.calls.began.append(began)
            if done.returncode or f"{NAMESPACE} " not in done.stdout:
                self.calls.failures.append((began, done.stderr.strip() or done.stdout.strip()))


def transitions(stage: Stage) -> dict[str, tuple[str, str]]:
    """Status of each APIService and since when: equal before and after means that it never changed in between."""
    found = {}
    for name in API_SERVICES:
        conditions = stage.registration.api_service(name)["status"]["conditions"]
        (available,) = [condition for condition in conditions if condition["type"] == "Available"]
        found[name] = (available["status"], str(available["lastTransitionTime"]))
    return found


def pause(seconds: float) -> None:
    threading.Event().wait(seconds)


def admin_client(stage: Stage, replica: Kubeglance) -> httpx.Client:
    """Someone in system:masters, who calls a replica directly: their rights need no review."""
    return replica.client(certificate=stage.plane.pki.cluster.client("direct-admin", "direct-admin", ["system:masters"]))


def alice_client(stage: Stage, replica: Kubeglance) -> httpx.Client:
    """alice, who calls a replica directly and proves herself by certificate: only her rights need a review."""
    return replica.client(certificate=stage.plane.pki.cluster.client("direct-alice", "alice", ["dev"]))


def assert_answers_from_memory(stage: Stage, replica: Kubeglance) -> None:
    """Discovery and health, straight at the replica."""
    for path in ("/healthz", "/livez", "/readyz"):
        assert 200 == replica.get(path).status_code, path
    with admin_client(stage, replica) as client:
        for path in ("/apis", "/apis/metrics.k8s.io", API, "/openapi/v2", "/openapi/v3"):
            assert 200 == client.get(path).status_code, path


def test_every_kubelet_hangs(stage: Stage, kubelets: SimulatedKubelets) -> None:
    """Discovery and health are answered from memory, readiness stays, and a namespace that is deleted meanwhile is gone."""
    before = transitions(stage)
    kubelets.server.hang()
    start = clock.monotonic()
    while clock.monotonic() - start < STEADY:
        for replica in stage.replicas:
            assert_answers_from_memory(stage, replica)
        assert stage.prober is not None
        assert all(stage.prober.ready.values())
        assert "" == stage.plane.kubectl("api-resources").stderr
        pause(2)
    stage.plane.kubectl("create", "namespace", "short-lived")
    began = clock.monotonic()
    stage.plane.kubectl("delete", "namespace", "short-lived", "--timeout=60s")
    print(f"noted: a namespace was gone after {clock.monotonic() - began:.1f} s while every kubelet hung")
    assert {"True"} == {status for status, _ in before.values()}
    assert before == transitions(stage)


def test_one_replica_is_drained_while_kubectl_top_runs(stage: Stage) -> None:
    """SIGTERM: unready first, serving on until the endpoint is gone. Not one call fails."""
    before = transitions(stage)
    replica = stage.replicas[0]
    prober = stage.prober
    assert prober is not None
    with TopInALoop(stage.plane) as calls:
        pause(3)
        replica.drain()
        wait_until("the drained replica's endpoint gone", lambda: prober.written.get(replica.name) is False, seconds=60)
        assert 0 == replica.process.wait(90)
        pause(5)
    print(f"noted: {len(calls.began)} calls of kubectl top over a drain, {len(calls.failures)} failed")
    assert [] == calls.failures
    assert len(calls.began) > 5
    assert before == transitions(stage)


def test_one_replica_is_killed(stage: Stage) -> None:
    """SIGKILL: the APIService stays True, and calls fail at most until the endpoint is taken out."""
    before = transitions(stage)
    replica = stage.replicas[1]
    prober = stage.prober
    assert prober is not None
    with TopInALoop(stage.plane) as calls:
        pause(3)
        killed = clock.monotonic()
        replica.kill()
        wait_until("the killed replica's endpoint gone", lambda: prober.written.get(replica.name) is False, seconds=60, every=0.1)
        # kube-apiserver hears of it through its own watch: one second is for that.
        gone = clock.monotonic() + 1
        pause(10)
    print(f"noted: {len(calls.failures)} of {len(calls.began)} calls failed in the {gone - killed:.1f} s until the endpoint was gone")
    assert [] == [words for began, words in calls.failures if not killed - 1 <= began <= gone]
    assert [] != [began for began in calls.began if began > gone]
    assert before == transitions(stage)


def test_kube_apiserver_is_away_for_a_minute(stage: Stage, kubelets: SimulatedKubelets) -> None:
    """Verdicts serve until they end, then a 500 Status; health and data stay; afterwards the watches resume by themselves."""
    plane = stage.plane
    plane.kubectl("create", "rolebinding", "alice-views", "-n", NAMESPACE, "--clusterrole=kubeglance-test-reader", "--user=alice")
    plane.kubectl("create", "clusterrole", "kubeglance-test-reader", "--verb=get,list", "--resource=pods.metrics.k8s.io")
    replica = stage.replicas[0]
    path = f"{API}/namespaces/{NAMESPACE}/pods"
    try:
        with alice_client(stage, replica) as alice, admin_client(stage, replica) as admin:
            wait_until("alice may read", lambda: alice.get(path).status_code == 200, seconds=60, every=1)
            plane.stop_apiserver()
            away = clock.monotonic()
            # The verdict is younger than ten seconds if the last review was just now; stopping took at most three.
            first = alice.get(path).status_code
            print(f"noted: right after the outage began alice got {first}")
            assert first == 200

            def verdict_ended() -> httpx.Response | None:
                answer = alice.get(path)
                return answer if answer.status_code != 200 else None

            refused = wait_until("the verdict ends", verdict_ended, seconds=40)
            print(f"noted: {clock.monotonic() - away:.0f} s into the outage alice got {refused.status_code}")
            assert 500 == refused.status_code
            assert ("Status", 500, "Failure") == tuple(refused.json()[key] for key in ("kind", "code", "status"))
            assert "items" not in refused.json()
            while clock.monotonic() - away < OUTAGE:
                assert_answers_from_memory(stage, replica)
                assert 4 == len(admin.get(path).json()["items"])
                pause(3)
            plane.start_apiserver()
            kubelets.pod(NAMESPACE, "after-the-outage", NODES[0], {"main": load(70, 32)})
            wait_until("alice may read again", lambda: alice.get(path).status_code == 200, seconds=120, every=1)
        stage.registration.wait_available()
        stage.wait_for_pods(NAMESPACE, 5, seconds=180)
    finally:
        kubelets.inventory.delete(f"/api/v1/namespaces/{NAMESPACE}/pods/after-the-outage")
        plane.kubectl("delete", "rolebinding", "alice-views", "-n", NAMESPACE)
        plane.kubectl("delete", "clusterrole", "kubeglance-test-reader")
    # A deletion is heard of, too: the watches are alive.
    stage.wait_for_pods(NAMESPACE, 4, seconds=60)


def test_authorisation_is_away(stage: Stage, kubelets: SimulatedKubelets) -> None:
    """No verdict, no data: 500 and a Status. Discovery for all who are known, and health for anyone, stay."""
    dead = stage.plane.directory / "dead.kubeconfig"
    alive = stage.plane.kubeconfig().read_text(encoding="utf-8")
    dead.write_text(alive.replace(stage.plane.server, f"https://{stage.plane.address}:{free_port(stage.plane.address)}"), encoding="utf-8")
    flags = [*FLAGS, f"--authorization-kubeconfig={dead}"]
    with Kubeglance(stage.plane, "fault-unauthorised", kubelet_authority=kubelets.certificate_authority, flags=flags) as replica:
        replica.wait_ready()
        with alice_client(stage, replica) as alice, admin_client(stage, replica) as admin:
            wait_until("data for those who need no review", lambda: bool(admin.get(f"{API}/nodes").json()["items"]), seconds=60, every=1)
            for path in (f"{API}/nodes", f"{API}/pods", f"{API}/namespaces/{NAMESPACE}/pods/pod-0"):
                answer = alice.get(path)
                assert 500 == answer.status_code, path
                assert "Status" == answer.json()["kind"]
                assert "usage" not in answer.text
            for path in ("/apis", "/apis/metrics.k8s.io", API, "/openapi/v2", "/openapi/v3"):
                assert 200 == alice.get(path).status_code, path
        assert_answers_from_memory(stage, replica)
