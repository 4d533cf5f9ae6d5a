"""Where pods stand that only go on: numbers in columns, from which the objects of a pod are worked out when somebody reads them.

A container goes on if it is told of with a later time and a counter that is not lower, or again as it was. Between two scrapes of a node
nearly all of its pods do nothing else, and most of them nobody reads. To step such a pod is to write some numbers into rows that lie side
by side; its objects, which lie anywhere, are not touched. What comes out when it is read is what app/cache/steady.py makes of each sample,
which a property test holds. Where anything else happens to a pod it leaves, goes by the rules, and joins again when it goes on.

docs/decisions/0033-pods-that-go-on-are-stepped-by-columns.md has the figures.
"""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from operator import sub
from typing import cast

from app.cache.rates import LEAP, MIN_WINDOW, SECOND, TOGETHER, Step
from app.kube.records import Key, PodRecord
from collectors._pod_columns import Places, PodColumns

_NOT_HERE = -(10**18)
"""The time of a container whose step stands in Series.steps: a window that begins then is longer than any that counts."""
_NONE = -1
"""Swap that is not told."""


class StepColumns:
    """Steps of the containers of one (node, source), for bodies that tell of the same series. A pod is here with all of its containers that
    run, or not at all. Both are known by their places: where they stand in `places`.

    A step is kept as two samples: the last that advanced, and the one before it. `turn` counts the scrapes that changed something, `seen`
    has for each pod the turn that it was worked out in. So it is a Late (app/cache/collection.py).
    """

    def __init__(self, places: Places, work_out: Callable[["StepColumns", int], None]) -> None:
        """`work_out(self, pod)` publishes what a pod uses now."""
        self.places = places
        self.pods: list[PodRecord | None] = [None] * len(places.pods)
        """Those that are here, by place."""
        self.turn = 0
        self.seen = array("q", bytes(8 * len(places.pods)))
        self._in_order = bytearray(len(places.pods))
        """By place of a pod: whether its body tells of those containers that run, of no others, and in the order of its record."""
        self._work_out = work_out
        self._count = len(places.names)
        size = 8 * self._count
        self._time = array("q", [_NOT_HERE]) * self._count
        self._counter, self._memory, self._swap, self._version = (array("q", bytes(size)) for _ in range(4))
        self._last_time, self._last_counter = array("q", bytes(size)), array("q", bytes(size))
        self._advanced = array("d", bytes(size))
        self._has_swap = False
        self._others: Sequence[int] | None = None

    @property
    def others(self) -> Sequence[int]:
        """The pods that are not here, by place. They are looked for once after many joined or left."""
        if self._others is None:
            self._others = tuple([pod for pod, record in enumerate(self.pods) if record is None])
        return self._others

    def step(self, told: PodColumns, now: float, version: int) -> Sequence[int]:
        """Step all that goes on, at `now` (monotonic seconds). Returns the pods, by place, that do something else: they have to `leave`.

        `told` has the same places. `version` is that of the objects that change.
        """
        count = self._count
        counters, memory = _whole(told.cpu, count), _whole(told.memory, count)
        windows = list(map(sub, told.times, self._time))
        if self.others or counters is None or memory is None or not self._all_go_on(told, windows, counters, memory):
            return self._step_each(told, now, version)
        if not any(windows):
            return ()
        last_time, last_counter, last_memory = self._last_time, self._last_counter, self._memory
        last_version, last_advanced = self._version, self._advanced
        self._last_time, self._last_counter = self._time, self._counter
        self._time, self._counter = array("q", told.times[:count]), array("q", counters)
        self._memory = array("q", memory)
        self._version, self._advanced = array("q", [version]) * count, array("d", [now]) * count
        again = [place for place, window in enumerate(windows) if not window]
        self._take_swap(told, again)
        for place in again:
            self._counter[place] = self._last_counter[place]
            self._last_time[place], self._last_counter[place] = last_time[place], last_counter[place]
            self._memory[place] = last_memory[place]
            self._version[place], self._advanced[place] = last_version[place], last_advanced[place]
        self.turn += 1
        return ()

    def _all_go_on(self, told: PodColumns, windows: Sequence[int], counters: Sequence[int], memory: Sequence[int]) -> bool:
        """Whether each container is told again or goes on: windows are how far their times did (ns).

        All that is compared is compared in C: this is done for every container at every scrape.
        """
        return (
            bool(windows)
            and min(windows) >= 0
            and max(windows) <= LEAP
            and min(filter(None, windows), default=MIN_WINDOW) >= MIN_WINDOW
            and min(map(sub, counters, self._counter)) >= 0
            and min(memory) > 0
            and (told.times == told.memory_times or max(map(abs, map(sub, told.times, told.memory_times))) <= TOGETHER)
        )

    def _take_swap(self, told: PodColumns, again: Iterable[int]) -> None:
        """Few nodes have any."""
        if self._has_swap or told.swap.count(None) < len(told.swap):
            last = self._swap
            self._swap = array("q", [_NONE if swap is None else swap for swap in told.swap[: self._count]])
            for place in again:
                self._swap[place] = last[place]
            self._has_swap = self._swap.count(_NONE) < self._count

    def _step_each(self, told: PodColumns, now: float, version: int) -> Sequence[int]:
        """The same where some are not here, or do something else."""
        odd: list[int] = []
        anew = False
        rows = zip(self._time, told.times, told.cpu, told.memory, told.memory_times, strict=False)
        for place, (last, time, counter, memory, memory_time) in enumerate(rows):
            if last in (time, _NOT_HERE):
                continue
            used = (counter or 0) - self._counter[place]
            if not memory or used < 0 or not MIN_WINDOW <= time - last <= LEAP or abs(time - memory_time) > TOGETHER:
                odd.append(place)
                continue
            swap = told.swap[place]
            self._put(place, time, self._counter[place] + used, memory, swap)
            self._last_time[place], self._last_counter[place] = last, self._counter[place] - used
            self._version[place], self._advanced[place] = version, now
            anew = True
        self.turn += anew
        return sorted({bisect_right(self.places.ends, place) for place in odd})

    def _put(self, place: int, time: int, counter: int, memory: int, swap: int | None) -> None:
        self._time[place], self._counter[place], self._memory[place] = time, counter, memory
        self._swap[place] = _NONE if swap is None else swap
        self._has_swap = self._has_swap or swap is not None

    def join(self, pod: int, record: PodRecord, steps: Sequence[Step | None], version: int) -> None:
        """Have a pod, which `can_join`, go on from the steps of its containers. What they say is published, and has this version."""
        names = tuple([container.name for container in record.containers if container.running])
        self._in_order[pod] = names == self.places.names[self.places.begin(pod) : self.places.ends[pod]]
        running = [step for step, container in zip(steps, record.containers, strict=True) if step is not None and container.running]
        for step, place in zip(running, self._running(pod, record), strict=True):
            self._put(place, step.time, step.counter, step.memory, step.swap)
            self._last_time[place] = step.time - step.window
            self._last_counter[place] = step.counter - _used(step)
            self._version[place], self._advanced[place] = version, step.advanced
        self.pods[pod] = record
        self.seen[pod] = self.turn
        self._others = None

    def leave(self, pod: int) -> None:
        """Forget a pod."""
        self.pods[pod] = None
        for place in range(self.places.begin(pod), self.places.ends[pod]):
            self._time[place] = _NOT_HERE
        self._others = None

    def look(self, pod: int) -> None:
        """See to it that what a pod uses now is published."""
        if self.seen[pod] != self.turn and self.pods[pod] is not None:
            self.seen[pod] = self.turn
            self._work_out(self, pod)

    def steps(self, pod: int) -> tuple[Step, ...]:
        """Where the containers of a pod stand that run, in the order of its record."""
        record = self.pods[pod]
        if record is None:
            raise KeyError(self.places.pods[pod])
        names, started, swaps, advanced = self.places.names, self.places.started, self._swap, self._advanced
        times, last_times, counters, last_counters, memory = self._time, self._last_time, self._counter, self._last_counter, self._memory
        steps = []
        for place in self._running(pod, record):  # one loop without calls: long lists have this done for each of their pods
            time, counter = times[place], counters[place]
            window = time - last_times[place]
            swap = swaps[place] if self._has_swap else _NONE
            steps.append(
                Step(
                    names[place],
                    (counter - last_counters[place]) * SECOND // window,
                    memory[place],
                    None if swap == _NONE else swap,
                    time,
                    window,
                    counter,
                    started[place],
                    advanced[place],
                    False,
                    True,
                )
            )
        return tuple(steps)

    def version(self, pod: int) -> int:
        """That of the last change of a pod."""
        return max(self._version[self.places.begin(pod) : self.places.ends[pod]])

    def here(self) -> list[int]:
        """The pods that are here, by place."""
        return [pod for pod, record in enumerate(self.pods) if record is not None]

    def place(self, key: Key) -> int | None:
        """The place of a pod that is here."""
        pods = self.places.pods
        place = pods.index(key) if key in pods else None
        return place if place is not None and self.pods[place] is not None else None

    def living(self) -> dict[Key, float]:
        """The keys of all pods that are here, and when that of their containers advanced (monotonic seconds) that did so first."""
        return {record.key: self._least_advanced(pod, record) for pod, record in enumerate(self.pods) if record is not None}

    def outlived(self, ttl: float, now: float) -> list[int]:
        """The pods, by place, of which a container did not advance for `ttl` seconds. `now` is monotonic.

        Seconds are added as they are where series end (app/cache/samples.py): another sum may round to another answer.
        """
        return [pod for pod, record in enumerate(self.pods) if record is not None and self._least_advanced(pod, record) + ttl <= now]

    def _least_advanced(self, pod: int, record: PodRecord) -> float:
        return min([self._advanced[place] for place in self._running(pod, record)])

    def _running(self, pod: int, record: PodRecord) -> Sequence[int]:
        """Where the containers of a pod stand that run, in the order of its record."""
        begin, end = self.places.begin(pod), self.places.ends[pod]
        if self._in_order[pod]:
            return range(begin, end)
        names = self.places.names[begin:end]
        return [begin + names.index(container.name) for container in record.containers if container.running]


def can_join(record: PodRecord, steps: Sequence[Step | None]) -> bool:
    """Whether all that is known of a pod fits into columns: containers that run went on before, and nothing of others has yet to end.

    A first step still tells whether a rate can be made (Samples.settled), and a container that stopped ends by itself.
    """
    return all(
        step is not None and step.moved and not step.first if container.running else step is None or step.dead
        for container, step in zip(record.containers, steps, strict=True)
    )


def _used(step: Step) -> int:
    """The least use (ns) that gives the rate of a step again. There is one: a window is never shorter than a second."""
    return -(-step.cpu * step.window // SECOND)


def _whole(column: tuple[int | None, ...], count: int) -> tuple[int, ...] | None:
    """The first `count` numbers of a column, None if one is not told."""
    numbers = column[:count]
    return None if None in numbers else cast("tuple[int, ...]", numbers)
