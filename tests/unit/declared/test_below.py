"""What is below the objects of a declared kind: its numbers are kept, its trend drawn, its items told, its pods' logs found."""

import json
from typing import Any

from app.auth.identity import User
from app.cache.collection import Item
from app.declared.below import MOST_FIELDS, Means
from app.declared.live_kind import LiveKind, compile_kind
from app.declared.pod_logs import PodLogs
from app.kinds._base import Asked, Told
from tests.fakes.clock import EPOCH, ManualClock
from tests.fakes.declared import declaration
from tests.unit.declared.test_pod_logs import FakeAccess, FakeCluster, pod

SECOND = 10**9
NOW = int(EPOCH) * SECOND
NUMBERS = {
    "ready": {"type": "integer"},
    "rate": {"type": "number", "multipleOf": 0.5},
    "limit": {"type": "integer"},
    "note": {"type": "string"},
}
SCHEMA = {"openAPIV3Schema": {"type": "object", "properties": {"status": {"type": "object", "properties": NUMBERS}}}}
STATUS = {name: f"item.{name}" for name in NUMBERS}


def live(**subresources: Any) -> LiveKind:
    declared = declaration(object={"name": "item.name", "status": STATUS}, schema=SCHEMA, subresources=subresources)
    cluster = FakeCluster(pod("x-1", owner="u1"))
    return compile_kind(declared, Means(ManualClock(), lambda text: text.replace("s3cret", "***"), PodLogs(cluster, FakeAccess())))


def collected(kind: LiveKind, *items: dict[str, Any], ago: int = 0) -> dict[str, Item]:
    """The objects of a collection so many seconds ago, as the cache has them."""
    observed = NOW - ago * SECOND
    mapped = kind.take(kind.map({"items": list(items)}, observed, lambda: False), observed)
    return {each.key[1]: Item(each.key, each.labels, 7, each.value) for each in mapped.objects}


async def ask(kind: LiveKind, name: str, item: Item, **query: str) -> Told:
    (subresource,) = (each for each in kind.kind.subresources if each.name == name)
    return await subresource.answer(Asked(item, query, User("ann")))


async def test_nothing_that_is_not_asked_for() -> None:
    """A kind has the subresources that its declaration names, and keeps nothing for others."""
    plain = live()

    assert () == plain.kind.subresources
    assert (None, "") == ((value := collected(plain, {"name": "a", "ready": 1})["a"].value).item, value.trend)
    assert () == compile_kind(declaration(subresources={"history": {}, "raw": True, "log": True})).kind.subresources
    names = [each.name for each in live(history={}, raw=True, log=True).kind.subresources]
    assert ["history", "raw", "log"] == names


async def test_history() -> None:
    """Every number of the schema, by its path, at each collection; what an item lacks is left out."""
    kind = live(history={"points": 8})
    collected(kind, {"name": "a", "ready": 1, "rate": 0.5}, {"name": "b", "ready": 9}, ago=15)
    item = collected(kind, {"name": "a", "ready": 2, "note": "x"})["a"]
    body = (await ask(kind, "history", item)).body

    assert isinstance(body, bytes)
    assert [{"status.ready": 1, "status.rate": 0.5}, {"status.ready": 2}] == [point["values"] for point in json.loads(body)["points"]]


def test_trend() -> None:
    """The last column draws the field that is named: up to its maximum, in the latest object; an object that is new has dots before."""
    kind = live(history={"points": 8, "trend": ".status.ready", "maximum": ".status.limit"})
    for ago, ready in ((45, 0), (30, 50)):
        collected(kind, {"name": "a", "ready": ready, "limit": 100}, ago=ago)
    collected(kind, {"name": "b"}, ago=15)
    item = collected(kind, {"name": "a", "ready": 100, "limit": 200}, {"name": "b", "ready": 5})

    assert ["Name", "Trend"] == [column.name for column in kind.kind.columns]
    assert [("a", "·······▅"), ("b", "·······█")] == [kind.kind.cells(name, item[name].value) for name in ("a", "b")]


def test_trend_over_gaps() -> None:
    """A collection that failed leaves a dot; a field that no history keeps is kept for the trend."""
    kind = live(history={"points": 8, "trend": ".status.ready", "glyphs": "ascii"})
    for ago in (105, 90, 45, 0):
        item = collected(kind, {"name": "a", "ready": ago + 1}, ago=ago)["a"]

    assert ("a", "87..4..1") == kind.kind.cells("a", item.value)


def test_an_object_that_is_no_longer_fresh_keeps_its_trend() -> None:
    kind = live(history={"points": 8, "trend": ".status.ready"})
    observed = NOW
    mapped = kind.take(kind.map({"items": [{"name": "a", "ready": 3}]}, observed, lambda: False), observed)
    (aged,) = kind.aged(mapped.objects)

    assert (False, "·······█") == (aged.value.fresh, aged.value.trend)


async def test_history_goes_over_to_a_new_version() -> None:
    """A declaration that was changed goes on with the numbers that it still keeps."""
    before, after = live(history={"points": 8}), live(history={"points": 8}, raw=True)
    collected(before, {"name": "a", "ready": 1}, ago=15)
    after.follow(before)
    after.follow(live())
    item = collected(after, {"name": "a", "ready": 2})["a"]
    body = (await ask(after, "history", item)).body

    assert isinstance(body, bytes)
    assert [1, 2] == [point["values"]["status.ready"] for point in json.loads(body)["points"]]


def test_so_many_numbers() -> None:
    """A schema of very many numbers has the first of them kept."""
    numbers = {f"n{number}": {"type": "integer"} for number in range(MOST_FIELDS + 9)}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"status": {"type": "object", "properties": numbers}}}}
    kind = compile_kind(declaration(schema=schema, subresources={"history": {"trend": f".status.n{MOST_FIELDS + 1}"}}))

    assert kind.history is not None
    assert [*(f"status.n{number}" for number in range(MOST_FIELDS)), f"status.n{MOST_FIELDS + 1}"] == list(kind.history.kept.fields)


async def test_raw() -> None:
    """The item as it came, secrets masked."""
    kind = live(raw=True)
    item = collected(kind, {"name": "a", "url": "amqp://u:s3cret@h"})["a"]
    body = (await ask(kind, "raw", item)).body

    assert isinstance(body, bytes)
    assert {"item": {"name": "a", "url": "amqp://u:***@h"}} == json.loads(body)


async def test_log() -> None:
    """The item is the object of the cluster of which the pods are looked for."""
    kind = live(log=True)
    item = collected(kind, {"name": "a", "metadata": {"name": "x", "namespace": "a", "uid": "u1"}})["a"]
    body = (await ask(kind, "log", item)).body

    assert not isinstance(body, bytes)
    assert b"log of x-1\n" == b"".join([piece async for piece in body])
