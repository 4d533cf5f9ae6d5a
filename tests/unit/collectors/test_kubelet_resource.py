"""Bodies of /metrics/resource, good and bad, and what is made of them."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors._base import Batch, Cause, CollectError, Sample
from collectors.kubelet_resource import parse

RECEIVED = 1_700_000_100.0
STAMP = 1_700_000_000_000
NS = 1_000_000
NODE = f"node_cpu_usage_seconds_total 12.5 {STAMP}\nnode_memory_working_set_bytes 1.5e+06 {STAMP}\n"


def container(name: str = "c", *, cpu: object = 2.5, memory: object = 4096, stamp: object = STAMP, started: object = "1.6999e+09") -> str:
    labels = f'{{container="{name}",namespace="ns",pod="p"}}'
    return (
        f"container_cpu_usage_seconds_total{labels} {cpu} {stamp}\n"
        f"container_memory_working_set_bytes{labels} {memory} {stamp}\n"
        f"container_start_time_seconds{labels} {started}\n"
    )


def only(batch: Batch) -> Sample:
    """The one container of the one pod."""
    ((_, pod),) = batch.pods.items()
    (sample,) = pod.containers
    return sample


def read(text: str) -> Batch:
    return parse(text.encode(), received=RECEIVED)


def test_a_body_in_the_form_of_kubelets() -> None:
    """Seconds become nanoseconds, stamps keep their milliseconds, the start has none."""
    batch = read("# HELP x y\n# TYPE x counter\n" + container() + NODE + "resource_scrape_error 0\n")

    expected = Sample(name="c", cpu=2_500_000_000, cpu_time=STAMP * NS, memory=4096, memory_time=STAMP * NS, started=1_699_900_000 * 10**9)
    assert only(batch) == expected
    assert batch.node == Sample(name="", cpu=12_500_000_000, cpu_time=STAMP * NS, memory=1_500_000, memory_time=STAMP * NS)
    assert batch.dropped == 0


def test_swap_is_read_where_it_is_told() -> None:
    """A kubelet without swap lines knows nothing of swap, which is not 0."""
    labels = '{container="c",namespace="ns",pod="p"}'
    batch = read(container() + f"container_swap_usage_bytes{labels} 4096 {STAMP}\n" + NODE)

    assert (only(batch).swap, batch.node.swap if batch.node else 0) == (4096, None)


TOLERATED = [
    pytest.param('container_cpu_usage_seconds_total{pod="p",container="c",namespace="ns"} 2.5', id="labels in any order"),
    pytest.param('container_cpu_usage_seconds_total{container="c",namespace="ns",pod="p",} 2.5', id="a trailing comma"),
    pytest.param('container_cpu_usage_seconds_total{ container = "c" , namespace="ns",pod="p" }  2.5 ', id="spaces"),
    pytest.param(
        'container_cpu_usage_seconds_total{container="c",namespace="ns",pod="p",id="x\\"y}"} 2.5',
        id="an escaped quote and a brace in a value",
    ),
    pytest.param('container_cpu_usage_seconds_total{container="c",namespace="ns",pod="p"} +2.5\r', id="a sign and a carriage return"),
    pytest.param('container_cpu_usage_seconds_total{container="c",namespace="ns",pod="p"} 25E-1', id="a capital exponent"),
]


@pytest.mark.parametrize("line", TOLERATED)
def test_other_spellings_of_the_format_are_read(line: str) -> None:
    """Whatever the text format allows is read; a line without a stamp is stamped with the time of the request."""
    sample = only(read(line + "\n"))

    assert (sample.cpu, sample.cpu_time) == (2_500_000_000, int(RECEIVED * 10**9))


BAD = [
    pytest.param("container_cpu_usage_seconds_total 5", 0, id="no labels at all is another family's form and says of nobody"),
    pytest.param('container_cpu_usage_seconds_total{container="d",namespace="ns"} 5', 1, id="a missing label"),
    pytest.param('container_cpu_usage_seconds_total{container="",namespace="ns",pod="p"} 5', 1, id="an empty container"),
    pytest.param('container_cpu_usage_seconds_total{container="POD",namespace="ns",pod="p"} 5', 1, id="the pause container"),
    pytest.param('container_cpu_usage_seconds_total{container="d",namespace="ns",pod="p"} NaN', 1, id="NaN"),
    pytest.param('container_cpu_usage_seconds_total{container="d",namespace="ns",pod="p"} +Inf', 1, id="infinite"),
    pytest.param('container_cpu_usage_seconds_total{container="d",namespace="ns",pod="p"} -1', 1, id="negative"),
    pytest.param('container_cpu_usage_seconds_total{container="d",namespace="ns",pod="p"} 1e100', 1, id="beyond int64"),
    pytest.param('container_cpu_usage_seconds_total{container="d",namespace="ns",pod="p"} 1e300', 1, id="infinite only in nanoseconds"),
    pytest.param('container_cpu_usage_seconds_total{container="d",namespace="ns",pod="p"} 1 2 3', 1, id="too many fields"),
    pytest.param('container_cpu_usage_seconds_total{container="d",namespace="ns",pod="p"}', 1, id="no value"),
    pytest.param('container_cpu_usage_seconds_total{container="d,namespace="ns",pod="p"} 5', 1, id="an unclosed quote"),
    pytest.param('container_cpu_usage_seconds_total{container="d",namespace="ns",pod="p"} 1.2.3', 1, id="not a number"),
    pytest.param(
        'container_cpu_usage_seconds_total{container="d",namespace="ns",pod="p"} 1 99999999999999999999', 1, id="a stamp beyond time"
    ),
    pytest.param('container_start_time_seconds{container="c",namespace="ns",pod="p"} -62135596800', 1, id="a start before 1970"),
    pytest.param('container_cpu_usage_seconds_total{container="d",namespace="ns",pod="p"} 1_0', 1, id="digits as only Python writes them"),
    pytest.param('container_cpu_usage_seconds_total{container="d",namespace="ns",pod="p"} \u0661\u0662', 1, id="digits of other scripts"),
    pytest.param(f'container_cpu_usage_seconds_total{{{"x" * 9000}="y"}} 1', 1, id="a label set of kilobytes"),
    pytest.param('container_cpu_usage_seconds_total{a="' + '\\"' * 5000 + "} 1", 1, id="a value without an end"),
    pytest.param("container_cpu_usage_seconds 5", 0, id="a family of old kubelets"),
]


@pytest.mark.parametrize(("line", "dropped"), BAD)
def test_a_bad_line_costs_that_line(line: str, dropped: int) -> None:
    """The rest of the body is kept, and the loss is counted."""
    batch = read(container() + line + "\n" + NODE)

    assert only(batch).cpu == 2_500_000_000
    assert batch.node is not None
    assert batch.dropped >= dropped


def instance(
    cpu: float | None, memory: int | None, started: float | None, *, stamp: object = STAMP, memory_stamp: object = None
) -> list[str]:
    """The lines of one instance of container c; None leaves a line out."""
    labels = '{container="c",namespace="ns",pod="p"}'
    lines = (
        ("cpu_usage_seconds_total", cpu, f" {stamp}"),
        ("memory_working_set_bytes", memory, f" {stamp if memory_stamp is None else memory_stamp}"),
        ("start_time_seconds", started, ""),
    )
    return [f"container_{family}{labels} {value}{at}\n" for family, value, at in lines if value is not None]


LIVE = instance(3, 8192, 1.6999e9)
NOTHING = (None, None, None)
INSTANCES = [
    pytest.param(instance(900, 1, 1.6e9, stamp=STAMP - 90_000), (3, 8192, 1_699_900_000), id="one that stopped lends nothing"),
    pytest.param(instance(1, 1, 1.6e9, stamp=STAMP - 90_000), (3, 8192, 1_699_900_000), id="whichever counter is smaller"),
    pytest.param(instance(900, None, None, stamp=STAMP - 90_000), (3, 8192, None), id="whose start it is is not told"),
    pytest.param(instance(900, 1, 1.6e9, stamp=STAMP - 9_000), NOTHING, id="two that live cannot be told apart, the older stamp is none"),
    pytest.param(instance(900, 1, 1.6e9, stamp=STAMP + 9_000), NOTHING, id="nor is the newer"),
    pytest.param(instance(900, 1, 1.6e9), NOTHING, id="of one time"),
    pytest.param(instance(900, 1, 1.6e9, stamp=""), NOTHING, id="without stamps"),
    pytest.param(instance(None, 1, None), NOTHING, id="two of memory only"),
    pytest.param(instance(900, None, None), NOTHING, id="two of CPU only"),
    pytest.param(instance(None, None, 1.6e9), NOTHING, id="two of starts only: the CPU may be the other's"),
    pytest.param(instance(900, 1, 1.6e9, stamp=STAMP - 90_000, memory_stamp=STAMP), NOTHING, id="a leftover's memory with a new stamp"),
    pytest.param(LIVE, (3, 8192, 1_699_900_000), id="the same lines twice are one instance"),
]


@pytest.mark.parametrize(("others", "expected"), INSTANCES)
@given(st.randoms(use_true_random=False))
def test_two_instances_in_one_body_never_mix(others: list[str], expected: tuple[int | None, ...], random: Random) -> None:
    """Whatever order the lines have, what is told is of one instance, the one that lives; or nothing is told."""
    lines = [*LIVE, *others]
    random.shuffle(lines)
    batch = read("".join(lines) + NODE)

    samples = [sample for pod in batch.pods.values() for sample in pod.containers]
    (told,) = [(s.cpu and s.cpu // 10**9, s.memory, s.started and s.started // 10**9) for s in samples] or [NOTHING]
    assert expected == told


def test_a_last_line_without_its_line_feed_is_dropped() -> None:
    """It may have been cut within a number, and the beginning of a counter is another counter."""
    batch = read(container() + NODE + 'container_cpu_usage_seconds_total{container="d",namespace="ns",pod="p"} 10')

    assert (only(batch).name, batch.dropped) == ("c", 1)


@pytest.mark.parametrize(
    ("cpu_stamp", "memory_stamp", "expected"),
    [
        pytest.param(STAMP, STAMP - 7000, (STAMP * NS, (STAMP - 7000) * NS, True), id="each has its own"),
        pytest.param(STAMP, "", (STAMP * NS, STAMP * NS, True), id="memory without a stamp was measured with the CPU"),
        pytest.param("", STAMP, (int(RECEIVED * 1e9), int(RECEIVED * 1e9), False), id="CPU without a stamp is of the request's time"),
        pytest.param("", "", (int(RECEIVED * 1e9), int(RECEIVED * 1e9), False), id="no stamps"),
    ],
)
def test_lines_without_stamps(cpu_stamp: object, memory_stamp: object, expected: tuple[int, int, bool]) -> None:
    """The kubelet's clock and ours are never compared."""
    sample = only(read("".join(instance(3, 8192, None, stamp=cpu_stamp, memory_stamp=memory_stamp))))

    assert (sample.cpu_time, sample.memory_time, sample.stamped) == expected


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param("scrape_error 1\nresource_scrape_error 1\n", "scrape_error 1", id="a kubelet that failed inside answers 200"),
        pytest.param("", "no usable line in 0 bytes", id="empty"),
        pytest.param("<html>hello</html>", "no usable line", id="another program"),
    ],
)
def test_a_body_without_values_is_a_failed_scrape(body: str, message: str) -> None:
    """An empty answer must not erase what is known."""
    with pytest.raises(CollectError, match=message) as caught:
        read(body)

    assert caught.value.cause is Cause.PAYLOAD


LINES = st.one_of(
    st.text(max_size=60),
    st.builds(
        'container_{}{{container="{}",namespace="ns",pod="p"}} {} {}'.format,
        st.sampled_from(["cpu_usage_seconds_total", "memory_working_set_bytes", "start_time_seconds"]),
        st.text(max_size=5),
        st.one_of(st.floats(), st.integers(), st.text(max_size=8)),
        st.one_of(st.integers(), st.just("")),
    ),
)


@given(st.lists(LINES, max_size=20))
def test_no_text_crashes_the_parser_or_costs_a_good_line(lines: list[str]) -> None:
    """Anything may stand around a good line: it is read all the same, and every value is a sane integer."""
    noise = "\n".join(line for line in lines if "good" not in line)
    good = 'container_cpu_usage_seconds_total{container="good",namespace="good",pod="good"} 7 1700000000000'
    batch = read(f"{noise}\n{good}\n{noise}\n")

    assert batch.pods["good", "good"].containers[0].cpu == 7 * 10**9
    for pod in batch.pods.values():
        for sample in pod.containers:
            assert all(value is None or 0 <= value < 2**63 for value in (sample.cpu, sample.memory, sample.started, sample.cpu_time))


@given(st.binary(max_size=300))
def test_no_bytes_crash_the_parser(body: bytes) -> None:
    """Bytes that are not even text give a batch or a CollectError."""
    outcome: Batch | CollectError
    try:
        outcome = parse(body, received=RECEIVED)
    except CollectError as error:
        outcome = error

    assert isinstance(outcome, Batch) or outcome.cause is Cause.PAYLOAD
