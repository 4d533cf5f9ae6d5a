"""The kubelet's light endpoint, /metrics/resource: CPU and memory of the node and of every container."""

from collectors._base import Batch, Client, Target
from collectors._resource_columns import read_columns
from collectors._resource_lines import read_lines

BODY_LIMIT = 4 * 1024 * 1024
"""A node of 500 pods with 4 containers each answers with about 1.5 MB."""


class KubeletResource:
    """Collector of /metrics/resource."""

    name = "kubelet_resource"
    interval = 15.0
    path = "/metrics/resource"

    async def collect(self, target: Target, client: Client, *, received: float, layout: object = None) -> Batch:
        """Scrape once; see Collector.collect."""
        body = await client.get(target.url + (target.path or self.path), limit=BODY_LIMIT)
        return parse(body, received=received, layout=layout)


def parse(body: bytes, *, received: float, layout: object = None) -> Batch:
    """A Batch from the text of /metrics/resource. `received` (Unix seconds) stamps samples that carry no time.

    Lines that break the grammar, or carry NaN, infinite, negative or overlarge values, are dropped and counted; so is a last line without
    its line feed, which may have been cut within a number. Raises CollectError if nothing usable is left.
    """
    now = int(received * 1e9)
    batch = read_columns(body, now, layout)
    return batch if batch is not None else read_lines(body, now)
