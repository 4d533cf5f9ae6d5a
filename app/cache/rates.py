"""From cumulative samples to a usage: pure functions, one for each source. docs/values.md tells every rule with its reason.

A sample that cannot be used changes nothing: what was known stays until its time to live ends. Nothing here is ever negative,
estimated or filled in.
"""

from msgspec import Struct

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
SAME_START = 1 * SECOND
"""Starts that differ by no more than this are one start, told by sources of different precision."""


class Usage(Struct, frozen=True, gc=False):
    """What one container or node used: CPU in nanocores over the `window` ns that ended at `time` (Unix ns), memory and swap in bytes.

    `swap` is None where the kubelet reports none.
    """

    cpu: int
    memory: int
    time: int
    window: int
    swap: int | None = None


class Step(Struct, frozen=True, gc=False):
    """Where a series stands after a sample: the newest sample used, and the usage made of it, if one can be made.

    `first` tells that it is the first sample of its instance.
    """

    sample: Sample
    usage: Usage | None
    first: bool = False


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
    before = last.sample
    if before.started is not None and new.started is not None and new.started < before.started - SAME_START:
        return False
    return new.cpu_time > before.cpu_time and (new.stamped or new.cpu != before.cpu)


def restarted(last: Sample, new: Sample) -> bool:
    """Whether `new` is of another instance than `last`: another start, or a start after the last sample was taken."""
    if new.started is None:
        return False
    if last.started is None:
        return new.started >= last.cpu_time
    return abs(new.started - last.started) > SAME_START


def resource_step(last: Step | None, new: Sample, _agent_started: int | None = None) -> Step | None:
    """The step that a sample of /metrics/resource makes; `last` itself where it makes none.

    CPU is the difference of two counters over the difference of *their own* times. After a restart, and for a first sample, the
    container's start is the origin if that was 10 to 60 s ago. A counter that went back without a restart gives no usage for this
    sample.
    """
    if not _is_news(last, new):
        return last
    if last is None or restarted(last.sample, new):
        return Step(new, _from_origin(new), first=True)
    window = new.cpu_time - last.sample.cpu_time
    if window < MIN_WINDOW:
        return last
    return Step(new, _from_pair(last.sample, new, window))


def summary_step(last: Step | None, new: Sample, agent_started: int | None = None) -> Step | None:
    """The step that a sample of /stats/summary makes; `last` itself where it makes none.

    The kubelet's own rate, usageNanoCores, is used from the first sample on. Where it is missing, or a 0 that cannot be believed, two
    counters of this source stand in. Counters of the two sources never form a pair: one is stamped in ms, the other in floored
    seconds.
    """
    if not _is_news(last, new):
        return last
    if new.cpu_rate and _lived(new.started, new.cpu_time) and _lived(agent_started, new.cpu_time):
        return Step(new, _checked(new, new.cpu_rate, SUMMARY_WINDOW))
    if last is not None and not restarted(last.sample, new):
        window = new.cpu_time - last.sample.cpu_time
        if window >= SUMMARY_PAIR_MIN:
            return Step(new, _from_pair(last.sample, new, window))
    if new.cpu_rate == 0 and _older(new.started, new.cpu_time) and _older(agent_started, new.cpu_time):
        return Step(new, _checked(new, 0, SUMMARY_WINDOW))
    # Nothing can be made of it. Of the same instance the earlier sample stays, as the base of a pair that becomes long enough.
    return last if last is not None and not restarted(last.sample, new) else Step(new, None, first=True)


def _from_origin(new: Sample) -> Usage | None:
    if new.started is None or new.cpu is None:
        return None
    window = new.cpu_time - new.started
    if not ORIGIN_MIN <= window <= ORIGIN_MAX:
        return None
    return _checked(new, new.cpu * SECOND // window, window)


def _from_pair(last: Sample, new: Sample, window: int) -> Usage | None:
    if last.cpu is None or new.cpu is None or new.cpu < last.cpu:
        return None
    return _checked(new, (new.cpu - last.cpu) * SECOND // window, window)


def _checked(new: Sample, cpu: int, window: int) -> Usage | None:
    """The usage, unless its memory is 0 while the CPU stands still: some runtimes report 0 for working sets that live (then it is a
    value), and all do for what is gone (then it is none)."""
    if new.memory is None or (new.memory == 0 and cpu == 0):
        return None
    return Usage(cpu=cpu, memory=new.memory, time=new.cpu_time, window=window, swap=new.swap)


def _lived(started: int | None, now: int) -> bool:
    """Whether it can have been there for all of the window that is stated; where its start is unknown that is not held against it."""
    return started is None or now - started >= SUMMARY_WINDOW


def _older(started: int | None, now: int) -> bool:
    return started is not None and now - started > ZERO_TRUSTED_AFTER
