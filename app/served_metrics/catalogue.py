"""All served metrics as objects of the kind ServedMetric, brought up to date when somebody looks."""

from app.cache.collection import Collection, Item
from app.cache.on_demand import OnDemand
from app.cache.versions import Versions
from app.kinds.servedmetrics import ServedMetricNow, name_of
from app.kube.records import Key
from app.served_metrics.providers import Registry
from app.served_metrics.values import Entry, State


class ServedMetricObjects(OnDemand):
    """The metrics of a registry as objects."""

    def __init__(self, registry: Registry, versions: Versions) -> None:
        super().__init__(versions.current)
        self._registry = registry
        self._versions = versions
        self._told: dict[Key, ServedMetricNow] = {}

    def refresh(self, collection: Collection) -> None:
        now = dict(map(_object, self._registry.states()))
        changed = [key for key, metric in now.items() if self._told.get(key) != metric]
        gone = [key for key in self._told if key not in now]
        if changed or gone:
            version = self._versions.next()
            collection.replace([Item(key, (), version, now[key]) for key in changed], gone, version)
            self._told = now


def _object(of: tuple[Entry, State]) -> tuple[Key, ServedMetricNow]:
    entry, state = of
    resource = str(entry.resource) if entry.resource is not None else ""
    metric = ServedMetricNow(
        entry.metric, entry.api, resource, entry.namespaced, entry.provider, entry.source, state.series, state.last, state.error
    )
    return ("", name_of(entry.metric, resource)), metric
