"""The usual case in one go: a pod of which every container that runs goes on.

That is what nearly every pod is at nearly every scrape, so it is tried first. Pure. What comes out is what app/cache/rates.py makes of each
sample and app/cache/usage.py of the pod, and a property test holds it to that; whatever is not so plain is left to them, by None.
"""

from collections.abc import Sequence
from operator import attrgetter

from app.cache.rates import LEAP, MIN_WINDOW, SECOND, SUMMARY_WINDOW, TOGETHER, Step
from app.cache.samples import Scrape, SteadyFunction, Steps
from app.cache.values import PodUsage
from app.kube.records import PodRecord
from collectors._base import Sample


def _steady(*, told_rates: bool) -> SteadyFunction:
    """The short cut of a source. `told_rates`: CPU is the kubelet's own rate, else that of a pair of counters.

    One loop without calls, because it is run for each container at each scrape.
    """
    least_age = SUMMARY_WINDOW if told_rates else 0

    def steady(pod: PodRecord, before: Steps, samples: Sequence[Sample], scrape: Scrape) -> tuple[Steps, PodUsage] | None:
        if len(samples) > len(before) or pod.phase != "Running":
            return None
        source, now, agent_started = scrape
        born = agent_started or 0
        steps: list[Step] = []
        anew = False
        for position, container in enumerate(pod.containers):
            for sample in samples:
                if sample.name == container.name:
                    break
            else:
                if container.running:
                    return None
                continue  # nobody waits for one that is done, or has yet to begin
            step = before[position]
            started, time, counter, memory = sample.started, sample.cpu_time, sample.cpu, sample.memory
            if (
                step is None
                or step.dead
                or not container.running
                or started is None
                or started != step.started
                or started < container.earliest_ns
                or time - started < least_age
                or time - born < least_age
                or not (MIN_WINDOW <= (window := time - step.time) <= LEAP or (window == 0 and step.window))
                or not sample.stamped
                or not counter
                or counter < step.counter
                or (told_rates and not sample.cpu_rate)
                or not memory
                or abs(time - sample.memory_time) > TOGETHER
            ):
                return None
            if window:
                anew = True
                if told_rates:
                    cpu, window = sample.cpu_rate or 0, SUMMARY_WINDOW
                else:
                    cpu = (counter - step.counter) * SECOND // window
                step = Step(step.name, cpu, memory, sample.swap, time, window, counter, step.started, now, False, True)
            steps.append(step)
        if not anew:
            return None
        return worked_out(pod, before, tuple(steps), source)

    return steady


def worked_out(pod: PodRecord, before: Steps, running: tuple[Step, ...], source: str) -> tuple[Steps, PodUsage]:
    """What becomes of a pod that stood at `before` when the containers that run stand at `running`, one or more."""
    earliest = min(running, key=attrgetter("time"))
    after = running if len(running) == len(before) else _beside(pod, before, running)
    return after, PodUsage(running, earliest.time, earliest.window, source)


def _beside(pod: PodRecord, before: Steps, running: tuple[Step, ...]) -> Steps:
    """The steps of the containers that run, beside those of the others, which stay."""
    steps = iter(running)
    return tuple(next(steps) if container.running else step for container, step in zip(pod.containers, before, strict=True))


resource_pod = _steady(told_rates=False)
"""For /metrics/resource."""
summary_pod = _steady(told_rates=True)
"""For /stats/summary."""
