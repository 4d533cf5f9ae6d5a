from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import KubeError
from app.kube import decode
from app.kube.decode import ConfigMapRecord
from app.kube.objects import decode_object
from app.kube.records import ClaimRecord, ContainerRecord, NodeRecord, PodRecord, Resources

_STARTED = "2026-11-30T13:58:00Z"
_STARTED_NS = 1_796_047_080 * 10**9


def _pod(*, meta: dict[str, Any] | None = None, spec: dict[str, Any] | None = None, status: dict[str, Any] | None = None) -> PodRecord:
    body = {
        "kind": "Pod",
        "metadata": {"name": "web-0", "namespace": "shop", "uid": "u-1", "creationTimestamp": _STARTED, **(meta or {})},
        "spec": {"nodeName": "n1", "containers": [{"name": "main", "image": "x"}], **(spec or {})},
        "status": {"phase": "Running", **(status or {})},
    }
    return decode.pod(msgspec.json.encode(body))


def _running(name: str, started: str = _STARTED, **more: Any) -> dict[str, Any]:
    return {"name": name, "ready": True, "state": {"running": {"startedAt": started}}, **more}


def test_a_whole_pod() -> None:
    """Every field of a record has its place in the Pod's JSON."""
    record = _pod(
        meta={
            "labels": {"b": "2", "a": "1"},
            "annotations": {"any": "thing"},
            "ownerReferences": [{"kind": "X", "name": "other"}, {"kind": "ReplicaSet", "name": "web", "controller": True}],
        },
        spec={
            "hostNetwork": True,
            "containers": [{"name": "main", "resources": {"requests": {"cpu": "250m", "memory": "64Mi"}, "limits": {"memory": "1Gi"}}}],
        },
        status={"conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [_running("main")]},
    )

    assert (
        PodRecord(
            namespace="shop",
            name="web-0",
            uid="u-1",
            kubelet_uid="u-1",
            node="n1",
            labels=(("a", "1"), ("b", "2")),
            phase="Running",
            ready=True,
            created_ns=_STARTED_NS,
            owner=("ReplicaSet", "web"),
            host_network=True,
            containers=(
                ContainerRecord(
                    "main", True, _STARTED_NS, Resources(cpu=250_000_000, memory=64 * 2**20), Resources(cpu=None, memory=2**30)
                ),
            ),
        )
        == record
    )


@pytest.mark.parametrize(
    ("annotations", "uid"),
    [
        pytest.param({"kubernetes.io/config.mirror": "h", "kubernetes.io/config.hash": "h"}, "h", id="mirror pod"),
        pytest.param({"kubernetes.io/config.hash": "h"}, "u-1", id="hash without mirror"),
        pytest.param({"kubernetes.io/config.mirror": "h"}, "u-1", id="mirror without hash"),
        pytest.param({}, "u-1", id="neither"),
    ],
)
def test_a_mirror_pod_has_the_uid_that_its_kubelet_reports(annotations: dict[str, str], uid: str) -> None:
    """A static pod's kubelet knows it by its config hash; uid stays the API's."""
    record = _pod(meta={"annotations": annotations})

    assert ("u-1", uid) == (record.uid, record.kubelet_uid)


@pytest.mark.parametrize(
    ("phase", "statuses", "expected"),
    [
        pytest.param("Running", {"containerStatuses": [_running("main")]}, (True, _STARTED_NS), id="running"),
        pytest.param("Running", {"containerStatuses": [{"name": "main", "state": {"waiting": {}}}]}, (False, None), id="waiting"),
        pytest.param("Running", {"containerStatuses": [{"name": "main", "state": {"terminated": {}}}]}, (False, None), id="terminated"),
        pytest.param("Running", {"containerStatuses": [{"name": "main"}]}, (False, None), id="no state is waiting"),
        pytest.param("Running", {"containerStatuses": [{"name": "main", "state": {"running": {}}}]}, (True, None), id="no start time"),
        pytest.param("Running", {"containerStatuses": [_running("main", None)]}, (True, None), id="start time null"),  # type: ignore[arg-type]  # null on purpose
        pytest.param("Running", {}, (True, None), id="virtual kubelet without statuses"),
        pytest.param("Pending", {}, (False, None), id="not started yet"),
    ],
)
def test_whether_a_container_runs(phase: str, statuses: dict[str, Any], expected: tuple[bool, int | None]) -> None:
    """state.running decides; a container without any status runs so long as its pod does."""
    (container,) = _pod(status={"phase": phase, **statuses}).containers

    assert expected == (container.running, container.started_ns)


_MIRROR = {"kubernetes.io/config.mirror": "hash", "kubernetes.io/config.hash": "hash"}
_ENDED = {"terminated": {"finishedAt": _STARTED}}


@pytest.mark.parametrize(
    ("notes", "start", "last", "expected"),
    [
        pytest.param({}, _STARTED, {}, _STARTED_NS, id="the first instance: when the kubelet took the pod on"),
        pytest.param({}, "2026-11-30T13:00:00Z", _ENDED, _STARTED_NS, id="a later one: when the one before it ended"),
        pytest.param({}, None, {}, None, id="a virtual kubelet that tells neither: unknown"),
        pytest.param({}, _STARTED, {"terminated": {"finishedAt": None}}, _STARTED_NS, id="an end at no time is none"),
        pytest.param(_MIRROR, _STARTED, {}, 0, id="a mirror pod can be younger than what it mirrors"),
        pytest.param(_MIRROR, _STARTED, _ENDED, _STARTED_NS, id="but not its later instances"),
    ],
)
def test_since_when_the_running_instance_can_exist(
    notes: dict[str, str], start: str | None, last: dict[str, Any], expected: int | None
) -> None:
    """status.startTime and lastState are both written by the node's clock, as the starts in its samples are."""
    status = {"startTime": start, "containerStatuses": [_running("main", lastState=last)]}
    (container,) = _pod(meta={"annotations": notes}, status=status).containers

    assert expected == container.since_ns


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param({}, (0, ""), id="no status: never restarted"),
        pytest.param(_running("main", restartCount=3, lastState={"terminated": {"reason": "OOMKilled"}}), (3, "OOMKilled"), id="restarted"),
        pytest.param(_running("main", restartCount=3), (3, ""), id="why is not told"),
        pytest.param({"name": "main", "state": {"terminated": {"reason": "Error"}}}, (0, "Error"), id="ended, and not begun again"),
    ],
)
def test_restarts_and_why(status: dict[str, Any], expected: tuple[int, str]) -> None:
    """How often a container was restarted, and why the instance before ended."""
    (container,) = _pod(status={"containerStatuses": [status] if status else []}).containers

    assert expected == (container.restarts, container.ended)


@pytest.mark.parametrize(
    ("declared", "actual", "expected"),
    [
        pytest.param(None, None, Resources(), id="none of the pod as a whole"),
        pytest.param({"limits": {"cpu": "1"}}, None, Resources(cpu=10**9), id="of the spec"),
        pytest.param({"limits": {"cpu": "1"}}, {"limits": {"cpu": "2"}}, Resources(cpu=2 * 10**9), id="resized in place: what is in force"),
        pytest.param(
            None,
            {"limits": {"cpu": "200m", "memory": "9007199254740988Ki"}},
            Resources(),
            id="a kubelet of 1.37 tells what the cgroup has of pods that set nothing",
        ),
        pytest.param(
            {"limits": {"cpu": "1"}},
            {"limits": {"cpu": "1", "memory": "9007199254740988Ki"}},
            Resources(cpu=10**9),
            id="and of what they do not set",
        ),
    ],
)
def test_resources_of_a_pod_as_a_whole(declared: Any, actual: Any, expected: Resources) -> None:
    """KEP-2837: a pod may have requests and limits of its own."""
    assert expected == _pod(spec={"resources": declared}, status={"resources": actual}).limits


def test_what_else_is_kept_of_resources() -> None:
    """Ephemeral storage has requests and limits as memory has, and a pod tells its class."""
    spec = {"containers": [{"name": "main", "resources": {"limits": {"ephemeral-storage": "1Gi"}}}]}
    record = _pod(spec=spec, status={"qosClass": "Burstable"})

    assert (record.containers[0].limits, record.qos) == (Resources(storage=2**30), "Burstable")


def test_init_containers_sidecars_and_ephemeral_containers() -> None:
    """Native sidecars are told from init containers by restartPolicy; each list of statuses is joined by name."""
    record = _pod(
        spec={
            "initContainers": [{"name": "setup"}, {"name": "mesh", "restartPolicy": "Always"}],
            "ephemeralContainers": [{"name": "debug"}],
        },
        status={
            "containerStatuses": [_running("main")],
            "initContainerStatuses": [{"name": "setup", "state": {"terminated": {"exitCode": 0}}}, _running("mesh")],
            "ephemeralContainerStatuses": [_running("debug")],
        },
    )

    assert [(c.name, c.running, c.init, c.sidecar) for c in record.containers] == [
        ("main", True, False, False),
        ("setup", False, True, False),
        ("mesh", True, False, True),
        ("debug", True, False, False),
    ]


def test_without_statuses_only_main_containers_and_sidecars_count_as_running() -> None:
    """An init container of a running pod is over; an ephemeral one without status has not begun."""
    record = _pod(
        spec={
            "initContainers": [{"name": "setup"}, {"name": "mesh", "restartPolicy": "Always"}],
            "ephemeralContainers": [{"name": "debug"}],
        }
    )

    assert {c.name: c.running for c in record.containers} == {"main": True, "setup": False, "mesh": True, "debug": False}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param({"requests": {"cpu": "2"}, "limits": {"cpu": "4"}}, (2 * 10**9, 4 * 10**9), id="both of the status"),
        pytest.param({"requests": {"cpu": "2"}}, (2 * 10**9, 3 * 10**9), id="limits of the spec"),
        pytest.param(None, (10**9, 3 * 10**9), id="spec alone"),
    ],
)
def test_resources_in_force_win_over_those_wished_for(status: dict[str, Any] | None, expected: tuple[int, int]) -> None:
    """During an in-place resize status.containerStatuses[].resources is what the kubelet has set (KEP-1287)."""
    record = _pod(
        spec={"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "3"}}}]},
        status={"containerStatuses": [_running("main", resources=status)]},
    )

    assert expected == (record.containers[0].requests.cpu, record.containers[0].limits.cpu)


def test_a_quantity_that_cannot_be_read_is_not_set() -> None:
    """A bad request costs its percentage, not the pod; a bare number is read."""
    record = _pod(spec={"containers": [{"name": "main", "resources": {"requests": {"cpu": "lots", "memory": 1024}}}]})

    assert Resources(cpu=None, memory=1024) == record.containers[0].requests


def test_what_recurs_is_shared() -> None:
    """Equal labels, owners and resources of different pods are one object in memory, and so are equal pairs of unequal labels."""
    owner = {"kind": "StatefulSet", "name": "web", "controller": True}
    spec = {"containers": [{"name": "main", "resources": {"requests": {"cpu": "123m"}}}]}
    one, two, three = (
        _pod(meta={"labels": {"app": "web", "number": number}, "ownerReferences": [owner]}, spec=spec) for number in ("1", "1", "2")
    )

    assert one.labels is two.labels
    assert one.labels[0] is three.labels[0]
    assert one.owner is two.owner
    assert one.containers[0].requests is two.containers[0].requests
    assert one.containers[0].name is two.containers[0].name


def test_a_whole_node() -> None:
    """Every field of a record has its place in the Node's JSON; the kubelet's port is spelt with a capital P."""
    body = {
        "metadata": {
            "name": "n1",
            "uid": "u",
            "labels": {"zone": "a"},
            "creationTimestamp": _STARTED,
            "annotations": {"metrics.k8s.io/resource-metrics-path": "/other", "x": "y"},
        },
        "spec": {},
        "status": {
            "addresses": [{"type": "InternalIP", "address": "10.0.0.7"}, {"type": "Hostname", "address": "n1"}, {"type": "ExternalIP"}],
            "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"}],
            "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
            "allocatable": {"cpu": "3800m", "memory": "7Gi", "pods": "110"},
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10255}},
        },
    }

    assert NodeRecord(
        name="n1",
        uid="u",
        labels=(("zone", "a"),),
        created_ns=_STARTED_NS,
        ready=True,
        addresses=(("InternalIP", "10.0.0.7"), ("Hostname", "n1")),
        kubelet_port=10255,
        metrics_path="/other",
        capacity=Resources(cpu=4 * 10**9, memory=8 * 2**30),
        allocatable=Resources(cpu=3_800_000_000, memory=7 * 2**30),
        most_pods=110,
    ) == decode.node(msgspec.json.encode(body))


def test_a_bare_node() -> None:
    """A node that has just been created has a name and little else."""
    record = decode.node(b'{"metadata":{"name":"n1","labels":null,"annotations":null,"creationTimestamp":null},"status":{}}')

    assert NodeRecord("n1", "", (), 0, False, (), 0, "", Resources(), Resources()) == record


def test_a_config_map() -> None:
    """A ConfigMap is its data; without any, it is empty."""
    assert ConfigMapRecord("ns", "n", {"k": "v"}) == decode.config_map(b'{"metadata":{"name":"n","namespace":"ns"},"data":{"k":"v"}}')
    assert decode.config_map(b'{"metadata":{"name":"n","namespace":"ns"}}').data == {}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"[]", id="list"),
        pytest.param(b"{}", id="no metadata"),
        pytest.param(b'{"metadata":{"name":7},"spec":{}}', id="name is a number"),
        pytest.param(b'{"metadata":{"name":"\xff"},"spec":{}}', id="not UTF-8"),
        pytest.param(b'{"metadata":{"name":"a","creationTimestamp":"yesterday"},"spec":{}}', id="bad time"),
        pytest.param(b'{"metadata":{"name":"a","creationTimestamp":"2026-11-30T13:58:00"},"spec":{}}', id="time without zone"),
    ],
)
def test_what_is_no_pod_is_a_kube_error(body: bytes) -> None:
    """Whatever is wrong with an object, the error is ours."""
    with pytest.raises(KubeError, match="cannot read it"):
        decode.pod(body)


@pytest.mark.parametrize(
    ("volumes", "claims"),
    [
        pytest.param(None, (), id="no volumes"),
        pytest.param([{"name": "tmp", "emptyDir": {}}, {"name": "token", "projected": {"sources": []}}], (), id="none of a claim"),
        pytest.param([{"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}}], ("data-web-0",), id="a claim by name"),
        pytest.param([{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}}], ("web-0-scratch",), id="one made for the pod"),
        pytest.param(
            [{"name": "a", "persistentVolumeClaim": {"claimName": "x"}}, {"name": "b", "persistentVolumeClaim": {"claimName": "x"}}],
            ("x",),
            id="one claim twice",
        ),
    ],
)
def test_the_claims_that_a_pod_mounts(volumes: list[dict[str, Any]] | None, claims: tuple[str, ...]) -> None:
    """Names of the claims among the volumes, in their order; a generic ephemeral volume's is made of pod and volume."""
    assert claims == _pod(spec={"volumes": volumes}).claims


_CLAIM: dict[str, Any] = {
    "metadata": {
        "name": "data-web-0",
        "namespace": "shop",
        "uid": "c-1",
        "creationTimestamp": _STARTED,
        "labels": {"app": "web"},
        "annotations": {"volume.kubernetes.io/storage-provisioner": "csi.example.com"},
    },
    "spec": {
        "storageClassName": "fast",
        "volumeName": "pv-1",
        "volumeMode": "Filesystem",
        "resources": {"requests": {"storage": "1Gi"}},
    },
    "status": {"phase": "Bound", "capacity": {"storage": "2Gi"}},
}


def test_a_whole_claim() -> None:
    """Every field of a record has its place in the PersistentVolumeClaim's JSON."""
    record = decode.claim(msgspec.json.encode(_CLAIM))
    expected = ClaimRecord(
        namespace="shop",
        name="data-web-0",
        uid="c-1",
        labels=(("app", "web"),),
        created_ns=_STARTED_NS,
        phase="Bound",
        requested=2**30,
        capacity=2 * 2**30,
        storage_class="fast",
        volume="pv-1",
        block=False,
        provisioner="csi.example.com",
    )
    assert expected == record
    assert ("shop", "data-web-0") == record.key


def test_a_bare_claim() -> None:
    """What is not told is unknown or empty; a device is one by its mode; a quantity that cannot be read costs itself only."""
    record = decode.claim(
        b'{"metadata":{"name":"a","namespace":"b"},"spec":{"volumeMode":"Block","resources":{"requests":{"storage":"x"}}}}'
    )
    assert (None, None, "", "", "", True) == (
        record.requested,
        record.capacity,
        record.phase,
        record.storage_class,
        record.volume,
        record.block,
    )


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "metadata",
                    "name",
                    "spec",
                    "status",
                    "containers",
                    "labels",
                    "requests",
                    "cpu",
                    "startedAt",
                    "state",
                    "volumes",
                    "storage",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(st.one_of(st.binary(max_size=64), _json.map(msgspec.json.encode)))
def test_no_input_crashes_a_decoder(body: bytes) -> None:
    """A decoder gives a record or KubeError, nothing else."""
    for read in (decode.pod, decode.node, decode.claim, decode.config_map, decode_object):
        try:
            read(msgspec.Raw(body))
        except KubeError:
            continue
