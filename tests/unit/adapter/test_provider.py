"""Answers of the rules: the cases that users of prometheus-adapter reported, and the reasons where there is nothing."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator
from decimal import Decimal

import pytest

from app.adapter.config import parse
from app.adapter.discovery import Discovery
from app.adapter.naming import Known
from app.adapter.prometheus import Result, Sample, Shape
from app.adapter.provider import AdapterMetrics
from app.adapter.queries import Queries
from app.adapter.query import MOST_BYTES
from app.adapter.resources import Resources, built_in
from app.kube.records import Key, Labels
from app.served_metrics.objects import Described, Unavailable
from app.served_metrics.values import NAMESPACES, PODS, Absent, Answer, Question, Resource
from app.wire.label_selectors import parse_label_selector
from collectors._base import Cause, CollectError
from tests.fakes.clock import ManualClock

RULES = """
rules:
- seriesQuery: 'requests_total'
  resources: {overrides: {namespace: {resource: namespace}, pod: {resource: pod}, queue: {group: rabbitmq.example.com, resource: queue}}}
  name: {matches: "^(.*)_total$"}
  metricsQuery: 'sum(rate(<<.Series>>{<<.LabelMatchers>>}[2m])) by (<<.GroupBy>>)'
- seriesQuery: 'top'
  resources: {overrides: {namespace: {resource: namespace}, pod: {resource: pod}}}
  metricsQuery: 'topk(3, <<.Series>>{<<.LabelMatchers>>})'
externalRules:
- seriesQuery: 'depth'
  resources: {overrides: {namespace: {resource: namespace}}}
  metricsQuery: 'max(<<.Series>>{<<.LabelMatchers>>}) by (queue)'
- {seriesQuery: 'global', resources: {namespaced: false}, metricsQuery: '<<.Series>>{<<.LabelMatchers>>}'}
"""
QUEUES = Resource("rabbitmq.example.com", "queues")
LABELS = frozenset({"namespace", "pod", "queue"})
TIME = 1_700_000_000_000_000_000


class Objects:
    """Pods a and b of namespace n, of which b has app=web; a queue; namespace n."""

    def __init__(self) -> None:
        self.found: dict[Resource, dict[Key, Labels]] = {
            PODS: {("n", "a"): (), ("n", "b"): (("app", "web"),)},
            NAMESPACES: {("", "n"): ()},
            QUEUES: {("", "q"): ()},
        }
        self.unavailable = ""

    async def of(self, resource: Resource) -> Described | Unavailable:
        return Unavailable(self.unavailable) if self.unavailable else _Described(self.found[resource])


class _Described:
    def __init__(self, objects: dict[Key, Labels]) -> None:
        self._objects = objects

    def labels(self, key: Key) -> Labels | None:
        return self._objects.get(key)

    def in_namespace(self, namespace: str) -> Iterable[Key]:
        return [key for key in self._objects if not namespace or key[0] == namespace]


class Prometheus:
    """Answers by the beginning of a query."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.says: Result | CollectError = Result([])

    async def query(self, text: str) -> Result:
        self.asked.append(text)
        if isinstance(self.says, CollectError):
            raise self.says
        return self.says

    async def series(self, selector: str, _start: float) -> list[Shape]:
        return [Shape(selector, LABELS)]


class Tasks:
    """Runs each task until it first sleeps, when it is started."""

    def __init__(self) -> None:
        self.runs: dict[Hashable, asyncio.Task[None]] = {}

    def start(self, key: Hashable, run: Callable[[], Awaitable[None]]) -> None:
        self.runs[key] = asyncio.ensure_future(run())

    def stop(self, key: Hashable) -> None:
        self.runs.pop(key).cancel()


class Served:
    """A provider with all that is around it. `round()` lets the interval of all queries pass."""

    def __init__(self) -> None:
        self.clock, self.prometheus, self.objects, self.tasks = ManualClock(), Prometheus(), Objects(), Tasks()
        self._wake = asyncio.Event()
        self.queries = Queries(self.prometheus, self.clock, interval=15.0, sleep=self._sleep)
        self.queries.tasks = self.tasks
        find = Resources([*built_in(), Known(QUEUES, "queue", namespaced=False)]).find
        self.metrics = AdapterMetrics(self.queries, self.objects, find)
        config = parse(RULES, "config.yaml")
        assert config.faults == ()
        self.discovery = Discovery(config.rules, self.prometheus, find, self.clock, max_age=60.0)

    async def _sleep(self, _seconds: float) -> None:
        await self._wake.wait()

    async def list(self) -> None:
        await self.discovery.relist()
        self.metrics.put(self.discovery.metrics)
        self.metrics.not_listed = ""

    async def round(self) -> None:
        self.clock.advance(15.0)
        wake, self._wake = self._wake, asyncio.Event()
        wake.set()
        for _ in range(5):
            await asyncio.sleep(0)

    async def ask(
        self,
        metric: str = "requests",
        resource: Resource | None = PODS,
        name: str | None = None,
        *,
        namespace: str = "n",
        objects: str = "",
        series: str = "",
    ) -> Answer | Absent | None:
        api = "external" if resource is None else "custom"
        return await self.metrics.answer(
            Question(api, metric, resource, namespace, name, parse_label_selector(objects), parse_label_selector(series))  # type: ignore[arg-type]
        )


@pytest.fixture
async def served() -> Served:
    found = Served()
    await found.list()
    return found


def result(*pairs: tuple[str, str], label: str = "pod") -> Result:
    return Result([Sample(((label, name),), Decimal(value), TIME) for name, value in pairs])


def values(answer: Answer | Absent | None) -> dict[str, str]:
    assert isinstance(answer, Answer), answer
    return {series.object[1] if series.object else "": str(series.value) for series in answer.series}


def reason(answer: Answer | Absent | None) -> str:
    assert isinstance(answer, Absent), answer
    return answer.reason


async def test_one_query_serves_all_objects_of_a_namespace(served: Served) -> None:
    """However many ask, and whatever they select by: prometheus-adapter asks once for each request."""
    served.prometheus.says = result(("a", "1.5"), ("b", "1e18"))

    assert {"a": "1.5", "b": "1E+18"} == values(await served.ask())
    assert {"b": "1E+18"} == values(await served.ask(objects="app=web"))
    assert {"a": "1.5"} == values(await served.ask(name="a"))
    assert ['sum(rate(requests_total{namespace="n",pod!=""}[2m])) by (pod)'] == served.prometheus.asked


async def test_those_who_ask_first_together_cause_one_query(served: Served) -> None:
    """Single flight."""
    served.prometheus.says = result(("a", "1"))
    answers = await asyncio.gather(*(served.ask() for _ in range(50)))

    assert 50 == sum(isinstance(answer, Answer) for answer in answers)
    assert 1 == len(served.prometheus.asked)


async def test_a_query_is_kept_warm_and_dropped_when_nobody_asks(served: Served) -> None:
    """On its interval, for a minute after the last question."""
    served.prometheus.says = result(("a", "1"))
    await served.ask()
    served.prometheus.says = result(("a", "2"))
    await served.round()

    assert {"a": "2"} == values(await served.ask())
    assert 2 == len(served.prometheus.asked)
    served.clock.advance(61.0)
    served.queries.expire()
    assert (0, {}) == (len(served.queries), served.tasks.runs)


async def test_one_metric_of_a_namespace_does_not_take_the_room_of_others(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any selector makes another query. There is room again when nobody asks them any more."""
    monkeypatch.setattr("app.adapter.queries.MOST_OF_ONE", 2)
    served.prometheus.says = result(("a", "1"))
    for code in ("1", "2"):
        await served.ask(series=f"code={code}")

    assert "too many different queries" in reason(await served.ask(series="code=3"))
    assert {"a": "1"} == values(await served.ask(series="code=1"))
    assert isinstance(await served.ask("depth", None), Answer)
    served.clock.advance(61.0)
    served.queries.expire()
    assert {"a": "1"} == values(await served.ask(series="code=3"))


async def test_samples_of_pods_that_are_gone_vanish_with_them(served: Served) -> None:
    """They would pull the average down."""
    served.prometheus.says = result(("a", "1"), ("dead", "0"))

    assert {"a": "1"} == values(await served.ask())
    assert "there is no dead among the pods in namespace n" == reason(await served.ask(name="dead"))


async def test_a_metric_of_the_namespace_itself(served: Served) -> None:
    """namespaces/n/metrics/requests."""
    served.prometheus.says = result(("n", "7"), label="namespace")

    assert {"n": "7"} == values(await served.ask(resource=NAMESPACES, name="n", namespace=""))
    assert ['sum(rate(requests_total{namespace!=""}[2m])) by (namespace)'] == served.prometheus.asked


@pytest.mark.parametrize("namespace", ["", "n"])
async def test_cluster_scoped_objects_are_found_on_both_paths(served: Served, namespace: str) -> None:
    """prometheus-adapter issue 327: autoscalers ask on the namespaced path."""
    served.prometheus.says = result(("q", "3"), label="queue")

    assert {"q": "3"} == values(await served.ask(resource=QUEUES, name="q", namespace=namespace))
    assert ['sum(rate(requests_total{queue!=""}[2m])) by (queue)'] == served.prometheus.asked


async def test_rules_that_bring_objects_together_name_those_asked_for(served: Served) -> None:
    """As the adapter does."""
    served.prometheus.says = result(("a", "1"), ("b", "2"))

    assert {"a": "1", "b": "2"} == values(await served.ask("top"))
    assert {"b": "2"} == values(await served.ask("top", objects="app=web"))
    assert ['topk(3, top{namespace="n",pod=~"a|b"})', 'topk(3, top{namespace="n",pod="b"})'] == served.prometheus.asked


async def test_queries_stay_short_however_many_pods_there_are(served: Served) -> None:
    """prometheus-adapter issue 668: 25,852 bytes, and 422 from VictoriaMetrics."""
    served.objects.found[PODS] = {("n", f"{'long-name-' * 12}{number}"): () for number in range(200)}
    served.prometheus.says = result(*((name, "1") for _, name in served.objects.found[PODS]))

    assert 200 == len(values(await served.ask("top")))
    assert len(served.prometheus.asked) > 1
    assert max(len(query) for query in served.prometheus.asked) < MOST_BYTES


async def test_external_metrics_keep_their_labels_and_times(served: Served) -> None:
    """All series, with the namespace in the query unless the rule says otherwise."""
    served.prometheus.says = result(("jobs", "5"), ("mail", "-0.5"), label="queue")
    answer = await served.ask("depth", None, series="queue!=x")

    assert isinstance(answer, Answer)
    assert [((("queue", "jobs"),), "5", TIME), ((("queue", "mail"),), "-0.5", TIME)] == [
        (series.labels, str(series.value), series.time) for series in answer.series
    ]
    await served.ask("global", None)
    assert ['max(depth{queue!="x",namespace="n"}) by (queue)', "global{}"] == served.prometheus.asked


class Samples(list[Sample]):
    """Notes which threads go through them."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        super().__init__(samples)
        self.threads: list[int] = []

    def __iter__(self) -> Iterator[Sample]:
        self.threads.append(threading.get_ident())
        return super().__iter__()


@pytest.mark.parametrize("resource", [PODS, None], ids=["of-objects", "external"])
@pytest.mark.parametrize(("many", "here"), [(1000, True), (1001, False)], ids=["some", "thousands"])
async def test_thousands_of_samples_are_looked_at_beside_the_event_loop(
    served: Served, resource: Resource | None, many: int, here: bool
) -> None:
    """Once for all who ask; and where it takes longer, all others are answered meanwhile."""
    samples = Samples(result(("a", "1"), *((f"x{number}", "1") for number in range(1, many))).samples)
    served.prometheus.says = Result(samples)
    for _ in range(2):
        answer = await served.ask("requests" if resource is not None else "depth", resource)
        assert isinstance(answer, Answer)
        assert (1 if resource is not None else many) == len(answer.series)

    assert [here] == [thread == threading.get_ident() for thread in samples.threads]


@pytest.mark.parametrize(
    ("says", "said"),
    [
        pytest.param(Result([]), "the query gives nothing", id="empty"),
        pytest.param(Result([], dropped=("{} is NaN",)), "no sample is a number ({} is NaN)", id="nan"),
        pytest.param(result(("x", "1"), label="other"), "the result has no label pod: does metricsQuery aggregate by", id="no-label"),
        pytest.param(result(("x", "1")), "of other pods in namespace n, and of none of those asked for", id="others"),
        pytest.param(CollectError(Cause.STATUS, "503 Service Unavailable"), "Prometheus fails (status): 503", id="down"),
    ],
)
async def test_nothing_has_a_reason_and_is_never_a_zero(served: Served, says: Result | CollectError, said: str) -> None:
    """An autoscaler then holds."""
    served.prometheus.says = says

    assert said in reason(await served.ask())


async def test_values_outlive_an_outage_for_a_minute(served: Served) -> None:
    """Then they are gone, with the error and the age."""
    served.prometheus.says = result(("a", "1"))
    await served.ask()
    served.prometheus.says = CollectError(Cause.DIAL, "connection refused")
    await served.round()

    assert {"a": "1"} == values(await served.ask())
    for _ in range(4):
        await served.round()
    assert "connection refused; expired: its last answer is 75 s old" in reason(await served.ask())


@pytest.mark.parametrize(
    ("question", "said"),
    [
        pytest.param({"series": "app.kubernetes.io/name=x"}, "is no label of Prometheus", id="selector"),
        pytest.param({"objects": "app=other"}, "no pods in namespace n fulfil the selector", id="no-objects"),
    ],
)
async def test_questions_that_cannot_be_asked_are_told(served: Served, question: dict[str, str], said: str) -> None:
    """Without asking Prometheus."""
    assert said in reason(await served.ask(**question))  # type: ignore[arg-type]
    assert [] == served.prometheus.asked


async def test_a_missing_right_is_told_and_single_objects_are_served_all_the_same(served: Served) -> None:
    """prometheus-adapter issue 351."""
    served.objects.unavailable = "pods cannot be listed: forbidden"
    served.prometheus.says = result(("a", "1"))

    assert "pods cannot be listed: forbidden" == reason(await served.ask())
    assert {"a": "1"} == values(await served.ask(name="a"))


@pytest.mark.parametrize("name", ['a"} or secret{x="', ".*", "a|b", "a b", ""])
async def test_what_names_no_object_is_never_put_into_a_query(served: Served, name: str) -> None:
    """Where objects cannot be listed too: a template may write names as they are."""
    served.objects.unavailable = "pods cannot be listed: forbidden"

    assert "there is no object of such a name" in reason(await served.ask(name=name))
    assert [] == served.prometheus.asked


async def test_series_of_an_external_metric_are_made_once_for_each_answer(served: Served) -> None:
    """What is made of series is kept as long as they are the same objects."""
    served.prometheus.says = result(("jobs", "5"), label="queue")
    first, second = await served.ask("depth", None), await served.ask("depth", None)

    assert isinstance(first, Answer)
    assert isinstance(second, Answer)
    assert first.series is second.series


async def test_unknown_metrics_are_left_to_others_once_series_are_known(served: Served) -> None:
    """Before that there may be such a metric."""
    assert None is await served.ask("nonsense")
    assert Absent("the series of Prometheus were not listed yet", known=False) == await Served().ask("nonsense")


async def test_a_metric_tells_how_its_last_answer_was(served: Served) -> None:
    """For `kubectl get servedmetrics`."""
    (entry,) = [entry for entry in served.metrics.entries() if entry.discovery_name == "pods/requests"]
    before = served.metrics.state(entry)
    served.prometheus.says = result(("a", "1"))
    await served.ask()

    assert (None, 0, "") == before
    assert (1, TIME, "") == served.metrics.state(entry)


async def test_what_nobody_asks_for_is_not_held_for_the_sake_of_its_state(served: Served) -> None:
    """Results may be large; the list of metrics then tells what it tells of a metric that was never asked for."""
    (entry,) = [entry for entry in served.metrics.entries() if entry.discovery_name == "pods/requests"]
    served.prometheus.says = result(("a", "1"))
    await served.ask()
    served.clock.advance(61.0)
    served.queries.expire()

    assert (None, 0, "") == served.metrics.state(entry)


def test_a_list_that_stays_the_same_is_told_as_such(served: Served) -> None:
    """Discovery is made anew only where something is listed that was not."""
    assert served.metrics.put(served.discovery.metrics) is False
    assert served.metrics.put({}) is True
