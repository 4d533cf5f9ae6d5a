"""JSON bodies are put together from parts: whatever the objects, the bytes are those of the whole thing encoded at once."""

import asyncio
from itertools import product
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cache.collection import Item
from app.cache.values import ContainerUsage, NodeUsage, PodUsage
from app.kinds import node_metrics, pod_metrics
from app.routes.lists import ListForm, Page, whole
from app.routes.rendering import PLAIN, Form, Renderer
from tests.fakes.clock import ManualClock
from tests.fakes.kinds import PODS, make_item
from tests.fakes.lumps import one_by_one

PAGE = Page(7, "token", 3)
META = {"metadata": {"resourceVersion": "7", "continue": "token", "remainingItemCount": 3}}
COLUMNS = [
    {"name": column.name, "type": column.type, "format": column.format, "description": column.description, "priority": column.priority}
    for column in PODS.columns
]
VERSIONS = ("v1", "v1beta1")
TABLES = [Form("Table", version, include) for version, include in product(VERSIONS, ("None", "Object", "Metadata"))]
PARTIALS = [Form("PartialObjectMetadataList", version) for version in VERSIONS]

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
ITEMS = st.lists(
    st.builds(make_item, NAMES, NAMES, labels=st.dictionaries(NAMES, NAMES, max_size=2), value=st.integers(0, 10**12)), max_size=4
)


def named(form: Form) -> str:
    return " ".join((form.target or "plain", form.version, form.include)).strip()


def listed(form: ListForm, items: list[Item]) -> bytes:
    return asyncio.run(whole(form, items, PAGE, one_by_one(), most=1 << 30)) or b""


def metadata(item: Item) -> dict[str, Any]:
    told: dict[str, Any] = {"name": item.key[1], "namespace": item.key[0], "resourceVersion": str(item.version)}
    told["creationTimestamp"] = "2025-11-30T10:53:20Z"
    return {"metadata": {**told, "labels": dict(item.labels)} if item.labels else told}


def told(item: Item) -> dict[str, Any]:
    return {**metadata(item), "usage": {"cpu": f"{item.value}m"}}


def head(kind: str, version: str) -> dict[str, Any]:
    return {"kind": kind, "apiVersion": version}


def expected(form: Form, items: list[Item]) -> dict[str, Any]:
    """The list as one value."""
    meta = f"meta.k8s.io/{form.version}"
    partials = [{**head("PartialObjectMetadata", meta), **metadata(item)} for item in items]
    if form.target == "PartialObjectMetadataList":
        return {**head(form.target, meta), **META, "items": partials}
    if form.target == "Table":
        wholes = [{**head("PodMetrics", "metrics.k8s.io/v1"), **told(item)} for item in items]
        objects: dict[str, list[Any]] = {"None": [None] * len(items), "Object": wholes, "Metadata": partials}
        cells = [[item.key[1], f"{item.value}m", "15s"] for item in items]
        rows = [{"cells": each, "object": about} for each, about in zip(cells, objects[form.include], strict=True)]
        return {**head(form.target, meta), **META, "columnDefinitions": COLUMNS, "rows": rows}
    return {**head("PodMetricsList", "metrics.k8s.io/v1"), **META, "items": [told(item) for item in items]}


@pytest.mark.parametrize("form", [PLAIN, *TABLES, *PARTIALS], ids=named)
@given(items=ITEMS)
def test_a_list_is_what_an_encoder_makes(form: Form, items: list[Item]) -> None:
    """Twice: as it is encoded, and as it is joined from what was kept."""
    body = msgspec.json.encode(expected(form, items)) + b"\n"
    renderer = Renderer(PODS, "v1", ManualClock())

    assert [body, body] == [listed(renderer.many(form), items) for _ in range(2)]


@pytest.mark.parametrize("form", [PLAIN, *TABLES, *PARTIALS], ids=named)
@given(items=ITEMS)
def test_indentation_piece_by_piece_is_that_of_the_whole(form: Form, items: list[Item]) -> None:
    """A list is indented element by element, and nobody can tell."""
    renderer = Renderer(PODS, "v1", ManualClock())
    body = listed(renderer.many(form), items)

    assert msgspec.json.format(body, indent=2) + b"\n" == listed(renderer.many(msgspec.structs.replace(form, pretty=True)), items)


@given(ITEMS)
def test_an_object_is_what_an_encoder_makes(items: list[Item]) -> None:
    """Alone it has kind and apiVersion of the asked version, and indentation where people read it."""
    for item in items:
        body = msgspec.json.encode({**head("PodMetrics", "metrics.k8s.io/v1beta1"), **told(item)})
        assert body + b"\n" == Renderer(PODS, "v1beta1", ManualClock()).one(item, PLAIN)
        assert msgspec.json.format(body, indent=2) + b"\n" == Renderer(PODS, "v1beta1", ManualClock()).one(item, Form(pretty=True))


INT63 = st.integers(0, 2**63 - 1)
TEXTS = st.text(st.characters(codec="utf-8"))
TIMES = st.integers(1, 2**63 - 1)
SWAP = st.one_of(st.none(), INT63)
CONTAINERS = st.lists(st.builds(ContainerUsage, TEXTS, INT63, INT63, SWAP), max_size=3).map(tuple)
SOURCES = st.sampled_from(["kubelet_resource", "kubelet_summary"])


@given(st.builds(PodUsage, CONTAINERS, TIMES, INT63, SOURCES), st.builds(NodeUsage, INT63, INT63, TIMES, INT63, SOURCES, SWAP))
def test_every_usage_has_every_form(pod: PodUsage, node: NodeUsage) -> None:
    """Nothing that can be published fails when it is read: there is no time left to leave it out."""
    for kind, value in ((pod_metrics.KIND, pod), (node_metrics.KIND, node)):
        item = Item(("ns", "name"), (), 7, value)
        renderer = Renderer(kind, "v1", ManualClock())
        whole_object = msgspec.json.decode(renderer.one(item, PLAIN))
        table = msgspec.json.decode(renderer.one(item, TABLES[0]))

        assert value.time == kind.created(value)
        assert ["name", "namespace", "resourceVersion", "creationTimestamp"] == list(whole_object["metadata"])[:4]
        assert len(kind.columns) == len(table["rows"][0]["cells"])
        assert kind.protobuf is not None
        assert kind.protobuf(value)
