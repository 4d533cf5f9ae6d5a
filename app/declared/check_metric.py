"""Rules of a LiveMetric: between its fields, beside other metrics, and beside what the cluster serves."""

from collections.abc import Iterator, Sequence

from app.declared.check_rules import METRIC_NAME, METRIC_RULE, namespaces
from app.declared.declaration import MetricDeclaration, known_as
from app.declared.faults import Path
from app.declared.finding import Finding, invalid
from app.declared.metric_model import Describes, LiveMetric, LiveMetricSpec
from app.declared.served_names import ServedNames
from app.served_metrics.numbers import exact
from app.wire.label_syntax import faults_of_key
from app.wire.object_names import is_label

_MOST_NAME = 63
_SPEC: Path = ("spec",)
_SAMPLE: Path = ("spec", "sample")
_OBJECT: Path = ("spec", "sample", "object")
_DESCRIBES: Path = ("spec", "describes")
_NAMESPACES: Path = ("spec", "namespaces")
_CLUSTER_SCOPED = ("nodes", "namespaces")


def findings(metric: LiveMetric, tenant: str) -> Iterator[Finding]:
    """What is wrong between the fields. `tenant` is the namespace that it belongs to, "" where it is kubeglance's own."""
    spec = metric.spec
    if not is_label(metric.metadata.name):
        expected = f"lower-case letters, digits and dashes, at most {_MOST_NAME} characters"
        yield invalid(("metadata", "name"), metric.metadata.name, expected)
    if METRIC_NAME.fullmatch(spec.name) is None:
        yield invalid((*_SPEC, "name"), spec.name, METRIC_RULE)
    yield from _described(spec) if spec.api == "custom" else _not_described(spec)
    yield from _namespaces(spec, tenant)
    yield from _missing(spec)
    if spec.window is not None and spec.window <= 0:
        yield Finding((*_SPEC, "window"), "Invalid value", "more than 0s")
    for key in spec.sample.labels:
        if fault := faults_of_key(key):
            what = f'"{key}" is no key that a selector can name: {fault.split("; ")[0]}'
            yield Finding((*_SAMPLE, "labels", key), what, key=True)
    for index, test in enumerate(spec.tests):
        for number, series in enumerate(test.expect.series):
            yield from _number((*_SPEC, "tests", index, "expect", "series", number, "value"), series.value)


def _described(spec: LiveMetricSpec) -> Iterator[Finding]:
    api: tuple[Path, ...] = ((*_SPEC, "api"),)
    describes, described = spec.describes, spec.sample.object
    if describes is None:
        yield Finding(_DESCRIBES, "Required value", "the resource whose objects have the metric, as api is custom", because=api)
    elif not is_label(describes.resource):
        yield invalid((*_DESCRIBES, "resource"), describes.resource, "the plural name of a resource, in lower case, such as pods")
    if described is None:
        yield Finding(_OBJECT, "Required value", "name (and namespace) of the object of a sample, as api is custom", because=api)
    elif describes is None or describes.group:
        return
    elif describes.resource in _CLUSTER_SCOPED and described.namespace is not None:
        yield Finding((*_OBJECT, "namespace"), f"Forbidden: {describes.resource} have no namespace", "no namespace", because=(_DESCRIBES,))
    elif describes.resource == "pods" and described.namespace is None:
        yield Finding((*_OBJECT, "namespace"), "Required value", "CEL for the namespace of the pod", because=(_DESCRIBES,))


def _not_described(spec: LiveMetricSpec) -> Iterator[Finding]:
    api: tuple[Path, ...] = ((*_SPEC, "api"),)
    if spec.describes is not None:
        yield Finding(_DESCRIBES, "Forbidden: external metrics describe no object", "api: custom, or no describes", because=api)
    if spec.sample.object is not None:
        yield Finding(_OBJECT, "Forbidden: external metrics describe no object", "labels, or api: custom", because=api)


def _namespaces(spec: LiveMetricSpec, tenant: str) -> Iterator[Finding]:
    said = spec.namespaces
    because: tuple[Path, ...] = ((*_SPEC, "api"),)
    clusterwide = spec.api == "custom" and spec.sample.object is not None and spec.sample.object.namespace is None
    about_namespaces = clusterwide and _is_of_core(spec.describes, "namespaces")
    if isinstance(said, list):
        yield from namespaces(said, _NAMESPACES)
        if not said:
            yield Finding(_NAMESPACES, "Required value", "at least one namespace")
    if clusterwide and not about_namespaces:
        if tenant:
            what = f"Forbidden: declarations of namespace {tenant} have metrics of objects there only"
            yield Finding(_DESCRIBES, what, "a resource with namespaces", because=(_OBJECT,))
        elif said is not None:
            yield Finding(_NAMESPACES, "Forbidden: these objects are in no namespace", "no namespaces", because=(_OBJECT,))
        return
    if tenant:
        others = [name for name in said if name != tenant] if isinstance(said, list) else [said] if said == "any" else []
        if others:
            what = f"Forbidden: metrics of namespace {tenant} are served there only"
            yield Finding(_NAMESPACES, what, "own")
    elif said == "own":
        yield Finding(_NAMESPACES, "Forbidden: a declaration of kubeglance's own belongs to no namespace", "a list of namespaces, or any")
    elif said is None and spec.api == "external":
        yield Finding(_NAMESPACES, "Required value", "the namespaces that may use it, or any", because=because)


def _is_of_core(describes: Describes | None, resource: str) -> bool:
    return describes is not None and (describes.group, describes.resource) == ("", resource)


def _missing(spec: LiveMetricSpec) -> Iterator[Finding]:
    missing, path = spec.missing, (*_SPEC, "missing")
    policy: tuple[Path, ...] = ((*path, "policy"),)
    if missing.policy == "Hold" and missing.for_ is None:
        yield Finding((*path, "for"), "Required value", "how long the last value stands, as policy is Hold", because=policy)
    elif missing.policy != "Hold" and missing.for_ is not None:
        yield Finding((*path, "for"), "Forbidden: only a value that is held has an end", "policy: Hold, or no for", because=policy)
    elif missing.for_ is not None and missing.for_ <= 0:
        yield Finding((*path, "for"), "Invalid value", "more than 0s")
    if missing.policy != "Constant":
        if missing.value is not None:
            yield Finding((*path, "value"), "Forbidden: only policy Constant has a value", "policy: Constant", because=policy)
        return
    if missing.value is None:
        yield Finding((*path, "value"), "Required value", "the number that stands in, as policy is Constant", because=policy)
        return
    yield from _number((*path, "value"), missing.value)


def _number(path: Path, value: object) -> Iterator[Finding]:
    try:
        exact(value)
    except ValueError as error:
        yield Finding(path, f"Invalid value: {error}", "a number")


def beside(metric: LiveMetric, tenant: str, others: Sequence[MetricDeclaration]) -> Iterator[Finding]:
    """The same name in the same namespace."""
    name = known_as(metric.kind, metric.metadata.name, tenant)
    for other in others:
        if other.name == name:
            yield Finding(("metadata", "name"), f'Duplicate value: "{metric.metadata.name}" is declared in {other.place} already')


def described(metric: LiveMetric, cluster: ServedNames) -> Iterator[Finding]:
    """The described resource by another of its names."""
    describes = metric.spec.describes
    if describes is None:
        return
    known = cluster.names.get(describes.resource)
    plural, _, group = known.partition(".") if known is not None else ("", "", "")
    if plural and group == describes.group and plural != describes.resource:
        what = f'"{describes.resource}" is another name of {known}'
        yield Finding((*_DESCRIBES, "resource"), what, f'"{plural}"', nearest=plural)
