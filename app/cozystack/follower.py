"""Follows ApplicationDefinitions and HelmReleases: kinds appear, change and vanish with the former, objects with the latter.

Both are watched. What did not change is not projected again: a release that is the same object as before keeps its application.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, cast

import structlog

from app.cache.collection import Collection, Item
from app.cache.reports import Report, Reports, TargetReport
from app.cache.versions import Versions
from app.clock import Clock
from app.cozystack.definition import BadDefinition, Definition, definition_of
from app.cozystack.kinds import kind_of
from app.cozystack.projection import GROUP as RELEASES_OF
from app.cozystack.projection import LABEL_GROUP, LABEL_KIND, Release, project
from app.cozystack.projection import kind_of as kind_of_release
from app.declared.objects import LiveObject, LiveValue
from app.declared.pod_logs import PodLogs
from app.kinds._catalog import Served
from app.kube.records import Key
from collectors._base import CollectError
from collectors._source import Cluster, ClusterObjects, Limits

OWNER = "cozystack"
NEWS_S = 0.5
"""News come in bunches: so long after the first of them they are looked at together."""
RECHECK_S = 15.0
"""Seconds without news after which it is looked whether the watches still stand."""
TTL_S = 60.0
"""How long applications outlive a watch that is broken."""

_LIMITS = Limits(items=100_000, body_bytes=256 << 20)
_MOST_FAULTS = 20
_log = structlog.get_logger(__name__)


class _Projected(NamedTuple):
    release: Release
    application: LiveObject | None


class _Application:
    """One kind that is served: its definition, its objects, and what each was projected from."""

    def __init__(self, definition: Definition, group: str, logs: PodLogs, version: int) -> None:
        self.definition = definition
        self.collection = Collection(why=lambda _key: None, version=version)
        self.served = Served(kind_of(definition, group, (logs.subresource(definition.kind, _release_of),)), self.collection)
        self._projected: dict[Key, _Projected] = {}

    def publish(self, releases: Sequence[Release], observed: int, versions: Versions) -> None:
        """Bring the objects up to date, in one step."""
        projected: dict[Key, _Projected] = {}
        put, gone = [], []
        for release in releases:
            metadata = release["metadata"]
            at = (metadata.get("namespace", ""), metadata["name"])
            before = self._projected.pop(at, None)
            if before is not None and before.release is release:
                projected[at] = before
                continue
            application = project(self.definition, release, observed)
            projected[at] = _Projected(release, application)
            if application is not None:
                put.append(application)
            elif before is not None and before.application is not None:
                gone.append(before.application.key)
        gone += [left.application.key for left in self._projected.values() if left.application is not None]
        self._projected = projected
        if put or gone:
            version = versions.next()
            self.collection.replace([Item(key, labels, version, value) for key, labels, value in put], gone, version)


def _release_of(application: LiveValue) -> Release:
    """The HelmRelease behind an application: it tells whose pods are meant."""
    return cast("Release", application.item)


class Follower:
    """`run` goes on for ever. `put` is the Catalog's."""

    def __init__(
        self,
        cluster: Cluster,
        put: Callable[[Mapping[str, Sequence[Served]]], None],
        *,
        group: str,
        logs: PodLogs,
        versions: Versions,
        reports: Reports,
        clock: Clock,
    ) -> None:
        """`group` is the group in which the kinds are served, `logs` answers /log of their objects."""
        self._cluster = cluster
        self._put = put
        self._group = group
        self._logs = logs
        self._versions = versions
        self._reports = reports
        self._clock = clock
        self._applications: dict[str, _Application] = {}
        """By the definition's name."""
        self._faults: dict[str, str] = {}
        self._trouble: CollectError | None = None
        self._since = 0
        self._failures = 0
        self._last = 0
        self._good_at = clock.monotonic()
        self.tried = asyncio.Event()
        """Set once both were listed, or could not be."""

    async def run(self) -> None:
        """Watch, and follow."""
        changed = asyncio.Event()
        definitions = self._cluster.watch(
            "cozystack.io/v1alpha1", "applicationdefinitions", namespace="", labels="", fields="", limits=_LIMITS, changed=changed
        )
        releases = self._cluster.watch(
            "helm.toolkit.fluxcd.io/v2",
            "helmreleases",
            namespace="",
            labels=f"{LABEL_KIND},{LABEL_GROUP}={RELEASES_OF}",
            fields="",
            limits=_LIMITS,
            changed=changed,
        )
        try:
            await definitions.tried()
            await releases.tried()
            while True:
                changed.clear()
                self.refresh(definitions, releases)
                self.tried.set()
                await self._news(changed)
        finally:
            await definitions.aclose()
            await releases.aclose()

    @staticmethod
    async def _news(changed: asyncio.Event) -> None:
        try:
            async with asyncio.timeout(RECHECK_S):
                await changed.wait()
        except TimeoutError:
            return
        await asyncio.sleep(NEWS_S)

    def refresh(self, definitions: ClusterObjects, releases: ClusterObjects) -> None:
        """Bring kinds and objects up to date with what the watches show. What cannot be had costs nothing until its time is over."""
        try:
            self._follow(definitions.objects())
            self._publish(releases.objects())
        except CollectError as error:
            self._failed(error)
        else:
            self._trouble, self._failures = None, 0
            self._last, self._good_at = int(self._clock.wall() * 1e9), self._clock.monotonic()
        self._report(definitions.size + releases.size)

    def _follow(self, manifests: Sequence[Mapping[str, object]]) -> None:
        """Take the definitions as they are now."""
        wanted: dict[str, Definition] = {}
        faults: dict[str, str] = {}
        taken: dict[str, str] = {}
        for manifest in manifests:
            name = str(manifest["metadata"]["name"])  # type: ignore[index]  # every object of a watch has metadata with a name
            try:
                definition = definition_of(manifest)
            except BadDefinition as fault:
                faults[name] = str(fault)
                if name in self._applications:  # a bad edit keeps what was served
                    definition = self._applications[name].definition
                else:
                    continue
            other = taken.get(definition.kind) or taken.get(definition.plural)
            if other is not None:
                faults[name] = f"its kind {definition.kind} or plural {definition.plural} is that of ApplicationDefinition {other}"
                continue
            taken[definition.kind] = taken[definition.plural] = name
            wanted[name] = definition
        self._tell(faults)
        applications = {
            name: old
            if (old := self._applications.get(name)) is not None and old.definition == definition
            else _Application(definition, self._group, self._logs, self._versions.next())
            for name, definition in wanted.items()
        }
        if applications != self._applications:
            self._applications = applications
            self._put({OWNER: [application.served for application in applications.values()]})

    def _publish(self, releases: Sequence[Release]) -> None:
        by_kind: dict[str, list[Release]] = {}
        for release in releases:
            by_kind.setdefault(kind_of_release(release), []).append(release)
        observed = int(self._clock.wall() * 1e9)
        for application in self._applications.values():
            application.publish(by_kind.get(application.definition.kind, ()), observed, self._versions)

    def _failed(self, error: CollectError) -> None:
        if self._trouble is None or self._trouble.cause != error.cause:
            self._since = int(self._clock.wall() * 1e9)
            _log.warning("applications of Cozystack cannot be followed", cause=str(error.cause), error=error.message, remedy=error.remedy)
        self._trouble = error
        self._failures += 1
        if self._clock.monotonic() - self._good_at > TTL_S:
            for application in self._applications.values():
                application.publish((), 0, self._versions)

    def _tell(self, faults: dict[str, str]) -> None:
        for name, fault in faults.items():
            if self._faults.get(name) != fault:
                _log.warning("an ApplicationDefinition cannot be taken", name=name, fault=fault)
        self._faults = faults

    def _report(self, size: int) -> None:
        trouble = self._trouble
        invalid = "; ".join(f"ApplicationDefinition {name}: {fault}" for name, fault in sorted(self._faults.items())[:_MOST_FAULTS])
        failing: tuple[TargetReport, ...] = ()
        if trouble is not None:
            failing = (TargetReport("kube-apiserver", str(trouble.cause), trouble.message, self._since, self._failures),)
        self._reports.put(
            Report(
                name=OWNER,
                source="cozystack",
                targets=1,
                healthy=int(trouble is None),
                items=sum(len(application.collection) for application in self._applications.values()),
                dropped=len(self._faults),
                interval=RECHECK_S,
                ttl=TTL_S,
                last=self._last,
                size=size,
                failures=self._failures,
                endpoint="applicationdefinitions.cozystack.io, helmreleases.helm.toolkit.fluxcd.io",
                error=trouble.message if trouble is not None else "",
                invalid=invalid,
                failing=failing,
            )
        )
