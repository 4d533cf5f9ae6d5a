"""Family "time": what kubelets' stamps do. The kubelet's clock counts, and only differences of one series on it."""

import pytest

from tests.unit.lab.bodies import START, node_used, pod, stats, summary, used
from tests.unit.lab.laboratory import Lab, Row, jump, play, put, row, tell, tell_summary

pytestmark = pytest.mark.looptime

FIRST, SECOND = (0, tell(used(-1, 100))), (15, tell(used(14, 103.75)))
SERVED = "app 250m 8Mi @14 over 15s"
NOT_YET = "404: no two samples yet"
EXPIRED = f"{NOT_YET}; the last values, of 2025-11-30T10:53:44Z, expired"
GONE = "404: the kubelet of node node-a reports no new CPU and memory of container app; the last values, of {}, expired"
LAST_MS = 9_223_372_000_000
"""36 s before the last time that int64 nanoseconds hold."""


def sets_back(lab: Lab) -> None:
    """A kubelet's clock is about to be set back."""
    lab.set_back = True


ROWS = [
    row(
        "one sample told for ever",
        "An identical body is no second sample (payload 7).",
        [FIRST],
        {15: {"web": NOT_YET}, 50: {"web": NOT_YET}},
    ),
    row(
        "identical",
        "A kubelet that has nothing new changes nothing: value, window and time stay (payload 7).",
        [FIRST, SECOND],
        {15: {"web": SERVED}, 30: {"web": SERVED}, 45: {"web": SERVED}},
    ),
    row(
        "equal time, other counter",
        "Of two samples of one time the first stays.",
        [FIRST, SECOND, (30, tell(used(14, 109)))],
        {30: {"web": SERVED}},
    ),
    row("earlier", "An older sample changes nothing.", [FIRST, SECOND, (30, tell(used(5, 101)))], {30: {"web": SERVED}}),
    row(
        "late",
        "Samples that are old when they are told are true all the same, with their own time.",
        [(0, tell(used(-50, 100))), (15, tell(used(-35, 103.75)))],
        {15: {"web": "app 250m 8Mi @-35 over 15s"}},
    ),
    row(
        "nearer than a second",
        "Two samples 1 ms apart are one; the next pairs with the first.",
        [FIRST, (15, tell(used(-0.999, 109))), (30, tell(used(29, 107.5)))],
        {15: {"web": NOT_YET}, 30: {"web": "app 250m 8Mi @29 over 30s"}},
    ),
    row(
        "a gap",
        "After missed scrapes the rate is over the longer gap, and says so (symptom 5).",
        [FIRST, SECOND, (30, tell("scrape_error 1\n")), (60, tell(used(59, 115)))],
        {45: {"web": SERVED}, 60: {"web": "app 250m 8Mi @59 over 45s"}},
    ),
    row(
        "clocks that differ",
        "A kubelet whose clock is an hour ahead is served with its own time: its clock alone counts.",
        [(0, tell(used(3599, 100))), (15, tell(used(3614, 103.75)))],
        {15: {"web": "app 250m 8Mi @3614 over 15s"}},
    ),
    row(
        "one wild stamp",
        "A stamp that is further ahead than time has passed is no time: it costs that sample, and no other (symptom 20).",
        [FIRST, SECOND, (30, tell(used(3629, 107.5))), (45, tell(used(44, 111.25)))],
        {30: {"web": SERVED}, 45: {"web": "app 250m 8Mi @44 over 30s"}},
    ),
    row(
        "a first wild stamp",
        "If the first stamp is the wild one, nothing is served until it ends; then all begins anew.",
        [(0, tell(used(86400, 100))), *((at, tell(used(at - 1, 100 + at / 4))) for at in (15, 30, 45, 60, 75, 90))],
        {60: {"web": NOT_YET}, 75: {"web": NOT_YET}, 90: {"web": "app 250m 8Mi @89 over 15s"}},
    ),
    row(
        "a clock set ahead",
        "A clock set ahead: the last value stays until it ends, then all begins anew. No pair spans the leap: its rate would be near 0.",
        [FIRST, SECOND, *((at, tell(used(at + 3599, 100 + at / 4))) for at in range(30, 121, 15))],
        {30: {"web": SERVED}, 75: {"web": SERVED}, 90: {"web": EXPIRED}, 105: {"web": "app 250m 8Mi @3704 over 15s"}},
    ),
    row(
        "a clock set back",
        "A kubelet whose clock is set back keeps its last value until that ends; then it begins anew.",
        [FIRST, SECOND, (16, sets_back), *((at, tell(used(at - 601, 100 + at / 4))) for at in range(30, 121, 15))],
        {30: {"web": SERVED}, 75: {"web": SERVED}, 90: {"web": NOT_YET}, 105: {"web": "app 250m 8Mi @-496 over 15s"}},
    ),
    row(
        "our clock jumps ahead",
        "Our own wall clock has no say in values.",
        [FIRST, SECOND, (20, jump(3600)), *((at, tell(used(at - 1, 100 + at / 4))) for at in (30, 45, 60))],
        {60: {"web": "app 250m 8Mi @59 over 15s"}},
    ),
    row(
        "our clock jumps back",
        "Nor when it goes back: scrapes go on, versions rise.",
        [FIRST, SECOND, (20, jump(-86400)), *((at, tell(used(at - 1, 100 + at / 4))) for at in (30, 45, 60))],
        {60: {"web": "app 250m 8Mi @59 over 15s"}},
    ),
    row(
        "never again",
        "A sample that never advances ends after 60 s, although scrapes succeed.",
        [FIRST, SECOND],
        {74: {"web": SERVED}, 77: {"web": GONE.format("2025-11-30T10:53:44Z")}},
    ),
    row(
        "memory a little older",
        "CPU and memory measured some seconds apart make one value, of the CPU's time.",
        [(0, tell(used(-1, 100, memory_at=-9))), (15, tell(used(14, 103.75, memory_at=6)))],
        {15: {"web": SERVED}},
    ),
    row(
        "memory much older",
        "CPU and memory measured over a minute apart are not one value: the memory of then is not that of now.",
        [FIRST, SECOND, *((at, tell(used(at - 1, 100 + at / 4, 4096, memory_at=-100))) for at in (30, 45, 60, 75))],
        {30: {"web": SERVED}, 77: {"web": GONE.format("2025-11-30T10:53:44Z")}},
    ),
    row(
        "memory without a stamp",
        "Memory without a stamp was measured with the CPU, whatever the kubelet's clock shows (payload 13).",
        [(0, tell(used(-7200, 100, memory_at=None))), (15, tell(used(-7185, 103.75, memory_at=None)))],
        {15: {"web": "app 250m 8Mi @-7185 over 15s"}},
    ),
    row(
        "CPU only",
        "Without memory a sample is no sample: what was known stays.",
        [FIRST, SECOND, (30, tell(used(29, 107.5, None)))],
        {30: {"web": SERVED}},
    ),
    row("memory only", "Nor without CPU.", [FIRST, SECOND, (30, tell(used(29, None)))], {30: {"web": SERVED}}),
    row(
        "the older of two sources",
        "A served time never goes back: while the light endpoint is older than what the summary gave, the summary's value stays.",
        [
            (0, tell(used(-20, 100))),
            (0, tell_summary(summary({("web", "web-uid"): [stats(-3, 104, cores=0.3)]}))),
            (5, tell(used(-5, 103.75))),
            (15, tell(used(14, 108.5))),
        ],
        {5: {"web": "app 300m 8Mi @-3 over 20s from summary"}, 15: {"web": "app 250m 8Mi @14 over 19s"}},
        kubelet_summary=True,
    ),
    row(
        "two containers",
        "Containers are measured each at its own time; the pod has the time and the window of the earliest (payload 20).",
        [
            (0, put(pod(containers={"app": -600, "log": -600}))),
            (0, tell(used(-1, 100), used(-5, 10, name="log"))),
            (15, tell(used(14, 103.75), used(9, 10.14, name="log"))),
        ],
        {15: {"web": "app 250m 8Mi, log 10m 8Mi @9 over 14s"}},
    ),
    row(
        "a node's clock",
        "Nodes are rated as containers are.",
        [(0, tell(node_used(-1, 50))), (15, tell(node_used(13, 64)))],
        {0: {"node node-a": NOT_YET}, 15: {"node node-a": "1 512Mi @13 over 14s"}},
    ),
    row(
        "year 2262",
        "Whatever a stamp is, what is served can be written.",
        [(at, tell(used(str(LAST_MS + 1000 * at), 100 + at / 4))) for at in (0, 15)],
        {0: {"web": NOT_YET}, 15: {"web": f"app 250m 8Mi @{LAST_MS // 1000 + 15 - int(START)} over 15s"}},
    ),
]


@pytest.mark.parametrize("played", ROWS)
async def test_time(played: Row) -> None:
    """Each row is a rule of its own."""
    await play(played)
