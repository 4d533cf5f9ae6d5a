"""Two small kinds, one namespaced and one not, with items made by hand."""

import json
from collections.abc import Mapping

from app.cache.collection import Collection, Item
from app.kinds._base import Cell, Column, Kind, Projected, Subject
from app.kube.records import Key


def _project(_subject: object) -> Projected | None:
    return None


def _cells(name: str, value: int) -> tuple[Cell, ...]:
    return (name, f"{value}m", "15s")


_COLUMNS = (
    Column("Name", format="name", description="Name of the resource"),
    Column("cpu", format="quantity"),
    Column("Window", format="duration"),
)

PODS = Kind(
    group="metrics.k8s.io",
    versions=("v1", "v1beta1"),
    kind="PodMetrics",
    resource="pods",
    singular="",
    namespaced=True,
    about="podmetrics",
    subject=Subject.POD,
    columns=_COLUMNS,
    schema={"properties": {"usage": {"type": "object", "additionalProperties": True}}, "required": ["usage"], "description": "Pods."},
    project=_project,
    cells=_cells,
)

NODES = Kind(
    group="metrics.k8s.io",
    versions=("v1", "v1beta1"),
    kind="NodeMetrics",
    resource="nodes",
    singular="",
    namespaced=False,
    about="nodemetrics",
    subject=Subject.NODE,
    columns=_COLUMNS,
    schema={"properties": {"window": {"type": "string", "nullable": True}}, "description": "Nodes."},
    project=_project,
    cells=_cells,
    short_names=("nm",),
    categories=("live",),
)


def make_item(namespace: str, name: str, *, version: int = 7, labels: Mapping[str, str] | None = None, value: int = 1) -> Item:
    """An item as a publisher makes it."""
    pairs = tuple(sorted((labels or {}).items()))
    metadata: dict[str, object] = {"name": name, "namespace": namespace} if namespace else {"name": name}
    metadata["resourceVersion"] = str(version)
    if pairs:
        metadata["labels"] = dict(pairs)
    encoded = json.dumps(metadata, separators=(",", ":"))
    body = f'{{"metadata":{encoded},"usage":{{"cpu":"{value}m"}}}}'.encode()
    return Item((namespace, name), pairs, version, body, len(b'{"metadata":') + len(encoded), value)


def make_collection(*items: Item, version: int = 7, known: frozenset[Key] = frozenset()) -> Collection:
    """A collection of `items`; the cluster also knows the keys in `known`, which have no values because they are late."""
    collection = Collection(lambda key: "late" if key in known or collection.get(key) is not None else None)
    collection.replace(items, (), version)
    return collection


class FakeVersions:
    """Versions below a million are this instance's own."""

    def is_own(self, version: int) -> bool:
        return version < 1_000_000
