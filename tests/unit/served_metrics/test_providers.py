"""Who is asked for a metric, and what discovery has of all that is served."""

from collections.abc import Sequence
from decimal import Decimal

import pytest
from structlog.testing import capture_logs

from app.served_metrics.providers import Registry
from app.served_metrics.values import NAMESPACES, NODES, PODS, Absent, Answer, Entry, Question, Resource, Series, State

ANSWER = Answer([Series(("shop", "web-1"), (), Decimal(3), 10**18)])


class _Provider:
    """Says the same of each metric that it lists."""

    def __init__(self, name: str, entries: Sequence[Entry], said: Answer | Absent | None = ANSWER) -> None:
        self.name = name
        self.listed = entries
        self.said = said

    def entries(self) -> Sequence[Entry]:
        return self.listed

    async def answer(self, question: Question) -> Answer | Absent | None:
        self.asked = question
        return self.said if any((each.api, each.metric) == (question.api, question.metric) for each in self.listed) else None

    def state(self, entry: Entry) -> State:
        return State(len(entry.metric), 0, self.name)


def _entry(metric: str, provider: str = "first", resource: Resource | None = PODS) -> Entry:
    return Entry("custom" if resource is not None else "external", metric, resource, namespaced=True, provider=provider, source="static")


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([ANSWER, None], ANSWER),
        ([None, ANSWER], ANSWER),
        ([Absent("no data yet"), ANSWER], Absent("no data yet")),
        ([Absent("not for this namespace", known=False), ANSWER], ANSWER),
        ([Absent("not for this namespace", known=False), None], Absent("not for this namespace", known=False)),
        ([None, None], Absent("nothing serves m of pods", known=False)),
    ],
    ids=[
        "the first that knows it answers",
        "one that does not know it is passed over",
        "one that knows it and has nothing is believed",
        "one that says why it does not know it does not keep others from answering",
        "its reason is told where nobody else knows it",
        "nobody knows it",
    ],
)
async def test_the_first_that_knows_a_metric_answers(said: list[Answer | Absent | None], expected: Answer | Absent) -> None:
    """In the order in which they were added."""
    registry = Registry()
    for index, each in enumerate(said):
        registry.add(_Provider(str(index), [_entry("m")], each))

    assert await registry.answer(Question("custom", "m", PODS, "shop")) == expected


@pytest.mark.parametrize(
    ("namespace", "name", "answered"),
    [
        ("shop", "shop", True),
        ("shop", "bank", False),
        ("shop", None, False),
        ("", "bank", True),
        ("", None, True),
    ],
    ids=["its own", "another", "all of them", "from the root", "all of them from the root"],
)
async def test_a_path_in_a_namespace_tells_of_no_other(namespace: str, name: str | None, *, answered: bool) -> None:
    """Who may read the metrics of one namespace, or make an HPA there, may not read what is told of others."""
    registry = Registry()
    registry.add(_Provider("first", [_entry("m", resource=NAMESPACES)]))

    found = await registry.answer(Question("custom", "m", NAMESPACES, namespace, name))

    assert (found == ANSWER) is answered


async def test_an_external_metric_that_nobody_serves_is_named_as_such() -> None:
    """There is no resource to tell."""
    assert await Registry().answer(Question("external", "m")) == Absent("nothing serves m as an external metric", known=False)


async def test_a_resource_may_be_named_as_people_do() -> None:
    """In the singular, or by a short name: providers know the plural."""

    async def name(resource: Resource) -> Resource:
        return PODS if resource == Resource("", "po") else resource

    registry = Registry(name)
    provider = _Provider("first", [_entry("m")])
    registry.add(provider)

    assert await registry.answer(Question("custom", "m", Resource("", "po"))) == ANSWER
    assert provider.asked.resource == PODS


def test_states_are_those_of_whoever_answers() -> None:
    """Of what two serve, the first one's."""
    registry = Registry()
    registry.add(_Provider("first", [_entry("a")]))
    registry.add(_Provider("second", [_entry("a", "second"), _entry("bb", "second")]))

    assert [(entry.metric, state) for entry, state in registry.states()] == [("a", State(1, 0, "first")), ("bb", State(2, 0, "second"))]


def test_each_metric_is_listed_once_and_in_order() -> None:
    """By API, then as discovery names them: the same metric of another resource is another one."""
    registry = Registry()
    registry.add(_Provider("first", [_entry("b"), _entry("b", resource=NODES), _entry("waiting", resource=None)]))
    registry.add(_Provider("second", [_entry("a", "second")]))

    assert [(each.api, each.discovery_name) for each in registry.entries()] == [
        ("custom", "nodes/b"),
        ("custom", "pods/a"),
        ("custom", "pods/b"),
        ("external", "waiting"),
    ]


def test_what_two_serve_is_the_first_ones_and_told_once() -> None:
    """Until it was no clash for a while."""
    registry = Registry()
    second = _Provider("second", [_entry("a", "second")])
    with capture_logs() as logs:
        registry.add(_Provider("first", [_entry("a")]))
        registry.add(second)
        registry.changed()
        assert [line["first"] for line in logs] == ["first"]
        second.listed = []
        registry.changed()
        second.listed = [_entry("a", "second")]
        registry.changed()

    assert [each.provider for each in registry.entries()] == ["first"]
    assert len(logs) == 2


def test_listeners_hear_of_changes_only() -> None:
    """Discovery is made anew for them."""
    registry = Registry()
    heard: list[int] = []
    registry.listeners.append(lambda: heard.append(len(registry.entries())))
    provider = _Provider("first", [])
    registry.add(provider)
    provider.listed = [_entry("a")]
    registry.changed()
    registry.changed()

    assert heard == [1]


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        (_entry("http_requests"), "pods/http_requests"),
        (_entry("hits", resource=Resource("networking.k8s.io", "ingresses")), "ingresses.networking.k8s.io/hits"),
        (_entry("waiting", resource=None), "waiting"),
    ],
)
def test_names_in_discovery_are_those_of_the_adapters(entry: Entry, name: str) -> None:
    """GroupResource and metric; of an external metric its own name."""
    assert entry.discovery_name == name
