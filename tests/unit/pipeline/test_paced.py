"""Bodies of kubelets are handed out one a turn of the loop."""

import asyncio

import pytest

from app.pipeline.paced import PacedClient
from collectors._base import Cause, CollectError
from tests.fakes.lumps import one_by_one


class Kubelets:
    """Answer at once, and tell what they were asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    async def get(self, url: str, *, limit: int) -> bytes:
        self.asked.append((url, limit))
        if url == "down":
            raise CollectError(Cause.DIAL, "refused")
        return url.encode()


async def test_bodies_come_in_different_turns_of_the_loop() -> None:
    """However many kubelets answer at once; requests go out at once."""
    kubelets = Kubelets()
    client = PacedClient(kubelets, one_by_one())
    scrapes = [asyncio.ensure_future(client.get(url, limit=9)) for url in "abc"]
    done = []
    for _ in range(8):
        await asyncio.sleep(0)
        done.append(sum(scrape.done() for scrape in scrapes))

    assert [("a", 9), ("b", 9), ("c", 9)] == kubelets.asked
    assert [b"a", b"b", b"c"] == [scrape.result() for scrape in scrapes]
    assert {1, 2, 3} <= set(done)


async def test_a_failure_waits_for_nobody() -> None:
    """There is nothing to work off."""
    client = PacedClient(Kubelets(), one_by_one())
    with pytest.raises(CollectError, match="refused"):
        await client.get("down", limit=9)
