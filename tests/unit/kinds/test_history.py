"""/history and the column Trend: what is told of an object's numbers."""

import json
from typing import Any

import pytest

from app.auth.identity import User
from app.cache.history import History
from app.errors import Problem
from app.kinds._base import Asked, Told
from app.kinds._history import ASCII, BLOCKS, TREND, history, trend
from tests.fakes.clock import EPOCH, ManualClock
from tests.fakes.kinds import make_queue

SECOND = 10**9
NOW = int(EPOCH) * SECOND  # 10:53:20, which is 20 s into a minute


def kept() -> History:
    """Five points, 15 s apart, the newest now: 10, 20, 30, 40, 50, and half of each."""
    made = History(["status.ready", "status.lag", "spec.limit"], 60, 15 * SECOND)
    for number in range(5):
        made.take(NOW - (4 - number) * 15 * SECOND, {("a", "one"): [10 * (number + 1), 5 * (number + 1) / 2, None]})
    return made


async def asked(**query: str) -> Told:
    return await history(kept(), ManualClock()).answer(Asked(make_queue("a", "one"), query, User("ann")))


async def body(**query: str) -> Any:
    told = (await asked(**query)).body
    assert isinstance(told, bytes)
    return json.loads(told)


async def test_points() -> None:
    """Points as they were seen, whole numbers as such; what an object lacks is left out."""
    told = await body()

    assert ("0s", 5) == (told["step"], len(told["points"]))
    assert {"time": "2025-11-30T10:53:20Z", "values": {"status.ready": 50, "status.lag": 12.5}} == told["points"][-1]


@pytest.mark.parametrize(
    ("query", "ready"),
    [
        ({"since": "31s"}, [30, 40, 50]),
        ({"since": "2025-11-30T10:52:50Z"}, [30, 40, 50]),
        ({"since": "2025-11-30T11:52:50+01:00"}, [30, 40, 50]),
        ({"since": "2099-01-01T00:00:00Z"}, []),
        ({"step": "1m"}, [20, 45]),
        ({"step": "1m", "since": "16s"}, [45]),
        ({"step": "1h"}, [30]),
        ({"since": "", "step": ""}, [10, 20, 30, 40, 50]),
    ],
)
async def test_query(query: dict[str, str], ready: list[int]) -> None:
    """since is a time or how long ago; step averages over parts of the wall clock's grid."""
    assert ready == [point["values"]["status.ready"] for point in (await body(**query))["points"]]


@pytest.mark.parametrize("name", ["since", "step"])
@pytest.mark.parametrize("text", ["5", "x", "-5m", "0s", "1e9h", "9999999h", "2025-13-01T00:00:00Z", "2025-11-30T10:00:00", "2025-"])
async def test_bad_query(name: str, text: str) -> None:
    """400 names the parameter and what it is to be."""
    with pytest.raises(Problem) as caught:
        await asked(**{name: text})

    assert 400 == caught.value.code
    assert caught.value.message.startswith(f'{name}: Invalid value: "{text}": ')


async def test_table() -> None:
    """A row a point, a column a number; with many of them, the later ones are for -o wide."""
    told = await asked(step="1h")

    assert ["Time", "ready", "lag", "spec.limit"] == [column.name for column in told.columns]
    assert (("2025-11-30T10:00:00Z", "30", "7.5", ""),) == told.rows


@pytest.mark.parametrize(
    ("values", "maximum", "drawn"),
    [
        ([0, 1, 2, 3, 4, 5, 6, 7], None, "▁▂▃▄▅▆▇█"),
        ([0, 0, 0, 0, 0, 0, 0, 0], None, "▁▁▁▁▁▁▁▁"),
        ([None, None, None, None, None, None, 5, 5], None, "······██"),
        ([25, 50, 100, 150, None, 1, 99, 0], 100, "▃▅██·▁█▁"),
        ([-5, 5], 100, "▁▁"),
        ([5, 10], 0, "▅█"),
        ([None] * 8, 100, "········"),
    ],
)
def test_trend(values: list[float | None], maximum: float | None, drawn: str) -> None:
    """From 0 to the maximum, or to the largest there is; above it the highest glyph; a dot where nothing was seen."""
    assert drawn == trend(values, maximum, "blocks")
    assert drawn.translate(str.maketrans(BLOCKS + "·", ASCII + ".")) == trend(values, maximum, "ascii")


def test_the_column_is_wide() -> None:
    assert ("Trend", 1) == (TREND.name, TREND.priority)
