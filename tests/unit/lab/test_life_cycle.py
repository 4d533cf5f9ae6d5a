"""Family "life cycle": containers that begin, end, crash and begin again. A pod is whole or absent, of what runs now."""

import pytest

from tests.unit.lab.bodies import busy, pod, used
from tests.unit.lab.laboratory import Act, Row, play, put, row, tell

pytestmark = pytest.mark.looptime

NOT_YET = "404: no two samples yet"
NO_VALUE = "404: what the kubelet told last of container app makes no value"
RESTARTED = "404: container app restarted and has no sample since"
SERVED = "app 250m 8Mi @14 over 15s"
TWO: list[tuple[float, Act]] = [(0, tell(busy(-1, 0.25))), (15, tell(busy(14, 0.25)))]


def young(name: str, age: float, expected: str, rule: str) -> object:
    """A container seen first at -1, `age` seconds old, which has always used one core."""
    return row(
        name,
        rule,
        [(0, put(pod(containers={"app": -1 - age}))), (0, tell(used(-1, max(age, 1), started=-1 - age)))],
        {0: {"web": expected}},
    )


ROWS = [
    young(
        "first sample at 10 s",
        10,
        "app 1 8Mi @-1 over 10s",
        "A container of 10 to 60 s is rated from its start (payload 10, symptom 10).",
    ),
    young("first sample at 9 s", 9, NOT_YET, "9 s are too short a window (payload 10)."),
    young("first sample at 60 s", 60, "app 1 8Mi @-1 over 1m0s", "60 s are not too long."),
    young("first sample at 61 s", 61, NOT_YET, "The average of more would be of the past."),
    young("a start after the sample", -5, NOT_YET, "A start after the sample gives no origin (payload 10)."),
    row(
        "no start",
        "Without a start two samples make a rate all the same (payload 12).",
        [(at, tell(busy(at - 1, 0.25, started=None))) for at in (0, 15)],
        {0: {"web": NOT_YET}, 15: {"web": SERVED}},
    ),
    row(
        "restart",
        "A restarted container is another instance: absent, then rated from its new start (payload 11).",
        [(0, tell(used(-1, 45))), (15, tell(used(10, 50))), (20, put(pod(containers={"app": 15}))), (30, tell(used(25, 5, started=15)))],
        {20: {"web": RESTARTED}, 30: {"web": "app 500m 8Mi @25 over 10s"}},
    ),
    row(
        "restart before the status tells",
        "The kubelet's own word of a new instance counts, also if kube-apiserver does not know yet.",
        [(0, tell(used(-1, 45))), (15, tell(used(10, 50))), (30, tell(used(25, 5, started=15))), (45, put(pod(containers={"app": 15})))],
        {30: {"web": "app 500m 8Mi @25 over 10s"}, 45: {"web": "app 500m 8Mi @25 over 10s"}},
    ),
    row(
        "restart and a larger counter",
        "Another start is another instance, also if its counter happens to be above the old one (symptom 14).",
        [
            (0, tell(used(-1, 1))),
            (15, tell(used(14, 1.1))),
            (20, put(pod(containers={"app": 22}))),
            (30, tell(used(29, 14, started=22))),
            (45, tell(used(44, 29, started=22))),
        ],
        {30: {"web": f"{NOT_YET}; the last values, of 2025-11-30T10:53:44Z, expired"}, 45: {"web": "app 1 8Mi @44 over 15s"}},
    ),
    row(
        "slow to start",
        "Kubelets tell when a container was created, the pod when it was started: what was created after the one before ended is it.",
        [
            *TWO,
            (20, put(pod(containers={"app": 20}, ended={"app": 5}))),
            (30, tell(busy(29, 0.25))),
            (45, tell(used(44, 18, started=8))),
        ],
        {20: {"web": RESTARTED}, 30: {"web": RESTARTED}, 45: {"web": "app 500m 8Mi @44 over 36s"}},
    ),
    row(
        "a counter that went back",
        "Never negative: the pod is absent for that sample, whole (payload 6; symptoms 14 to 16).",
        [(0, tell(used(-1, 20))), (15, tell(used(14, 10))), (30, tell(used(29, 13.75)))],
        {15: {"web": NO_VALUE}, 30: {"web": "app 250m 8Mi @29 over 15s"}},
    ),
    row(
        "one of two went back",
        "Half a pod would scale an HPA down: the other container is not shown alone (symptom 15).",
        [
            (0, put(pod(containers={"app": -600, "log": -600}))),
            (0, tell(used(-1, 20), busy(-1, 0.1, name="log"))),
            (15, tell(used(14, 10), busy(14, 0.1, name="log"))),
        ],
        {15: {"web": NO_VALUE}},
    ),
    row(
        "a container that is told later",
        "A pod waits for every container that runs (payload 21).",
        [
            (0, put(pod(containers={"app": -600, "log": -600}))),
            (0, tell(busy(-1, 0.25))),
            (15, tell(busy(14, 0.25), busy(14, 0.1, name="log"))),
            (30, tell(busy(29, 0.25), busy(29, 0.1, name="log"))),
        ],
        {0: {"web": NOT_YET}, 15: {"web": NOT_YET}, 30: {"web": "app 250m 8Mi, log 100m 8Mi @29 over 15s"}},
    ),
    row(
        "crash loop",
        "Between two runs there is nothing to show, and each run begins anew.",
        [
            *TWO,
            (20, put(pod(containers={"app": "CrashLoopBackOff"}))),
            (30, put(pod(containers={"app": 28}))),
            (45, tell(used(40, 6, started=28))),
            (50, put(pod(containers={"app": "Error"}))),
        ],
        {
            15: {"web": SERVED},
            20: {"web": "404: none of its containers runs"},
            30: {"web": RESTARTED},
            45: {"web": "app 500m 8Mi @40 over 12s"},
            50: {"web": "404: none of its containers runs"},
        },
    ),
    row(
        "one of two crashes",
        "What does not run uses nothing: the pod is whole without it, and waits for it when it is back (symptom 11).",
        [
            (0, put(pod(containers={"app": -600, "log": -600}))),
            *((at, tell(busy(at - 1, 0.25), busy(at - 1, 0.1, name="log"))) for at in (0, 15)),
            (20, put(pod(containers={"app": -600, "log": "OOMKilled"}))),
            (25, put(pod(containers={"app": -600, "log": 24}))),
        ],
        {
            15: {"web": "app 250m 8Mi, log 100m 8Mi @14 over 15s"},
            20: {"web": SERVED},
            25: {"web": "404: container log restarted and has no sample since"},
        },
    ),
    row(
        "an init container with zeros",
        "An init container that ended is not waited for, whatever is told of it (payload 3, symptom 11).",
        [
            (0, put(pod(init={"setup": "Completed"}))),
            *((at, tell(busy(at - 1, 0.25), used(at - 1, 0, 0, name="setup"))) for at in (0, 15)),
        ],
        {15: {"web": SERVED}},
    ),
    row(
        "a native sidecar",
        "An init container that goes on is part of the pod: counted, and waited for.",
        [
            (0, put(pod(sidecars={"proxy": -600}, init={"setup": "Completed"}))),
            (0, tell(busy(-1, 0.25))),
            *((at, tell(busy(at - 1, 0.25), busy(at - 1, 0.1, name="proxy"))) for at in (15, 30)),
        ],
        {15: {"web": NOT_YET}, 30: {"web": "app 250m 8Mi, proxy 100m 8Mi @29 over 15s"}},
    ),
    row(
        "a terminated container",
        "A container that ended is not waited for; its frozen figures are not shown.",
        [
            (0, put(pod(containers={"app": -600, "job": "Completed"}))),
            *((at, tell(busy(at - 1, 0.25), used(-300, 77, name="job"))) for at in (0, 15)),
        ],
        {15: {"web": SERVED}},
    ),
    row(
        "finished", "A pod that is finished is gone.", [*TWO, (20, put(pod(phase="Succeeded")))], {15: {"web": SERVED}, 20: {"web": "404"}}
    ),
    row(
        "pending",
        "A pod that does not run yet has no value, and the 404 says so.",
        [(0, put(pod(phase="Pending", containers={"app": "ContainerCreating"})))],
        {0: {"web": "404: the pod is Pending, not Running"}},
    ),
    row(
        "not bound",
        "Nor has one without a node.",
        [(0, put(pod(on="", phase="Running")))],
        {0: {"web": "404: the pod is not bound to a node yet"}},
    ),
    row(
        "resized in place",
        "A container that is resized without a restart goes on: same instance, same counter (KEP-1287).",
        [*TWO, (20, put(pod(cpu_limit="4"))), (30, tell(used(29, 253.5 + 15)))],
        {20: {"web": SERVED}, 30: {"web": "app 1 8Mi @29 over 15s"}},
    ),
]


@pytest.mark.parametrize("played", ROWS)
async def test_life_cycle(played: Row) -> None:
    """Each row is a rule of its own."""
    await play(played)
