"""Fields of declared kinds as metrics."""

from decimal import Decimal
from typing import NamedTuple

import pytest

from app.cache.collection import Collection, Item
from app.cache.reports import Report, Reports
from app.kube.records import Labels
from app.served_metrics.resource_metrics import KindMetrics, ResourceMetrics
from app.served_metrics.values import Absent, Answer, Api, Question, Resource
from app.wire.label_selectors import parse_label_selector

QUEUES = Resource("msg.example.com", "queues")
STAMP = 1_700_000_000 * 10**9
EU: Labels = (("name", "not this one"), ("region", "eu"))


class _Value(NamedTuple):
    """What of an object of a declared kind is looked at."""

    metrics: tuple[Decimal | None, ...]
    observed: int = STAMP


def _item(name: str, ready: int | None, labels: Labels = (), namespace: str = "shop") -> Item:
    return Item((namespace, name), labels, 1, _Value((Decimal(ready) if ready is not None else None, Decimal(1))))


def _provider(*items: Item, namespaced: bool = True, changed: list[int] | None = None) -> ResourceMetrics:
    reports = Reports()
    reports.put(Report("queues.msg.example.com", "http", 1, 1, 0, 0, 15.0, 60.0, error="odd"))
    provider = ResourceMetrics(reports, changed=lambda: changed.append(1) if changed is not None else None)
    collection = Collection(why=lambda _key: "the source was not asked yet")
    collection.replace(items, (), 1)
    both: frozenset[Api] = frozenset(["custom", "external"])
    custom: frozenset[Api] = frozenset(["custom"])
    metrics = (("queue_ready", both), ("queue_max", custom))
    provider.put({"queues.msg.example.com": KindMetrics("queues.msg.example.com", "http", QUEUES, namespaced, metrics, collection)})
    return provider


ALL = (_item("orders", 12, EU), _item("mails", 3), _item("broken", None), _item("orders", 40, namespace="alpha"))


async def _ask(provider: ResourceMetrics, question: Question) -> list[tuple[str, int]] | str | None:
    found = await provider.answer(question)
    if isinstance(found, Absent) or found is None:
        return found.reason if found is not None else None
    assert isinstance(found, Answer)
    assert {STAMP} == {each.time for each in found.series}
    return [
        (
            "/".join(filter(None, each.object)) if each.object is not None else ",".join(f"{key}={text}" for key, text in each.labels),
            int(each.value),
        )
        for each in found.series
    ]


@pytest.mark.parametrize(
    ("name", "namespace", "objects", "series", "expected"),
    [
        ("orders", "shop", "", "", [("shop/orders", 12)]),
        (None, "shop", "", "", [("shop/mails", 3), ("shop/orders", 12)]),
        (None, "shop", "region=eu", "", [("shop/orders", 12)]),
        (None, "", "", "", [("alpha/orders", 40), ("shop/mails", 3), ("shop/orders", 12)]),
        ("broken", "shop", "", "", "none of the queues.msg.example.com that are asked for in namespace shop gives this number now"),
        ("gone", "shop", "", "", "there is no gone among the queues.msg.example.com: the source was not asked yet"),
        (None, "other", "", "", "there are no queues.msg.example.com in namespace other: the source was not asked yet"),
        ("orders", "shop", "", "x=y", "the series of a live kind have no labels to select by"),
    ],
)
async def test_custom_metrics_are_of_the_objects(name: str | None, namespace: str, objects: str, series: str, expected: object) -> None:
    """By name, or all that the selector of objects takes. An object without a number has none."""
    question = Question("custom", "queue_ready", QUEUES, namespace, name, parse_label_selector(objects), parse_label_selector(series))
    assert expected == await _ask(_provider(*ALL), question)


@pytest.mark.parametrize(
    ("namespace", "series", "expected"),
    [
        ("shop", "", [("name=mails", 3), ("name=orders,region=eu", 12)]),
        ("shop", "name=orders", [("name=orders,region=eu", 12)]),
        ("shop", "region!=eu", [("name=mails", 3)]),
        ("alpha", "", [("name=orders", 40)]),
        ("shop", "name=gone", "no series fulfils the selector"),
    ],
)
async def test_external_metrics_have_a_series_for_each_object(namespace: str, series: str, expected: object) -> None:
    """In its namespace, with its labels and its name."""
    question = Question("external", "queue_ready", None, namespace, series=parse_label_selector(series))
    assert expected == await _ask(_provider(*ALL), question)


async def test_objects_without_namespaces_are_found_from_every_namespace() -> None:
    """An HPA asks in its own."""
    provider = _provider(_item("orders", 12, namespace=""), namespaced=False)

    assert [("orders", 12)] == await _ask(provider, Question("custom", "queue_ready", QUEUES, "shop", "orders"))
    assert [("name=orders", 12)] == await _ask(provider, Question("external", "queue_ready", None, "shop"))


async def test_only_what_is_declared_is_served() -> None:
    """In the APIs that are declared."""
    provider = _provider(*ALL)

    assert await _ask(provider, Question("external", "queue_max", None, "shop")) is None
    assert await _ask(provider, Question("custom", "queue_ready", Resource("", "pods"), "shop")) is None
    assert [("custom", "queue_ready"), ("external", "queue_ready"), ("custom", "queue_max")] == [
        (each.api, each.metric) for each in provider.entries()
    ]


async def test_what_is_gone_is_not_served() -> None:
    """Discovery hears of it."""
    changed: list[int] = []
    provider = _provider(*ALL, changed=changed)
    (entry, *_) = provider.entries()
    assert (3, STAMP, "odd") == provider.state(entry)
    provider.put({"queues.msg.example.com": None})

    assert [] == provider.entries()
    assert (0, 0, "") == provider.state(entry)
    assert await _ask(provider, Question("custom", "queue_ready", QUEUES, "shop", "orders")) is None
    assert 2 == len(changed)


async def test_a_kind_takes_no_name_of_a_metric_in_namespaces_of_others() -> None:
    """Two kinds may serve one name in namespaces of their own, and whoever else knows it is asked in all others."""
    provider = ResourceMetrics(Reports(), changed=lambda: None)
    for namespace, ready in (("shop", 12), ("alpha", 40)):
        collection = Collection(why=lambda _key: None)
        collection.replace([_item("orders", ready, namespace=namespace)], (), 1)
        external: frozenset[Api] = frozenset(["external"])
        resource = Resource(f"{namespace}.example.com", "queues")
        metrics = (("queue_ready", external),)
        kind = KindMetrics(str(resource), "http", resource, True, metrics, collection, frozenset([namespace]))
        provider.put({str(resource): kind})

    (entry,) = provider.entries()
    assert 2 == provider.state(entry).series
    assert [("name=orders", 12)] == await _ask(provider, Question("external", "queue_ready", None, "shop"))
    assert [("name=orders", 40)] == await _ask(provider, Question("external", "queue_ready", None, "alpha"))
    assert Absent("queue_ready is not served in namespace other", known=False) == await provider.answer(
        Question("external", "queue_ready", None, "other")
    )
