"""Reading by columns gives what reading by lines gives, or nothing; and what was learned of one body changes no other."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors._base import Batch, CollectError
from collectors._resource_columns import read_columns
from collectors._resource_lines import read_lines
from collectors.kubelet_resource import parse

RECEIVED = 1_700_000_100.0
NOW = int(RECEIVED * 1e9)
STAMP = 1_700_000_000_000
CPU, MEMORY = "container_cpu_usage_seconds_total", "container_memory_working_set_bytes"
START, SWAP, SWAP_LIMIT = "container_start_time_seconds", "container_swap_usage_bytes", "container_swap_limit_bytes"
POD_CPU = "pod_cpu_usage_seconds_total"
NODE = {
    "node_cpu_usage_seconds_total": [f" 12.5 {STAMP}"],
    "node_memory_working_set_bytes": [f" 1.5e+06 {STAMP}"],
    "resource_scrape_error": [" 0"],
}
RECORDINGS = sorted((Path(__file__).parents[2] / "recordings" / "kubelet-v1.37.2").glob("*.resource.txt"))


def labels(namespace: str, pod: str, container: str) -> str:
    return f'{{container="{container}",namespace="{namespace}",pod="{pod}"}}'


A, B, C = labels("ns", "p", "a"), labels("ns", "q", "b"), labels("ns", "p", "c")


def kubelet(families: dict[str, list[str]]) -> bytes:
    """A body as kubelets write it, of the rest of each line."""
    parts = []
    for name, rows in sorted(families.items()):
        parts.append(f"# HELP {name} [STABLE] Something\n# TYPE {name} gauge\n")
        parts.extend(f"{name}{row}\n" for row in sorted(rows))
    return "".join(parts).encode()


def usual(**changes: list[str]) -> dict[str, list[str]]:
    """The families of a node with three containers in two pods."""
    all_three = (A, B, C)
    return {
        CPU: [f"{of} 2.5 {STAMP}" for of in all_three],
        MEMORY: [f"{of} 5.3776384e+07 {STAMP}" for of in all_three],
        START: [f"{of} 1.7960323505153966e+09" for of in all_three],
        SWAP: [f"{of} 0 {STAMP}" for of in all_three],
        SWAP_LIMIT: [f"{A} 4096 {STAMP}"],
        POD_CPU: [f'{{namespace="ns",pod="{pod}"}} 5 {STAMP}' for pod in "pq"],
        **NODE,
        **changes,
    }


def told(batch: Batch) -> tuple[Any, ...]:
    """All that a batch says of a node, in the order in which it says it."""
    return batch.node, list(batch.pods.items()), batch.dropped, batch.agent_started


def outcome(body: bytes, layout: object) -> Any:
    try:
        return told(parse(body, received=RECEIVED, layout=layout))
    except CollectError as error:
        return error.cause, error.message


def by_lines(body: bytes) -> Any:
    """The same by the reference alone."""
    try:
        return told(read_lines(body, NOW))
    except CollectError as error:
        return error.cause, error.message


def columns(body: bytes, layout: object = None) -> Batch | None:
    return read_columns(body, NOW, layout)


KUBELETS = [
    pytest.param(usual(), id="all families"),
    pytest.param({name: rows for name, rows in usual().items() if "swap" not in name}, id="no swap"),
    pytest.param({name: rows for name, rows in usual().items() if name != START}, id="no starts"),
    pytest.param(usual(**{START: [f"{of} 1.7e+09 {STAMP}" for of in (A, B, C)]}), id="older kubelets stamp starts"),
    pytest.param(usual(**{CPU: [f"{A} 2.5 {STAMP}"], MEMORY: [f"{A} 1 {STAMP}"]}), id="two that were not measured yet"),
    pytest.param(usual(**{CPU: [f"{A} 2.5 {STAMP}", f"{C} 1 {STAMP}"]}), id="one without CPU"),
    pytest.param(usual(**{MEMORY: [f"{B} 4096 {STAMP}", f"{C} 1 {STAMP}"]}), id="one without memory"),
    pytest.param(usual(**{SWAP: [f"{C} 4096 {STAMP}"]}), id="one with swap"),
    pytest.param(usual(**{MEMORY: [f"{of} 4096 {STAMP - 7000}" for of in (A, B, C)]}), id="memory of another time"),
    pytest.param(usual(**{CPU: [f"{of} 6.148607660060571e+06 {STAMP}" for of in (A, B, C)]}), id="CPU counters of months"),
    pytest.param({**usual(), "node_cpu_usage_seconds_total": [" 12.5"]}, id="a node line without a stamp"),
    pytest.param({**usual(), "node_cpu_usage_seconds_total": [" 12.5 1 2"]}, id="a bad node line"),
    pytest.param({name: rows for name, rows in usual().items() if not name.startswith("node_")}, id="no node lines"),
]


@pytest.mark.parametrize("families", KUBELETS)
def test_what_kubelets_write_is_read_by_columns(families: dict[str, list[str]]) -> None:
    """Without a layout, with its own, and with that of another body."""
    body = kubelet(families)
    first = columns(body)
    assert first is not None
    again, after_another = columns(body, first.layout), columns(body, parse(kubelet(usual()), received=RECEIVED).layout)

    assert again is not None
    assert after_another is not None
    assert again.layout is first.layout
    assert told(first) == told(again) == told(after_another) == by_lines(body)


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_what_a_real_kubelet_wrote_is_read_by_columns(recording: Path) -> None:
    """The layout of the first body serves all."""
    body = recording.read_bytes()
    layout = parse(RECORDINGS[0].read_bytes(), received=RECEIVED).layout
    batch = columns(body, layout)

    assert batch is not None
    assert batch.layout is layout
    assert told(batch) == by_lines(body)


def test_values_change_under_a_layout_and_series_stay() -> None:
    """What is kept is whose line it is, never what it said."""
    layout = parse(kubelet(usual()), received=RECEIVED).layout
    body = kubelet(usual(**{CPU: [f"{A} 3 {STAMP + 15_000}", f"{B} 2.5 {STAMP}", f"{C} 4 {STAMP + 9000}"]}))
    batch = columns(body, layout)

    assert batch is not None
    assert batch.layout is layout
    assert [sample.cpu for pod in batch.pods.values() for sample in pod.containers] == [3_000_000_000, 4_000_000_000, 2_500_000_000]
    assert told(batch) == by_lines(body)


def test_a_container_that_starts_anew_has_its_new_start() -> None:
    """All heads are those of before: the block of starts is part of the layout's shape."""
    layout = parse(kubelet(usual()), received=RECEIVED).layout
    body = kubelet(usual(**{START: [f"{A} 1.7960323505153966e+09", f"{B} 1.7960323505153966e+09", f"{C} 1.8e+09"]}))
    batch = columns(body, layout)

    assert batch is not None
    assert batch.layout is not layout
    assert told(batch) == by_lines(body)


def test_keys_of_pods_that_stay_are_kept_once() -> None:
    """Who keeps the key of an old batch and the layout of a new one keeps one tuple."""
    first = parse(kubelet(usual()), received=RECEIVED)
    second = parse(kubelet(usual(**{CPU: [f"{A} 3 {STAMP}", f"{C} 3 {STAMP}"]})), received=RECEIVED, layout=first.layout)

    assert second.layout is not first.layout
    assert {id(key) for key in second.pods} == {id(key) for key in first.pods}


def test_names_are_kept_once_for_all_nodes() -> None:
    """Thousands of nodes have a container of one name."""
    names = [sample.name for _ in range(2) for pod in parse(kubelet(usual()), received=RECEIVED).pods.values() for sample in pod.containers]

    assert len({id(name) for name in names}) == 3


def test_one_time_of_cpu_and_memory_is_kept_once() -> None:
    """Of a container they are measured together: one integer serves both."""
    batch = columns(kubelet(usual()))

    assert batch is not None
    assert all(sample.cpu_time is sample.memory_time for pod in batch.pods.values() for sample in pod.containers)


LINE = f"{CPU}{A} 2.5 {STAMP}\n".encode()
ODD = [
    pytest.param(b" 2.5 ", b" 2_5 ", id="digits as only Python writes them"),
    pytest.param(b" 2.5 ", b" NaN ", id="not a number"),
    pytest.param(b" 2.5 ", b" nan ", id="not a number, as only Python writes it"),
    pytest.param(b" 2.5 ", b" +Inf ", id="infinite"),
    pytest.param(b" 2.5 ", b" -1 ", id="negative"),
    pytest.param(b" 2.5 ", b" +2.5 ", id="a sign"),
    pytest.param(b" 2.5 ", b" 02.5 ", id="a leading zero"),
    pytest.param(b" 2.5 ", b" .5 ", id="no digit before the point"),
    pytest.param(b" 2.5 ", b" 9.3e9 ", id="beyond int64 in nanoseconds"),
    pytest.param(b" 2.5 ", b" 1e400 ", id="beyond floats"),
    pytest.param(b" 2.5 ", " \u0661 ".encode(), id="digits of other scripts"),
    pytest.param(b" 2.5 ", b" 2.5,1 ", id="two numbers where one belongs"),
    pytest.param(b" 2.5 ", b" 2.5,", id="a comma instead of the blank"),
    pytest.param(b" 2.5 ", b' "2.5" ', id="a number in quotes"),
    pytest.param(b" 2.5 ", b" 2.5\t", id="a tabulator instead of the blank"),
    pytest.param(b" 2.5 ", b" 2.5\r ", id="a carriage return within the line"),
    pytest.param(b" 2.5 ", b" 2.5\x0b ", id="white space of Python alone"),
    pytest.param(b" 2.5 ", b"  2.5 ", id="two blanks"),
    pytest.param(b" 2.5 ", b" 2.5\n", id="a stamp on a line of its own"),
    pytest.param(b" 2.5 ", b"\n2.5 ", id="a value on the next line"),
    pytest.param(b" 1700000000000", b"", id="no stamp"),
    pytest.param(b" 1700000000000", b" 1700000000000.0", id="a stamp with a fraction"),
    pytest.param(b" 1700000000000", b" 1.7e12", id="a stamp with an exponent"),
    pytest.param(b" 1700000000000", b" +1700000000000", id="a stamp with a sign"),
    pytest.param(b" 1700000000000", b" -62135596800000", id="a stamp of year 1"),
    pytest.param(b" 1700000000000", b" 9223372036855", id="a stamp beyond int64 in nanoseconds"),
    pytest.param(b" 1700000000000", b" 1700000000000 1", id="too many parts"),
    pytest.param(b" 1700000000000", b" 1700000000000 ", id="a blank at the end"),
    pytest.param(b" 1700000000000", b" 1700000000000\r", id="a carriage return at the end"),
    pytest.param(b" 1700000000000", b" 1700000000000 # why", id="a comment behind a line"),
    pytest.param(b'container="a"', b'container="POD"', id="the pause container"),
    pytest.param(b'container="a"', b'container="c"', id="one series twice in a family"),
    pytest.param(b'container="a"', b'container="a b"', id="a blank in a label"),
    pytest.param(b'container="a"', b'container="a#b"', id="a number sign in a label"),
    pytest.param(b'container="a"', b'container="a\xff"', id="bytes that are no text"),
    pytest.param(b'container="a"', b"container='a'", id="quotes of another kind"),
    pytest.param(CPU.encode(), MEMORY.encode(), id="a line of another family"),
    pytest.param(CPU.encode(), POD_CPU.encode(), id="a line of a family that says nothing of containers"),
    pytest.param(LINE, b"", id="a container less in one family"),
    pytest.param(LINE, LINE * 2, id="a line twice"),
    pytest.param(LINE, LINE + b"\n", id="an empty line"),
    pytest.param(LINE, LINE + b"# HELP\n", id="a comment between lines"),
    pytest.param(LINE, LINE + f"# HELP\n{CPU}{B} 1 {STAMP - 90_000}\n".encode(), id="a family in two blocks"),
    pytest.param(LINE, LINE + b"# HELP\n" * 200, id="a hundred comments"),
    pytest.param(LINE, LINE * 10_000, id="a megabyte of a family"),
    pytest.param(f"{SWAP_LIMIT}{A}".encode(), f"{SWAP}{B}".encode(), id="a line under the comments of another family"),
    pytest.param(b"resource_scrape_error 0\n", b"resource_scrape_error 0", id="cut before the last line feed"),
    pytest.param(b"resource_scrape_error 0\n", LINE[:-1], id="cut within a line of a container"),
    pytest.param(b"node_memory_working_set_bytes 1.5e+06", CPU.encode() + A.encode() + b" 7", id="a container among the node's lines"),
]


@pytest.mark.parametrize(("usually", "oddly"), ODD)
def test_what_is_odd_is_said_by_the_lines(usually: bytes, oddly: bytes) -> None:
    """One place of a usual body is odd: whatever was learned before, the outcome is that of the reference."""
    good = kubelet(usual())
    odd = good.replace(usually, oddly, 1)
    assert odd != good
    layout, of_odd = parse(good, received=RECEIVED).layout, parse(odd, received=RECEIVED).layout

    assert outcome(odd, None) == outcome(odd, layout) == by_lines(odd)
    assert outcome(good, of_odd) == by_lines(good)


SECONDS = st.floats(0, 9e9).map(repr)
WHOLE = st.integers(0, 2**53)
BYTES = st.one_of(WHOLE.map(str), WHOLE.map(float).map(repr), st.sampled_from(["0", "5.3776384e+07"]))
NUMBERS = st.one_of(st.floats(0).map(repr), st.integers(0).map(str), st.sampled_from(["-0", "9007199254740993", "4.5", "1e400"]))
USUAL = {CPU: SECONDS, MEMORY: BYTES, START: st.floats(1, 9e9).map(repr), SWAP: BYTES}
STAMPS = st.one_of(st.integers(0, 3 * 10**12).map(str), st.just(str(STAMP)))
SERIES = st.builds(
    labels, st.sampled_from(["ns", "default"]), st.sampled_from(["p", "web-0", "\u00e9"]), st.sampled_from(["a", "b", "proxy", "x,y"])
)


@st.composite
def kubelets(draw: st.DrawFn) -> bytes:
    """Bodies in the form of kubelets: most containers are in all families, most of CPU and memory of one time."""
    families: dict[str, list[str]] = {CPU: [], MEMORY: [], START: [], SWAP: [], SWAP_LIMIT: [], **NODE}
    for of in draw(st.lists(SERIES, unique=True, max_size=6)):
        stamp = draw(STAMPS)
        missing = draw(st.sampled_from([(), (), (), (CPU,), (MEMORY,), (START,), (SWAP,), (CPU, MEMORY, SWAP)]))
        for family in {CPU, MEMORY, START, SWAP} - {*missing}:
            at = "" if family == START else f" {draw(st.one_of(st.just(stamp), STAMPS))}"
            value = draw(USUAL[family]) if draw(st.integers(0, 50)) else draw(NUMBERS)
            families[family].append(f"{of} {value}{at}")
    return kubelet({name: rows for name, rows in families.items() if rows})


PIECES = [
    *(b" ", b"\n", b"\t", b"\r", b"#", b",", b'"', b"{", b"}", b"[", b"]", b"_", b"-", b"+", b".", b"0", b"e9", b"\x0b", b"\x00", b"\xff"),
    *(b"nan", b"inf", b"null", b"000000", b"\xd9\xa1", b"\n# ", b"# TYPE x y\n", b"\nnode_", b"\ncontainer_", b"pod_", b"} 1 2\n"),
    *(LINE, f"\n{MEMORY}{B} 1 {STAMP}\n".encode(), f"# HELP\n{START}{C} 1.8e9\n".encode()),
]


@st.composite
def changed(draw: st.DrawFn, body: bytes) -> bytes:
    """A body in which pieces and lines were put in, left out, moved or doubled, or which was cut."""
    for _ in range(draw(st.integers(0, 3))):
        at, to = sorted(draw(st.tuples(*[st.integers(0, len(body))] * 2)))
        lines = body.splitlines(keepends=True)
        here, there = draw(st.tuples(*[st.integers(0, max(len(lines) - 1, 0))] * 2))
        match draw(st.sampled_from(["put", "replace", "leave out", "cut", "move", "double", "drop"])):
            case "put":
                body = body[:at] + draw(st.sampled_from(PIECES)) + body[at:]
            case "replace":
                body = body[:at] + draw(st.sampled_from(PIECES)) + body[at + draw(st.integers(1, 4)) :]
            case "leave out":
                body = body[:at] + body[at + min(to - at, 5) :]
            case "cut":
                body = body[:to]
            case "move" if lines:
                lines.insert(there, lines.pop(here))
                body = b"".join(lines)
            case "double" if lines:
                lines.insert(there, lines[here])
                body = b"".join(lines)
            case "drop" if lines:
                del lines[here]
                body = b"".join(lines)
    return body


def layouts(bodies: Iterable[bytes]) -> list[object]:
    """What each body leaves for the next, after all before it; and what is none."""
    learned: list[object] = [None, "a layout of another source"]
    for body in bodies:
        batch = columns(body, learned[-1])
        learned.append(batch.layout if batch is not None else None)
    return learned


@given(st.data(), kubelets(), kubelets())
def test_columns_say_what_lines_say(data: st.DataObject, body: bytes, other: bytes) -> None:
    """For any body, and any layout: of the body before it was changed, of another, of itself, of none."""
    odd = data.draw(changed(body))
    expected = by_lines(odd)

    for layout in layouts([other, body, odd]):
        assert expected == outcome(odd, layout)


@given(kubelets())
def test_the_form_of_kubelets_is_read_by_columns(body: bytes) -> None:
    """The property above would hold too if nothing ever were."""
    batch = columns(body)
    readable = f"{CPU}{{".encode() in body and f"{MEMORY}{{".encode() in body

    assert batch is None or told(batch) == by_lines(body)
    assert readable or batch is None


@given(st.lists(st.sampled_from([A, B, C]), unique=True, min_size=1), st.lists(st.sampled_from([A, B, C]), unique=True, min_size=1))
def test_pods_come_and_go(first: list[str], second: list[str]) -> None:
    """Both bodies are read by columns, the second after what was learned of the first."""
    bodies = [kubelet({family: [f"{of} 1 {STAMP}" for of in present] for family in (CPU, MEMORY)}) for present in (first, second)]
    before = columns(bodies[0])
    assert before is not None
    after = columns(bodies[1], before.layout)
    assert after is not None
    assert told(after) == by_lines(bodies[1])
