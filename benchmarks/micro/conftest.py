"""The cluster of all steps, made once: 100 nodes x 70 pods x 2 containers."""

from collections.abc import Iterator

import pytest

from app.clock import SystemClock
from benchmarks.micro.whole import Whole
from benchmarks.plan import Plan


@pytest.fixture(scope="session")
def whole() -> Iterator[Whole]:
    """Two rounds are published: every pod has values."""
    made = Whole(Plan(nodes=100, pods=70, containers=2, since=int(SystemClock().wall()) - 600))
    made.round()
    made.round()
    yield made
    made.close()
