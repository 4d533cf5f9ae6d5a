"""Which of the declarations that are there already another one can clash with: those that share a name with it.

What clashes is for the rules to say; without this each would be held against each, and a thousand against a million.
"""

from collections.abc import Iterable, Iterator

from app.declared.check_names import resource_names
from app.declared.declaration import AnyDeclaration, known_as
from app.declared.metric_model import LiveMetric
from app.declared.model import LiveResource


class Neighbours:
    """Declarations by their names: their own, those that kubectl knows their kinds by, and those that
    their metrics are asked for by."""

    def __init__(self, declarations: Iterable[AnyDeclaration]) -> None:
        self._all: list[AnyDeclaration] = []
        self._places: dict[tuple[str, ...], list[int]] = {}
        for each in declarations:
            self.add(each)

    def add(self, declaration: AnyDeclaration) -> None:
        """From now on it is there too."""
        for name in set(_names(declaration.resource, declaration.namespace)):
            self._places.setdefault(name, []).append(len(self._all))
        self._all.append(declaration)

    def of(self, resource: LiveResource | LiveMetric, tenant: str) -> list[AnyDeclaration]:
        """Those that share a name with a declaration of the namespace `tenant`, in the order in which they came."""
        places = {place for name in _names(resource, tenant) for place in self._places.get(name, ())}
        return [self._all[place] for place in sorted(places)]


def _names(resource: LiveResource | LiveMetric, namespace: str) -> Iterator[tuple[str, ...]]:
    yield "declaration", known_as(resource.kind, resource.metadata.name, namespace)
    if isinstance(resource, LiveMetric):
        of = resource.spec.describes
        yield ("metric", resource.spec.api, resource.spec.name, *((of.resource, of.group) if of is not None else ()))
        return
    spec = resource.spec
    yield from (("resource", name) for name in resource_names(spec))
    yield from (("kind", spec.group, name) for name in (spec.names.kind, f"{spec.names.kind}List"))
    for metric in spec.metrics:
        yield from (("metric", api, metric.name, *((spec.names.plural, spec.group) if api == "custom" else ())) for api in metric.apis)
