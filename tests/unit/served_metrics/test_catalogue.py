"""Served metrics as objects, brought up to date when somebody looks."""

from collections.abc import Sequence

from app.cache.versions import Versions
from app.served_metrics.catalogue import ServedMetricObjects
from app.served_metrics.providers import Registry
from app.served_metrics.values import PODS, Absent, Answer, Entry, Question, State


class _Provider:
    """One metric of pods, and an external one."""

    name = "fake"

    def __init__(self) -> None:
        self.listed: Sequence[Entry] = [
            Entry("custom", "hits", PODS, namespaced=True, provider="fake", source="static"),
            Entry("external", "waiting", None, namespaced=True, provider="fake", source="static"),
        ]
        self.series = 1

    def entries(self) -> Sequence[Entry]:
        return self.listed

    async def answer(self, question: Question) -> Answer | Absent | None:
        return None

    def state(self, entry: Entry) -> State:
        return State(self.series if entry.api == "custom" else None, 0, "")


class _Clock:
    """It stands still."""

    def wall(self) -> float:
        return 1_800_000_000.0

    def monotonic(self) -> float:
        return 0.0


def test_objects_are_those_of_the_registry() -> None:
    """What did not change keeps its version, and so does the list."""
    registry, provider = Registry(), _Provider()
    registry.add(provider)
    objects = ServedMetricObjects(registry, Versions(_Clock(), 1))
    first = objects.snapshot()
    assert [("", "hits.pods"), ("", "waiting")] == [item.key for item in first]
    version = objects.version

    assert version == objects.version
    provider.series = 2
    changed = objects.get(("", "hits.pods"))
    assert changed is not None
    assert changed.version > version
    assert objects.get(("", "waiting")) is first[1]

    provider.listed = provider.listed[:1]
    registry.changed()
    assert 1 == len(objects)
    assert objects.get(("", "waiting")) is None
