"""Answers for declared metrics, and the reason where there is none."""

from collections.abc import Mapping
from decimal import Decimal
from typing import cast

import pytest

from app.cache.reports import Report, Reports, TargetReport
from app.kube.records import Key, Labels
from app.served_metrics.declared import DeclaredMetric, DeclaredMetrics
from app.served_metrics.kept import Kept
from app.served_metrics.missing import OMIT, Missing
from app.served_metrics.objects import Described, Objects, Unavailable
from app.served_metrics.values import NODES, PODS, Absent, Answer, Api, Question, Resource, Series
from app.wire.label_selectors import parse_label_selector

WALL = 1_700_000_000
STAMP = WALL * 10**9
WEB: Labels = (("app", "web"),)
PODS_THERE: Mapping[Key, Labels] = {("shop", "web-1"): WEB, ("shop", "web-2"): WEB, ("shop", "db-1"): (), ("alpha", "web-1"): WEB}


class _Objects:
    """Pods of two namespaces, and one node."""

    def __init__(self) -> None:
        self.there: dict[Key, Labels] = dict(PODS_THERE)
        self.unavailable = ""

    async def of(self, resource: Resource) -> Described | Unavailable:
        return Unavailable(self.unavailable) if self.unavailable else self

    def labels(self, key: Key) -> Labels | None:
        return self.there.get(key)

    def in_namespace(self, namespace: str) -> list[Key]:
        return [key for key in self.there if not namespace or key[0] == namespace]


class _Stage:
    """One provider, whose clock stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 0.0
        self.objects = _Objects()
        self.reports = Reports()
        self.listed = 0
        self.provider = DeclaredMetrics(cast("Objects", self.objects), self.reports, self, changed=self._changed)

    def _changed(self) -> None:
        self.listed += 1

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return WALL + self.now

    def declare(
        self,
        *told: Series,
        name: str = "requests",
        resource: Resource | None = PODS,
        namespaces: frozenset[str] | None = None,
        missing: Missing = OMIT,
        declaration: str = "d",
        collected: bool = True,
    ) -> Kept:
        """A metric with these series."""
        kept = Kept(ttl=60.0, missing=missing)
        api: Api = "custom" if resource is not None else "external"
        metric = DeclaredMetric(declaration, api, name, resource, resource != NODES, namespaces, "static", kept, self.now)
        self.provider.put({declaration: metric})
        if collected:
            kept.take(kept.arranged(told, now=self.now, wall=int(self.wall() * 1e9)))
        self.report(last=int(self.wall() * 1e9) if collected else 0, declaration=declaration)
        return kept

    def report(self, *, last: int = STAMP, cause: str = "", dropped: int = 0, declaration: str = "d") -> None:
        """How the source is."""
        failing = (TargetReport("t", cause, "nobody listens", STAMP, 2),) if cause else ()
        error = "nobody listens" if cause else "1 of 1 items: is NaN" if dropped else ""
        self.reports.put(Report(declaration, "static", 1, 0, 0, dropped, 15.0, 60.0, last=last, failing=failing, error=error))

    async def ask(
        self, name: str | None = None, *, namespace: str = "shop", objects: str = "", series: str = "", resource: Resource | None = PODS
    ) -> list[tuple[str, int]] | str:
        """Names (or labels, without objects) and values, or why there are none."""
        api: Api = "custom" if resource is not None else "external"
        selectors = parse_label_selector(objects), parse_label_selector(series)
        found = await self.provider.answer(Question(api, "requests", resource, namespace, name, *selectors))
        if isinstance(found, Absent):
            return found.reason
        assert isinstance(found, Answer)
        return [
            ("/".join(each.object) if each.object is not None else ",".join(text for _, text in each.labels), int(each.value))
            for each in found.series
        ]


def of(name: str, value: int = 1, namespace: str = "shop", **labels: str) -> Series:
    """A series of a pod."""
    return Series((namespace, name), tuple(sorted(labels.items())), Decimal(value), STAMP)


def external(value: int = 1, **labels: str) -> Series:
    """A series of nothing in the cluster."""
    return Series(None, tuple(sorted(labels.items())), Decimal(value), STAMP)


ALL = (of("web-1", 1, code="200"), of("web-1", 2, code="500"), of("web-2", 3, code="200"), of("db-1", 4), of("web-1", 5, "alpha"))


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"name": "web-1"}, [("shop/web-1", 1), ("shop/web-1", 2)]),
        ({"name": "web-1", "series": "code=500"}, [("shop/web-1", 2)]),
        ({"name": "web-1", "series": "code!=500"}, [("shop/web-1", 1)]),
        ({"name": "web-1", "objects": "app=db"}, [("shop/web-1", 1), ("shop/web-1", 2)]),
        ({}, [("shop/db-1", 4), ("shop/web-1", 1), ("shop/web-1", 2), ("shop/web-2", 3)]),
        ({"objects": "app=web"}, [("shop/web-1", 1), ("shop/web-1", 2), ("shop/web-2", 3)]),
        ({"objects": "!app"}, [("shop/db-1", 4)]),
        ({"objects": "app=web", "series": "code in (200)"}, [("shop/web-1", 1), ("shop/web-2", 3)]),
        ({"namespace": "alpha"}, [("alpha/web-1", 5)]),
        ({"namespace": "", "objects": "app=web", "series": "!code"}, [("alpha/web-1", 5)]),
        ({"name": "db-1", "series": "code=200"}, "no series fulfils the metric selector"),
        ({"name": "gone-1"}, "there is no gone-1 among the pods in namespace shop"),
        (
            {"objects": "app=none"},
            (
                "d has samples of other pods in namespace shop, and none of those asked for; an HPA asks for the pods of its target: for a "
                "metric of others use the type Object or External"
            ),
        ),
    ],
)
async def test_series_by_object_and_selectors(asked: dict[str, str], expected: object) -> None:
    """labelSelector is of the objects and not of one that is named, metricLabelSelector of the series."""
    stage = _Stage()
    stage.declare(*ALL)

    assert expected == await stage.ask(**asked)  # type: ignore[arg-type]


async def test_what_describes_an_object_that_is_gone_is_gone() -> None:
    """And comes into no average."""
    stage = _Stage()
    stage.declare(*ALL)
    del stage.objects.there["shop", "web-2"]

    assert [("shop/web-1", 1)] == await stage.ask(objects="app=web", series="code=200")
    assert "there is no web-2 among the pods in namespace shop" == await stage.ask("web-2")


async def test_cluster_scoped_objects_are_found_on_both_paths() -> None:
    """An HPA asks on the path of its own namespace."""
    stage = _Stage()
    stage.objects.there["", "node-1"] = ()
    stage.declare(Series(("", "node-1"), (), Decimal(7), STAMP), resource=NODES)

    for namespace in ("", "shop"):
        found = await stage.provider.answer(Question("custom", "requests", NODES, namespace, "node-1"))
        assert isinstance(found, Answer)


async def test_a_right_that_is_missing_is_told() -> None:
    """With the rule that grants it."""
    stage = _Stage()
    stage.declare(*ALL)
    stage.objects.unavailable = "ingresses cannot be listed: grant it"

    assert "ingresses cannot be listed: grant it" == await stage.ask()


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, [("eu", 3), ("us", 4)]),
        ({"series": "region=us"}, [("us", 4)]),
        ({"series": "region notin (us)"}, [("eu", 3)]),
        ({"series": "region=asia"}, "no series fulfils the selector"),
        ({"namespace": "alpha"}, "requests is not served in namespace alpha"),
    ],
)
async def test_external_series_by_selector_and_namespace(asked: dict[str, str], expected: object) -> None:
    """Served in the namespaces that are declared."""
    stage = _Stage()
    stage.declare(external(3, region="eu"), external(4, region="us"), resource=None, namespaces=frozenset(["shop"]))

    assert expected == await stage.ask(resource=None, **asked)


async def test_each_namespace_may_have_its_own_metric_of_a_name() -> None:
    """Two declarations, two values, one entry in discovery."""
    stage = _Stage()
    stage.declare(external(3), resource=None, namespaces=frozenset(["shop"]), declaration="a")
    stage.declare(external(4), resource=None, namespaces=frozenset(["alpha"]), declaration="b")

    assert [("", 3)] == await stage.ask(resource=None)
    assert [("", 4)] == await stage.ask(resource=None, namespace="alpha")
    assert 1 == len(stage.provider.entries())


async def test_reasons_tell_the_causes_apart() -> None:
    """No data yet, failing from the start, failing and expired, expired, no sample."""
    stage = _Stage()
    stage.declare(collected=False)
    assert "no data yet: the source of d was not asked yet" == await stage.ask()

    stage.report(last=0, cause="dial")
    stage.now = 5.0
    assert "the source of d fails (dial, for 5 s): nobody listens; it never gave any" == await stage.ask()

    stage = _Stage()
    stage.declare(*ALL)
    stage.report(cause="deadline")
    stage.now = 59.0
    assert [("shop/db-1", 4)] == await stage.ask("db-1")
    stage.now = 61.0
    assert (
        "the source of d fails (deadline, for 61 s): nobody listens; expired: its last good collection was at 2023-11-14T22:13:20Z"
        == await stage.ask("db-1")
    )
    stage.report()
    assert "expired: the last good collection of d was at 2023-11-14T22:13:20Z" == await stage.ask("db-1")

    stage = _Stage()
    stage.declare()
    assert "the source of d answers, and told no living sample at 2023-11-14T22:13:20Z" == await stage.ask()
    stage.report(dropped=1)
    assert (
        "the source of d answers, and told no living sample at 2023-11-14T22:13:20Z, and 1 items that could not be used: "
        "1 of 1 items: is NaN" == await stage.ask()
    )


async def test_a_metric_that_nobody_declared_is_somebody_elses() -> None:
    """Also of another resource."""
    stage = _Stage()
    stage.declare(*ALL)

    assert await stage.provider.answer(Question("custom", "other", PODS, "shop")) is None
    assert await stage.provider.answer(Question("external", "requests", None, "shop")) is None


CONSTANT = Missing(constant=Decimal(9))


async def test_a_constant_stands_in_for_each_object_without_a_series() -> None:
    """Once the source answered well without it, or told nothing for its time to live."""
    stage = _Stage()
    stage.declare(of("web-1", 1), missing=CONSTANT)
    assert [("shop/web-1", 1), ("shop/web-2", 9)] == await stage.ask(objects="app=web")
    assert [("shop/web-2", 9)] == await stage.ask("web-2", series="code=500")

    stage.report(cause="dial")
    assert [("shop/web-1", 1)] == await stage.ask(objects="app=web")
    stage.now = 60.0
    assert [("shop/web-1", 9), ("shop/web-2", 9)] == await stage.ask(objects="app=web")
    assert "there is no gone-1 among the pods in namespace shop" == await stage.ask("gone-1")


async def test_a_constant_waits_for_a_first_answer_as_for_any() -> None:
    """A start is no outage."""
    stage = _Stage()
    stage.declare(missing=CONSTANT, resource=None, collected=False)
    assert "no data yet: the source of d was not asked yet" == await stage.ask(resource=None)
    stage.now = 60.0
    assert [("", 9)] == await stage.ask(resource=None)


async def test_what_is_gone_is_not_served() -> None:
    """Discovery hears of each change."""
    stage = _Stage()
    stage.declare(*ALL)
    stage.provider.put({"d": None})

    assert [] == stage.provider.entries()
    assert await stage.provider.answer(Question("custom", "requests", PODS, "shop")) is None
    assert 2 == stage.listed


async def test_a_state_has_series_newest_sample_and_error() -> None:
    """For `kubectl get servedmetrics`."""
    stage = _Stage()
    stage.declare(*ALL)
    (entry,) = stage.provider.entries()
    assert (5, STAMP, "") == stage.provider.state(entry)
    stage.report(cause="dial")
    stage.now = 61.0
    assert (0, 0, "nobody listens") == stage.provider.state(entry)
