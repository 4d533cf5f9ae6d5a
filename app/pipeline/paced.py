"""Bodies of kubelets, one after the other: to read one and to publish what it says is what takes long in a scrape."""

from app.lumps import Lumps
from collectors._base import Client


class PacedClient:
    """A Client that hands out each body when it is its turn."""

    def __init__(self, client: Client, lumps: Lumps) -> None:
        self._client = client
        self._lumps = lumps

    async def get(self, url: str, *, limit: int) -> bytes:
        """See Client."""
        body = await self._client.get(url, limit=limit)
        await self._lumps.scrape()
        return body
