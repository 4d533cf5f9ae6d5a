"""Family "parse": what a body may hold that is not as it should be. One bad line costs that line."""

from typing import Any

import pytest

from tests.unit.lab.bodies import line, node_used, rfc3339, stats, summary, unix, used
from tests.unit.lab.laboratory import Act, Row, laboratory, play, row, tell, tell_summary

pytestmark = pytest.mark.looptime

CPU = "container_cpu_usage_seconds_total"
SPELLING = ' {{ pod = "web", namespace="default",container="app", }}  +1.0375E+2 {}\n'
SERVED = "app 250m 8Mi @14 over 15s"
"""What `used(-1, 100)` and `used(14, 103.75)` give."""


def around(name: str, rule: str, *noise: str, expected: str = SERVED) -> object:
    """The same noise before and after good lines in two bodies, and what becomes of the good ones."""
    before, after = tell(*noise, used(-1, 100), node_used(-1, 50), *noise), tell(*noise, used(14, 103.75), node_used(14, 65), *noise)
    return row(name, rule, [(0, before), (15, after)], {15: {"web": expected, "node node-a": "1 512Mi @14 over 15s"}})


LABELS = {"container": "app", "namespace": "default", "pod": "web"}
OTHER = {"container": "b", "namespace": "default", "pod": "web"}
ROWS = [
    around(
        "start before 1970",
        "A start of year 1 with a stamp of year 1 costs that line (payload 1).",
        line("container_start_time_seconds", "-6.79e+09", "-62135596800000", **OTHER),
    ),
    around(
        "stamp of year 1",
        "A good value with a stamp before 1970 is dropped; the body is kept (symptom 20).",
        line(CPU, 5, "-62135596800000", **LABELS),
    ),
    around("stamp beyond time", "A stamp that no clock can show is dropped.", line(CPU, 5, "99999999999999999999", **LABELS)),
    around("stamp with a fraction", "Stamps are whole milliseconds by the grammar.", line(CPU, 5, "1764500000000.5", **LABELS)),
    around("no labels", "A container line without labels speaks of nobody (payload 16).", "container_cpu_usage_seconds_total 5\n"),
    around("a label is missing", "Without a namespace nobody knows whose it is.", line(CPU, 5, container="app", pod="web")),
    around(
        "empty container",
        "container='' is the pod's own cgroup, not a container (payload 18).",
        line(CPU, 5, **{**LABELS, "container": ""}),
    ),
    around(
        "pause container",
        "container='POD' is the sandbox (payload 18, symptom 35).",
        line(CPU, 5, **{**LABELS, "container": "POD"}),
    ),
    around("NaN", "Not a number is no value (payload 17).", line(CPU, "NaN", 14, **LABELS)),
    around("infinite", "Nor is the infinite.", line(CPU, "+Inf", 14, **LABELS), line(CPU, "-Inf", 14, **LABELS)),
    around("negative", "No counter is below 0.", line(CPU, "-1", 14, **LABELS)),
    around("1e100", "What no int64 holds is no value.", line(CPU, "1e100", 14, **LABELS), line(CPU, "1e19", 14, **LABELS)),
    around("infinite only in nanoseconds", "A finite number of seconds may be infinite in nanoseconds.", line(CPU, "1e300", 14, **LABELS)),
    around(
        "unclosed quote",
        "Text that breaks the grammar costs its line.",
        'container_cpu_usage_seconds_total{container="app,namespace="default",pod="web"} 5\n',
    ),
    around(
        "unclosed brace",
        "So does a brace without its partner.",
        'container_cpu_usage_seconds_total{container="app",namespace="default",pod="web" 5\n',
    ),
    around(
        "no value", "A line without a value has none.", 'container_cpu_usage_seconds_total{container="app",namespace="default",pod="web"}\n'
    ),
    around(
        "hex and underscores",
        "Only the grammar's numbers are numbers, whatever Python thinks of them.",
        line(CPU, "0x10", 14, **LABELS),
        line(CPU, "1_0", 14, **LABELS),
    ),
    around(
        "escapes of others",
        "Escaped quotes, backslashes and braces in other labels do not end a line early.",
        'container_cpu_usage_seconds_total{container="b",namespace="de\\"}fault",pod="w\\\\eb\\n"} 5\n',
    ),
    around("a line of 1 MB", "A line without end costs itself.", "container_cpu_usage_seconds_total{" + "x" * 1_000_000 + "\n"),
    around(
        "not UTF-8 in text",
        "Replacement characters cost their line only.",
        'container_cpu_usage_seconds_total{container="\ufffd",namespace="default",pod="web"} 5\n',
    ),
    around(
        "families of others",
        "pod_*, swap and legacy names are other families (payload 25).",
        line("pod_cpu_usage_seconds_total", 900, 14, namespace="default", pod="web"),
        line("container_cpu_usage_seconds", 900, 14, **LABELS),
    ),
    around("comments and blank lines", "What the format allows is no trouble.", "\n", "# HELP x\n", "# EOF\n", "  \n"),
    row(
        "other spellings",
        "Labels in any order, spaces, signs and exponents mean the same.",
        [(0, tell(used(-1, 100))), (15, tell(used(14, None), CPU + SPELLING.format(round(unix(14) * 1000))))],
        {15: {"web": SERVED}},
    ),
    row(
        "only a kubelet's own trouble",
        "scrape_error 1 with status 200 is a failed scrape, which erases nothing (payload 14).",
        [(0, tell(used(-1, 100))), (15, tell(used(14, 103.75))), (30, tell("resource_scrape_error 1\nscrape_error 1\n"))],
        {31: {"web": SERVED}, 60: {"web": SERVED}},
    ),
    row(
        "a line that was cut",
        "The last line must end with a line feed: one that does not may be the half of a number, and is dropped.",
        [
            (0, tell(used(-1, 100))),
            (15, tell(used(14, 103.75))),
            (30, tell(used(29, None), line(CPU, "107.5", 29, **LABELS).rstrip()[:-4])),
        ],
        {30: {"web": SERVED}},
    ),
    row(
        "a value that was cut",
        "Nor is the beginning of a counter a counter.",
        [(0, tell(used(-1, 100))), (15, tell(used(14, None), line(CPU, 1037, **LABELS).rstrip())), (30, tell(used(29, 107.5)))],
        {15: {"web": "404: no two samples yet"}, 30: {"web": "app 250m 8Mi @29 over 30s"}},
    ),
]


@pytest.mark.parametrize("played", ROWS)
async def test_parse(played: Row) -> None:
    """Each row is a rule of its own."""
    await play(played)


def summaries(*bodies: bytes) -> list[tuple[float, Act]]:
    """A body of /stats/summary every 30 s."""
    return [(30 * number, tell_summary(content)) for number, content in enumerate(bodies)]


def of_web(**changes: Any) -> bytes:
    """A summary with one pod, whose container's stats are changed."""
    return summary({("web", "web-uid"): [{**stats(-3, 100, cores=0.25), **changes}]})


def cpu_of(**figures: object) -> dict[str, Any]:
    """CPU stats of -3."""
    return {"cpu": {"time": rfc3339(-3), "usageCoreNanoSeconds": 10**11, **figures}}


GOOD = "app 250m 8Mi @-3 over 20s from summary"
NO_VALUE = "404: no two samples yet"
NOT_TOLD = "404: the kubelet of node node-a reports no new CPU and memory of container app"
SUMMARY = [
    ("a good one", "One body is enough (symptom 9).", summaries(of_web()), {1: GOOD}),
    (
        "a bad pod",
        "A part that cannot be read costs itself.",
        summaries(of_web().replace(b'"pods": [', b'"pods": ["?", {"podRef": 5}, ')),
        {1: GOOD},
    ),
    ("a bad node", "Also when it is the node's.", summaries(of_web().replace(b'"nodeName"', b'"cpu": [], "nodeName"')), {1: GOOD}),
    (
        "below zero",
        "A uint64 that went below zero in the kubelet is unknown.",
        summaries(of_web(**cpu_of(usageNanoCores=2**64 - 5))),
        {1: NO_VALUE},
    ),
    (
        "no number",
        "A text where a number should be costs that container.",
        summaries(of_web(**cpu_of(usageNanoCores="fast"))),
        {1: NOT_TOLD},
    ),
    (
        "a zero that was preset",
        "A rate of 0 of a young container is not believed.",
        summaries(of_web(**cpu_of(usageNanoCores=0), startTime=rfc3339(-40))),
        {1: NO_VALUE},
    ),
    (
        "a time without a zone",
        "It is no time; the stats are of the moment of the request.",
        summaries(of_web(**cpu_of(usageNanoCores=5, time="2025-11-30T10:53:00"))),
        {1: "app 5n 8Mi @0 over 20s from summary"},
    ),
    ("cut", "JSON that was cut is a failed scrape, which erases nothing.", summaries(of_web(), of_web()[:-9]), {1: GOOD, 60: GOOD}),
    (
        "not JSON",
        "Nor does another program's page.",
        summaries(b"<html>"),
        {1: "404: its node node-a cannot be scraped since 2025-11-30T10:53:30Z (payload)"},
    ),
]


@pytest.mark.parametrize(
    "played",
    [
        row(name, rule, acts, {at: {"web": words} for at, words in expected.items()}, kubelet_resource=False, kubelet_summary=True)
        for name, rule, acts, expected in SUMMARY
    ],
)
async def test_summary(played: Row) -> None:
    """Each row is a rule for /stats/summary."""
    await play(played)


async def test_lines_without_stamps_are_of_the_moment_of_the_request() -> None:
    """Payload 13. What stands still may be the old value told again, and is no news: so no rate of 0 is made up."""
    async with laboratory([tell(used(None, 100), node_used(None, 50))], kubelet_summary=False) as lab:
        await lab.at(16)
        waiting = (await lab.look())["web"]
        tell(used(None, 107.5), node_used(None, 80))(lab)
        await lab.at(31)
        words = (await lab.look())["web"]

    name, cpu, memory, at, *_ = words.split()
    assert ("404: no two samples yet", "app", "8Mi", "@30") == (waiting, name, memory, at)
    assert int(cpu.removesuffix("n")) == pytest.approx(250_000_000, rel=0.001)
