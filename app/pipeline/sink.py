"""Where the results of scrapes go. The reader of this Protocol is the pipeline; the store satisfies it."""

from typing import Protocol

from app.cache.stats import Stats
from collectors._base import Batch, CollectError


class Sink(Protocol):
    """Takes what a scrape gave, the moment it ended. Both calls are synchronous and quick."""

    def publish(self, node: str, collector: str, batch: Batch) -> bool:
        """Take a batch. True once every CPU time in it has advanced since the start, so that no early second sample is needed."""
        ...

    def failed(self, node: str, collector: str, error: CollectError) -> None:
        """A scrape failed; the last good batch stays until its TTL."""
        ...


class StatsSink:
    """Hands everything to the stats first, which keep what only a full summary tells, and then to the sink of all."""

    def __init__(self, sink: Sink, stats: Stats) -> None:
        self._sink = sink
        self._stats = stats

    def publish(self, node: str, collector: str, batch: Batch) -> bool:
        """See Sink."""
        self._stats.publish(node, collector, batch)
        return self._sink.publish(node, collector, batch)

    def failed(self, node: str, collector: str, error: CollectError) -> None:
        """See Sink."""
        self._stats.failed(node, collector, error)
        self._sink.failed(node, collector, error)
