"""Two declarations that answer the same question for the HPA: same API, name and described resource, and a namespace in common."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from app.declared.declaration import AnyDeclaration, known_as
from app.declared.faults import Path
from app.declared.finding import Finding
from app.declared.metric_model import LiveMetric, served_in
from app.declared.model import LiveResource


class _Served(NamedTuple):
    """A metric as it is asked for, the namespaces that it is served in (None for all), and where its name stands."""

    api: str
    name: str
    resource: tuple[str, str] | None
    namespaces: frozenset[str] | None
    path: Path
    because: tuple[Path, ...]


def findings(resource: LiveResource | LiveMetric, tenant: str, others: Sequence[AnyDeclaration]) -> Iterator[Finding]:
    """What of a declaration of the namespace `tenant` ("" for kubeglance's own) is served already. The second is the one that is wrong.

    But the operator's own is never refused for a tenant's, whichever was there first: no namespace may take a name from the operator.
    """
    ours = list(_served(resource, tenant))
    if not ours:
        return
    for other in others:
        if other.name == known_as(resource.kind, resource.metadata.name, tenant):
            continue  # that is told as such
        if other.namespace and not tenant:
            continue
        first = ", and what the operator declares goes before it" if tenant and not other.namespace else ""
        for theirs in _served(other.resource, other.namespace):
            for each in ours:
                if each[:3] == theirs[:3] and _meet(each.namespaces, theirs.namespaces):
                    of = f" of {each.resource[0]}" if each.resource is not None else ""
                    what = f"overlaps: {each.api} metric {each.name}{of} is served by {other.name} in {other.place} already{first}"
                    yield Finding(each.path, what, "another name, or namespaces that the two do not share", because=each.because)


def _served(resource: LiveResource | LiveMetric, namespace: str) -> Iterator[_Served]:
    if isinstance(resource, LiveMetric):
        spec = resource.spec
        described = (spec.describes.resource, spec.describes.group) if spec.describes is not None else None
        because: tuple[Path, ...] = (("spec", "api"), ("spec", "describes"), ("spec", "namespaces"))
        yield _Served(spec.api, spec.name, described, served_in(resource, namespace), ("spec", "name"), because)
        return
    kind = resource.spec
    namespaces = frozenset(kind.allow_namespaces) if kind.scope == "Namespaced" else None
    for index, metric in enumerate(kind.metrics):
        for api in metric.apis:
            of = (kind.names.plural, kind.group) if api == "custom" else None
            path: Path = ("spec", "metrics", index, "name")
            yield _Served(api, metric.name, of, namespaces, path, (("spec", "metrics", index, "apis"),))


def _meet(ours: frozenset[str] | None, theirs: frozenset[str] | None) -> bool:
    """Whether there is a namespace in both."""
    return ours is None or theirs is None or not ours.isdisjoint(theirs)
