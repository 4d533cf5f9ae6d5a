"""From cumulative samples to a usage: pure functions, one for each source. docs/values.md tells every rule with its reason.

A sample that cannot be used changes nothing: what was known stays until its time to live ends. Nothing here is ever negative,
estimated or filled in.
"""

from sys import intern

from app.cache.values import ContainerUsage
from collectors._base import Sample

SECOND = 10**9
MIN_WINDOW = 1 * SECOND
"""Two samples nearer than this give a wild rate, and are taken for one."""
ORIGIN_MIN, ORIGIN_MAX = 10 * SECOND, 60 * SECOND
"""A container this old at its first sample is rated from its start, where its counter was 0. Younger is too short a window; older
would give the average of a life, not the present."""
SUMMARY_WINDOW = 20 * SECOND
"""The window stated for usageNanoCores: kubelets measure it over one stat period, which is 10 to 20 s. At first, of a container or of the
kubelet itself, that is two looks of a moment, and the rate is anything: on a real node 0.2 to 2 times what was used."""
SUMMARY_PAIR_MIN = 10 * SECOND
"""The summary's times are floored to seconds: a pair nearer than this would be off by more than a tenth."""
ZERO_TRUSTED_AFTER = 60 * SECOND
"""Kubelets preset usageNanoCores to 0 until they have two stats; a 0 is believed when container and kubelet are older than this."""
TOGETHER = 60 * SECOND
"""CPU and memory that were measured further apart than this are not one value."""
LEAP = 60 * SECOND
"""Between two samples of a series a kubelet's clock may go so far further than ours: its statistics come late sometimes. By more it was
set, or the stamp is wild: a pair over a leap would give a rate near 0."""
SAME_START = 1 * SECOND
"""Starts that differ by no more than this are one start, told by sources of different precision."""


class Step(ContainerUsage, frozen=True, gc=False):
    """Where a series stands after a sample: the usage that the sample made, with what the next one is measured against.

    The CPU is that of the `window` ns that ended at `time` (Unix ns). Where no usage could be made the window is 0, and `usage` None.
    `counter` (core-nanoseconds), `time` and `started` are the sample's. `advanced` is the monotonic time of the step; `first` tells that
    the sample is the first one of its instance, `moved` that there was a step before it.
    `dead` is a series that outlived its time: its sample is kept only to know it again, for a kubelet that is stuck tells the same for
    ever.
    """

    time: int = 0
    window: int = 0
    counter: int = 0
    started: int | None = None
    advanced: float = 0.0
    first: bool = False
    moved: bool = False
    dead: bool = False

    @property
    def usage(self) -> "Step | None":
        """The step itself if it has a usage."""
        return self if self.window else None


def complete(sample: Sample) -> bool:
    """Whether a sample has both values, of one time. A CPU counter of 0 is "not measured yet": nothing runs on no time at all."""
    whole = sample.cpu is not None and sample.cpu > 0 and sample.memory is not None
    return whole and abs(sample.cpu_time - sample.memory_time) <= TOGETHER


def _is_news(last: Step | None, new: Sample) -> bool:
    """Whether a sample is whole, later than the last, and not of an earlier instance, whatever it was told with: that is a leftover.

    A counter without a stamp that stands still may be the old one told again: whether it was measured anew is not known.
    """
    if last is None or not complete(new):
        return complete(new)
    if last.started is not None and new.started is not None and new.started < last.started - SAME_START:
        return False
    return new.cpu_time > last.time and (new.stamped or new.cpu != last.counter)


def restarted(last: Step, new: Sample) -> bool:
    """Whether `new` is of another instance than `last`: another start, or a start after the last sample was taken."""
    if new.started is None:
        return False
    if last.started is None:
        return new.started >= last.time
    return abs(new.started - last.started) > SAME_START


def resource_step(last: Step | None, new: Sample, _agent_started: int | None = None, now: float = 0.0) -> Step | None:
    """The step that a sample of /metrics/resource makes; `last` itself where it makes none. `now` is the monotonic time.

    CPU is the difference of two counters over the difference of *their own* times. After a restart, and for a first sample, the
    container's start is the origin if that was 10 to 60 s ago. A counter that went back without a restart gives no usage for this
    sample.
    """
    if not _is_news(last, new):
        return last
    if last is None or restarted(last, new):
        return _from_origin(last, new, now)
    window = new.cpu_time - last.time
    if window < MIN_WINDOW:
        return last
    return _from_pair(last, new, window, now)


def summary_step(last: Step | None, new: Sample, agent_started: int | None = None, now: float = 0.0) -> Step | None:
    """The step that a sample of /stats/summary makes; `last` itself where it makes none. `now` is the monotonic time.

    The kubelet's own rate, usageNanoCores, is used from the first sample on. Where it is missing, or a 0 that cannot be believed, two
    counters of this source stand in. Counters of the two sources never form a pair: one is stamped in ms, the other in floored
    seconds.
    """
    if not _is_news(last, new):
        return last
    if new.cpu_rate and _lived(new.started, new.cpu_time) and _lived(agent_started, new.cpu_time):
        return _step(last, new, now, cpu=new.cpu_rate, window=SUMMARY_WINDOW)
    if last is not None and not restarted(last, new):
        window = new.cpu_time - last.time
        if window >= SUMMARY_PAIR_MIN:
            return _from_pair(last, new, window, now)
    if new.cpu_rate == 0 and _older(new.started, new.cpu_time) and _older(agent_started, new.cpu_time):
        return _step(last, new, now, cpu=0, window=SUMMARY_WINDOW)
    # Nothing can be made of it. Of the same instance the earlier sample stays, as the base of a pair that becomes long enough.
    return last if last is not None and not restarted(last, new) else _step(last, new, now, first=True)


def rated_step(last: Step | None, new: Sample, window: int, now: float) -> Step | None:
    """The step that a sample makes whose CPU is a rate already, over `window` ns; `last` itself where it makes none."""
    if new.cpu_rate is None or new.memory is None or (last is not None and new.cpu_time <= last.time):
        return last
    return _step(last, new, now, cpu=new.cpu_rate, window=window)


def _from_origin(last: Step | None, new: Sample, now: float) -> Step:
    window = 0 if new.started is None else new.cpu_time - new.started
    if new.cpu is None or not ORIGIN_MIN <= window <= ORIGIN_MAX:
        return _step(last, new, now, first=True)
    return _step(last, new, now, cpu=new.cpu * SECOND // window, window=window, first=True)


def _from_pair(last: Step, new: Sample, window: int, now: float) -> Step:
    if new.cpu is None or new.cpu < last.counter:
        return _step(last, new, now)
    return _step(last, new, now, cpu=(new.cpu - last.counter) * SECOND // window, window=window)


def _step(last: Step | None, new: Sample, now: float, *, cpu: int = 0, window: int = 0, first: bool = False) -> Step:
    """The step to a sample that is complete: without a usage if there is no window, or its memory is 0 while the CPU stands still.

    Some runtimes report memory 0 for working sets that live (then it is a value), and all do for what is gone (then it is none).
    """
    if new.memory == 0 and cpu == 0:
        window = 0
    return Step(
        name=intern(new.name),
        cpu=cpu,
        memory=new.memory or 0,
        swap=new.swap,
        time=new.cpu_time,
        window=window,
        counter=new.cpu or 0,
        started=new.started,
        advanced=now,
        first=first,
        moved=last is not None,
    )


def _lived(started: int | None, now: int) -> bool:
    """Whether it can have been there for all of the window that is stated; where its start is unknown that is not held against it."""
    return started is None or now - started >= SUMMARY_WINDOW


def _older(started: int | None, now: int) -> bool:
    return started is not None and now - started > ZERO_TRUSTED_AFTER
