"""A declaration that was accepted: what it says, where it stands, and whose it is."""

from typing import Generic, TypeGuard, TypeVar

from msgspec import Struct

from app.declared.faults import Place, Positions
from app.declared.metric_model import LiveMetric
from app.declared.model import LiveResource

M_co = TypeVar("M_co", bound=LiveResource | LiveMetric, covariant=True)


class Declared(Struct, Generic[M_co], frozen=True):
    """One document. `namespace` is that of the ConfigMap it came from, "" where it is kubeglance's own (a file, or its own namespace).

    `digest` is the SHA-256 of what it says: equal digests are equal declarations, wherever they stand.
    """

    resource: M_co
    positions: Positions
    namespace: str
    digest: str

    @property
    def name(self) -> str:
        """What it is known as, other than every other declaration."""
        return known_as(self.resource.kind, self.resource.metadata.name, self.namespace)

    @property
    def place(self) -> Place:
        return self.positions.start


Declaration = Declared[LiveResource]
MetricDeclaration = Declared[LiveMetric]
AnyDeclaration = Declared[LiveResource | LiveMetric]


def is_kind(declaration: AnyDeclaration) -> TypeGuard[Declaration]:
    """Whether it is a LiveResource."""
    return isinstance(declaration.resource, LiveResource)


def is_metric(declaration: AnyDeclaration) -> TypeGuard[MetricDeclaration]:
    """Whether it is a LiveMetric."""
    return isinstance(declaration.resource, LiveMetric)


def known_as(kind: str, name: str, namespace: str) -> str:
    """What a document of that metadata.name is known as.

    A live kind is one for the whole cluster. Tenants may name their metrics alike: so the namespace is part of the name. None of them can
    be taken for another: a live kind's name has two dots or more, a tenant's metric's one, others' none.
    """
    return f"{name}.{namespace}" if kind == "LiveMetric" and namespace else name
