"""A collector and a sink for tests of the pipeline: scripted answers, and a record of what was published."""

import asyncio
from collections.abc import Sequence

from prometheus_client import CollectorRegistry

from app.clock import Clock
from app.pipeline.faults import Faults
from app.pipeline.scraper import Surroundings
from app.pipeline.turns import Turns
from app.telemetry import Metrics
from collectors._base import Batch, Client, CollectError, Target

Answer = Batch | Exception | float
"""What a scrape gives: a batch, an error, or that many seconds of silence and then an empty batch."""

EMPTY = Batch(node=None, pods={})


class FakeCollector:
    """Gives `answers` in turn, the last one for ever. `by_url` gives an answer for an address instead."""

    interval = 15.0
    path = "/x"

    def __init__(self, *answers: Answer, name: str = "kubelet_resource", by_url: dict[str, Answer] | None = None) -> None:
        self.name = name
        self._answers = list(answers) or [EMPTY]
        self._by_url = by_url or {}
        self.asked: list[tuple[float, str]] = []
        self.layouts: list[object] = []
        self.clients: list[Client] = []

    async def collect(self, target: Target, client: Client, *, received: float, layout: object = None) -> Batch:
        self.layouts.append(layout)
        self.clients.append(client)
        self.asked.append((round(asyncio.get_running_loop().time(), 3), target.url))
        answer = self._by_url.get(target.url)
        if answer is None:
            answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, float):
            await asyncio.sleep(answer)
            return EMPTY
        return answer

    @property
    def times(self) -> list[float]:
        return [time for time, _ in self.asked]


class RecordingSink:
    """Keeps (time, node, collector, what). `settled` answers publish, in turn and the last for ever."""

    def __init__(self, *settled: bool | Exception) -> None:
        self._settled = list(settled) or [True]
        self.published: list[tuple[float, str, str]] = []
        self.failures: list[tuple[str, str, CollectError]] = []

    def publish(self, node: str, collector: str, batch: Batch) -> bool:
        self.published.append((round(asyncio.get_running_loop().time(), 3), node, collector))
        settled = self._settled.pop(0) if len(self._settled) > 1 else self._settled[0]
        if isinstance(settled, Exception):
            raise settled
        return settled

    def failed(self, node: str, collector: str, error: CollectError) -> None:
        self.failures.append((node, collector, error))


class NoClient:
    """Fake collectors ask nobody."""

    async def get(self, url: str, *, limit: int) -> bytes:
        raise AssertionError(url)


def surroundings(clock: Clock, sink: RecordingSink) -> Surroundings:
    """All that loops share, on a registry of its own. Pods are listed."""
    metrics, tried = Metrics(CollectorRegistry()), asyncio.Event()
    tried.set()
    return Surroundings(
        client=NoClient(),
        paced=NoClient(),
        sink=sink,
        pods_tried=tried,
        clock=clock,
        faults=Faults(metrics),
        metrics=metrics,
        turns=Turns(),
    )


def values(metrics: Metrics, name: str, labels: Sequence[str]) -> dict[tuple[str, ...], float]:
    """The samples of one series name, by the values of `labels`."""
    return {
        tuple(sample.labels[label] for label in labels): sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == name
    }
