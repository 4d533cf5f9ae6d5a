"""What is asked of a served metric, and what is answered.

A value is a Decimal: exact at any size, as a Quantity is. NaN and infinities never become one.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Literal, NamedTuple

from msgspec import Struct

from app.kube.records import Key, Labels
from app.wire.label_selectors import EVERYTHING, LabelSelector

Api = Literal["custom", "external"]


class Resource(NamedTuple):
    """A resource of the cluster: ("", "pods"), ("networking.k8s.io", "ingresses")."""

    group: str
    name: str

    def __str__(self) -> str:
        """As in paths and in discovery: pods, ingresses.networking.k8s.io."""
        return f"{self.name}.{self.group}" if self.group else self.name


PODS, NODES, NAMESPACES = Resource("", "pods"), Resource("", "nodes"), Resource("", "namespaces")


class Series(Struct, frozen=True, gc=False):
    """One value of a metric.

    `object` is the described object, (namespace, name) with "" for what is cluster-scoped; None for an external metric. `labels` are
    those of the series, without those that tell the object. `time` is when the source measured it (Unix ns), `window` the time that it was
    measured over (ns), None if it is of a moment.
    """

    object: Key | None
    labels: Labels
    value: Decimal
    time: int
    window: int | None = None


class Question(Struct, frozen=True):
    """What a request asks for.

    `resource` is None for an external metric. `namespace` is that of the path, "" for none. `name` is one object's, None for all that
    `objects` takes by their labels. `series` takes series by theirs.
    """

    api: Api
    metric: str
    resource: Resource | None = None
    namespace: str = ""
    name: str | None = None
    objects: LabelSelector = EVERYTHING
    series: LabelSelector = EVERYTHING


class Answer(NamedTuple):
    """The series that were asked for: one or more, by object and labels."""

    series: Sequence[Series]


class Absent(NamedTuple):
    """Why there is nothing: one sentence, for the text of the 404. `known` tells whether there is such a metric at all."""

    reason: str
    known: bool = True


class Entry(NamedTuple):
    """A metric as discovery and `kubectl get servedmetrics` list it.

    `namespaced` is whether the described objects are in namespaces. `provider` is who serves it (a declaration, a rule, a route), `source`
    the type of its source.
    """

    api: Api
    metric: str
    resource: Resource | None
    namespaced: bool
    provider: str
    source: str

    @property
    def discovery_name(self) -> str:
        """The resource name in discovery: pods/http_requests, or for an external metric its own name."""
        return self.metric if self.resource is None else f"{self.resource}/{self.metric}"


class State(NamedTuple):
    """How a metric is now: how many series it has (None where that is known only when it is asked for), its newest sample (Unix ns, 0 for
    none), and the last error ("" if all is well)."""

    series: int | None
    last: int
    error: str
