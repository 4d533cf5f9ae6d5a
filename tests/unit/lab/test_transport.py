"""Family "transport": every way in which a scrape fails, from the wire to the log, the metrics and the 404. A sick node costs itself."""

from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.unit.lab.bodies import busy, node, node_used, pod
from tests.unit.lab.kubelets import DOWN, FAULTS, LIGHT, Answer, Flood, body, cut, drip, status
from tests.unit.lab.laboratory import ADDRESS, Lab, Row, answer, delete, laboratory, play, put, row, tell

pytestmark = pytest.mark.looptime

HEALTHY = "10.0.0.2"
SERVED = "app 250m 8Mi @14 over 15s"
SECOND_NODE = [put(node("node-b", HEALTHY)), put(pod("well", uid="well-uid", on="node-b"))]


def live(lab: Lab, second: float) -> None:
    """The healthy kubelet has measured."""
    tell(busy(second, 0.5, pod="well"), node_used(second, 50 + second), address=HEALTHY)(lab)


async def until(lab: Lab, second: int) -> list[str]:
    """Go on to `second`, and look at the healthy node and its pod on the way, once they had time for two samples."""
    looks = []
    for now in [*range(int(lab.clock.monotonic()) + 1, second, 5), second]:
        live(lab, now)
        await lab.at(now)
        if now % 10 == 0 and now > 45:
            seen = await lab.look()
            looks += [seen["well"].partition(" @")[0], seen["node node-b"].partition(" @")[0]]
    return looks


def told(logs: list[Any]) -> list[tuple[str, str, str, bool]]:
    """What the log says of scrapes at info and above: level, event, cause, and whether there is a remedy."""
    return [
        (entry["log_level"], entry["event"], entry["cause"], bool(entry.get("remedy")))
        for entry in logs
        if entry["event"].startswith("a node can") and entry["log_level"] != "debug"
    ]


async def failing(lab: Lab) -> dict[str, float]:
    """The gauge of what fails now, by cause."""
    text = (await lab.client.get("/metrics")).text
    lines = [line for line in text.splitlines() if line.startswith("kubeglance_failing_targets{")]
    return {line.split('cause="')[1].split('"')[0]: float(line.rsplit(" ", 1)[1]) for line in lines}


async def failures(lab: Lab) -> dict[str, float]:
    """How often it failed, by cause."""
    text = (await lab.client.get("/metrics")).text
    lines = [line for line in text.splitlines() if line.startswith("kubeglance_scrape_failures_total{")]
    return {line.split('cause="')[1].split('"')[0]: float(line.rsplit(" ", 1)[1]) for line in lines}


@pytest.mark.parametrize(("cause", "how"), [pytest.param(*fault, id=name) for name, fault in FAULTS.items()])
async def test_a_sick_kubelet_costs_itself(cause: str, how: Answer) -> None:
    """The last values stay 60 s and are then absent with since when and why; one warning with the remedy, one line at the end, counts by
    cause in /metrics; the healthy node is served all the time, and the replica stays ready."""
    begin = [*SECOND_NODE, tell(busy(-1, 0.25), node_used(-1, 50))]
    with capture_logs() as logs:
        async with laboratory(begin, kubelet_summary=False) as lab:
            await until(lab, 14)
            tell(busy(14, 0.25), node_used(14, 65))(lab)
            await until(lab, 29)
            answer(how)(lab)
            healthy = await until(lab, 74)
            kept = await lab.look()
            healthy += await until(lab, 100)
            gone = await lab.look()
            during = (await failing(lab), await failures(lab))
            ready = await lab.client.get("/readyz")
            tell(busy(104, 0.25), node_used(104, 155))(lab)
            healthy += await until(lab, 119)
            tell(busy(119, 0.25), node_used(119, 170))(lab)
            healthy += await until(lab, 121)
            after, back = await failing(lab), await lab.look()

    since = gone["web"].partition(" since ")[2].partition(" (")[0]
    assert (SERVED, "1 512Mi @14 over 15s") == (kept["web"], kept["node node-a"])
    assert (
        f"404: its node node-a cannot be scraped since {since} ({cause}); the last values, of 2025-11-30T10:53:44Z, expired" == gone["web"]
    )
    assert (
        f"404: node node-a cannot be scraped since {since} ({cause}); the last values, of 2025-11-30T10:53:44Z, expired"
        == gone["node node-a"]
    )
    assert "2025-11-30T10:54:" in since
    assert {"app 500m 8Mi", "1 512Mi"} == set(healthy)
    assert ({cause: 1.0}, [cause], 200) == (during[0], list(during[1]), ready.status_code)
    assert [("warning", "a node cannot be scraped", cause, True), ("info", "a node can be scraped again", cause, False)] == told(logs)
    assert {cause: 0.0} == after
    assert ("app 250m 8Mi @119 over 15s", "1 512Mi @119 over 15s") == (back["web"], back["node node-a"])


async def test_a_change_of_cause_is_told_once() -> None:
    """Down, then 401: one warning each, and the 404 has the cause of now since the first failure (issue item "Reasons")."""
    with capture_logs() as logs:
        async with laboratory([answer(DOWN)], kubelet_summary=False) as lab:
            await lab.at(40)
            first = (await lab.look())["web"]
            answer(status(401))(lab)
            await lab.at(70)
            second = (await lab.look())["web"]

    assert first == "404: its node node-a cannot be scraped since 2025-11-30T10:53:30Z (dial)"
    assert second == "404: its node node-a cannot be scraped since 2025-11-30T10:53:30Z (unauthorized)"
    assert [("warning", "dial"), ("warning", "unauthorized")] == [(level, cause) for level, _, cause, _ in told(logs)]


async def test_a_node_that_becomes_ready_and_still_fails_is_told_of() -> None:
    """Nodes register before they are Ready: until then a failure is no news, afterwards it is, once (symptom 23)."""
    with capture_logs() as logs:
        async with laboratory([answer(status(401)), put(node(ready=False))], kubelet_summary=False) as lab:
            await lab.at(40)
            quiet = told(logs)
            put(node())(lab)
            await lab.at(100)

    assert ([], [("warning", "unauthorized")]) == (quiet, [(level, cause) for level, _, cause, _ in told(logs)])


async def test_a_deleted_node_is_told_of_no_more() -> None:
    """Its series go from /metrics, its fault is forgotten, and nobody asks it (symptoms 23 and 24)."""
    async with laboratory([answer(DOWN)], kubelet_summary=False) as lab:
        await lab.at(1)
        before = "node-a" in (await lab.client.get("/metrics")).text
        delete("node-a", "nodes")(lab)
        await lab.at(2)
        asked = len(lab.kubelets.asked)
        await lab.at(600)
        text = (await lab.client.get("/metrics")).text

        assert (True, False, {"dial": 0.0}) == (before, "node-a" in text, await failing(lab))
        assert asked == len(lab.kubelets.asked)


async def test_100_mb_are_not_read() -> None:
    """A body is left at the limit: what a hostile kubelet costs is bounded."""
    flood = Flood()
    async with laboratory([answer(flood)], kubelet_summary=False) as lab:
        await lab.at(1)

    assert flood.sent <= 6


async def test_a_redirect_is_not_followed() -> None:
    """Our token goes to the node and nowhere else."""
    async with laboratory([answer(status(302, location="https://10.6.6.6/steal"))], kubelet_summary=False) as lab:
        await lab.at(31)

    assert {ADDRESS} == {address for _, address, _ in lab.kubelets.asked}


BOTH = busy(14, 0.25) + node_used(14, 65)
ROWS = [
    row(
        "slow",
        "A kubelet that takes 9 s is served, with the time of its measurements (symptom 22).",
        [(0, answer(body(busy(-1, 0.25), after=9))), (15, answer(body(busy(14, 0.25), after=9)))],
        {9: {"web": "404: no two samples yet"}, 28: {"web": SERVED}},
    ),
    row(
        "too slow",
        "At 10 s it is a failure: a whole scrape has a deadline, however lively the connection is.",
        [(0, answer(drip(busy(-1, 0.25) * 3)))],
        {
            9: {"web": "404: its node node-a was not scraped yet"},
            11: {"web": "404: its node node-a cannot be scraped since 2025-11-30T10:53:40Z (deadline)"},
        },
    ),
    row(
        "cut, and nobody noticed",
        "A body that ends early without an error gives what was whole; what is missing keeps its values (symptom 5).",
        [(0, tell(busy(-1, 0.25), node_used(-1, 50))), (15, tell(BOTH)), (30, answer(cut(busy(29, 0.25) + node_used(29, 80) * 2)))],
        {30: {"web": "app 250m 8Mi @29 over 15s", "node node-a": "1 512Mi @14 over 15s"}},
    ),
    row(
        "one lost scrape",
        "One failure costs nothing: the last value stays, the next pair is over the longer gap (symptom 5).",
        [(0, tell(busy(-1, 0.25))), (15, tell(busy(14, 0.25))), (30, answer(status(500))), (45, tell(busy(44, 0.25)))],
        {30: {"web": SERVED}, 45: {"web": "app 250m 8Mi @44 over 30s"}},
    ),
    row(
        "only the light endpoint fails",
        "One source that answers is no failing node: what it has not is said of it.",
        [
            (0, answer(status(500), LIGHT)),
            (
                0,
                answer(
                    body('{"node":{"nodeName":"n","cpu":{"usageNanoCores":5,"usageCoreNanoSeconds":5},"memory":{"workingSetBytes":4096}}}'),
                    "/stats/summary",
                ),
            ),
        ],
        {1: {"web": "404: the kubelet of node node-a reports no new CPU and memory of container app"}},
        kubelet_summary=True,
    ),
]


@pytest.mark.parametrize("played", ROWS)
async def test_transport(played: Row) -> None:
    """Each row is a rule of its own."""
    await play(played)
