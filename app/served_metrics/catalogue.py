"""All served metrics as objects of the kind ServedMetric, brought up to date when somebody looks."""

from collections.abc import Callable, Sequence

from app.cache.collection import Collection, Item
from app.cache.versions import Versions
from app.kinds.servedmetrics import ServedMetricNow, name_of
from app.kube.records import Key, Labels
from app.served_metrics.providers import Registry
from app.served_metrics.values import Entry, State


class ServedMetricObjects:
    """The metrics of a registry as readers of objects see them (app/kinds/_catalog.py)."""

    def __init__(self, registry: Registry, versions: Versions) -> None:
        self._registry = registry
        self._versions = versions
        self._collection = Collection(why=lambda _key: None, version=versions.current)
        self._told: dict[Key, ServedMetricNow] = {}

    @property
    def version(self) -> int:
        return self._newest().version

    @property
    def why(self) -> Callable[[Key], str | None]:
        return self._collection.why

    def __len__(self) -> int:
        return len(self._newest())

    def get(self, key: Key) -> Item | None:
        return self._newest().get(key)

    def snapshot(self, namespace: str | None = None) -> Sequence[Item]:
        return self._newest().snapshot(namespace)

    def labelled(self, matches: Callable[[Labels], bool], namespace: str | None = None, *, most: int) -> Sequence[Item] | None:
        return self._newest().labelled(matches, namespace, most=most)

    def _newest(self) -> Collection:
        now = dict(map(_object, self._registry.states()))
        changed = [key for key, metric in now.items() if self._told.get(key) != metric]
        gone = [key for key in self._told if key not in now]
        if changed or gone:
            version = self._versions.next()
            self._collection.replace([Item(key, (), version, now[key]) for key in changed], gone, version)
            self._told = now
        return self._collection


def _object(of: tuple[Entry, State]) -> tuple[Key, ServedMetricNow]:
    entry, state = of
    resource = str(entry.resource) if entry.resource is not None else ""
    metric = ServedMetricNow(
        entry.metric, entry.api, resource, entry.namespaced, entry.provider, entry.source, state.series, state.last, state.error
    )
    return ("", name_of(entry.metric, resource)), metric
