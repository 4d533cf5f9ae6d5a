"""What is done when a connection that was kept turns out to have ended."""

from collections.abc import Sequence

import pytest

from collectors._base import Cause, CollectError
from collectors._kept_connection import once_more

CLOSED, QUERY = CollectError(Cause.CLOSED, "closed", ""), CollectError(Cause.QUERY, "wrong", "")


@pytest.mark.parametrize(
    ("kept", "outcomes", "expected"),
    [
        pytest.param(True, ["value"], "value", id="all is well"),
        pytest.param(True, [CLOSED, "value"], "value", id="what was kept had ended"),
        pytest.param(True, [CLOSED, CLOSED], CLOSED, id="the new one is closed too: that is told"),
        pytest.param(True, [CLOSED, QUERY], QUERY, id="what went wrong over the new one is told"),
        pytest.param(False, [CLOSED], CLOSED, id="one that was not kept is no old one"),
        pytest.param(True, [QUERY], QUERY, id="other faults stay as they are"),
    ],
)
async def test_once_more(kept: bool, outcomes: Sequence[str | CollectError], expected: str | CollectError) -> None:
    """Only once, and only for a connection that may have ended while nobody looked."""
    left = list(outcomes)

    async def collect() -> str:
        outcome = left.pop(0)
        if isinstance(outcome, CollectError):
            raise outcome
        return outcome

    if isinstance(expected, CollectError):
        with pytest.raises(CollectError) as raised:
            await once_more(collect, kept=kept)
        assert raised.value is expected
    else:
        assert await once_more(collect, kept=kept) == expected
    assert left == []
