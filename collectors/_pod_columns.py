"""Samples of containers as one body of a kubelet tells them, by columns: rows of numbers, and objects only of those that are asked for."""

from collections.abc import ItemsView, Iterator, Mapping

from msgspec import Struct

from collectors._base import PodSamples, Sample

Key = tuple[str, str]


class Places(Struct, frozen=True, gc=False):
    """Whose numbers stand where in all columns. Bodies that tell of the same series have the same object.

    The containers of each of `pods`, (namespace, name), stand together, and end where `ends` says. `started` is Unix ns.
    """

    names: tuple[str, ...]
    started: tuple[int | None, ...]
    pods: tuple[Key, ...]
    ends: tuple[int, ...]

    def begin(self, pod: int) -> int:
        """Where the containers of a pod begin."""
        return self.ends[pod - 1] if pod else 0


class PodColumns(Mapping[Key, PodSamples]):
    """The samples of pods, in the order in which a body tells of them. It behaves as the dict of them, which most readers need not make.

    Each column may have more at its end. What stands in them is what Sample says.
    """

    __slots__ = ("_made", "cpu", "memory", "memory_times", "places", "swap", "times")

    def __init__(
        self,
        places: Places,
        *,
        cpu: tuple[int | None, ...],
        times: tuple[int, ...],
        memory: tuple[int | None, ...],
        memory_times: tuple[int, ...],
        swap: tuple[int | None, ...],
    ) -> None:
        self.places = places
        self.cpu = cpu
        self.times = times
        self.memory = memory
        self.memory_times = memory_times
        self.swap = swap
        self._made: dict[Key, PodSamples] | None = None

    def samples(self, pod: int) -> tuple[Sample, ...]:
        """Those of one pod, by its place."""
        return self._samples(self.places.begin(pod), self.places.ends[pod])

    def __getitem__(self, key: Key) -> PodSamples:
        return self._pods()[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self.places.pods)

    def __len__(self) -> int:
        return len(self.places.pods)

    def __repr__(self) -> str:
        return repr(self._pods())

    def items(self) -> ItemsView[Key, PodSamples]:
        return self._pods().items()

    def _pods(self) -> dict[Key, PodSamples]:
        if self._made is None:
            ends = self.places.ends
            samples = self._samples(0, ends[-1] if ends else 0)
            rows = zip(self.places.pods, (0, *ends), ends, strict=False)
            self._made = {key: PodSamples(uid="", containers=samples[begin:end]) for key, begin, end in rows}
        return self._made

    def _samples(self, begin: int, end: int) -> tuple[Sample, ...]:
        columns = (self.places.names, self.cpu, self.times, self.memory, self.memory_times, self.places.started, self.swap)
        return tuple(
            [
                Sample(name=name, cpu=usage, cpu_time=time, memory=used, memory_time=memory_time, started=started, swap=swapped)
                for name, usage, time, used, memory_time, started, swapped in zip(*(column[begin:end] for column in columns), strict=True)
            ]
        )
