"""The kinds that the demo declares, and the broker behind one of them."""

import json
from pathlib import Path

import httpx
import pytest

from app.cli import check, test_declarations
from app.simulation import declarations
from app.simulation.queues import PATH, Queues
from tests.fakes.clock import ManualClock


def test_the_demos_declarations_are_good(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They pass the checker and their own tests, a certificate of several lines in them."""
    folder = tmp_path / "declarations"
    declarations.write(folder, queues="https://127.0.0.1:1/api/queues", authority="-----BEGIN X-----\nMIIB\n-----END X-----\n")

    assert check.run([str(folder), "-o", "json"]) == 0, capsys.readouterr()
    assert test_declarations.run([str(folder)]) == 0, capsys.readouterr()


async def test_the_broker_tells_of_queues_that_fill_and_are_emptied() -> None:
    """Numbers follow from the time alone; other paths are 404."""
    clock = ManualClock()
    transport = httpx.ASGITransport(app=Queues(clock))
    ready = []
    async with httpx.AsyncClient(transport=transport, base_url="https://broker.test") as client:
        for _ in range(3):
            items = (await client.get(PATH)).json()["items"]
            ready.append({item["name"]: item["messages_ready"] for item in items})
            clock.advance(10)
        other = await client.get("/api/nodes")

    assert [queues["thumbnails"] for queues in ready] == [ready[0]["thumbnails"] + 170 * turn for turn in range(3)]
    assert all(0 <= count < 5000 for queues in ready for count in queues.values())
    assert (other.status_code, json.loads(other.content)["kind"]) == (404, "Status")
