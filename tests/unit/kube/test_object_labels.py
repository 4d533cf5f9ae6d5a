"""Labels of objects, kept by a watch of metadata."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from app.errors import KubeError
from app.kube.object_labels import LabelsRecord, ObjectLabels, decode_labels, labels_of


def test_an_object_is_its_key_and_its_labels() -> None:
    """Whatever else a server sends of it."""
    raw = Raw(b'{"kind": "Ingress", "metadata": {"name": "web", "namespace": "shop", "labels": {"b": "2", "a": "1"}}, "spec": {}}')
    assert LabelsRecord(("shop", "web"), (("a", "1"), ("b", "2"))) == decode_labels(raw)
    assert LabelsRecord(("", "web"), ()) == decode_labels(Raw(b'{"metadata": {"name": "web", "labels": null}}'))


_FIELDS = st.sampled_from(["metadata", "name", "labels"])


@given(st.recursive(st.none() | st.text() | st.integers(), lambda inner: st.dictionaries(_FIELDS, inner)))
def test_what_is_no_object_is_told(value: object) -> None:
    """As an error that costs the object only."""
    try:
        record = decode_labels(Raw(msgspec.json.encode(value)))
    except KubeError:
        return
    assert record.key[1] is not None


def test_the_store_has_what_was_told_last() -> None:
    """Labels that are alike are kept once."""
    store = ObjectLabels()
    store.apply([LabelsRecord(("shop", "a"), (("x", "1"),)), LabelsRecord(("shop", "b"), (("x", "1"),))], ())
    assert store.labels(("shop", "a")) is store.labels(("shop", "b"))
    store.apply([LabelsRecord(("shop", "a"), ())], [("shop", "b"), ("shop", "unknown")])

    assert {("shop", "a")} == store.keys()
    assert () == store.labels(("shop", "a"))


def test_labels_of_all_times_are_not_kept() -> None:
    """Only those that an object has."""
    store = ObjectLabels()
    for number in range(1000):
        store.apply([LabelsRecord(("shop", "a"), (("n", str(number)),))], ())
    assert (("n", "999"),) == store.labels(("shop", "a"))


@pytest.mark.parametrize(
    ("group", "version", "resource", "path", "name"),
    [
        ("", "v1", "services", "/api/v1/services", "labels of services"),
        ("apps", "v1", "deployments", "/apis/apps/v1/deployments", "labels of deployments.apps"),
    ],
)
def test_where_a_resource_is_watched(group: str, version: str, resource: str, path: str, name: str) -> None:
    """In all namespaces."""
    watched = labels_of(group, version, resource)
    assert (path, name) == (watched.path, watched.name)
