"""Bodies of /metrics/resource, good and bad, and what is made of them."""

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


def test_of_two_instances_in_one_body_the_newer_counts_whole() -> None:
    """A leftover cgroup of the same name lends neither its CPU nor its memory."""
    stale, live = container(cpu=900, memory=1, stamp=STAMP - 30_000, started="1.6e+09"), container(cpu=3, memory=8192)

    for body in (stale + live, live + stale):
        sample = only(read(body))

        assert (sample.cpu, sample.memory, sample.started) == (3 * 10**9, 8192, 1_699_900_000 * 10**9)


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
