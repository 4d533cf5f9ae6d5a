"""A provider that serves what a test says: series by API, metric and resource, with the labels of the objects that they describe."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from app.kube.records import Key, Labels
from app.served_metrics.objects import ObjectKind, Unavailable
from app.served_metrics.values import Absent, Answer, Api, Entry, Question, Resource, Series, State
from tests.fakes.clock import EPOCH

NOW = int(EPOCH) * 10**9
POD, NODE, NAMESPACE = Resource("", "pods"), Resource("", "nodes"), Resource("", "namespaces")
INGRESS = Resource("networking.k8s.io", "ingresses")

_KINDS = {
    POD: ObjectKind(POD, "v1", "Pod", namespaced=True),
    NODE: ObjectKind(NODE, "v1", "Node", namespaced=False),
    NAMESPACE: ObjectKind(NAMESPACE, "v1", "Namespace", namespaced=False),
    INGRESS: ObjectKind(INGRESS, "v1", "Ingress", namespaced=True),
}


def series(namespace: str, name: str, value: str, *, labels: Labels = (), time: int = NOW, window: int | None = None) -> Series:
    """A value of one object."""
    return Series((namespace, name), labels, Decimal(value), time, window)


def external(value: str, **labels: str) -> Series:
    """A series of an external metric."""
    return Series(None, tuple(sorted(labels.items())), Decimal(value), NOW)


class FakeProvider:
    """Implements Provider. `asked` holds the questions; `reason` is said where nothing is found."""

    name = "fake"

    def __init__(self, *, reason: str = "no data yet") -> None:
        self.served: dict[Entry, list[Series]] = {}
        self.objects: Mapping[Key, Labels] = {}
        self.asked: list[Question] = []
        self.reason = reason

    def serve(self, api: Api, metric: str, resource: Resource | None, values: Sequence[Series]) -> "FakeProvider":
        """Serve these values of a metric."""
        namespaced = resource is None or resource in {POD, INGRESS}
        self.served[Entry(api, metric, resource, namespaced, "fake", "static")] = list(values)
        return self

    def entries(self) -> Sequence[Entry]:
        return list(self.served)

    def state(self, entry: Entry) -> State:
        return State(len(self.served[entry]), NOW, "")

    async def answer(self, question: Question) -> Answer | Absent | None:
        self.asked.append(question)
        for entry, values in self.served.items():
            if (entry.api, entry.metric, entry.resource) == (question.api, question.metric, question.resource):
                found = [each for each in values if self._is_asked(each, question, entry)]
                return Answer(found) if found else Absent(self.reason)
        return None

    def _is_asked(self, each: Series, question: Question, entry: Entry) -> bool:
        if not question.series.matches(each.labels):
            return False
        if each.object is None:
            return True
        namespace, name = each.object
        if entry.namespaced and question.namespace not in {"", namespace}:
            return False
        if question.name is not None:
            return name == question.name
        return question.objects.matches(self.objects.get(each.object, ()))


async def describe(resource: Resource) -> ObjectKind | Unavailable:
    """What a resource is, of those that the tests use."""
    return _KINDS.get(resource) or Unavailable(f"the cluster serves no resource {resource}")
