"""Paths are split as RequestInfo splits them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.wire.request_info import RequestInfo, is_path_segment, split_request


def _info(verb: str, resource: str, namespace: str = "", name: str = "", subresource: str = "", *, by_path: bool = False) -> RequestInfo:
    return RequestInfo(verb, "", "g", "v", resource, subresource, namespace, name, by_path)


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/apis/g/v/nodes", _info("list", "nodes")),
        ("HEAD", "/apis/g/v/nodes", _info("list", "nodes")),
        ("GET", "/apis/g/v/nodes/", _info("list", "nodes")),
        ("GET", "/apis/g/v/nodes/n", _info("get", "nodes", "", "n")),
        ("GET", "/apis/g/v/nodes/n/status", _info("get", "nodes", "", "n", "status")),
        ("GET", "/apis/g/v/namespaces/ns/pods", _info("list", "pods", "ns")),
        ("GET", "/apis/g/v/namespaces/ns/pods/p", _info("get", "pods", "ns", "p")),
        ("GET", "/apis/g/v/namespaces/ns/pods/p/log", _info("get", "pods", "ns", "p", "log")),
        ("GET", "/apis/g/v/namespaces", _info("list", "namespaces")),
        ("GET", "/apis/g/v/namespaces/ns", _info("get", "namespaces", "ns", "ns")),
        ("GET", "/apis/g/v/namespaces/ns/status", _info("get", "namespaces", "ns", "ns", "status")),
        ("GET", "/apis/g/v/namespaces//pods", _info("list", "namespaces", subresource="pods")),
        ("GET", "/apis/g/v/namespaces//pods/p", RequestInfo("list", "", "g", "v", "namespaces", "pods", deeper=True)),
        ("GET", "/apis/g/v/watch/pods", _info("watch", "pods", by_path=True)),
        ("GET", "/apis/g/v/watch/namespaces/ns/pods/p", _info("watch", "pods", "ns", "p", by_path=True)),
        ("POST", "/apis/g/v/namespaces/ns/pods", _info("create", "pods", "ns")),
        ("PUT", "/apis/g/v/namespaces/ns/pods/p", _info("update", "pods", "ns", "p")),
        ("PATCH", "/apis/g/v/nodes/n", _info("patch", "nodes", "", "n")),
        ("DELETE", "/apis/g/v/nodes/n", _info("delete", "nodes", "", "n")),
        ("DELETE", "/apis/g/v/nodes", _info("deletecollection", "nodes")),
        ("OPTIONS", "/apis/g/v/nodes", _info("", "nodes")),
    ],
)
def test_resource_paths(method: str, path: str, expected: RequestInfo) -> None:
    """/apis/G/V and more is a request for a resource."""
    found = split_request(method, path)

    assert path == found.path
    assert expected == RequestInfo(found.verb, "", *(getattr(found, field) for field in RequestInfo.__struct_fields__[2:]))


@pytest.mark.parametrize(
    "path", ["/", "", "/apis", "/apis/g", "/apis/g/v", "/apis/g/v/", "/api/v1/pods", "/healthz", "/apis/g/v/watch", "/metrics/a/b/c/d"]
)
def test_other_paths(path: str) -> None:
    """All else is a path, asked for by the lower-case method."""
    assert RequestInfo("get", path) == split_request("GET", path)


@given(st.text(max_size=10), st.text(alphabet="/apiswtchn.%é", max_size=40))
def test_splitter_never_crashes(method: str, path: str) -> None:
    """No method and no path raise anything."""
    split_request(method, "/apis/" + path)


@pytest.mark.parametrize(("name", "valid"), [("a", True), (".", False), ("..", False), ("a/b", False), ("a%b", False)])
def test_path_segment(name: str, valid: bool) -> None:
    """Names that cannot stand in a path are not asked for by name."""
    assert valid is is_path_segment(name)
