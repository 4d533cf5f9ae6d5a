"""The adapter as a whole: reads the file, lists series, and has what they are served. One task of its own."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import structlog
from msgspec.structs import replace

from app.adapter.config import Config, parse
from app.adapter.discovery import Discovery
from app.adapter.prometheus import Prometheus
from app.adapter.provider import AdapterMetrics, DescribedObjects
from app.adapter.queries import Queries
from app.adapter.resources import Client, Resources
from app.cache.reports import MOST_FAILING, Report, Reports, TargetReport
from app.clock import Clock
from app.declared.documents import MAX_BYTES
from app.declared.files import File
from app.declared.texts import Text
from app.errors import KubeError
from collectors._base import Cause

NAME = "prometheus-adapter"
_LOOK_S = 10.0
"""How often the file is looked at."""

_log = structlog.get_logger(__name__)


class Adapter:
    """Serves an adapter file. `changed` is called when what is listed may be another."""

    def __init__(
        self,
        file: Path,
        prometheus: Prometheus,
        *,
        objects: DescribedObjects,
        client: Client,
        clock: Clock,
        reports: Reports,
        relist_interval: float,
        max_age: float,
        query_interval: float,
        changed: Callable[[], None],
        asks_kubelets: bool = True,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._file = file
        self.prometheus = prometheus
        self._client = client
        self._clock = clock
        self._reports = reports
        self._relist_interval = relist_interval
        self._max_age = max_age
        self._changed = changed
        self._asks_kubelets = asks_kubelets
        self._sleep = sleep
        self.resources = Resources()
        self.queries = Queries(prometheus, clock, interval=query_interval)
        self.metrics = AdapterMetrics(self.queries, objects, self.resources.find)
        self.config = Config()
        self._discovery = Discovery((), prometheus, self.resources.find, clock, max_age=max_age)
        self._watched = File(file, clock.wall)
        self._content: str | None = None
        self._fault = ""
        self._listed: float | None = None
        self._said: dict[str, str] = {}

    async def aclose(self) -> None:
        """Close all connections."""
        await self.prometheus.aclose()

    async def run(self) -> None:
        """Look at the file, and list the series where it changed or their time has come."""
        while True:
            before, changed = self._fault, await self._read()
            if self._fault != before and (report := self._reports.get(NAME)) is not None:
                self._reports.put(replace(report, invalid=self._invalid()))
            now = self._clock.monotonic()
            patience = self._relist_interval if self._discovery.listed_once else _LOOK_S
            if changed or self._listed is None or now - self._listed >= patience:
                self._listed = now
                await self._relist()
            await self._sleep(min(_LOOK_S, self._relist_interval))

    async def _relist(self) -> None:
        try:
            await self.resources.refresh(self._client)
        except KubeError as exc:
            _log.warning("the cluster does not tell its resources: rules use those that every cluster has", error=str(exc))
        began = self._clock.wall()
        await self._discovery.relist()
        others = self.metrics.put(self._discovery.metrics)
        if self._discovery.listed_once or not self.config.rules:
            self.metrics.not_listed = ""
        elif self._discovery.troubles:
            self.metrics.not_listed = (
                f"the series of Prometheus were not listed yet: {next(iter(self._discovery.troubles.values())).message}"
            )
        self._tell()
        self._report(began)
        if others:
            self._changed()

    async def _read(self) -> bool:
        """Take the file if it is another. One that cannot be read leaves the rules as they are."""
        found = await asyncio.to_thread(self._look)
        if found.fault:
            if found.fault != self._fault:
                _log.error("the adapter's file cannot be read, and the rules stay as they are", file=found.file, error=found.fault)
            self._fault = found.fault
            return False
        self._fault = ""
        if found.content == self._content:
            return False
        self._content = found.content
        self.config = await asyncio.to_thread(parse, found.content, found.file)
        for fault in self.config.faults:
            _log.error("a rule of the adapter's file cannot be used", fault=str(fault))
        if self.config.resource_rules is not None and self._asks_kubelets:
            _log.warning(
                "resourceRules of the adapter's file are not used: metrics.k8s.io is served from the kubelets", file=str(self._file)
            )
        self._discovery = self._discovery.successor(self.config.rules)
        return True

    def _look(self) -> Text:
        """The file as it is now, or why it cannot be read. Blocks; it is read only where it may have changed."""
        found = self._watched.look()
        if len(found.content.encode()) > MAX_BYTES:
            return Text(
                found.file, "", fault=f"is larger than the {MAX_BYTES >> 20} MiB that a ConfigMap can hold: take out rules nobody needs"
            )
        return found

    def _tell(self) -> None:
        """Log what is new of the rules' troubles."""
        said = {place: trouble.message for place, trouble in self._discovery.troubles.items()}
        for place, message in said.items():
            if self._said.get(place) != message:
                _log.warning("a rule of the adapter's file cannot be listed anew", rule=place, error=message)
        self._said = said

    def _invalid(self) -> str:
        """What is wrong with the file: that it cannot be read, else its first fault."""
        return f"{self._file} {self._fault}" if self._fault else next((str(fault) for fault in self.config.faults), "")

    def _report(self, began: float) -> None:
        """Tell how the rules are: each is a target."""
        now = self._clock.wall()
        troubles = self._discovery.troubles
        failing = [TargetReport(place, each.cause, each.message, each.since, 1) for place, each in troubles.items()]
        faults = [str(fault) for fault in self.config.faults]
        failing += [TargetReport(fault, Cause.MAPPING, fault, int(began * 1e9), 1) for fault in faults]
        rules = len(self.config.rules)
        self._reports.put(
            Report(
                name=NAME,
                source="prometheus",
                targets=rules + len(faults),
                healthy=rules - len(troubles),
                items=len(self._discovery.metrics),
                dropped=0,
                interval=self._relist_interval,
                ttl=0.0,
                last=int(now * 1e9),
                took=now - began,
                next=int((now + self._relist_interval) * 1e9),
                endpoint=self.prometheus.server.url,
                file=str(self._file),
                error=failing[0].message if failing else "",
                invalid=self._invalid(),
                failing=tuple(failing[:MOST_FAILING]),
            )
        )
