"""The text of /metrics/resource in the one form that kubelets write it, read by columns instead of by lines.

A kubelet writes a family as a block: comments, then for every container, sorted, one line
`name{container="c",namespace="n",pod="p"} value stamp`. So three lists are cut from a block: heads, values and stamps. Numbers are read in
C, by JSON's grammar, which is stricter than Python's. Heads seldom change: what was made of them once, a Layout, serves until they do.

Whatever is not of this form is not read here at all. _resource_lines.py reads every form and says what a body means; the two are equal on
all that is read here, which a property test holds.
"""

import re
from itertools import accumulate, chain
from operator import itemgetter
from typing import Annotated, Any, NamedTuple, TypeVar

from msgspec import DecodeError, Meta, Struct
from msgspec.json import Decoder

from collectors._base import Batch
from collectors._pod_columns import Key, Places, PodColumns
from collectors._resource_lines import CPU, MAX_INT64, MEMORY, START, SWAP, Series, read_series, take_lines

_CPU, _MEMORY, _START, _SWAP = (f"container_{family}".encode() for family in (CPU, MEMORY, START, SWAP))
_OURS = re.compile(rf"\n((?:container|node)_(?:{CPU}|{MEMORY}|{START}|{SWAP}))".encode())
"""The beginning of every line that tells something."""
_MOST_COMMENTS = 100
"""Kubelets write two for each of their dozen families."""
_LONGEST_BLOCK = 1024 * 1024
"""More is cut into millions of parts by whoever wants to; 2,000 containers take a third of it."""
_LINE_END, _STAMP_END = b"\n ", b"000000\n "
"""What a line feed becomes so that every part of a line, the last one too, ends at a blank: a stamp, in ms, becomes ns."""

# Within what may be told: the other reader decides about values at the limits.
_TIMES = Decoder(list[Annotated[int, Meta(ge=0, le=MAX_INT64)]])
_SECONDS = Decoder(list[Annotated[float, Meta(ge=0, le=9e9)]])
_STARTS = Decoder(list[Annotated[float, Meta(ge=1, le=9e9)]])
_BYTES = Decoder(list[Annotated[int, Meta(ge=0, le=2**53)]], strict=False)
"""Not strict: 5.3776384e+07 is a whole number too. Up to 2**53 it is the same whether read as a float or not."""

Number = TypeVar("Number", int, float)


class _Column(NamedTuple):
    """One family: what stands before the values, values in seconds or bytes, stamps as text and in Unix ns."""

    heads: list[bytes]
    values: list[Any]
    stamps: list[bytes]
    times: list[int]


_ABSENT = _Column([], [], [], [])


class _Columns(NamedTuple):
    """The families of a body, and the block of starts as it stands: it changes only when a container starts."""

    cpu: _Column
    memory: _Column
    swap: _Column
    starts: bytes

    def shape(self) -> int:
        """A hash of all that seldom changes, for what it is made of takes 800 bytes a pod.

        Its key is new in each process; and a kubelet that made two bodies of one hash would only tell wrong things of itself.
        """
        return hash((tuple(self.cpu.heads), tuple(self.memory.heads), tuple(self.swap.heads), self.starts))


class Layout(Struct, frozen=True, gc=False):
    """What is known of a body before its values are read. It holds for every body of its `shape`.

    `cpu`, `memory` and `swap` put a column, with one more value at its end, into the order of `places`; that value stands where the family
    has no line of a container.
    """

    shape: int
    cpu: "itemgetter[Any]"
    memory: "itemgetter[Any]"
    swap: "itemgetter[Any]"
    places: Places


def read_columns(body: bytes, now: int, layout: object) -> Batch | None:
    """The Batch of a body that is in the form of kubelets, None if it is not.

    `layout` is that of an earlier batch, of whatever body, or None. `now` (Unix ns) stamps node lines that carry no time.
    """
    split = _split(body)
    if split is None:
        return None
    blocks, others = split
    columns = _columns(blocks)
    if columns is None:
        return None
    known = layout if isinstance(layout, Layout) else None
    if known is None or known.shape != columns.shape():
        known = _learn(columns, known)
        if known is None:
            return None
    node = take_lines(others.decode("utf-8", "replace"), now)
    return Batch(node=node.node(), pods=_pods(known, columns), dropped=node.dropped, layout=known)


def _split(body: bytes) -> tuple[dict[bytes, bytes], bytes] | None:
    """What stands between comments: the blocks of our families of containers, by name, and all other blocks that may tell something.

    None if a line of a container is among the others, or a comment within a line.
    """
    if not body.startswith(b"#") or not body.endswith(b"\n"):
        return None
    blocks: dict[bytes, bytes] = {}
    others: list[bytes] = []
    comment = 0
    for _ in range(_MOST_COMMENTS):
        begin = body.find(b"\n", comment) + 1
        comment = body.find(b"#", begin)
        if comment == begin:
            continue  # the next line is a comment too
        end = comment if comment >= 0 else len(body)
        if body[end - 1] != ord("\n"):
            return None
        ours = _OURS.search(body, begin - 1, end)
        if ours is not None:
            name, whole = ours[1], ours.start() == begin - 1 and end - begin <= _LONGEST_BLOCK
            if whole and name.startswith(b"container_") and name not in blocks:
                blocks[name] = body[begin:end]
            else:
                others.append(body[begin:end])
        if comment < 0:
            rest = b"".join(others)
            return None if b"container_" in rest else (blocks, rest)
    return None


def _columns(blocks: dict[bytes, bytes]) -> _Columns | None:
    """The columns of a body that has CPU and memory; swap and starts may be missing."""
    cpu = _column(blocks.get(_CPU), _SECONDS, _ABSENT)
    memory = _column(blocks.get(_MEMORY), _BYTES, cpu) if cpu is not None else None
    swap = _column(blocks[_SWAP], _BYTES, memory) if memory is not None and _SWAP in blocks else _ABSENT
    if cpu is None or memory is None or swap is None:
        return None
    return _Columns(cpu, memory, swap, blocks.get(_START, b""))


def _column(block: bytes | None, decoder: Decoder[list[Any]], like: _Column) -> _Column | None:
    """The column of a block; its times are those of `like` if it has the same stamps, for most families have."""
    if block is None:
        return None
    parts = block.replace(b"\n", _STAMP_END).split(b" ")
    if len(parts) % 3 != 1:
        return None
    heads, values, stamps = parts[:-1:3], _numbers(parts[1::3], decoder), parts[2::3]
    times = like.times if stamps == like.stamps else _numbers(stamps, _TIMES, last=True)
    return _Column(heads, values, stamps, times) if values is not None and times is not None else None


def _numbers(parts: list[bytes], decoder: Decoder[list[Number]], *, last: bool = False) -> list[Number] | None:
    """One number of each part; None if one is none. `last` tells whether the parts end their lines: each must, or none may."""
    text = b",".join(parts)
    # A decoder that is not strict takes numbers in quotes, and a carriage return is white space in JSON alone.
    if b'"' in text or b"\r" in text or text.count(b"\n") != (len(parts) if last else 0):
        return None
    try:
        numbers = decoder.decode(b"[" + text + b"]")
    except DecodeError:
        return None
    return numbers if len(numbers) == len(parts) else None  # a part with a comma may be two


def _pods(layout: Layout, columns: _Columns) -> PodColumns:
    """Samples of containers, by (namespace, pod), in the order in which the body tells of them."""
    cpu, memory, swap, _ = columns
    return PodColumns(
        layout.places,
        cpu=layout.cpu((*[round(value * 1e9) for value in cpu.values], None)),
        times=layout.cpu((*cpu.times, 0)),
        memory=layout.memory((*memory.values, None)),
        memory_times=layout.memory((*memory.times, 0)),
        swap=layout.swap((*swap.values, None)),
    )


def _learn(columns: _Columns, last: Layout | None) -> Layout | None:
    """The layout of a body; None if a head cannot be read, or two of one family are of one series.

    Keys of pods that `last` knows are its own: whoever keeps them keeps one.
    """
    known: dict[bytes, Series] = {}
    cpu = _places(_CPU, columns.cpu.heads, known)
    memory = _places(_MEMORY, columns.memory.heads, known)
    swap = _places(_SWAP, columns.swap.heads, known)
    starts = _starts(columns.starts, known)
    if cpu is None or memory is None or swap is None or starts is None:
        return None
    keys = {key: key for key in last.places.pods} if last is not None else {}
    pods: dict[Key, list[Series]] = {}
    for series in {**cpu, **memory}:
        key = series[:2]
        pods.setdefault(keys.get(key, key), []).append(series)
    ordered = list(chain.from_iterable(pods.values()))
    orders: dict[tuple[int, ...], itemgetter[Any]] = {}

    def order(places: dict[Series, int]) -> "itemgetter[Any]":
        row = (*[places.get(series, -1) for series in ordered], -1)
        return orders.setdefault(row, itemgetter(*row))

    return Layout(
        shape=columns.shape(),
        cpu=order(cpu),
        memory=order(memory),
        swap=order(swap),
        places=Places(
            names=tuple([name for _, _, name in ordered]),
            started=tuple([starts.get(series) for series in ordered]),
            pods=tuple(pods),
            ends=tuple(accumulate(map(len, pods.values()))),
        ),
    )


def _places(family: bytes, heads: list[bytes], known: dict[bytes, Series]) -> dict[Series, int] | None:
    """Where the line of each series stands; None if one cannot be read or has two. `known` are the label sets that were read before."""
    places: dict[Series, int] = {}
    for place, head in enumerate(heads):
        labels = head.removeprefix(family)  # what is of another family keeps its name, and is no label set
        series = known.get(labels) or _series(labels)
        if series is None:
            return None
        known[labels] = series
        places[series] = place
    return places if len(places) == len(heads) else None


def _series(labels: bytes) -> Series | None:
    """Whose line it is, by a label set with its braces; None if it cannot be read."""
    if not labels.startswith(b"{") or not labels.endswith(b"}"):
        return None
    try:
        return read_series(labels[1:-1].decode())
    except UnicodeDecodeError:
        return None


def _starts(block: bytes, known: dict[bytes, Series]) -> dict[Series, int] | None:
    """The start of each series in Unix ns. Older kubelets put a stamp at starts too."""
    width = block[: block.find(b"\n")].count(b" ") + 1
    parts = block.replace(b"\n", _LINE_END if width == 2 else _STAMP_END).split(b" ")
    if width not in {2, 3} or len(parts) % width != 1:
        return None if block else {}
    places = _places(_START, parts[:-1:width], known)
    values = _numbers(parts[1::width], _STARTS, last=width == 2)
    stamps = _numbers(parts[2::width], _TIMES, last=True) if width == 3 else []
    if places is None or values is None or stamps is None:
        return None
    return {series: round(values[place] * 1e3) * 1_000_000 for series, place in places.items()}
