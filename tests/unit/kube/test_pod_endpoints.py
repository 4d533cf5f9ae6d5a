"""app/kube/pod_endpoints.py: where pods can be asked."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import KubeError
from app.kube.pod_endpoints import KeptEndpoints, decode_endpoint, endpoints_of
from collectors._source import PodEndpoint


def raw(**more: Any) -> msgspec.Raw:
    status = {"podIP": "10.0.0.7", "containerStatuses": [{"restartCount": 2}], "initContainerStatuses": [{"restartCount": 1}]}
    ports = [{"name": "http", "containerPort": 8080}, {"containerPort": 9090}]
    pod = {
        "metadata": {"namespace": "shop", "name": "web-1", "uid": "u", **more.pop("metadata", {})},
        "spec": {
            "containers": [{"ports": ports}, {"name": "no ports"}],
            "initContainers": [{"ports": [{"name": "m", "containerPort": 1}]}],
        },
        "status": {**status, **more.pop("status", {})},
        **more,
    }
    return msgspec.Raw(msgspec.json.encode(pod))


def test_a_pod_that_runs() -> None:
    """Its address, the ports of all its containers, and an instance that each restart makes another."""
    endpoint = PodEndpoint("shop", "web-1", "u/3", "10.0.0.7", (("http", 8080), ("", 9090), ("m", 1)))

    assert endpoint == decode_endpoint(raw()).endpoint


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"status": {"podIP": ""}}, id="no address yet"),
        pytest.param({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, id="it is to be deleted"),
    ],
)
def test_pods_that_cannot_be_asked(more: dict[str, Any]) -> None:
    """They are known, and not asked."""
    record = decode_endpoint(raw(**more))
    kept = KeptEndpoints()
    kept.apply([record], [])

    assert (("shop", "web-1"), None) == (record.key, record.endpoint)
    assert ([], {("shop", "web-1")}) == (list(kept.pods()), set(kept.keys()))


def test_pods_come_change_and_go() -> None:
    """By namespace and name."""
    kept = KeptEndpoints()
    kept.apply([decode_endpoint(raw(metadata={"name": name})) for name in ("b", "a")], [])
    kept.apply([decode_endpoint(raw(metadata={"name": "a"}, status={"podIP": "10.0.0.9"}))], [])
    assert [("a", "10.0.0.9"), ("b", "10.0.0.7")] == [(each.name, each.address) for each in kept.pods()]

    kept.apply([], [("shop", "a"), ("shop", "never")])
    assert ["b"] == [each.name for each in kept.pods()]


def test_what_is_no_pod_is_told() -> None:
    """With a KubeError, as of all records."""
    with pytest.raises(KubeError):
        decode_endpoint(msgspec.Raw(b'{"metadata": {"name": 3}}'))


@pytest.mark.parametrize(
    ("namespace", "labels", "path", "params"),
    [
        pytest.param("", "", "/api/v1/pods", {"fieldSelector": "status.phase=Running"}, id="all"),
        pytest.param(
            "shop",
            "app=web",
            "/api/v1/namespaces/shop/pods",
            {"fieldSelector": "status.phase=Running", "labelSelector": "app=web"},
            id="of a namespace, by labels",
        ),
    ],
)
def test_where_they_are_watched(namespace: str, labels: str, path: str, params: dict[str, str]) -> None:
    """The server selects."""
    watched = endpoints_of(namespace, labels)

    assert (path, params) == (watched.path, watched.params)


_NAMES = ["metadata", "namespace", "name", "spec", "containers", "ports", "containerPort", "status", "podIP"]
_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(_NAMES), below, max_size=4),
    max_leaves=12,
)


@given(_ANYTHING)
def test_no_pod_crashes_it(pod: Any) -> None:
    """It is read, or it is said that it cannot be."""
    try:
        record = decode_endpoint(msgspec.Raw(msgspec.json.encode(pod)))
    except KubeError as error:
        assert "cannot read it" in str(error)  # noqa: PT017 -- any that is raised must say so
        return
    assert len(record.key) == 2
