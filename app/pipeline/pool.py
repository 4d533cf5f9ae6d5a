"""Starts and stops the loops as nodes come, change and go. It listens to the cluster state; nothing polls."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

import structlog

from app.cache.cluster import NodeChange
from app.cache.reports import MOST_FAILING, Report, TargetReport
from app.cache.samples import time_to_live
from app.kube.records import NodeRecord
from app.memory import Sweeper
from app.pipeline.faults import Fault
from app.pipeline.grid import Grid, Schedule, early_pause, first_delays, offsets
from app.pipeline.scraper import Job, Scraper, Surroundings
from app.pipeline.supervise import Children
from app.pipeline.targets import targets
from app.settings import Settings
from collectors._base import CollectError, Target

log = structlog.get_logger(__name__)
LoopKey = tuple[str, str]
"""(collector, node)."""

_KUBELET = "kubelet"
"""What the collectors of kubelets ask, as their reports say it."""


class Pool:
    """One loop for each job on each node. Hang `nodes_changed` into the cluster state's listeners."""

    def __init__(self, jobs: Sequence[Job], settings: Settings, around: Surroundings, children: Children) -> None:
        self._jobs = tuple(jobs)
        self._settings = settings
        self._around = around
        self._children = children
        self._nodes: dict[str, NodeRecord] = {}
        self._targets: dict[LoopKey, tuple[str, tuple[Target, ...]]] = {}
        """By loop: the node's uid, for one that is created anew under its name is another machine, and its addresses."""
        self._scrapers: dict[LoopKey, Scraper] = {}
        self._unanswered: set[LoopKey] = set()
        self._intervals = [job.interval for job in self._jobs]
        self._told = False
        self._sweeper = Sweeper()

    def __len__(self) -> int:
        """Loops that run."""
        return len(self._targets)

    @property
    def first_round_ended(self) -> bool:
        """Whether every target that is known has been scraped once, whatever came of it."""
        return not self._unanswered

    def reports(self) -> list[Report]:
        """How each collector is, over all nodes: worked out anew each time, so that scrapes need not keep anything up to date."""
        faults: dict[str, dict[str, Fault]] = {job.collector.name: {} for job in self._jobs}
        for (node, collector), fault in self._around.faults.current().items():
            faults[collector][node] = fault
        return [self._report_of(job, faults[job.collector.name]) for job in self._jobs]

    def _report_of(self, job: Job, faults: Mapping[str, Fault]) -> Report:
        name, clock = job.collector.name, self._around.clock
        good = [scraper.good for (collector, _), scraper in self._scrapers.items() if collector == name and scraper.good is not None]
        pending = sum(1 for collector, node in self._unanswered if collector == name and node not in faults)
        last = max(good, key=lambda each: each.at, default=None)
        worst = sorted(faults.items())[:MOST_FAILING]
        began = clock.wall() - clock.monotonic()
        return Report(
            name=name.replace("_", "-"),
            source=_KUBELET,
            targets=len(self._nodes),
            healthy=len(self._nodes) - len(faults) - pending,
            pending=pending,
            items=sum(each.items for each in good),
            dropped=sum(each.dropped for each in good),
            interval=job.interval,
            ttl=time_to_live(job.interval),
            last=int(last.at * 1e9) if last is not None else 0,
            took=last.took if last is not None else 0.0,
            failures=max((fault.failures for fault in faults.values()), default=0),
            endpoint=job.collector.path.partition("?")[0],
            error=_summary(faults),
            failing=tuple(
                TargetReport(node, fault.cause, fault.message, round(began + fault.since) * 10**9, fault.failures) for node, fault in worst
            ),
        )

    def nodes_changed(self, changes: Sequence[NodeChange]) -> None:
        """Follow changes of the cluster state. A new status of a node, such as its heartbeat, leaves its loops alone."""
        for change in changes:
            if change.new is not None:
                self._nodes[change.new.name] = change.new
            elif change.old is not None:
                self._nodes.pop(change.old.name, None)
        for change in changes:
            if change.new is not None:
                self._follow(change.new)
            elif change.old is not None:
                self._leave(change.old.name)

    def _follow(self, node: NodeRecord) -> None:
        for slot, job in enumerate(self._jobs):
            name = job.collector.name
            try:
                wanted = targets(node, name, self._settings)
            except CollectError as error:
                self._stop((name, node.name))
                self._report(node, name, error)
                continue
            if self._targets.get((name, node.name)) != (node.uid, wanted):
                self._start(slot, node, wanted)

    def _offset(self, slot: int, node: str) -> float:
        """The shift now of the grid of the job in `slot` on `node`."""
        return offsets(node, self._intervals, len(self._nodes))[slot]

    def _start(self, slot: int, node: NodeRecord, wanted: tuple[Target, ...]) -> None:
        job = self._jobs[slot]
        key = (job.collector.name, node.name)
        first = first_delays(node.name, self._intervals, len(self._nodes))[slot]
        scraper = Scraper(
            job,
            wanted,
            Schedule(Grid(job.interval, partial(self._offset, slot, node.name)), first, early_pause(len(self._nodes) * len(self._jobs))),
            self._around,
            stand_in=len(self._jobs) > 1,
            ready=lambda: self._is_ready(node.name),
            begins=self._sweeper.scrape_begins,
            answered=lambda: self._answered(key),
        )
        self._targets[key] = (node.uid, wanted)
        self._scrapers[key] = scraper
        self._unanswered.add(key)
        self._children.start(key, scraper.run)

    def _answered(self, key: LoopKey) -> None:
        self._unanswered.discard(key)
        if not self._unanswered and not self._told:
            self._told = True
            log.debug("every node was scraped once", targets=len(self._targets))

    def _is_ready(self, name: str) -> bool:
        node = self._nodes.get(name)
        return node is not None and node.ready

    def _report(self, node: NodeRecord, collector: str, error: CollectError) -> None:
        self._around.faults.failed(node.name, collector, error, at=self._around.clock.monotonic(), ready=node.ready)
        self._around.sink.failed(node.name, collector, error)

    def _stop(self, key: LoopKey) -> None:
        if self._targets.pop(key, None) is not None:
            self._children.stop(key)
            del self._scrapers[key]
        self._unanswered.discard(key)

    def _leave(self, name: str) -> None:
        for job in self._jobs:
            self._stop((job.collector.name, name))
            self._around.faults.forget(name, job.collector.name)
        self._around.metrics.forget_node(name)


def _summary(faults: Mapping[str, Fault]) -> str:
    """One sentence for all: how many fail for which cause, and what the first one says. "" where none fails."""
    if not faults:
        return ""
    causes = Counter(str(fault.cause) for fault in faults.values())
    counted = ", ".join(f"{cause} {count}" for cause, count in causes.most_common())
    return f"{counted}: {faults[min(faults)].message}"
