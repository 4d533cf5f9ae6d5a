"""ObjectMeta and ListMeta in JSON."""

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from app.wire.metadata import list_metadata, object_metadata
from app.wire.timestamps import format_time

T = 1_764_500_000 * 10**9


def test_object_metadata() -> None:
    """Fields come in upstream's order; what is cluster-scoped has no namespace, and what nobody knows is left out."""
    whole = object_metadata(
        namespace="ns", name="p", version=5, created=T, labels=(("a", "1"), ("b", "2")), annotations=(("c", "3"),), uid="u"
    )
    bare = object_metadata(namespace="", name="n", version=5, created=0, labels=(), annotations=())

    assert (
        b'{"name":"p","namespace":"ns","uid":"u","resourceVersion":"5","creationTimestamp":"2025-11-30T10:53:20Z",'
        b'"labels":{"a":"1","b":"2"},"annotations":{"c":"3"}}'
    ) == whole
    assert {"name": "n", "resourceVersion": "5"} == json.loads(bare)


TEXTS = st.text(st.characters(codec="utf-8"))
PAIRS = st.dictionaries(TEXTS, TEXTS, max_size=3).map(lambda pairs: tuple(sorted(pairs.items())))


INT63 = st.integers(0, 2**63 - 1)
OBJECTS = {"namespace": TEXTS, "name": TEXTS, "version": INT63, "created": INT63, "labels": PAIRS, "annotations": PAIRS, "uid": TEXTS}


@given(st.fixed_dictionaries(OBJECTS))
def test_object_metadata_is_what_an_encoder_makes(told: dict[str, Any]) -> None:
    """It is put together by hand: whatever stands in it, the bytes are those of the whole thing encoded."""
    fields = {
        "name": told["name"],
        "namespace": told["namespace"],
        "uid": told["uid"],
        "resourceVersion": str(told["version"]),
        "creationTimestamp": format_time(told["created"]) if told["created"] else "",
        "labels": dict(told["labels"]),
        "annotations": dict(told["annotations"]),
    }
    always = ("name", "resourceVersion")
    expected = {field: value for field, value in fields.items() if value or field in always}

    assert msgspec.json.encode(expected) == object_metadata(**told)


def test_list_metadata() -> None:
    """A list always has a version; what tells of more is there only if there is more."""
    assert b'{"resourceVersion":"5"}' == list_metadata(5)
    assert b'{"resourceVersion":"5","continue":"t","remainingItemCount":0}' == list_metadata(5, "t", 0)
