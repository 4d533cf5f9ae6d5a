"""How the sources are: for each what came of its last collections. Whoever collects reports here; the kind Collector shows it."""

from collections.abc import Callable, Iterable

from msgspec import Struct

from app.cache.collection import Collection, Item
from app.cache.on_demand import OnDemand
from app.cache.versions import Versions

MOST_FAILING = 20
"""Targets of one source that are named where they fail."""


class TargetReport(Struct, frozen=True):
    """A target that fails: its name, the cause (collectors._base.Cause), a message without secrets, since when (Unix ns), and how often in
    a row."""

    name: str
    cause: str
    message: str
    since: int
    failures: int


class Report(Struct, frozen=True):
    """One source. Times are Unix ns, 0 where there is none yet; durations are seconds.

    `name` is the object's name: the collector's for kubelets, the declaration's else. `source` is its type (kubelet, http, ...).
    `targets` counts what is asked, `healthy` those of which the last collection was good, `pending` those that were not asked yet; all
    others fail, and `failing` names MOST_FAILING of them at most. `items` is what the last good collection gave, `dropped` what of it could
    not be used. `last` is the last good collection, `took` how long it needed, `next` when the next is due; `failures` counts the
    collections that failed in a row, of the target that has most. `error` is the last one's message, "" where nothing fails.

    `invalid` is the fault of a newer version of the declaration that could not be taken, "" if there is none; `file` is where the
    declaration stands.
    """

    name: str
    source: str
    targets: int
    healthy: int
    items: int
    dropped: int
    interval: float
    ttl: float
    last: int = 0
    took: float = 0.0
    next: int = 0
    size: int = 0
    failures: int = 0
    endpoint: str = ""
    file: str = ""
    error: str = ""
    invalid: str = ""
    failing: tuple[TargetReport, ...] = ()
    pending: int = 0


class Reports:
    """The newest report of each source. Listeners hear the names of those that changed.

    `askers` are those who would report too often: each gives its reports when somebody reads.
    """

    def __init__(self) -> None:
        self._reports: dict[str, Report] = {}
        self.listeners: list[Callable[[Iterable[str]], None]] = []
        self.askers: list[Callable[[], Iterable[Report]]] = []

    def get(self, name: str) -> Report | None:
        return self._reports.get(name)

    def names(self) -> list[str]:
        return sorted(self._reports)

    def put(self, report: Report) -> None:
        """Put a report in place of the last one of its source."""
        if self._reports.get(report.name) != report:
            self._reports[report.name] = report
            self._tell(report.name)

    def forget(self, name: str) -> None:
        """Drop the report of a source that is no more."""
        if self._reports.pop(name, None) is not None:
            self._tell(name)

    def ask(self) -> None:
        """Have the askers report."""
        for asker in self.askers:
            for report in asker():
                self.put(report)

    def _tell(self, name: str) -> None:
        for listener in self.listeners:
            listener((name,))


class ReportObjects(OnDemand):
    """The reports as objects."""

    def __init__(self, reports: Reports, versions: Versions) -> None:
        super().__init__(versions.current)
        self._reports = reports
        self._versions = versions
        self._changed = set(reports.names())
        reports.listeners.append(self._changed.update)

    def refresh(self, collection: Collection) -> None:
        self._reports.ask()
        if self._changed:
            version = self._versions.next()
            reports = {name: self._reports.get(name) for name in self._changed}
            items = [Item(("", name), (), version, report) for name, report in reports.items() if report is not None]
            collection.replace(items, [("", name) for name, report in reports.items() if report is None], version)
            self._changed.clear()
