"""ObjectMeta and ListMeta in JSON."""

import json

from app.wire.metadata import list_metadata, object_metadata

T = 1_764_500_000 * 10**9


def test_object_metadata() -> None:
    """Fields come in upstream's order; what is cluster-scoped has no namespace, and empty maps are left out."""
    whole = object_metadata(namespace="ns", name="p", version=5, created=T, labels=(("a", "1"), ("b", "2")), annotations=(("c", "3"),))
    bare = object_metadata(namespace="", name="n", version=5, created=T, labels=(), annotations=())

    assert (
        b'{"name":"p","namespace":"ns","resourceVersion":"5","creationTimestamp":"2025-11-30T10:53:20Z",'
        b'"labels":{"a":"1","b":"2"},"annotations":{"c":"3"}}'
    ) == whole
    assert {"name": "n", "resourceVersion": "5", "creationTimestamp": "2025-11-30T10:53:20Z"} == json.loads(bare)


def test_list_metadata() -> None:
    """A list always has a version; what tells of more is there only if there is more."""
    assert b'{"resourceVersion":"5"}' == list_metadata(5)
    assert b'{"resourceVersion":"5","continue":"t","remainingItemCount":0}' == list_metadata(5, "t", 0)
