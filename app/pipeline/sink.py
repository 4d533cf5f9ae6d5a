"""Where the results of scrapes go. The reader of this Protocol is the pipeline; the store satisfies it."""

from typing import Protocol

from collectors._base import Batch, CollectError


class Sink(Protocol):
    """Takes what a scrape gave, the moment it ended. Both calls are synchronous and quick."""

    def publish(self, node: str, collector: str, batch: Batch) -> bool:
        """Take a batch. True once every CPU time in it has advanced since the start, so that no early second sample is needed."""
        ...

    def failed(self, node: str, collector: str, error: CollectError) -> None:
        """A scrape failed; the last good batch stays until its TTL."""
        ...
